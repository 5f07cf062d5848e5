"""Strangers see nothing: a wrong token, a foreign Host, another method. Every answer has the policy."""

from __future__ import annotations

import pytest
from werkzeug.test import Client
from werkzeug.wrappers import Response

from analysis.show.guard import Guard

TOKEN = "secret-token"  # noqa: S105
OURS = {"Host": "127.0.0.1:8000"}
CLIENT = Client(Guard(Response("the run"), TOKEN))


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "127.0.0.1", "localhost:1234"])
def test_the_token_and_a_name_of_this_machine_open_it(host: str) -> None:
    answer = CLIENT.get(f"/{TOKEN}/", headers={"Host": host})
    assert (answer.status_code, answer.text) == (200, "the run")


@pytest.mark.parametrize(
    ("path", "host"),
    [
        (f"/{TOKEN}/", "evil.example"),
        (f"/{TOKEN}/", "localhost.evil.example"),
        (f"/{TOKEN}/", "127.0.0.1.evil.example"),
        (f"/{TOKEN}/", "127.0.0.1:8000@evil.example"),
        (f"/{TOKEN}/", ""),
        ("/", "127.0.0.1"),
        (f"/{TOKEN}", "127.0.0.1"),
        (f"/{TOKEN}x/", "127.0.0.1"),
        (f"/{TOKEN[:-1]}/", "127.0.0.1"),
        (f"//{TOKEN}/", "127.0.0.1"),
        ("/\u00e9\u20ac/", "127.0.0.1"),
    ],
)
def test_a_stranger_sees_nothing(path: str, host: str) -> None:
    answer = CLIENT.get(path, headers={"Host": host})
    assert answer.status_code == 403
    assert "the run" not in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_nothing_can_be_sent(method: str) -> None:
    assert CLIENT.open(f"/{TOKEN}/", method=method, headers=OURS).status_code == 405


@pytest.mark.parametrize("path", [f"/{TOKEN}/", "/"])
def test_every_answer_has_the_policy(path: str) -> None:
    headers = CLIENT.get(path, headers=OURS).headers
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;")
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers.getlist("Cache-Control") == ["no-store"]


def test_a_fault_of_ours_is_an_answer_with_the_policy(caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: object) -> list[bytes]:
        raise RuntimeError("nobody thought of this")

    answer = Client(Guard(broken, TOKEN)).get(f"/{TOKEN}/", headers=OURS)
    assert (answer.status_code, answer.headers["X-Content-Type-Options"]) == (500, "nosniff")
    assert "nobody thought of this" not in answer.text
    assert "nobody thought of this" in caplog.text
