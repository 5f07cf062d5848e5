"""The lanes that a command line chooses."""

from __future__ import annotations

from collections.abc import Sequence

import harness
from harness.cli.plaintext import say
from harness.errors import EnvironmentLacks, UsageError
from harness.lab.environment import processor
from harness.model.engine import Engine
from harness.model.kind import Kind
from harness.run.knownlanes import LaneMachine, known_lanes
from harness.run.lanes import LEAST_CORES, LEAST_MEMORY, Lane, divided, most_lanes, warnings, worth_measuring
from harness.system.topology import Topology, read_topology
from harness.trial.browsers import browser_programs

AUTO = "auto"


def chosen_lanes(choice: str | None, kind: Kind) -> Sequence[Lane]:
    """The lanes of `--lanes N|auto`; none for one lane, which is a run as it always was."""
    if choice is None:
        return ()
    topology = read_topology()
    count = _measured(topology) if choice == AUTO else _number(choice)
    if count > 1 and kind is not Kind.LOAD:
        raise UsageError(
            f"--lanes {choice}: lanes are for page loads; a study of kind {kind} measures what all cores can do"
        )
    lanes = divided(topology, count)
    if count == 1:
        return ()
    warned(lanes)
    say(told(lanes))
    return lanes


def this_machine(topology: Topology) -> LaneMachine:
    """The machine, with the versions that decide what a load takes of it."""
    versions = {"coldload": harness.__version__, "chromium": browser_programs()[Engine.CHROMIUM]()}
    return LaneMachine(topology, processor(), versions)


def told(lanes: Sequence[Lane]) -> str:
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
    return _lanes(count)


def _measured(topology: Topology) -> int:
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
    say(f"{_lanes(count)}, as measured on {max(known.taken_utc.values())} ({machine.path})")
    return count


def _lanes(count: int) -> str:
    return f"{count} lane{'s' * (count != 1)}"


def _number(choice: str) -> int:
    if not choice.isdecimal() or len(choice) > 4:
        raise UsageError(f"--lanes is {choice}; it must be a number of lanes, or {AUTO}")
    return int(choice)
