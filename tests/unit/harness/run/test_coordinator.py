"""What a coordinator says is due, and what it stores before an executor goes on."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from harness.records import RecordLine
from harness.run.attempts import ENGINE_MISSING
from harness.run.coordinator import Coordinator
from harness.run.directory import open_run
from harness.run.dispatch import Dispatch
from harness.run.progress import PlainProgress
from harness.run.work import Block, Made
from tests.unit.harness.run.test_attempts import BUSY, PLAN, record
from tests.unit.harness.study.test_plan import PLAN as LOOKED
from tests.unit.harness.study.test_plan import narrow, recorded


class Scripted:
    """An executor whose attempts end as a list says, the later ones well. It notes what is stored as it goes on."""

    def __init__(self, folder: Path, ends: list[str | None]) -> None:
        self._folder = folder
        self._ends = iter(ends)
        self.stored: list[int] = []

    def run(self, block: Block) -> Iterator[Made]:
        for due in block.trials:
            for attempt in range(due.attempt, due.last + 1):
                left_out = next(self._ends, None)
                repeated = left_out is not None and left_out != ENGINE_MISSING and attempt < due.last
                yield Made(record(due.planned, attempt, left_out), repeated, self._folder)
                self.stored.append(len(lines(self._folder)))
                if not repeated:
                    break


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


def listening() -> tuple[PlainProgress, io.StringIO]:
    said = io.StringIO()
    return PlainProgress(Console(file=said, width=200), len(PLAN.trials), 0), said


def test_every_attempt_is_on_disk_before_the_next_one(tmp_path: Path) -> None:
    listener, _ = listening()
    with open_run(tmp_path / "run", PLAN) as run:
        coordinator, executor = (
            Coordinator(run, listener),
            Scripted(run.folder, [BUSY, None, BUSY, BUSY, BUSY]),
        )
        for block in coordinator.blocks():
            for made in executor.run(block):
                coordinator.store(made)
        assert executor.stored == list(range(1, len(PLAN.trials) + 4))
        assert [(each["trial"], each["attempt"]) for each in lines(run.folder)][:6] == [
            ("00001", 1), ("00001", 2), ("00002", 1), ("00002", 2), ("00002", 3), ("00003", 1)
        ]  # fmt: skip
        assert run.standing().left == []
    assert str(coordinator.summary) == (
        f"{len(PLAN.trials) - 1} trials counted, 3 attempts repeated, "
        "1 trial without a result (1 busy-machine)"
    )


def test_a_block_that_was_cut_short_goes_on_with_the_next_attempt(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", PLAN) as run:
        for trial, attempt, left_out in ((0, 1, None), (1, 1, BUSY)):
            run.append(record(PLAN.trials[trial], attempt, left_out))
        first, *others = Coordinator(run, listening()[0]).blocks()
    assert [(due.planned.trial, due.attempt, due.last) for due in first.trials] == [("00002", 2, 3)]
    assert [block.number for block in others] == [2, 3, 4, 5, 6]
    assert all(due.attempt == 1 for block in others for due in block.trials)


def test_a_condition_that_never_counted_is_warned_of_once_and_gets_one_attempt(tmp_path: Path) -> None:
    listener, said = listening()
    with open_run(tmp_path / "run", PLAN) as run:
        coordinator = Coordinator(run, listener)
        bad = PLAN.trials[0].condition
        allowed = []
        for block in coordinator.blocks():
            allowed += [due.last for due in block.trials if due.planned.condition == bad]
            for due in block.trials:
                left_out = "page-timeout" if due.planned.condition == bad else None
                coordinator.store(Made(record(due.planned, 1, left_out), repeated=False, files=run.folder))
    assert allowed == [3, 3, 1, 1, 1, 1]
    assert said.getvalue().count("it gets one attempt per block until it does") == 1


def test_a_block_that_is_run_again_elsewhere_is_stored_and_no_progress(tmp_path: Path) -> None:
    """Machine b makes all of the block that a made half of."""
    listener, said = listening()
    with open_run(tmp_path / "run", PLAN) as run:
        coordinator = Coordinator(run, listener)
        dispatch = Dispatch(coordinator.standing, doubles=True)
        on_a = coordinator.next_block(dispatch, "a", ["a"], 0.0)
        assert on_a is not None
        first = on_a.trials[0]
        coordinator.store(Made(replace(record(first.planned, 1, None), machine="a"), False, run.folder))
        dispatch.ended("a", 1.0)
        while (block := coordinator.next_block(dispatch, "b", ["b"], 1.0)) is not None:
            many = [replace(record(due.planned, due.attempt, None), machine="b") for due in block.trials]
            coordinator.store_all([(RecordLine.of(each), False) for each in many])
            assert {due.restart for due in block.trials} == {int(block.number == 1)}
            dispatch.ended("b", 1.0)
        assert len(lines(run.folder)) == len(PLAN.trials) + 1
    assert coordinator.summary.counted == len(PLAN.trials)
    assert said.getvalue().splitlines()[-1].startswith(f"{len(PLAN.trials)}/{len(PLAN.trials)} b: ")


def test_no_more_lines_are_told_than_can_be_read() -> None:
    listener, said = listening()
    ended = RecordLine.of(record(PLAN.trials[0], 1, None))
    for _ in range(1000):
        listener.trial_ended(PLAN.trials[0], ended)
    told = said.getvalue().splitlines()
    assert told[0].startswith("1/")
    assert len(told) < 1000


def test_looks_are_taken_between_blocks_and_stop_conditions(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", LOOKED) as run:
        coordinator = Coordinator(run, listening()[0], narrow)
        made = []
        for block in coordinator.blocks():
            for due in block.trials:
                recorded(run, due.planned)
                made.append(due.planned)
        assert run.standing().left == []
        assert coordinator.summary.not_needed == len(LOOKED.trials) - len(made) == 9
    with open_run(tmp_path / "run", LOOKED) as run:
        assert list(Coordinator(run, listening()[0], narrow).blocks()) == []
