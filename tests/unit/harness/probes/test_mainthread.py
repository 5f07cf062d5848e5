"""What a main thread was busy with, from what a trace tells of it."""

from __future__ import annotations

from collections.abc import Sequence

from harness.engines.browser import ThreadSpan, ThreadWork
from harness.probes.trace import LONGEST_TASKS, MainThread, main_thread

START_MS = 7000.0  # navigation start on the clock of the trace


def span(start_ms: float, took_ms: float, work: ThreadWork | None = None, script: str = "") -> ThreadSpan:
    """At ms since navigation start."""
    return ThreadSpan((START_MS + start_ms) * 1e3, took_ms * 1e3, work, script=script or None)


def task(start_ms: float, took_ms: float) -> ThreadSpan:
    return span(start_ms, took_ms)._replace(is_task=True)


def called(start_ms: float, took_ms: float, script: str) -> ThreadSpan:
    return span(start_ms, took_ms, ThreadWork.SCRIPT, f"https://a.example/{script}")


TRACE = [
    task(10, 100),
    span(10, 90, ThreadWork.PARSE),
    called(20, 60, "app.js"),
    span(25, 5),
    span(30, 20, ThreadWork.STYLE_LAYOUT),
    span(60, 2, ThreadWork.GC),
    task(190, 30),
    span(195, 10, ThreadWork.PAINT),
]


def found_in(spans: Sequence[ThreadSpan]) -> MainThread:
    return main_thread(spans, START_MS, 200.0)


def test_each_moment_counts_for_the_innermost_span() -> None:
    found = found_in(TRACE)
    assert (
        found.groups
        == {
            ThreadWork.SCRIPT: 38,  # 60 without the layout and the collection in it; what has no kind is the script's
            ThreadWork.STYLE_LAYOUT: 20,
            ThreadWork.PAINT: 5,  # until the load event ended
            ThreadWork.PARSE: 30,
            ThreadWork.GC: 2,
        }
    )
    assert found.busy_ms == 110
    assert found.tasks_us == ((10_000, 110_000), (190_000, 200_000))


def test_the_longest_tasks_name_the_script_that_ran_longest() -> None:
    first, second = found_in(TRACE).longest
    assert str(first) == "100.0 ms at 10 ms: https://a.example/app.js"
    assert str(second) == "30.0 ms at 190 ms: no script"
    many = [task(50 * each, each) for each in range(1, 30)]
    assert [each.took_ms for each in found_in(many).longest] == [29 - each for each in range(LONGEST_TASKS)]


def test_a_script_called_by_another_counts_for_that_one() -> None:
    calls = [task(0, 50), called(1, 20, "a.js"), called(2, 18, "lib.js"), called(30, 15, "b.js")]
    assert found_in(calls).longest[0].script == "https://a.example/a.js"


def test_tasks_of_a_nested_loop_count_once() -> None:
    nested = [task(10, 100), task(20, 30), task(60, 10), task(100, 30), task(195, 20)]
    assert found_in(nested).busy_ms == 125  # 10 to 130, 195 to 200


def test_what_was_before_the_navigation_does_not_count() -> None:
    assert found_in([task(-30, 40)]).busy_ms == 10
    assert found_in([]).busy_ms == 0
