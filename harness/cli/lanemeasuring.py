"""`coldload doctor --lanes`: how many lanes the machine carries, measured."""

from __future__ import annotations

import argparse
import secrets
import tempfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from harness.cli.archived import refuse_unless_archived
from harness.cli.console import console
from harness.cli.enclosing import refuse_stalled
from harness.cli.lanechoice import cpus_of, only_one, warned
from harness.cli.lanefinding import MARGIN, LaneFinding, findings_of
from harness.cli.plaintext import aligned, say
from harness.errors import UsageError
from harness.run.carrying import Carrying
from harness.run.knownlanes import keep_lanes
from harness.run.lanes import Lane, divided, worth_measuring
from harness.run.progress import PlainProgress
from harness.run.runninglane import LaneLostError, running_lanes
from harness.run.sidebyside import assignment_of, in_lane
from harness.study.plan import make_plan
from harness.study.study import Study
from harness.study.studyfile import read_study
from harness.system.topology import read_topology
from harness.testbed.environment import processor
from sites.archive import archives_root

ROUNDS = (3, 1000)


def measure_lanes(arguments: argparse.Namespace) -> int:
    """Measure the number of lanes, and store it for `--lanes auto`; of a number that is given, say whether it is
    carried (exit code 1: it is not), and store nothing.
    """
    refuse_stalled()
    low, high = ROUNDS
    if not low <= arguments.rounds <= high:
        raise UsageError(f"--rounds is {arguments.rounds}; it must be {low} to {high}")
    topology = read_topology()
    study = read_study(Path(str(resources.files("configs"))) / "lanes.toml")
    refuse_unless_archived(study)
    if arguments.lanes:
        lanes = divided(topology, arguments.lanes)
        return 0 if _carried(_findings(study, lanes, arguments.rounds)) else 1
    why = only_one(topology)
    if why is not None:
        say(why)
        return 0
    carried, found = 1, list[LaneFinding]()
    for count in worth_measuring(topology):
        found = _findings(study, divided(topology, count), arguments.rounds)
        if _carried(found):
            carried = count
            break
    kept = keep_lanes(topology, processor(), carried, [each.to_json() for each in found])
    say(f"this machine ({topology}) carries {carried} lane{'s' * (carried != 1)}; stored in {kept}")
    return 0


def _carried(found: Sequence[LaneFinding]) -> bool:
    return all(each.carried for each in found)


def _findings(study: Study, lanes: Sequence[Lane], rounds: int) -> list[LaneFinding]:
    """Measure so many lanes, and say what came out."""
    warned(lanes)
    say(
        f"{len(lanes)} lanes, on CPUs {cpus_of(lanes)}: {rounds} rounds of loads, alone and with all lanes busy"
    )
    watcher = PlainProgress(console(), 0, 0)
    trials = make_plan(study, 0).trials
    with tempfile.TemporaryDirectory(prefix="coldload-lanes-") as folder:
        assignment = assignment_of(study, trials, Path(folder), archives_root(), watcher)
        jobs = [(lane, in_lane(assignment, lane), watcher.of_lane(lane.number)) for lane in lanes]
        try:
            with running_lanes(jobs) as running:
                loads = list(Carrying(running, study.conditions, secrets.randbits(32)).loads(rounds))
        except LaneLostError as lost:
            raise lost.failure from lost
    found = findings_of(loads, [each.value for each in study.protocols], rounds)
    for line in aligned([each.cells() for each in found]):
        say(f"  {line}")
    verdict = "carried" if _carried(found) else f"not carried: loads have to stay within {MARGIN:.0%}"
    say(f"{len(lanes)} lanes: {verdict}")
    return found
