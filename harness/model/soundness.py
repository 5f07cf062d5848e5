"""Why an attempt does not count: what a mechanical reason is, those of all kinds, and those of a server under load.

A reason looks at the record of one attempt alone, and never at how long its load took compared with others. Where a
number was not observed, the reason that needs it does not apply. Those of loads stand in their probes.

A load that timed out counts: it tells of its condition, as the longest time of all. It is not repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from harness.errors import Outcome

Keys = tuple[str, ...]  # that lead to a value in a record: ("link_reading", "down", "bytes_out")

OUTCOME: Keys = ("outcome",)
LOAD_MS: Keys = ("plt_ms",)
DURATION_S: Keys = ("duration_s",)
LIMITED_BY: Keys = ("limited_by",)
FOREIGN_CPU: Keys = ("foreign_cpu_share",)
IDLE_CPU: Keys = ("cpu_idle_share",)

SERVER_CPU = "server-cpu"  # a value of `limited_by`

OUTCOMES = [outcome.value for outcome in Outcome]
MEANINGS: Mapping[Outcome, str] = {
    Outcome.PAGE_TIMEOUT: "the page did not finish loading in time",
    Outcome.PAGE_ERROR: "the browser could not load the page",
    Outcome.WRONG_PROTOCOL: "a request did not use the protocol of its condition",
    Outcome.WRONG_CACHE: "the browser's cache was not as its condition names it",
    Outcome.MISSING_OBJECTS: "objects of the page were not served",
    Outcome.TESTBED_FAILED: "a part of the testbed failed",
}


@dataclass(frozen=True)
class Limit:
    """The most that a number of a record may be; `unit` makes it a share of the time that the trial measured.

    A number is then a time in so many of the units of that, and a long trial is no more likely to exceed the limit than
    a short one that is disturbed as often.
    """

    reads: Keys
    most: float
    unit: float | None = None

    def exceeded(self, value: float | None, measured: float | None) -> bool:
        if value is None or self.unit is None:
            return value is not None and value > self.most
        return measured is not None and measured > 0 and value * self.unit / measured > self.most


@dataclass(frozen=True)
class Reason:
    """A reason why an attempt does not count. `applies` takes the values of what it `reads`, None for no value.

    `machine`: the machine was at fault, so that it helps to wait before the next attempt. `spares`: metrics that stay
    valid.
    """

    name: str
    meaning: str
    reads: tuple[Keys, ...]
    applies: Callable[..., bool]
    machine: bool = False
    spares: frozenset[str] = frozenset()


def ended_as(outcome: Outcome, meaning: str) -> Reason:
    return Reason(outcome.value, meaning, (OUTCOME,), lambda found: found == outcome.value)


def disturbed(
    name: str,
    meaning: str,
    limits: Sequence[Limit],
    instead: Limit,
    time: Keys = LOAD_MS,
    untimed: Limit | None = None,
) -> Reason:
    """The machine disturbed the trial: all limits are exceeded. `time` is how long the trial measured.

    `instead` decides where one of their numbers is missing, as where the kernel does not tell; `untimed` where the
    trial has no time, as it timed out.
    """
    read = (*limits, instead) if untimed is None else (*limits, instead, untimed)

    def applies(took: object, *values: object) -> bool:
        told = [*map(number, values)]
        measured = number(took)
        if measured is None and untimed is not None:
            return untimed.exceeded(told[-1], measured)
        wanted, substitute = told[: len(limits)], told[len(limits)]
        if None in wanted:
            return instead.exceeded(substitute, measured)
        return all(limit.exceeded(number, measured) for limit, number in zip(limits, wanted, strict=True))

    return Reason(name, meaning, (time, *(limit.reads for limit in read)), applies, machine=True)


def saturated(part: str, limit: str) -> Reason:
    """What makes the load was the limit, so that the server was not measured."""
    return Reason(
        f"{part}-saturated",
        f"the {part} was the limit, so that nothing is known of the server",
        (LIMITED_BY,),
        lambda found: found == limit,
    )


def without(metric: str, name: str, meaning: str) -> Reason:
    """The trial ended, but has no figure of its own. One that timed out needs none."""

    def applies(found: object, outcome: object) -> bool:
        return outcome != Outcome.PAGE_TIMEOUT and (number(found) or 0) <= 0

    return Reason(name, meaning, ((metric,), OUTCOME), applies)


def _taken_from_the_server(foreign: object, idle: object, limit: object) -> bool:
    """Others had much of the cores' time, and the server under load could have used it."""
    if not Limit(FOREIGN_CPU, FOREIGN_CPU_LIMIT).exceeded(number(foreign), None):
        return False
    left = number(idle)
    return left is None or left < IDLE_LIMIT or limit == SERVER_CPU


