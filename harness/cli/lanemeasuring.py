"""`coldload doctor --lanes`: how many lanes the machine carries, measured."""

from __future__ import annotations

import argparse
import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

from harness.cli.archived import refuse_unless_archived
from harness.cli.arguments.doctor import MOST
from harness.cli.console import console
from harness.cli.enclosing import refuse_stalled
from harness.cli.lanechoice import only_one, taken_by_auto, this_machine, told, warned
from harness.cli.lanefinding import HEAD, LaneFinding, findings_of, reason_of, verdict_of
from harness.cli.plaintext import aligned, say
from harness.errors import UsageError
from harness.run.carrying import Carrying, LaneLoad
from harness.run.knownlanes import LaneVerdict, keep_lanes, known_lanes
from harness.run.lanes import Lane, divided, worth_measuring
from harness.run.listener import Listener
from harness.run.progress import progress
from harness.run.runninglane import LaneLostError, running_lanes
from harness.run.sidebyside import assignment_of, in_lane
from harness.study.planning import make_plan
from harness.study.study import Study
from harness.study.studyfile import read_study
from harness.system.clock import utc_now
from harness.system.topology import Topology, read_topology
from sites.archive import archives_root

ROUNDS = (3, 1000)
PHASES = 2  # of a round


def measure_lanes(arguments: argparse.Namespace) -> int:
    """Measure which number of lanes is carried, or whether the number that is given is (exit code 1: it is not), and
    store it for `--lanes auto`.
    """
    refuse_stalled()
    low, high = ROUNDS
    if not low <= arguments.rounds <= high:
        raise UsageError(f"--rounds is {arguments.rounds}; it must be {low} to {high}")
    topology = read_topology()
    if arguments.lanes == 1:
        say("one lane is a run as it always was; there is nothing to measure")
        return 0
    if arguments.lanes != MOST:
        verdict = _measured(topology, arguments.lanes, arguments.rounds)
        _say_what_auto_takes(topology)
        return 0 if verdict is LaneVerdict.CARRIED else 1
    why = only_one(topology)
    if why is not None:
        say(f"{why}; there is nothing to measure, and `coldload run --lanes auto` takes one")
        return 0
    for count in worth_measuring(topology):
        if _measured(topology, count, arguments.rounds) is LaneVerdict.CARRIED:
            break
    _say_what_auto_takes(topology)
    return 0


def _say_what_auto_takes(topology: Topology) -> None:
    machine = this_machine(topology)
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    say(f"`coldload run --lanes auto` takes {taken_by_auto(topology)}")
    say(f"stored in {machine.path}; it holds for this machine ({topology}) with {versions}")


def _measured(topology: Topology, count: int, rounds: int) -> LaneVerdict:
    """Measure so many lanes, say what came out, and store it."""
    lanes = divided(topology, count)
    study = read_study(Path(str(resources.files("configs"))) / "lanes.toml")
    refuse_unless_archived(study)
    machine = this_machine(topology)
    known_lanes(machine)  # a damaged file is told of now, and not after all these loads
    warned(lanes)
    say(f"{told(lanes)}: {rounds} rounds of loads, alone and with all lanes busy")
    found = _findings(study, lanes, rounds)
    for line in aligned([HEAD, *(each.cells() for each in found)]):
        say(f"  {line}")
    verdict = verdict_of(found)
    say(f"{count} lanes: {verdict}: {reason_of(found)}")
    keep_lanes(machine, count, verdict, utc_now(), [each.to_json() for each in found])
    return verdict


def _findings(study: Study, lanes: Sequence[Lane], rounds: int) -> list[LaneFinding]:
    with progress(console(), rounds * PHASES * len(study.conditions), 0) as listener:
        loads = _loads(study, lanes, rounds, listener)
    return findings_of(loads, [each.value for each in study.protocols], rounds)


def _loads(study: Study, lanes: Sequence[Lane], rounds: int, listener: Listener) -> list[LaneLoad]:
    trials = make_plan(study, 0).trials
    with tempfile.TemporaryDirectory(prefix="coldload-lanes-") as folder:
        assigned = assignment_of(study, trials, Path(folder), archives_root(), listener)
        assignment = replace(assigned, patient=False)  # a lane that waits keeps no other one busy
        jobs = [(lane, in_lane(assignment, lane), listener.of_lane(lane.number)) for lane in lanes]
        try:
            with running_lanes(jobs) as running:
                carrying = Carrying(running, study.conditions, secrets.randbits(32), listener)
                return list(carrying.loads(rounds))
        except LaneLostError as lost:
            listener.warned(f"{lost}; nothing is known of {len(lanes)} lanes")
            raise lost.failure from lost
