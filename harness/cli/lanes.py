"""How many lanes a machine carries: what `--lanes` takes, and how `coldload doctor --lanes` finds it out.

Lanes are carried when loads take as long while all lanes are busy as they take alone.
"""

from __future__ import annotations

import argparse
import math
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import configs
import harness
from harness.cli.archived import refuse_unless_archived
from harness.cli.failures import refuse_stalled
from harness.cli.making import make_first_needed
from harness.cli.paths import ARCHIVES_HERE, refuse_hidden
from harness.cli.telling import aligned, console, say
from harness.engines.browsers import browser_programs
from harness.errors import EnvironmentLacks, UsageError
from harness.input.shown import count_of
from harness.lab.environment import processor
from harness.model.engine import DEFAULT_ENGINE
from harness.model.kind import MAIN_METRIC, Kind
from harness.run.coordinator import archives_of
from harness.run.lanecrew import Carrying, LaneJob, LaneLoad, LaneLostError, assignment_of, lane_crew
from harness.run.lanes import (
    LEAST_CORES,
    LEAST_MEMORY,
    Lane,
    LaneMachine,
    LaneVerdict,
    divided,
    keep_lanes,
    known_lanes,
    most_lanes,
    warnings,
    worth_measuring,
)
from harness.run.progress import progress
from harness.run.work import Listener, conduct
from harness.study.planning import make_plan
from harness.study.study import Study
from harness.study.studyfile import read_study
from harness.system.enclosure import folder_for_an_enclosure
from harness.system.files import utc_now
from harness.system.topology import Topology, read_topology
from sites.archive import archives_root

AUTO = "auto"


MARGIN = 0.01  # of a load: what lanes may disturb each other
LEAST_COUNTED = 0.9  # of the rounds: attempts that a busy machine spoils are a disturbance, too
MOST_FORETOLD = 1000  # rounds
ALONE, BUSY = 0, 1
HEAD = ("protocol", "busy / alone", "95 % interval", "rounds", "")


ROUNDS = (3, 1000)
PHASES = 2  # of a round


def chosen_lanes(choice: str | None, kind: Kind) -> Sequence[Lane]:
    """The lanes of `--lanes N|auto`; none for one lane, which is a run as it always was."""
    if choice is None:
        return ()
    topology = read_topology()
    count = _known(topology) if choice == AUTO else _number(choice)
    if count > 1 and kind is not Kind.LOAD:
        raise UsageError(
            f"--lanes {choice}: lanes are for page loads; a study of kind {kind} measures what all cores can do"
        )
    lanes = divided(topology, count)
    if count == 1:
        return ()
    warned(lanes)
    say(lanes_told(lanes))
    return lanes


def this_machine(topology: Topology) -> LaneMachine:
    """The machine, with the versions that decide what a load takes of it."""
    engine = DEFAULT_ENGINE  # configs/lanes.toml names none
    versions = {"coldload": harness.__version__, engine.value: browser_programs()[engine]()}
    return LaneMachine(topology, processor(), versions)


def lanes_told(lanes: Sequence[Lane]) -> str:
    """As in `2 lanes, on CPUs 0,1; 2,3, with 3.9 GiB each`."""
    cpus = "; ".join(",".join(map(str, lane.cpus)) for lane in lanes)
    return f"{len(lanes)} lanes, on CPUs {cpus}, with {lanes[0].memory_gib} GiB each"


def warned(lanes: Sequence[Lane]) -> None:
    """Say what somebody who forces a number of lanes should know."""
    for warning in warnings(lanes):
        say(f"warning: {warning}")


def only_one(topology: Topology) -> str | None:
    """Why the machine carries one lane, whatever would be measured; None when there is room for several."""
    if most_lanes(topology) > 1:
        return None
    return (
        f"one lane: this process may use {topology}, "
        f"and a lane takes {LEAST_CORES} cores of one NUMA node and {LEAST_MEMORY / 2**30:g} GiB"
    )


def taken_by_auto(topology: Topology) -> str:
    """What `--lanes auto` takes by what is known now."""
    why = only_one(topology)
    if why is not None:
        return why
    count = known_lanes(this_machine(topology)).carries(worth_measuring(topology))
    if count is None:
        return "nothing yet: no number is known to be carried, and not all are known not to be"
    return count_of(count, "lane")


def _known(topology: Topology) -> int:
    why = only_one(topology)
    if why is not None:
        say(why)
        return 1
    machine = this_machine(topology)
    known = known_lanes(machine)
    count = known.carries(worth_measuring(topology))
    if count is None:
        when = "is not known yet"
        if known.outdated:
            now = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
            when = f"was measured with {known.outdated}, and not yet with {now}"
        raise EnvironmentLacks(
            f"--lanes {AUTO}: how many lanes this machine ({topology}) carries {when}; "
            "run `coldload doctor --lanes`, or give a number"
        )
    say(f"{count_of(count, 'lane')}, as measured on {max(known.taken_utc.values())} ({machine.path})")
    return count


