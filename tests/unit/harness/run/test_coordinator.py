"""What a coordinator says is due, and what it stores before an executor goes on."""

from __future__ import annotations

import io
import json
import shutil
import time
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from rich.console import Console

from harness.errors import EnvironmentLacks, Outcome, RecordsError
from harness.lab.lab import Archives
from harness.model.trials import PlannedTrial
from harness.model.underload import RateObservation
from harness.records import Record, RecordLine
from harness.run.attempts import ENGINE_MISSING
from harness.run.coordinator import Coordinator, PortraitLoads, Until, run_study
from harness.run.directory import RunDirectory, open_run
from harness.run.progress import Pace, PlainProgress
from harness.run.work import Attempted, Block, BlockLeft, Crew, CrewEvents, Due, Opened
from harness.study.plan import Found, key_of, of_trials, read_looks
from harness.study.planning import make_plan
from harness.study.study import Study
from harness.study.studyfile import parse_study
from sites.archive import Archive, write_archive
from sites.optimise.derive import derive
from sites.response import Response
from sites.warc import About
from tests.facts import tells
from tests.unit.harness.run.test_attempts import BUSY, PLAN, STUDY, record
from tests.unit.harness.study.kindstudies import REQUESTS
from tests.unit.harness.study.test_plan import PLAN as LOOKED
from tests.unit.harness.study.test_plan import counting, narrow


class Scripted:
    """A crew of one, whose attempts end as a list says, the later ones well. It notes what is stored as it goes on."""

    doubles = False
    name = None

    def __init__(self, folder: Path, ends: list[str | None] | None = None) -> None:
        self._folder = folder
        self._ends = iter(ends or [])
        self._made: Iterator[Attempted] | None = None
        self.is_idle = True
        self.blocks: list[Block] = []
        self.stored: list[int] = []

    @property
    def executors(self) -> tuple[Scripted]:
        return (self,)

    def take(self, block: Block) -> None:
        self.is_idle = False
        self.blocks.append(block)
        self._made = self._run(block)

    def heard(self) -> CrewEvents:
        assert self._made is not None
        assert not self.is_idle  # nobody waits for what has nothing to do
        made = next(self._made, None)
        self.is_idle = made is None
        return [(self, made or BlockLeft())]

    def close(self) -> CrewEvents:
        return ()

    def _run(self, block: Block) -> Iterator[Attempted]:
        for due in block.trials:
            for attempt in range(due.attempt, due.last + 1):
                left_out = self.outcome(due)
                repeated = left_out is not None and left_out != ENGINE_MISSING and attempt < due.last
                yield Attempted(RecordLine.of(self.made(due.planned, attempt, left_out)), repeated)
                self.stored.append(len(lines(self._folder)))
                if not repeated:
                    break

    def outcome(self, _due: Due) -> str | None:
        """Why an attempt does not count."""
        return next(self._ends, None)

    def made(self, planned: PlannedTrial, attempt: int, left_out: str | None) -> Record:
        return record(planned, attempt, left_out)


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


def listening() -> tuple[PlainProgress, io.StringIO]:
    said = io.StringIO()
    return PlainProgress(Console(file=said, width=200), Pace(len(PLAN.trials), 0)), said


def test_every_attempt_is_on_disk_before_the_next_one(tmp_path: Path) -> None:
    listener, _ = listening()
    with open_run(tmp_path / "run", PLAN) as run:
        coordinator = Coordinator(run, listener)
        executor = Scripted(run.folder, [BUSY, None, BUSY, BUSY, BUSY])
        coordinator.carry_out(executor)
        assert executor.stored == list(range(1, len(PLAN.trials) + 4))
        assert [(each["trial"], each["attempt"]) for each in lines(run.folder)][:6] == [
            ("00001", 1), ("00001", 2), ("00002", 1), ("00002", 2), ("00002", 3), ("00003", 1)
        ]  # fmt: skip
        assert run.standing().left == []
    counted = (f"{len(PLAN.trials) - 1} trials counted", "3 attempts repeated")
    assert tells([str(coordinator.summary)], *counted, "1 trial without a result", "1 busy-machine")


