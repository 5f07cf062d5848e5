"""Which documents nginx answers without the script, and what its configuration says then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.model.protocol import Protocol
from sites.materialise import Site
from sites.served import ServedObject
from sites.servers.nginx import configuration
from sites.servers.nginxdocument import EARLY_REQUESTS, native_document
from tests.unit.sites.servers.setups import setup_of

HTML = ("Content-Type", "text/html; charset=utf-8")


def served(
    *headers: tuple[str, str], target: str = "/a.html", status: int = 200, think_ms: float = 0
) -> ServedObject:
    return ServedObject("site.example", target, status, headers, lambda: b"text", think_ms)


def site(document: ServedObject, scheme: str = "http", asked: str = "/a.html") -> Site:
    return Site(f"{scheme}://site.example{asked}", scheme, ("site.example",), (), (), (document,), (), ())


def test_a_plain_document_is_given_with_its_headers() -> None:
    found = native_document(site(served(HTML, ("X-Quoted", 'a "b" \\ {c};'))))
    assert found is not None
    assert (found.host, found.path) == ("site.example", "/a.html")
    assert (found.mime, found.charset) == ("text/html", "utf-8")
    assert found.headers == (("X-Quoted", '"a \\"b\\" \\\\ {c};"'),)


@pytest.mark.parametrize(
    "odd",
    [
        served(HTML, status=404),
        served(HTML, think_ms=5),
        served(),
        served(("Content-Type", "text/html; charset=utf-8; x=y")),
        served(HTML, ("X-Cost", "5 $host")),
        served(HTML, ("X-Name", "caf\u00e9")),
        served(HTML, ("Link", "<a>"), ("Link", "<b>")),
    ],
)
def test_what_nginx_would_not_give_as_recorded_is_left_to_the_script(odd: ServedObject) -> None:
    assert native_document(site(odd)) is None


@pytest.mark.parametrize("target", ["/a?b", "/a%20b", "//a", "/../a", "/.a", "/a;b", "/a b", "/{a}"])
def test_so_is_a_path_that_nginx_would_not_take_as_it_stands(target: str) -> None:
    assert native_document(site(served(HTML, target=target), asked=target)) is None
    assert native_document(site(served(HTML, target="/other"))) is None


@pytest.mark.parametrize("target", ["/", "/a", "/a/b-c_d.e/", "/10kb.html"])
def test_plain_paths_are_taken(target: str) -> None:
    assert native_document(site(served(HTML, target=target), asked=target)) is not None


def test_only_a_closed_loop_is_configured_so() -> None:
    setup = setup_of((Protocol.HTTP1, Protocol.HTTPS1), site(served(HTML)), site(served(HTML), "https"))
    usual, loop = configuration(setup), configuration(replace(setup, closed_loop=True))
    assert "location = " not in usual
    assert "$early" not in usual
    assert loop.count("location = /a.html {") == 2
    assert "coldload if=$early;" in loop
    assert f"\n        {EARLY_REQUESTS} 1;\n    }}" in loop
    backend = configuration(replace(setup, closed_loop=True), listeners=setup.listeners, is_backend=True)
    assert "$early" not in backend
    assert "access_log off;" in backend
