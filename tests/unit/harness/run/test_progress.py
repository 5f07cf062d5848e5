"""What is told of a run under way: how far it is, how long the rest takes, and what to do about a busy machine."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from harness.errors import Outcome
from harness.records import RecordLine
from harness.run.progress import OFFER, Pace, PlainProgress, progress, roughly
from harness.run.work import Summary
from tests.facts import tells
from tests.unit.harness.run.test_attempts import BUSY, PLAN, record


class Clock:
    """Seconds that a test lets pass."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def lines_of(number: int, left_out: str | None = None) -> RecordLine:
    return RecordLine.of(record(PLAN.trials[number], 1, left_out))


def test_the_pace_is_that_of_the_trials_which_have_ended() -> None:
    clock = Clock()
    pace = Pace(total=100, done=20, clock=clock)
    assert str(pace) == "no trial has ended yet"
    clock.now_s += 500  # before the first attempt: links are measured
    pace.begin()
    for left_out in (None, BUSY, None, BUSY):
        clock.now_s += 60
        pace.end(lines_of(0, left_out))
    assert tells([str(pace)], "2 of 4 trials", "76 min to go")
    pace.done = 100
    assert str(pace) == "2 of 4 trials count"


def test_a_load_that_timed_out_counts_for_the_pace_as_for_the_summary() -> None:
    late = replace(record(PLAN.trials[0], 1, None), outcome=Outcome.PAGE_TIMEOUT, reason="no load event")
    pace, summary = Pace(total=1, done=0, clock=Clock()), Summary(already=0)
    pace.end(RecordLine.of(late))
    summary.add(RecordLine.of(late).left_out, repeated=False)
    assert (str(pace), str(summary)) == ("1 of 1 trials count", "1 trial counted")


def test_times_are_rounded_to_what_a_person_needs() -> None:
    assert [roughly(each) for each in (7.4, 99, 130, 3000, 9000)] == [
        "7 s",
        "99 s",
        "2 min",
        "50 min",
        "2.5 h",
    ]


def test_a_busy_machine_is_told_with_the_pace_and_once_with_what_to_do() -> None:
    said = io.StringIO()
    plain = PlainProgress(Console(file=said, width=300), Pace(len(PLAN.trials), 0))
    plain.attempt_started(PLAN.trials[0], 1)
    plain.trial_ended(PLAN.trials[0], lines_of(0, BUSY))
    for watcher in (plain.of_lane(1), plain.of_lane(2), plain):
        for seconds in (0.0, 1.2, 2.4, 10.5):
            watcher.waiting(seconds)
    told = said.getvalue().splitlines()
    assert tells(told[1:2], "lane 1: the machine is busy", "waiting", "0 s", "0 of 1 trials")
    assert told.count(OFFER) == 1
    assert sum("quiet moment" in line for line in told) == 3 * 2


def test_a_log_tells_the_pace_once_a_minute() -> None:
    said, clock = io.StringIO(), Clock()
    plain = PlainProgress(Console(file=said, width=300), Pace(len(PLAN.trials), 0, clock))
    for number in range(6):
        plain.attempt_started(PLAN.trials[number], 1)
        clock.now_s += 25
        plain.trial_ended(PLAN.trials[number], lines_of(number))
    told = [line for line in said.getvalue().splitlines() if "at this pace" in line]
    assert [line.split(",")[0] for line in told] == ["3 of 3 trials count", "6 of 6 trials count"]


def test_a_bar_says_what_it_waits_for() -> None:
    said = io.StringIO()
    screen = Console(file=said, width=200, force_terminal=True)
    with progress(screen, len(PLAN.trials), 0) as listener:
        listener.attempt_started(PLAN.trials[0], 1)
        listener.trial_ended(PLAN.trials[0], lines_of(0, BUSY))
        listener.waiting(3.0)
        listener.of_lane(2).waiting(4.0)
    assert said.getvalue().count(OFFER) == 1
    assert tells(said.getvalue(), "lane 2: the machine is busy", "waiting", "4 s", "0 of 1 trials")
