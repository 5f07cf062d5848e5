"""What a main thread was busy with, from a trace."""

from __future__ import annotations

from typing import Any

from harness.probes.trace import LONGEST_TASKS, MainThread, ThreadWork, main_thread

START_MS = 7000.0  # navigation start on the clock of the trace


def span(name: str, start_ms: float, took_ms: float, thread: int = 1, **data: Any) -> dict[str, Any]:
    """An event of a thread, at ms since navigation start."""
    begun = {"ph": "X", "pid": 5, "tid": thread, "ts": (START_MS + start_ms) * 1e3, "dur": took_ms * 1e3}
    return {"name": name, **begun, "args": {"data": data} if data else {}}


NAVIGATION = {"name": "navigationStart", "ph": "R", "pid": 5, "tid": 1, "ts": START_MS * 1e3, "args": {}}
TRACE = [
    NAVIGATION,
    {"name": "thread_name", "ph": "M", "pid": 5, "tid": 1, "ts": 0, "args": {"name": "CrRendererMain"}},
    span("RunTask", 10, 100),
    span("ParseHTML", 10, 90),
    span("EvaluateScript", 20, 60, url="https://a.example/app.js"),
    span("SomethingNew", 25, 5),
    span("Layout", 30, 20),
    span("MinorGC", 60, 2),
    span("RunTask", 190, 30),
    span("Paint", 195, 10),
    span("EvaluateScript", 0, 500, thread=2, url="https://a.example/worker.js"),
]


def found_in(events: list[dict[str, Any]]) -> MainThread:
    found = main_thread(events, START_MS, 200.0)
    assert found is not None
    return found


def test_each_moment_counts_for_the_innermost_event() -> None:
    found = found_in(TRACE)
    assert (
        found.groups
        == {
            ThreadWork.SCRIPT: 38,  # 60 without the layout and the collection in it; what has no group is the script's
            ThreadWork.STYLE_LAYOUT: 20,
            ThreadWork.PAINT: 5,  # until the load event ended
            ThreadWork.PARSE: 30,
            ThreadWork.GC: 2,
        }
    )
    assert found.busy_ms == 110


def test_the_longest_tasks_name_the_script_that_ran_longest() -> None:
    first, second = found_in(TRACE).longest
    assert str(first) == "100.0 ms at 10 ms: https://a.example/app.js"
    assert str(second) == "30.0 ms at 190 ms: no script"
    many = [NAVIGATION, *(span("RunTask", 50 * each, each) for each in range(1, 30))]
    assert [task.took_ms for task in found_in(many).longest] == [29 - each for each in range(LONGEST_TASKS)]


def test_a_script_called_by_another_counts_for_that_one() -> None:
    calls = [
        span("RunTask", 0, 50),
        span("FunctionCall", 1, 20, url="https://a.example/a.js"),
        span("FunctionCall", 2, 18, url="https://a.example/lib.js"),
        span("FunctionCall", 30, 15, url="https://a.example/b.js"),
    ]
    assert found_in([NAVIGATION, *calls]).longest[0].script == "https://a.example/a.js"


def test_what_was_before_the_navigation_and_other_navigations_do_not_count() -> None:
    assert main_thread(TRACE, START_MS + 50, 200.0) is None
    assert found_in([NAVIGATION, span("RunTask", -30, 20)]).busy_ms == 0
    assert found_in([NAVIGATION, span("RunTask", -30, 40)]).busy_ms == 10