def _number(choice: str) -> int:
    if not choice.isdecimal() or len(choice) > 4:
        raise UsageError(f"--lanes is {choice}; it must be a number of lanes, or {AUTO}")
    return int(choice)


class Told(StrEnum):
    """What is known of the loads of a protocol."""

    WITHIN = f"within {100 * MARGIN:g} %"
    BEYOND = f"more than {100 * MARGIN:g} % apart"
    LEFT_OUT = "too many loads left out while all lanes are busy"
    RESTLESS = "others disturb the machine: too many loads left out, also alone"
    UNKNOWN = "not known yet"


@dataclass(frozen=True)
class LaneFinding:
    """A protocol's loads while all lanes are busy, in units of those alone: estimate and 95 % interval of the ratio.

    `n` of the `rounds` hold both, `alone` the one alone. `why`: what most attempts that do not count were left out for.
    """

    protocol: str
    rounds: int
    alone: int
    n: int
    ratio: float
    low: float
    high: float
    why: str | None = None

    @property
    def told(self) -> Told:
        """The whole interval has to lie within the margin, over enough of the rounds."""
        if self.alone < LEAST_COUNTED * self.rounds:
            return Told.RESTLESS
        if self.n < LEAST_COUNTED * self.rounds:
            return Told.LEFT_OUT
        if self.low > 1 / (1 + MARGIN) and self.high < 1 + MARGIN:
            return Told.WITHIN
        if self.low >= 1 + MARGIN or self.high <= 1 / (1 + MARGIN):
            return Told.BEYOND
        return Told.UNKNOWN

    @property
    def rounds_needed(self) -> int | None:
        """About how many rounds would tell, in tens, were the estimate the truth; None when no number does."""
        reach, room = math.log(self.high / self.low) / 2, math.log1p(MARGIN) - abs(math.log(self.ratio))
        if math.isnan(reach) or room == 0:
            return None
        needed = math.ceil(self.rounds * (reach / room) ** 2 / 10) * 10
        return needed if self.rounds < needed <= MOST_FORETOLD else None

    def to_json(self) -> dict[str, Any]:
        """What is not known is null."""
        numbers = {key: getattr(self, key) for key in ("ratio", "low", "high")}
        known = {key: None if math.isnan(value) else value for key, value in numbers.items()}
        return {
            "protocol": self.protocol,
            "told": self.told.value,
            "rounds": self.rounds,
            "alone": self.alone,
            "n": self.n,
            **known,
        }

    def cells(self) -> Sequence[str]:
        """The finding as a row for a person, below HEAD."""
        told = str(self.told)
        if self.told in (Told.LEFT_OUT, Told.RESTLESS) and self.why:
            told += f" ({self.why})"
        if self.told is Told.UNKNOWN and self.rounds_needed:
            told += f": about {self.rounds_needed} rounds would tell"
        counted = f"{self.n} of {self.rounds}"
        if math.isnan(self.ratio):
            return self.protocol, "-", "-", counted, told
        bounds = "-" if math.isnan(self.low) else f"{_percent(self.low)} to {_percent(self.high)} %"
        return self.protocol, f"{_percent(self.ratio)} %", bounds, counted, told


def verdict_of(findings: Sequence[LaneFinding]) -> LaneVerdict:
    """Lanes are carried when no protocol is disturbed. Nothing is known where others disturb the machine."""
    told = {finding.told for finding in findings}
    if told == {Told.WITHIN}:
        return LaneVerdict.CARRIED
    if Told.RESTLESS not in told and told & {Told.BEYOND, Told.LEFT_OUT}:
        return LaneVerdict.NOT_CARRIED
    return LaneVerdict.UNKNOWN


def reason_of(findings: Sequence[LaneFinding]) -> str:
    """Why that is the verdict, and what to do."""
    margin = f"{100 * MARGIN:g} %"
    if any(finding.told is Told.RESTLESS for finding in findings):
        return "others use these cores; measure again when the machine is quiet"
    return {
        LaneVerdict.CARRIED: f"loads stay within {margin} while all lanes are busy",
        LaneVerdict.NOT_CARRIED: f"loads have to stay within {margin} while all lanes are busy",
        LaneVerdict.UNKNOWN: f"too few rounds to tell {margin}; measure again with more (--rounds)",
    }[verdict_of(findings)]


