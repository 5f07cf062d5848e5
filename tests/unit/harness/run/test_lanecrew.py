"""Blocks in lanes: real processes that speak as labs do, but load nothing."""

from __future__ import annotations

import contextlib
import io
import json
import re
import resource
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from harness.errors import StorageFailed
from harness.run.coordinator import Coordinator
from harness.run.directory import open_run
from harness.run.labprocess import Assignment
from harness.run.lanecrew import Carrying, LaneJob, LaneLostError, lane_crew
from harness.run.lanes import Lane
from harness.run.progress import Pace, PlainProgress
from harness.run.work import Listener, conduct
from harness.study.plan import Enough, Found, Plan
from harness.study.studyfile import parse_study
from harness.system.files import is_temporary
from harness.system.program import Command
from harness.system.topology import Core
from tests.unit.harness.run.test_attempts import PLAN, STUDY
from tests.unit.harness.study.test_plan import PLAN as LOOKED
from tests.unit.harness.study.test_plan import STUDY as WITH_LOOKS
from tests.unit.harness.study.test_plan import narrow

# A lane that loads nothing. The first one to come to block DIES goes without a word, after so many of its trials.
LANE = """
import os, sys
from pathlib import Path
from harness.probes.registry import Observation
from harness.errors import Outcome
from harness.records import Record
from harness.run.labprocess import DONE, ENTERED, MADE, READY, of_line, to_line
from harness.run.work import Made

def say(kind, content):
    print(to_line((kind, content)), flush=True)

say(ENTERED, None)
assignment = of_line(sys.stdin.readline())
say("preparing", ("servers",))
say(READY, ({"link": {"backend": "none"}, "programs": {"chromium": "1"}, "archives": {}}, {}))
while line := sys.stdin.readline():
    block, made = of_line(line), 0
    for due in block.trials:
        made += 1
        if block.number == DIES and made > AFTER and not (assignment.run / "died").exists():
            (assignment.run / "died").touch()
            print("of its own", file=sys.stderr)
            os._exit(1)
        noise = 0.0 if due.planned.condition.protocol == "h2" else block.number * 10.0
        seen = Observation(plt_ms=100.0 + noise)
        which = {"attempt": due.attempt, "restart": due.restart}
        record = Record(due.planned, Outcome.OK, None, "2026-01-01T00:00:00.000Z", seen, 1.0, **which)
        say(MADE, Made(record, repeated=False, files=Path()))
        sys.stdin.readline()
    say(DONE, None)
"""


def lane_program(dies: int | None = None, after: int = 0) -> Command:
    program = LANE.replace("DIES", repr(dies)).replace("AFTER", repr(after))
    return Command.of(sys.executable, "-P", "-c", program).dying_with_us()


def lanes_of(count: int) -> list[Lane]:
    """Lanes on the first CPU."""
    return [Lane(number, (Core(0, (0,)),), 2**30) for number in range(1, count + 1)]


def jobs(run: Path, listener: Listener) -> Callable[[Lane], LaneJob]:
    assignment = Assignment(parse_study(STUDY, "mine.toml"), {}, (), run, run / "trials", patient=False)
    return lambda lane: (assignment, listener.of_lane(lane.number))


def carried_out(
    folder: Path,
    text: str,
    plan: Plan,
    count: int,
    program: Command,
    enough: Enough | None = None,
) -> tuple[Coordinator, str]:
    said = io.StringIO()
    listener = PlainProgress(Console(file=said, width=200), Pace(len(plan.trials), 0))
    with open_run(folder, plan) as run:
        coordinator = Coordinator(run, listener, enough)
        with lane_crew(lanes_of(count), jobs(folder, listener), listener.warned, program=program) as crew:
            coordinator.carry_out(crew)
        assert run.standing().left == []
    return coordinator, said.getvalue()


def lanes_of_blocks(folder: Path) -> dict[int, list[int]]:
    found = defaultdict(list)
    for line in (folder / "records.jsonl").read_text().splitlines():
        record = json.loads(line)
        found[record["block"]].append(record["lane"])
    return found