def test_a_block_that_was_cut_short_goes_on_with_the_next_attempt(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", PLAN) as run:
        for trial, attempt, left_out in ((0, 1, None), (1, 1, BUSY)):
            run.append(record(PLAN.trials[trial], attempt, left_out))
        executor = Scripted(run.folder)
        Coordinator(run, listening()[0]).carry_out(executor)
    first, *others = executor.blocks
    assert [(due.planned.trial, due.attempt, due.last) for due in first.trials] == [("00002", 2, 3)]
    assert [block.number for block in others] == [2, 3, 4, 5, 6]
    assert all(due.attempt == 1 for block in others for due in block.trials)


def test_all_of_a_block_is_to_come_again_where_another_executor_may_begin_it_again(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", PLAN) as run:
        run.append(record(PLAN.trials[0], 1, None))
        coordinator = Coordinator(run, listening()[0])
        assert coordinator.left == list(PLAN.trials[1:])
        assert coordinator.to_come == [*PLAN.trials, *PLAN.portraits.values()]
        bad = PLAN.trials[0].condition
        coordinator.standing.looks.note(0, [key_of(bad)], unmeasurable="its link is off")
        needed = [planned for planned in PLAN.trials if planned.condition != bad]
        assert coordinator.to_come == [*needed, *PLAN.portraits.values()]


def test_a_condition_that_never_counted_is_warned_of_once_and_gets_one_attempt(tmp_path: Path) -> None:
    listener, said = listening()
    with open_run(tmp_path / "run", PLAN) as run:
        bad = PLAN.trials[0].condition

        class Failing(Scripted):
            def outcome(self, due: Due) -> str | None:
                return "page-error" if due.planned.condition == bad else None

        executor = Failing(run.folder)
        Coordinator(run, listener).carry_out(executor)
    trials = [due for block in executor.blocks for due in block.trials]
    allowed = [due.last for due in trials if due.planned.condition == bad]
    assert allowed == [3, 3, 1, 1, 1, 1]
    assert said.getvalue().count("one attempt per block") == 1


def test_what_the_machine_cannot_measure_is_found_out_once(tmp_path: Path) -> None:
    plan = make_plan(parse_study(REQUESTS, "mine.toml"), 1)
    bad = plan.trials[0].condition
    listener, said = listening()

    class Saturated(Scripted):
        def outcome(self, due: Due) -> str | None:
            return "generator-saturated" if due.planned.condition == bad else None

        def made(self, planned: PlannedTrial, attempt: int, left_out: str | None) -> Record:
            return replace(
                record(planned, attempt, left_out), observation=RateObservation(requests_per_s=9.0)
            )

    with open_run(tmp_path / "run", plan) as run:
        executor = Saturated(run.folder)
        coordinator = Coordinator(run, listener)
        coordinator.carry_out(executor)
        tried = [due for block in executor.blocks for due in block.trials if due.planned.condition == bad]
        assert [(due.planned.block, due.last) for due in tried] == [(1, plan.attempts)]
        assert run.standing().left == []
        (look,) = map(json.loads, run.looks_path.read_text().splitlines())
        assert (look["block"], look["stopped"], look["unmeasurable"]) == (
            1,
            [str(bad)],
            "generator-saturated",
        )
    assert tells(said.getvalue(), f"{bad} cannot be measured", "generator-saturated")
    assert coordinator.summary.unmeasurable == plan.blocks - 1
    assert "not measurable" in str(coordinator.summary)
    assert read_looks(run.looks_path, plan).stopped == {
        trial.trial for trial in plan.trials if trial.condition == bad and trial.block > 1
    }


def test_a_block_that_is_run_again_elsewhere_is_stored_and_no_progress(tmp_path: Path) -> None:
    """Machine b makes all of the block that a made half of."""
    listener, said = listening()
    with open_run(tmp_path / "run", PLAN) as run:
        coordinator = Coordinator(run, listener)
        on_a = coordinator.next_block("a", ["a"], 0.0)
        assert on_a is not None
        first = on_a.trials[0]
        half = replace(record(first.planned, 1, None), machine="a")
        coordinator.store([Attempted(RecordLine.of(half), False)])
        coordinator.dispatch.ended("a", 1.0)
        while (block := coordinator.next_block("b", ["b"], 1.0)) is not None:
            many = [replace(record(due.planned, due.attempt, None), machine="b") for due in block.trials]
            coordinator.store([Attempted(RecordLine.of(each), False) for each in many])
            assert {due.restart for due in block.trials} == {int(block.number == 1)}
            coordinator.dispatch.ended("b", 1.0)
        assert len(lines(run.folder)) == len(PLAN.trials) + 1
    assert coordinator.summary.counted == len(PLAN.trials)
    assert said.getvalue().splitlines()[-1].startswith(f"{len(PLAN.trials)}/{len(PLAN.trials)} b: ")


def test_no_block_begins_when_the_time_is_up_and_the_run_goes_on_later(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", PLAN) as run:
        listener = listening()[0]
        coordinator, executor = Coordinator(run, listener, ends_s=time.monotonic()), Scripted(run.folder)
        coordinator.carry_out(executor)
        assert coordinator.is_time_up
        assert executor.blocks == []
        coordinator = Coordinator(run, listener, ends_s=100.0)
        first = coordinator.next_block("a", ["a"], 0.0)
        assert first is not None
        coordinator.store(
            [Attempted(RecordLine.of(record(due.planned, due.attempt, None)), False) for due in first.trials]
        )
        for _ in first.trials:
            coordinator.dispatch.trial_ended("a")
        coordinator.dispatch.ended("a", 60.0)
        assert coordinator.next_block("a", ["a"], 60.0) is None  # it would take another 60 s
        assert coordinator.is_time_up
        coordinator = Coordinator(run, listener, ends_s=time.monotonic() + 3600)
        coordinator.carry_out(Scripted(run.folder))
        assert run.standing().left == []


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

        class Noisy(Scripted):
            def made(self, planned: PlannedTrial, _attempt: int, _left_out: str | None) -> Record:
                return counting(planned)

        coordinator, executor = Coordinator(run, listening()[0], narrow), Noisy(run.folder)
        coordinator.carry_out(executor)
        assert run.standing().left == []
        made = sum(len(block.trials) for block in executor.blocks)
        assert coordinator.summary.not_needed == len(LOOKED.trials) - made == 9
    with open_run(tmp_path / "run", LOOKED) as run:
        assert Coordinator(run, listening()[0], narrow).left == []


@pytest.mark.parametrize("stopped", [1, 2])
def test_a_run_ends_when_a_look_stops_all_that_is_left(tmp_path: Path, stopped: int) -> None:
    """At the first look or a later one; nobody is waited for then."""
    looks = iter(range(1, stopped + 1))

    def enough(folder: Path, block: int) -> Found:
        every = {each.condition: each.trial for each in LOOKED.trials}
        return Found(of_trials(LOOKED, every.values() if next(looks) == stopped else ()), {})

    with open_run(tmp_path / "run", LOOKED) as run:
        coordinator, executor = Coordinator(run, listening()[0], enough), Scripted(run.folder)
        coordinator.carry_out(executor)
        assert run.standing().left == []
        assert executor.is_idle
        assert coordinator.summary.not_needed > 0


def test_portraits_come_after_all_trials_and_stand_among_none(tmp_path: Path) -> None:
    listener, said = listening()
    bad = PLAN.trials[0].condition
    with open_run(tmp_path / "run", PLAN) as run:

        class Failing(Scripted):
            def outcome(self, due: Due) -> str | None:
                return "page-error" if due.planned.condition == bad else None

        coordinator = Coordinator(run, listener)
        executor = Failing(run.folder)
        coordinator.carry_out(executor)
        measured = (run.folder / "records.jsonl").read_bytes()
        assert not run.standing().is_finished
        coordinator.portray(executor)
        assert (run.folder / "records.jsonl").read_bytes() == measured
        stored = [json.loads(line) for line in (run.folder / "portraits.jsonl").read_text().splitlines()]
        last = executor.blocks[-1].trials[0].planned
        assert last.condition != bad  # a page that failed each time has none
        assert [(each["trial"], each["portrait"]) for each in stored] == [(last.trial, True)]
        assert last.trial == f"portrait-{next(t.trial for t in PLAN.trials if t.condition == last.condition)}"
        assert run.standing().is_finished
        again = Failing(run.folder)
        Coordinator(run, listener).portray(again)
        assert again.blocks == []
    assert "1 portrait taken" in str(coordinator.summary)
    assert said.getvalue().count("portrait of") == 1


def archived(root: Path, text: bytes) -> Archive:
    page = Response("https://a.example/", 200, (("Content-Type", "text/html"),), text)
    return write_archive(root, "one", About(page.url, "test", "", ()), [page])


@pytest.mark.parametrize("variant", ["plain", "collapse_whitespace"])
@pytest.mark.parametrize("portraits", [True, False])
def test_a_run_that_is_measured_is_not_told_of_another_archive(
    variant: str, portraits: bool, tmp_path: Path
) -> None:
    text = f'variants = ["{variant}"]\nportraits = {str(portraits).lower()}\n{STUDY}'
    study, listener = parse_study(text, "mine.toml"), listening()[0]
    root = tmp_path / "archives"

    def told(run: RunDirectory) -> str:
        return str(run_study(study, run, root, listener, Until(), no_crew))

    original = archived(root, b"<p>A  page  as it was")
    made = original if variant == "plain" else derive(original, study.variants[0]).archive
    with open_run(tmp_path / "run", make_plan(study, 1)) as run:
        run.write_environment(
            {
                "programs": {"chromium": "Chromium 156"},
                "link": {"backend": "tun"},
                "archives": {made.name: {"digest": made.digest}},
            }
        )
        run.append(*(record(planned, 1, None) for planned in run.plan.trials))
        assert told(run)
        assert run.standing().is_finished is not portraits
        archived(root, b"<p>A  page  as it is now")
        with pytest.raises(RecordsError, match=f"begun with archive {made.name} {made.digest}"):
            told(run)
        shutil.rmtree(root)
        if not portraits:
            assert told(run)


def no_crew(_study: Study, _archives: Archives, _coordinator: Coordinator) -> AbstractContextManager[Crew]:
    raise EnvironmentLacks("there is no lab here")


@dataclass
class Idle:
    """An executor that was told what to do, and of which others tell what came of it."""

    name: str
    is_idle: bool = True

    def take(self, block: Block) -> None:
        raise NotImplementedError


def test_a_portrait_that_is_lost_with_its_executor_goes_to_another_one_once() -> None:
    first, second = PLAN.portraits.values()
    stored: list[CrewEvents] = []
    work = PortraitLoads(deque([first, second]), stored.append)

    def given(executor: str) -> PlannedTrial | None:
        block = work.next_block(executor, (), 0.0)
        return None if block is None else block.trials[0].planned

    assert (given("a"), given("b")) == (first, second)
    work.take_in([(Idle("a"), BlockLeft())])
    assert given("c") == first
    taken = Attempted(RecordLine.of(record(first, 1, None)), repeated=False)
    work.take_in([(Idle("c"), taken), (Idle("c"), BlockLeft()), (Idle("b"), BlockLeft())])
    assert given("c") == second
    assert given("d") is None
    assert not work.is_over
    work.take_in([(Idle("c"), BlockLeft())])
    assert work.is_over
    assert len(stored) == 3


def test_a_page_that_timed_out_each_time_has_no_portrait(tmp_path: Path) -> None:
    """Its time-outs count; one more would tell nothing."""
    bad = PLAN.trials[0].condition
    with open_run(tmp_path / "run", PLAN) as run:

        class Late(Scripted):
            def made(self, planned: PlannedTrial, attempt: int, left_out: str | None) -> Record:
                made = super().made(planned, attempt, left_out)
                late = planned.condition == bad
                return replace(made, outcome=Outcome.PAGE_TIMEOUT, reason="no load event") if late else made

        coordinator, executor = Coordinator(run, listening()[0]), Late(run.folder)
        coordinator.carry_out(executor)
        assert coordinator.summary.counted == len(PLAN.trials)
        for standing in (coordinator.standing, run.standing()):  # as it goes on, and as it is read
            assert [each.condition for each in standing.portraits_due] == [
                each.condition for each in PLAN.portraits.values() if each.condition != bad
            ]


def test_a_run_whose_time_is_up_takes_no_portraits(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", PLAN) as run:
        coordinator = Coordinator(run, listening()[0], ends_s=0.0)
        executor = Scripted(run.folder)
        coordinator.carry_out(executor)
        coordinator.portray(executor)
        assert executor.blocks == []


def test_a_portrait_that_comes_twice_at_once_is_stored_once(tmp_path: Path) -> None:
    """Of an executor that was thought lost, and of the one that took it up."""
    portrait = next(iter(PLAN.portraits.values()))
    with open_run(tmp_path / "run", PLAN) as run:
        coordinator = Coordinator(run, listening()[0])
        coordinator.store([Attempted(RecordLine.of(record(portrait, 1, None)), repeated=False)] * 2)
        assert [json.loads(line)["trial"] for line in run.portraits_path.read_text().splitlines()] == [
            portrait.trial
        ]
    assert coordinator.summary.portraits == 1


def test_machines_that_differ_may_come_in_any_order_and_are_stored_by_name_and_number(tmp_path: Path) -> None:
    one, other = (
        Opened(
            {"programs": {"chromium": version}, "link": {"backend": "tun"}, "archives": {}},
            {},
            machine,
            f"number of {machine}",
        )
        for machine, version in (("lab-a", "Chromium 156"), ("lab-b", "Chromium 157"))
    )
    for order in ((one, other), (other, one)):  # before a kill, and by the same command after it
        with open_run(tmp_path / "run", PLAN) as run:
            coordinator = Coordinator(run, listening()[0])
            for opened in order:
                coordinator.take_in([(Scripted(run.folder), opened)])
    assert [(machine.name, machine.number) for machine in run.machines()] == [
        (f"lab-{letter}", f"number of lab-{letter}") for letter in "abba"
    ]
