"""Traces as Chromium 156 writes them: files whole and damaged, the main thread, what painting waits for, pictures.

A page names events of its own: none of them is believed.
"""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from harness.engines.browser import ThreadSpan, ThreadWork, TracePart
from harness.engines.chromium.devtools import FIRST_STREAM, fetch_trace
from harness.engines.chromium.trace import CATEGORIES, LOSSES, MOST_PICTURES, ChromiumTrace, read_trace
from harness.errors import Outcome, TrialFailed

START_MS = 7000.0  # navigation start on the clock of the trace
NAVIGATION = {"name": "navigationStart", "ph": "R", "pid": 5, "tid": 1, "ts": START_MS * 1e3, "args": {}}
EVENTS = [{"name": "Screenshot", "ph": "O", "ts": 7, "args": {"snapshot": "AA=="}}]


def test_a_trace_that_is_cut_off_or_none_has_no_events(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    whole = gzip.compress(json.dumps({"traceEvents": EVENTS}).encode())
    path.write_bytes(whole)
    assert read_trace(path).events == EVENTS
    damaged = whole[:10] + bytes(100)
    for text in (whole[:-20], damaged, b"", b"{}", gzip.compress(b"{}"), gzip.compress(b"[1")):
        path.write_bytes(text)
        assert read_trace(path).events == []
    assert read_trace(tmp_path / "none").events == []


@pytest.mark.parametrize("loss", ["", *LOSSES])
def test_a_trace_that_lost_events_has_none(tmp_path: Path, loss: str) -> None:
    whole: dict[str, int] = {"chunks_written": 170, "bytes_overwritten": 0, **dict.fromkeys(LOSSES, 0)}
    buffers = [whole, {**whole, loss: 1}]
    path = tmp_path / "trace.json.gz"
    trace = {"traceEvents": EVENTS, "metadata": {"trace_processor_stats": {"traced_buf": buffers}}}
    path.write_bytes(gzip.compress(json.dumps(trace).encode()))
    assert read_trace(path).events == ([] if loss else EVENTS)


def test_a_damaged_trace_fails_its_load_alone(tmp_path: Path) -> None:
    def send(_name: str, _parameters: dict[str, Any]) -> dict[str, Any]:
        damaged = gzip.compress(b"{}")[:10] + b"\xff" * 100
        return {"data": base64.b64encode(damaged).decode(), "base64Encoded": True, "eof": True}

    with pytest.raises(TrialFailed, match=r"^the trace is damaged: ") as caught:
        fetch_trace(send, FIRST_STREAM, tmp_path / "trace.json.gz")
    assert caught.value.outcome is Outcome.PAGE_ERROR


def did(name: str, start_ms: float, took_ms: float, thread: int = 1, **told: Any) -> dict[str, Any]:
    """An event of a thread, at ms since navigation start."""
    begun = {"ph": "X", "pid": 5, "tid": thread, "ts": (START_MS + start_ms) * 1e3, "dur": took_ms * 1e3}
    return {"name": name, **begun, "args": told}


def spans(*events: dict[str, Any]) -> list[ThreadSpan]:
    found = ChromiumTrace([NAVIGATION, *events]).main_thread(START_MS)
    assert found is not None
    return [span._replace(began_us=span.began_us - START_MS * 1e3) for span in found]


def test_events_of_the_main_thread_have_their_work_and_scripts() -> None:
    found = spans(
        {"name": "thread_name", "ph": "M", "pid": 5, "tid": 1, "ts": 0, "args": {"name": "CrRendererMain"}},
        did("RunTask", 10, 100),
        did("EvaluateScript", 20, 60, data={"url": "https://a.example/app.js"}),
        did("v8.evaluateModule", 21, 1, fileName="https://a.example/module.js"),
        did("SomethingNew", 25, 5, data={"url": "https://a.example/app.js"}),
        did("Layout", 30, 20),
        did("FunctionCall", 60, 1, data=["no url"]),
        did("EvaluateScript", 0, 500, thread=2, data={"url": "https://a.example/worker.js"}),
    )
    assert found == [
        ThreadSpan(10_000, 100_000, is_task=True),
        ThreadSpan(20_000, 60_000, ThreadWork.SCRIPT, script="https://a.example/app.js"),
        ThreadSpan(21_000, 1_000, ThreadWork.SCRIPT, script="https://a.example/module.js"),
        ThreadSpan(25_000, 5_000),
        ThreadSpan(30_000, 20_000, ThreadWork.STYLE_LAYOUT),
        ThreadSpan(60_000, 1_000, ThreadWork.SCRIPT),
    ]


def test_what_was_over_before_the_navigation_and_other_navigations_do_not_count() -> None:
    assert spans(did("RunTask", -30, 20), did("RunTask", -30, 40)) == [
        ThreadSpan(-30_000, 40_000, is_task=True)
    ]
    assert ChromiumTrace([NAVIGATION, did("RunTask", 60, 10)]).main_thread(START_MS + 50) is None
    assert ChromiumTrace([]).main_thread(START_MS) is None


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
    assert ChromiumTrace(events).render_blocking() == {
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
    assert ChromiumTrace([sent("/p.css", "1.2", "non_blocking"), change]).render_blocking() == {
        "https://a.example/p.css": "blocking"
    }


def test_the_first_request_for_an_address_is_the_one_that_counts() -> None:
    events = [sent("/a.css", "1.2", "blocking"), sent("/a.css", "1.9", "non_blocking")]
    assert ChromiumTrace(events).render_blocking() == {"https://a.example/a.css": "blocking"}


def test_a_mark_of_the_page_and_what_is_no_event_of_ours_are_not_believed() -> None:
    events: list[dict[str, Any]] = [
        event("ResourceSendRequest", "blink.user_timing", url="u", requestId="1", renderBlocking="blocking"),
        sent("/x.css", "1.2", ["blocking"]),
        sent("/y.css", "1.3", "<script>"),
        {"name": "ResourceSendRequest", "cat": "devtools.timeline", "args": "none"},
        {"name": "ResourceSendRequest", "cat": "devtools.timeline"},
        {},
    ]
    assert ChromiumTrace(events).render_blocking() == {}


def taken(at_ms: float, picture: bytes) -> dict[str, Any]:
    (category,) = CATEGORIES[TracePart.PICTURES]
    shot = {"snapshot": base64.b64encode(picture).decode()}
    return {"name": "Screenshot", "cat": category, "ph": "I", "ts": at_ms * 1e3, "args": shot}


def test_what_a_page_calls_a_screenshot_is_none() -> None:
    mark = {"name": "Screenshot", "cat": "blink.user_timing", "ph": "R", "ts": 2e3, "args": {}}
    found = ChromiumTrace([taken(3, b"second"), mark, did("RunTask", 0, 1), taken(1, b"first")]).pictures()
    assert found.taken == ((3, b"second"), (1, b"first"))
    assert not found.cut


def test_the_pictures_end_where_chromium_has_no_room_for_more() -> None:
    many = [taken(number, b"") for number in range(MOST_PICTURES)]
    assert ChromiumTrace(many).pictures().cut
    assert not ChromiumTrace(many[1:]).pictures().cut
