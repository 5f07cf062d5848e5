"""Every kind has its lab, and its programs are known by the names of its engines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.errors import Outcome, TestbedFailed
from harness.model.engine import engines_of
from harness.model.kind import Kind
from harness.probes.registry import Observation
from harness.records import Record, RecordLine
from harness.run.attempts import ENGINE_MISSING
from harness.run.openlab import KINDS, Failures, disturbed
from harness.run.progress import figure_of, named
from harness.run.work import Summary
from tests.facts import tells
from tests.unit.harness.run.test_attempts import BUSY, FIRST, PLAN, SECOND, record


@pytest.mark.parametrize("kind", Kind)
def test_each_kind_has_a_room_that_runs_its_engines(kind: Kind) -> None:
    assert set(KINDS) == set(Kind)
    assert set(engines_of(kind)) <= set(KINDS[kind].programs())


FAILED = replace(record(FIRST, 1, "testbed-failed"), outcome=Outcome.TESTBED_FAILED, reason="it died")


@pytest.mark.parametrize(
    ("made", "waits"),
    [
        (record(FIRST, 1, None), False),
        (record(FIRST, 1, BUSY), True),
        (record(FIRST, 1, "late-packets-down"), True),
        (replace(record(FIRST, 1, "page-timeout"), outcome=Outcome.PAGE_TIMEOUT), False),
        (FAILED, False),
        (replace(FAILED, observation=Observation(server_stopped_ms=40.0)), True),
        (replace(FAILED, observation=Observation(client_stopped_ms=40.0)), True),
    ],
)
def test_it_waits_when_the_machine_is_the_reason(made: Record, waits: bool) -> None:
    assert disturbed(made) is waits


def test_failures_of_one_trial_do_not_end_a_run_and_those_of_the_next_do() -> None:
    failures = Failures()
    for attempt in (1, 2, 3):
        failures.add(replace(FAILED, attempt=attempt))
    with pytest.raises(TestbedFailed, match="4 times in a row, last: it died"):
        failures.add(replace(FAILED, planned=SECOND))


def test_three_trials_in_a_row_end_a_run_and_an_attempt_between_does_not() -> None:
    failures = Failures()
    one, two, three = (replace(FAILED, planned=planned) for planned in PLAN.trials[:3])
    for each in (one, two, record(FIRST, 2, None), two, three):
        failures.add(each)
    with pytest.raises(TestbedFailed, match="3 times"):
        failures.add(one)


def test_the_summary_counts_trials_and_repeated_attempts() -> None:
    summary = Summary(already=2)
    assert str(summary) == "0 trials counted (2 were finished before)"
    summary.add(BUSY, repeated=True)
    summary.add(None, repeated=False)
    assert str(Summary(0, summary.counted, summary.repeated)) == "1 trial counted, 1 attempt repeated"
    for left_out in (BUSY, BUSY, ENGINE_MISSING):
        summary.add(left_out, repeated=False)
    summary.not_needed = 1
    without = ("3 trials without a result", "2 busy-machine, 1 engine-missing")
    assert tells([str(summary)], "1 trial counted", "1 attempt repeated", *without)
    assert tells([str(summary)], "1 trial no longer needed", "2 were finished before")


def test_a_line_says_which_attempt_and_why_it_does_not_count() -> None:
    assert figure_of(FIRST, RecordLine.of(record(FIRST, 1, None))) == "100 ms"
    assert figure_of(FIRST, RecordLine.of(FAILED)) == "testbed-failed: it died"
    line = named(FIRST, RecordLine.of(record(FIRST, 2, BUSY)))
    assert line.startswith(f"trial 00001 attempt 2: {FIRST.condition}: ")
    assert line.endswith("100 ms, left out: busy-machine")
