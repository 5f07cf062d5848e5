"""The pages of a run over WSGI: every address of every page answers, whatever the run holds."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest
from werkzeug.test import Client
from werkzeug.wrappers import Response

from analysis.show.serving import Guard, RunPages
from analysis.show.shownrun import LiveRun
from tests.unit.analysis.runpairs import edit
from tests.unit.analysis.showing import CUT, FILMED, HOSTILE, MARKUP, MISSING, TAGS, Made, picture, shown_run
from tests.unit.analysis.synthetic import Synthetic

TOKEN = "secret-token"  # noqa: S105


def client(directory: Path) -> Client:
    return Client(Guard(RunPages(LiveRun(directory)), TOKEN))


def text(visitor: Client, path: str, status: int = 200) -> str:
    """A page; of what is none, nothing."""
    with contextlib.closing(visitor.get(f"/{TOKEN}/{path}", headers={"Host": "localhost"})) as answer:
        assert answer.status_code == status, path
        return answer.text if answer.mimetype == "text/html" else ""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return shown_run(tmp_path_factory.mktemp("runs") / "run", 12)


@pytest.mark.thorough
def test_every_link_of_every_page_leads_somewhere(made: Made) -> None:
    visitor = client(made.directory)
    todo, done = [""], set()
    while todo:
        path = todo.pop()
        done.add(path)
        page = text(visitor, path)
        assert TAGS not in page
        assert not re.search(r"<[^>]+\s(style|on\w+)=", page), path
        found = re.findall(rf'(?:href|src|action)="/{TOKEN}/([^"#]*)"', page)
        found = [each.replace("&amp;", "&") for each in found if not each.startswith("figure.")]
        todo += [each for each in found if each not in {*done, *todo}]
    assert {"trials", "compare", "static/show.css", "static/waterfalls.js", f"trials/{HOSTILE}/1"} <= done
    assert len(done) > 80


@pytest.mark.thorough
@pytest.mark.parametrize(
    "path",
    [
        "nothing",
        "static/../app.py",
        "static/app.py",
        "conditions/nothing",
        "trials/nothing/1",
        f"trials/{HOSTILE}/2",
        f"trials/{HOSTILE}/0",
        f"trials/{HOSTILE}/99999999999999999999",
        f"trials/{HOSTILE}/1/files/nothing",
        f"trials/{HOSTILE}/1/files/..",
        f"trials/{HOSTILE}/1/files/%00",
        f"trials/{HOSTILE}/1/files/{'n' * 300}",
        f"trials/{HOSTILE}/1/picture/%00",
        f"trials/{HOSTILE}/1/picture/{'n' * 5000}",
        f"conditions/{'n' * 300}%00",
        "trials/%00/1",
        f"trials/{'n' * 300}/1",
        f"trials/{HOSTILE}/1/files/..%2f..%2frecords.jsonl",
        f"trials/{HOSTILE}/1/picture/../../records.jsonl",
        f"trials/{HOSTILE}/1/picture/load.har",
        f"trials/{CUT}/1/picture/screenshot.png",
    ],
)
def test_what_is_not_there_is_a_page_of_one_line(made: Made, path: str) -> None:
    assert "<h1>This cannot be shown</h1>" in text(client(made.directory), path, 404)


@pytest.mark.thorough
def test_a_link_to_elsewhere_is_not_followed(made: Made) -> None:
    secret = made.directory.parent / "secret.png"
    secret.write_bytes(picture())
    made.folder(MISSING).joinpath("leak.png").symlink_to(secret)
    visitor = client(made.directory)
    assert "leak.png" not in text(visitor, f"trials/{MISSING}/1")
    text(visitor, f"trials/{MISSING}/1/picture/leak.png", 404)
    text(visitor, f"trials/{MISSING}/1/files/leak.png", 404)


@pytest.mark.thorough
def test_files_are_saved_and_never_opened(made: Made) -> None:
    path = f"/{TOKEN}/trials/{HOSTILE}/1/files/evil<b>.html"
    with contextlib.closing(client(made.directory).get(path, headers={"Host": "localhost"})) as answer:
        assert answer.mimetype == "application/octet-stream"
        assert answer.headers["Content-Disposition"].startswith("attachment;")


@pytest.mark.thorough
def test_a_run_without_a_trial_and_a_damaged_one_say_so(tmp_path: Path) -> None:
    run = Synthetic(trials=1, pages=("p",), rates_mbps=(10.0,), rtts_ms=(50.0,)).write(tmp_path / "run")
    records = (run / "records.jsonl").read_text()
    (run / "records.jsonl").write_text("")
    visitor = client(run)
    assert "holds no complete record yet" in text(visitor, "", 503)
    (run / "records.jsonl").write_text(records)
    assert "All 4 trials are recorded." in text(visitor, "")
    (run / "records.jsonl").write_text(f"broken\n{records}")
    assert "records.jsonl:1 is damaged" in text(visitor, "", 503)
    text(visitor, "static/show.css")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("recorded", "says"),
    [
        (1, "1 of 4 trials is recorded; reload"),
        (3, "3 of 4 trials are recorded; reload"),
        (4, "All 4 trials are"),
    ],
)
def test_a_run_says_how_far_it_has_come(recorded: int, says: str, tmp_path: Path) -> None:
    run = Synthetic(trials=1, pages=("p",), rates_mbps=(10.0,), rtts_ms=(50.0,)).write(tmp_path / "run")
    records = (run / "records.jsonl").read_text().splitlines(keepends=True)
    (run / "records.jsonl").write_text("".join(records[:recorded]))
    assert says in text(client(run), "")
    if recorded == 1:
        (run / "plan.jsonl").unlink()
        assert "1 trial is recorded." in text(client(run), "")


@pytest.mark.thorough
def test_another_metric_does_not_stand_for_a_time_that_no_load_has(tmp_path: Path) -> None:
    run = Synthetic(trials=1, pages=("p",), protocols=("h2",), rates_mbps=(10.0,), rtts_ms=(50.0,)).write(
        tmp_path / "run"
    )
    edit(run, lambda record: record | {"outcome": "page-timeout", "plt_ms": None})
    shown = text(client(run), "conditions/00001")
    assert "block 1, not observed" in shown
    assert "of 1 that counts, 1 recorded" in shown


@pytest.mark.parametrize("name", ["../../etc", "a/b", "..", MARKUP])
def test_a_run_with_a_trial_of_a_hostile_name_is_refused(tmp_path: Path, name: str) -> None:
    run = Synthetic(trials=1, pages=("p",), rates_mbps=(10.0,), rtts_ms=(50.0,)).write(tmp_path / "run")
    first, *others = (run / "records.jsonl").read_text().splitlines()
    made = [json.dumps({**json.loads(first), "trial": name}), *others]
    (run / "records.jsonl").write_text("\n".join([*made, ""]))
    shown = text(client(run), "trials", 503)
    assert "records.jsonl:1 is damaged" in shown
    assert MARKUP not in shown


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("path", "begins", "panels"),
    [
        (f"figure.svg?of={FILMED[0]}", b"<?xml", 2),
        (f"figure.pdf?of={HOSTILE}", b"%PDF", 0),
        (f"figure.svg?of={FILMED[0]}&of={FILMED[1]}&align=first+paint", b"<?xml", 4),
        (f"figure.svg?of={FILMED[0]}&of={HOSTILE}&align={MARKUP}", b"<?xml", 2),
    ],
)
def test_waterfall_and_film_are_saved_as_one_picture(
    made: Made, path: str, begins: bytes, panels: int
) -> None:
    with contextlib.closing(
        client(made.directory).get(f"/{TOKEN}/{path}", headers={"Host": "localhost"})
    ) as answer:
        assert answer.status_code == 200
        assert answer.data.startswith(begins)
        assert re.fullmatch(
            r'attachment; filename="[-\w]+\.(svg|pdf)"', answer.headers["Content-Disposition"]
        )
        assert b"<script" not in answer.data
        assert answer.data.count(b"link down, of 10") + answer.data.count(b"main thread, by") == panels
        if FILMED[0] in path:
            assert answer.data.count(b"<image") > 4


@pytest.mark.thorough
@pytest.mark.parametrize(
    "path", ["figure.svg", f"figure.svg?of={MISSING}", "figure.pdf?of=nothing", f"figure.svg?of={CUT}"]
)
def test_without_a_load_there_is_no_picture_and_it_says_so(made: Made, path: str) -> None:
    assert "<h1>This cannot be shown</h1>" in text(client(made.directory), path, 404)


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
