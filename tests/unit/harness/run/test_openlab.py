"""Every kind has its lab, and its programs are known by the names of its engines."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.errors import Outcome, TestbedFailed
from harness.lab.lab import TrialLab
from harness.model.engine import Engine, engines_of
from harness.model.kind import Kind
from harness.model.serversettings import Tuning
from harness.model.settings import TcpSettings
from harness.model.trials import PlannedTrial
from harness.probes.registry import Observation
from harness.records import Record, RecordLine, not_run
from harness.run.attempts import ENGINE_MISSING
from harness.run.directory import attempt_folder
from harness.run.openlab import KINDS, Failures, Repeating, disturbed
from harness.run.progress import figure_of, named
from harness.run.work import Due, Summary
from harness.study.study import EngineSetup
from tests.facts import tells
from tests.unit.harness.run.test_attempts import BUSY, FIRST, PLAN, SECOND, record
from tests.unit.harness.run.test_coordinator import listening


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


class Breaking(TrialLab):
    """A lab whose testbed fails at every attempt; `renewed` is how often it was made anew."""

    renewed = 0

    def refuse_unless_usable(self, engine: Engine) -> None:
        raise NotImplementedError

    def tuning(self, setup: EngineSetup) -> Tuning:
        raise NotImplementedError

    def renew(self) -> None:
        self.renewed += 1

    def run_trial(self, planned: PlannedTrial, files: Path) -> Record:
        files.mkdir(parents=True)
        return not_run(planned, "it died")


def repeating(folder: Path) -> tuple[Repeating, Breaking, list[PlannedTrial]]:
    """Trials in a lab that fails, and from which ones on links were measured."""
    lab = Breaking({}, (), TcpSettings())
    measured: list[PlannedTrial] = []
    folders = partial(attempt_folder, folder)
    return Repeating(lab, folders, listening()[0], measured.append, patient=False), lab, measured


def test_a_testbed_that_failed_is_made_anew_before_the_next_attempt_and_not_after_the_last(
    tmp_path: Path,
) -> None:
    made, lab, measured = repeating(tmp_path)
    assert [each.repeated for each in made.trial(Due(FIRST, 1, 3))] == [True, True, False]
    assert (lab.renewed, measured) == (2, [FIRST, FIRST])
    going_on = made.trial(Due(SECOND, 1, 3))
    next(going_on)
    assert (lab.renewed, measured) == (3, [FIRST, FIRST, SECOND])
    with pytest.raises(TestbedFailed, match="4 times in a row"):
        next(going_on)


def test_what_a_killed_attempt_left_is_not_taken_for_files_of_the_one_that_repeats_it(
    tmp_path: Path,
) -> None:
    made, _, _ = repeating(tmp_path)
    left, counted = tmp_path / f"{FIRST.trial}-2" / "trace.json.gz", tmp_path / FIRST.trial / "trace.json.gz"
    for path in (left, counted):
        path.parent.mkdir()
        path.touch()
    (again,) = made.trial(Due(FIRST, 2, 2))
    assert again.files == left.parent
    assert not left.exists()
    assert counted.exists()


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
