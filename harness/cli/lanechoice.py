"""The lanes that a command line chooses."""

from __future__ import annotations

from collections.abc import Sequence

from harness.cli.plaintext import say
from harness.errors import EnvironmentLacks, UsageError
from harness.model.kind import Kind
from harness.run.knownlanes import known_lanes
from harness.run.lanes import LEAST_CORES, LEAST_MEMORY, Lane, divided, most_lanes, warnings
from harness.system.topology import Topology, read_topology
from harness.testbed.environment import processor

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
    say(f"{count} lanes, on CPUs {cpus_of(lanes)}")
    return lanes


def cpus_of(lanes: Sequence[Lane]) -> str:
    """Those of every lane, as in `0,1; 2,3`."""
    return "; ".join(",".join(map(str, lane.cpus)) for lane in lanes)


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


def _measured(topology: Topology) -> int:
    why = only_one(topology)
    if why is not None:
        say(why)
        return 1
    known = known_lanes(topology, processor())
    if known is None:
        raise EnvironmentLacks(
            f"--lanes {AUTO}: how many lanes this machine ({topology}) carries was not measured yet; "
            "run `coldload doctor --lanes`, or give a number"
        )
    return known


def _number(choice: str) -> int:
    if not choice.isdecimal() or len(choice) > 4:
        raise UsageError(f"--lanes is {choice}; it must be a number of lanes, or {AUTO}")
    return int(choice)