# What the limits do to undisturbed and to disturbed loads: docs/results/disturbance.md.
STALLED_LIMIT = 0.03
STALLED_TIMEOUT_US = 1e6  # of a load that timed out, which may be its doing
FOREIGN_CPU_LIMIT = 0.1
IDLE_LIMIT = 0.3  # of a server under load: "A busy machine under a crowd"
# Where the better evidence is missing.
LATE_P99_LIMIT_US = 1000


def late(way: str, what: str = "load", time: Keys = LOAD_MS, unit: float = 1e-3) -> Reason:
    """Attempts over a link that a starved machine made late. `unit` is a microsecond in the units of `time`."""
    stalled = ("link_reading", way, "stalled_us")
    share = f"{STALLED_LIMIT:.0%} of the {what}"
    meaning = f"the machine was starved: packets {way} were more than 1 ms overdue for over {share}"
    untimed = None
    if time == LOAD_MS:
        untimed = Limit(stalled, STALLED_TIMEOUT_US)
        meaning += f"; while one timed out, for over {STALLED_TIMEOUT_US / 1e6:g} s"
    return disturbed(
        f"late-packets-{way}",
        meaning,
        [Limit(stalled, STALLED_LIMIT, unit)],
        instead=Limit(("link_reading", way, "lateness_p99_us"), LATE_P99_LIMIT_US),
        time=time,
        untimed=untimed,
    )


ENDINGS: tuple[Reason, ...] = (
    *(ended_as(outcome, meaning) for outcome, meaning in MEANINGS.items()),
    Reason(
        "unknown-outcome",
        "the record's outcome is not one this version knows",
        (OUTCOME,),
        lambda found: found not in OUTCOMES,
    ),
)
ENDINGS_OF_LOADS: tuple[Reason, ...] = tuple(
    reason for reason in ENDINGS if reason.name != Outcome.PAGE_TIMEOUT
)
# What a page costs a server does not depend on how many of them there was time for: "A busy machine under a crowd".
OF_A_PAGE = frozenset({"bytes_down_per_page", "server_cpu_ms_per_page"})
# A server under load is measured by the CPU time that it gets: what others had of that is missing as soon as CPU is
# scarce. A closed loop does not tell what was idle: it leaves nothing.
SATURATED = (saturated("generator", "generator-cpu"), saturated("emulator", "emulator"))
# What this machine cannot measure: the next attempt would end in the same way.
UNMEASURABLE = frozenset(reason.name for reason in SATURATED)
OF_CAPACITY: tuple[Reason, ...] = (
    *SATURATED,
    *(late(way, "trial", DURATION_S, unit=1e-6) for way in ("down", "up")),
    Reason(
        "busy-machine",
        f"others had more than {FOREIGN_CPU_LIMIT:.0%} of the machine's cores, and the server ran out of them or less "
        f"than {IDLE_LIMIT:.0%} was idle at some time",
        (FOREIGN_CPU, IDLE_CPU, LIMITED_BY),
        _taken_from_the_server,
        machine=True,
    ),
)


def number(value: object) -> float | None:
    """A number as it is; a missing one is None in a record and NaN in a frame."""
    if type(value) is float or type(value) is int:  # as nearly all are: asked of every record
        return None if value != value else value  # noqa: PLR0124  # NaN alone is not itself
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return value