# A lane that measures its link with its first block.
CALIBRATING = (
    LANE.replace("DIES", "None")
    .replace("AFTER", "0")
    .replace(
        "    block, made = of_line(line), 0\n",
        """    block, made = of_line(line), 0
    from harness.lab.calibration import Calibration
    link = block.trials[0].planned.condition.link
    say("calibrated", (Calibration(link, "none", None, "2026-01-01T00:00:00Z", {}),))
""",
    )
)


def test_a_full_disk_ends_the_run_and_is_no_fault_of_a_lane(tmp_path: Path) -> None:
    """No file grows beyond a limit, which the readings of links have reached."""
    said = io.StringIO()
    listener = PlainProgress(Console(file=said, width=200), Pace(len(PLAN.trials), 0))
    program = Command.of(sys.executable, "-P", "-c", CALIBRATING).dying_with_us()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_run(tmp_path / "run", PLAN) as run:
        coordinator = Coordinator(run, listener)
        readings = run.folder / "calibration.jsonl"
        readings.write_text("{}\n" * 1_000_000)
        assignment, _ = jobs(run.folder, listener)(lanes_of(1)[0])

        def job(lane: Lane) -> LaneJob:
            return assignment, coordinator.watcher(listener.of_lane(lane.number), lane=lane.number, lanes=2)

        with lane_crew(lanes_of(2), job, listener.warned, program=program) as crew:
            resource.setrlimit(resource.RLIMIT_FSIZE, (readings.stat().st_size, limits[1]))
            try:
                with pytest.raises(StorageFailed, match=r"cannot append to .*calibration\.jsonl: "):
                    coordinator.carry_out(crew)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "has ended" not in said.getvalue()


# A lane that fails in some way.
FAILING = """
import sys, time
from pathlib import Path
from harness.errors import EnvironmentLacks
from harness.run.labprocess import FAILED, to_line
SLEEPS = False
print(to_line((FAILED, EnvironmentLacks("no rights here"))), flush=True)
while SLEEPS:
    time.sleep(1)
"""


def failing(*, lives_on: bool) -> Command:
    program = FAILING.replace("SLEEPS = False", f"SLEEPS = {lives_on}")
    return Command.of(sys.executable, "-P", "-c", program).dying_with_us()


def test_a_lane_that_is_told_to_have_ended_has_ended(tmp_path: Path) -> None:
    said = io.StringIO()
    listener = PlainProgress(Console(file=said, width=200), Pace(1, 0))
    with lane_crew(
        lanes_of(2), jobs(tmp_path, listener), listener.warned, program=failing(lives_on=True)
    ) as crew:
        both = crew.executors
        assert is_temporary(both[0].lab.process.log.parent.name)  # so that it goes also after a kill
        while len(crew.executors) == len(both):
            with contextlib.suppress(LaneLostError):  # both at once
                crew.heard()
        (first, *_) = (lane for lane in both if lane not in crew.executors)
        assert not first.lab.process.alive
    assert "has ended: no rights here; the others go on" in said.getvalue()


def test_a_lane_that_ends_before_it_has_heard_what_for_says_why(tmp_path: Path) -> None:
    """However long that is: a pipe holds a part of it."""
    listener = PlainProgress(Console(file=io.StringIO(), width=200), Pace(1, 0))
    assignment, watcher = jobs(tmp_path, listener)(lanes_of(1)[0])
    trials = tuple(replace(PLAN.trials[0], trial=f"{number:05d}") for number in range(10_000))
    long = replace(assignment, trials=trials)
    with (
        lane_crew(
            lanes_of(1), lambda _: (long, watcher), listener.warned, program=failing(lives_on=False)
        ) as crew,
        pytest.raises(LaneLostError, match=r"lane 1 has ended: no rights here$"),
    ):
        crew.heard()


@pytest.mark.thorough
def test_every_block_stays_in_one_lane(tmp_path: Path) -> None:
    coordinator, said = carried_out(tmp_path / "run", STUDY, PLAN, 2, lane_program())
    found = lanes_of_blocks(tmp_path / "run")
    assert sorted(found) == [1, 2, 3, 4, 5, 6]
    assert all(lanes in ([1, 1], [2, 2]) for lanes in found.values())
    assert coordinator.summary.counted == len(PLAN.trials)
    environment = json.loads((tmp_path / "run" / "environment.json").read_text())
    assert environment["lanes"] == [
        {"lane": 1, "cpus": [0], "memory_gib": 1.0},
        {"lane": 2, "cpus": [0], "memory_gib": 1.0},
    ]
    assert "continued" not in environment
    assert "lane 1: servers" in said


