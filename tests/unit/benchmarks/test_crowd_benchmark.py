"""How long before the end of its document a browser asks for what it finds in it."""

from __future__ import annotations

from benchmarks.crowd import early_ms
from harness.engines.browserlog import Request


def asked(url: str, at_ms: float, ended_ms: float) -> Request:
    return Request(
        url=url,
        method="GET",
        of_page=True,
        main_frame=url.endswith("/"),
        started_ms=at_ms + 5,
        protocol="h2",
        status=200,
        failure=None,
        body_bytes=1,
        asked_ms=at_ms,
        ended_ms=ended_ms,
    )


DOCUMENT = asked("https://a.example/", 0, 250)


def test_the_first_object_counts_from_when_the_page_asked() -> None:
    assert (
        early_ms([DOCUMENT, asked("https://a.example/b", 200, 400), asked("https://a.example/a", 170, 600)])
        == 80
    )


def test_nothing_is_early_that_is_asked_for_after_the_document() -> None:
    assert early_ms([DOCUMENT, asked("https://a.example/a", 260, 400)]) == 0


def test_of_a_redirect_the_document_is_the_last_hop() -> None:
    hop = asked("https://b.example/", 0, 90)
    assert early_ms([hop, asked("https://a.example/", 90, 250), asked("https://a.example/a", 200, 300)]) == 50