def findings_of(loads: Iterable[LaneLoad], protocols: Sequence[str], rounds: int) -> list[LaneFinding]:
    """A finding per protocol, by the statistic that reports compare conditions by."""
    import pandas as pd  # not before the loads

    from analysis.statistics.compare import Blocks, Certainty, compare

    rows = [
        {
            "run": "",
            "block": load.phase.round,
            "cell": BUSY if load.phase.busy else ALONE,
            "protocol": load.condition.protocol.value,
            "left_out": load.record.left_out,
            MAIN_METRIC: load.record.figure,
        }
        for load in loads
    ]
    table = pd.DataFrame(rows, columns=["run", "block", "cell", "protocol", "left_out", MAIN_METRIC])
    findings = []
    for protocol in protocols:
        mine = table[table["protocol"] == protocol]
        reasons = Counter(mine["left_out"].dropna()).most_common(1)
        blocks = Blocks(mine[mine["left_out"].isna()], MAIN_METRIC)
        seen = compare(blocks, BUSY, ALONE, Certainty(MARGIN))
        findings.append(
            LaneFinding(
                protocol,
                rounds,
                blocks.values(ALONE).size,
                seen.n,
                seen.ratio,
                seen.low,
                seen.high,
                f"{reasons[0][0]}, {reasons[0][1]} attempts" if reasons else None,
            )
        )
    return findings


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.2f}"


def measure_lanes(arguments: argparse.Namespace, number: int | None, rounds: int) -> int:
    """Measure which number of lanes is carried, or whether this number is (exit code 1: it is not), and store it for
    `--lanes auto`.
    """
    refuse_stalled()
    low, high = ROUNDS
    if not low <= rounds <= high:
        raise UsageError(f"--rounds is {rounds}; it must be {low} to {high}")
    topology = read_topology()
    if number == 1:
        say("one lane is a run as it always was; there is nothing to measure")
        return 0
    if number is not None:
        verdict = _measured(arguments, topology, number, rounds)
        _say_what_auto_takes(topology)
        return 0 if verdict is LaneVerdict.CARRIED else 1
    why = only_one(topology)
    if why is not None:
        say(f"{why}; there is nothing to measure, and `coldload run --lanes auto` takes one")
        return 0
    for count in worth_measuring(topology):
        if _measured(arguments, topology, count, rounds) is LaneVerdict.CARRIED:
            break
    _say_what_auto_takes(topology)
    return 0


def _say_what_auto_takes(topology: Topology) -> None:
    machine = this_machine(topology)
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    say(f"`coldload run --lanes auto` takes {taken_by_auto(topology)}")
    say(f"stored in {machine.path}; it holds for this machine ({topology}) with {versions}")


def _measured(arguments: argparse.Namespace, topology: Topology, count: int, rounds: int) -> LaneVerdict:
    """Measure so many lanes, say what came out, and store it."""
    lanes = divided(topology, count)
    study = read_study(configs.FOLDER / "lanes.toml")
    refuse_hidden({ARCHIVES_HERE: archives_root()})
    make_first_needed(arguments, study.conditions)
    refuse_unless_archived(study)
    machine = this_machine(topology)
    known_lanes(machine)  # a damaged file is told of now, and not after all these loads
    warned(lanes)
    say(f"{lanes_told(lanes)}: {rounds} rounds of loads, alone and with all lanes busy")
    findings = _findings(study, lanes, rounds)
    for line in aligned([HEAD, *(finding.cells() for finding in findings)]):
        say(f"  {line}")
    verdict = verdict_of(findings)
    say(f"{count} lanes: {verdict}: {reason_of(findings)}")
    keep_lanes(machine, count, verdict, utc_now(), [finding.to_json() for finding in findings])
    return verdict


def _findings(study: Study, lanes: Sequence[Lane], rounds: int) -> list[LaneFinding]:
    with progress(console(), rounds * PHASES * len(study.conditions), 0) as listener:
        loads = _loads(study, lanes, rounds, listener)
    return findings_of(loads, [protocol.value for protocol in study.protocols], rounds)


def _loads(study: Study, lanes: Sequence[Lane], rounds: int, listener: Listener) -> list[LaneLoad]:
    trials = make_plan(study, 0).trials
    with folder_for_an_enclosure() as folder:
        archives = archives_of(study, archives_root(), listener)
        assigned = assignment_of(study, archives, trials, folder)
        assignment = replace(assigned, patient=False)  # a lane that waits keeps no other one busy

        def job(lane: Lane) -> LaneJob:
            return assignment, listener.of_lane(lane.number)

        try:
            with lane_crew(lanes, job, listener.warned, least=len(lanes)) as crew:
                carrying = Carrying(lanes, rounds, study.conditions, secrets.randbits(32), listener)
                conduct(crew, carrying)
                return carrying.loads
        except LaneLostError as lost:
            listener.warned(f"{lost}; nothing is known of {len(lanes)} lanes")
            raise lost.failure from lost