@pytest.mark.thorough
def test_what_a_dead_lane_leaves_is_done_by_another(tmp_path: Path) -> None:
    coordinator, said = carried_out(tmp_path / "run", STUDY, PLAN, 2, lane_program(dies=2))
    found = lanes_of_blocks(tmp_path / "run")
    assert all(lanes in ([1, 1], [2, 2]) for lanes in found.values())
    assert coordinator.summary.counted == len(PLAN.trials)
    assert re.search(r"warning: lane [12] has ended: .*\(exit code 1\): of its own; .*others go on", said)


@pytest.mark.thorough
def test_when_the_last_lane_dies_the_run_ends_with_its_error(tmp_path: Path) -> None:
    with pytest.raises(LaneLostError, match="of its own"):
        carried_out(tmp_path / "run", STUDY, PLAN, 1, lane_program(dies=2))
    assert set(lanes_of_blocks(tmp_path / "run")) == {1}
    carried_out(tmp_path / "run", STUDY, PLAN, 1, lane_program())  # the same command goes on
    assert sum(map(len, lanes_of_blocks(tmp_path / "run").values())) == len(PLAN.trials)


@pytest.mark.thorough
def test_a_block_is_not_gone_on_with_by_a_lane_of_another_number_of_lanes(tmp_path: Path) -> None:
    """The first of two lanes has other cores than the only one."""
    run = tmp_path / "run"
    with pytest.raises(LaneLostError, match="of its own"):
        carried_out(run, STUDY, PLAN, 1, lane_program(dies=2, after=1))
    carried_out(run, STUDY, PLAN, 2, lane_program())
    made = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    second = [(each["lane"], each["lanes"], each.get("restart", 0)) for each in made if each["block"] == 2]
    assert second[0] == (1, 1, 0)
    assert [each[1:] for each in second[1:]] == [(2, 1), (2, 1)]
    assert len({each[0] for each in second[1:]}) == 1


@pytest.mark.thorough
def test_looks_wait_for_all_blocks_before_them(tmp_path: Path) -> None:
    blocks_seen: list[tuple[int, set[int]]] = []

    def enough(folder: Path, block: int) -> Found:
        blocks_seen.append((block, set(lanes_of_blocks(folder))))
        return narrow(folder, block)

    coordinator, _ = carried_out(tmp_path / "run", WITH_LOOKS, LOOKED, 3, lane_program(), enough)
    assert [block for block, _ in blocks_seen] == [3, 4, 5, 7, 8, 10, 12][: len(blocks_seen)]
    assert all(blocks == set(range(1, block + 1)) for block, blocks in blocks_seen)
    assert coordinator.summary.not_needed == 9


@pytest.mark.thorough
def test_others_are_busy_while_a_lane_is_looked_at(tmp_path: Path) -> None:
    study = parse_study(STUDY, "mine.toml")
    said = io.StringIO()
    watcher = PlainProgress(Console(file=said, width=200), Pace(16, 0))
    job = jobs(tmp_path, watcher)
    with lane_crew(lanes_of(2), job, watcher.warned, least=2, program=lane_program()) as crew:
        carrying = Carrying(lanes_of(2), 4, study.conditions, 1, watcher)
        conduct(crew, carrying)
    loads = carrying.loads
    phases_of = defaultdict(list)
    for load in loads:
        phases_of[load.phase.round, load.phase.busy].append(load.condition)
    assert len(loads) == 4 * 2 * 2
    assert all(set(cells) == set(study.conditions) for cells in phases_of.values())
    assert {load.phase.lane for load in loads} == {1, 2}
    lines = said.getvalue().splitlines()
    assert sorted(line for line in lines if line.startswith("round 2: ")) == [
        "round 2: lane 2, all lanes busy",
        "round 2: lane 2, alone",
    ]
    assert lines[-1].startswith("16/16 lane 2 of 2: ")
