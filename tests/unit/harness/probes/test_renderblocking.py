"""What painting waited for, from events as Chromium 156 writes them; a page's own marks are not believed."""

from __future__ import annotations

from typing import Any

from harness.probes.trace import render_blocking


def event(name: str, cat: str = "devtools.timeline", **data: Any) -> dict[str, Any]:
    return {"name": name, "cat": cat, "ph": "I", "ts": 1, "pid": 1, "tid": 1, "args": {"data": data}}


def sent(path: str, request: str, said: Any = None, **more: Any) -> dict[str, Any]:
    told = {} if said is None else {"renderBlocking": said}
    return event("ResourceSendRequest", url=f"https://a.example{path}", requestId=request, **told, **more)


def test_each_request_has_what_blink_said() -> None:
    events = [
        sent("/", "AB"),
        sent("/a.css", "1.2", "blocking"),
        sent("/b.js#x", "1.3", "in_body_parser_blocking"),
        sent("/i.png", "1.4"),
        event("RunTask", url="https://a.example/i.png", renderBlocking="blocking"),
    ]
    assert render_blocking(events) == {
        "https://a.example/a.css": "blocking",
        "https://a.example/b.js": "in_body_parser_blocking",
    }


def test_a_preload_that_is_needed_at_once_blocks_from_then_on() -> None:
    change = event(
        "PreloadRenderBlockingStatusChange",
        url="https://a.example/p.css",
        requestId="1.2",
        renderBlocking="blocking",
    )
    assert render_blocking([sent("/p.css", "1.2", "non_blocking"), change]) == {
        "https://a.example/p.css": "blocking"
    }


def test_the_first_request_for_an_address_is_the_one_that_counts() -> None:
    events = [sent("/a.css", "1.2", "blocking"), sent("/a.css", "1.9", "non_blocking")]
    assert render_blocking(events) == {"https://a.example/a.css": "blocking"}


def test_a_mark_of_the_page_and_what_is_no_event_of_ours_are_not_believed() -> None:
    events: list[dict[str, Any]] = [
        event("ResourceSendRequest", "blink.user_timing", url="u", requestId="1", renderBlocking="blocking"),
        sent("/x.css", "1.2", ["blocking"]),
        sent("/y.css", "1.3", "<script>"),
        {"name": "ResourceSendRequest", "cat": "devtools.timeline", "args": "none"},
        {"name": "ResourceSendRequest", "cat": "devtools.timeline"},
        {},
    ]
    assert render_blocking(events) == {}
