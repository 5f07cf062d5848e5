"""Which attempts count: the mechanical reasons for which one does not, declared once.

A reason looks at the record of one attempt alone, and never at how long its load took compared with others. The runner
asks right after an attempt; the report asks the same reasons of all records (analysis/runs/exclude.py). Where a number
was not observed, the reason that needs it does not apply.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.outcome import Outcome

Keys = tuple[str, ...]  # that lead to a value in a record: ("link_reading", "down", "bytes_out")

OUTCOME: Keys = ("outcome",)
LOAD_MS: Keys = ("plt_ms",)

MEANINGS: Mapping[Outcome, str] = {
    Outcome.PAGE_TIMEOUT: "the page did not finish loading in time",
    Outcome.PAGE_ERROR: "the browser could not load the page",
    Outcome.WRONG_PROTOCOL: "a request did not use the protocol of its condition",
    Outcome.MISSING_OBJECTS: "objects of the page were not served",
    Outcome.TESTBED_FAILED: "a part of the testbed failed",
}


@dataclass(frozen=True)
class Limit:
    """The most that a number of a record may be; `unit_ms` makes it a share of the load's time.

    A number is then a time in units of so many ms, and a long load is no more likely to exceed the limit than a short
    one that is disturbed as often.
    """

    reads: Keys
    most: float
    unit_ms: float | None = None

    def exceeded(self, value: float | None, load_ms: float | None) -> bool:
        if value is None or self.unit_ms is None:
            return value is not None and value > self.most
        return load_ms is not None and load_ms > 0 and value * self.unit_ms / load_ms > self.most


@dataclass(frozen=True)
class Reason:
    """A reason why an attempt does not count. `applies` takes the values of what it `reads`, None for no value.

    `machine`: the machine was at fault, so that it helps to wait before the next attempt.
    """

    name: str
    meaning: str
    reads: tuple[Keys, ...]
    applies: Callable[..., bool]
    machine: bool = False


def ended_as(outcome: Outcome, meaning: str) -> Reason:
    return Reason(outcome.value, meaning, (OUTCOME,), lambda found: found == outcome.value)


def disturbed(name: str, meaning: str, limits: Sequence[Limit], instead: Limit) -> Reason:
    """The machine disturbed the load: all limits are exceeded.

    `instead` decides where one of their numbers is missing: in records of older versions, and where the kernel does not
    tell.
    """

    def applies(load: object, *values: object) -> bool:
        load_ms, *numbers = map(_number, (load, *values))
        *wanted, substitute = numbers
        if None in wanted:
            return instead.exceeded(substitute, load_ms)
        return all(limit.exceeded(number, load_ms) for limit, number in zip(limits, wanted, strict=True))

    return Reason(
        name, meaning, (LOAD_MS, *(each.reads for each in (*limits, instead))), applies, machine=True
    )


# What the limits do to undisturbed and to disturbed loads: docs/results.md, "Late packets" and "Busy cores".
STALLED_LIMIT = 0.03
FOREIGN_CPU_LIMIT = 0.1
WAITING_LIMIT = 0.1
# Where the better evidence is missing.
LATE_P99_LIMIT_US = 1000
FOREIGN_CPU_ALONE_LIMIT = 0.25


def late(way: str) -> Reason:
    """Attempts over a link that a starved machine made late."""
    return disturbed(
        f"late-packets-{way}",
        f"the machine was starved: packets {way} were more than 1 ms overdue for over {STALLED_LIMIT:.0%} of the load",
        [Limit(("link_reading", way, "stalled_us"), STALLED_LIMIT, unit_ms=1e-3)],
        instead=Limit(("link_reading", way, "lateness_p99_us"), LATE_P99_LIMIT_US),
    )


REASONS: tuple[Reason, ...] = (
    *(ended_as(outcome, meaning) for outcome, meaning in MEANINGS.items()),
    Reason(
        "unknown-outcome",
        "the record's outcome is not one this version knows",
        (OUTCOME,),
        lambda found: found not in [outcome.value for outcome in Outcome],
    ),
    Reason(
        "no-load-time",
        "the load ended, but its page-load time was not observed",
        (LOAD_MS,),
        lambda load_ms: (_number(load_ms) or 0) <= 0,
    ),
    late("down"),
    late("up"),
    disturbed(
        "busy-machine",
        f"others had more than {FOREIGN_CPU_LIMIT:.0%} of the machine's cores, and a thread of the browser waited for "
        f"one for more than {WAITING_LIMIT:.0%} of the load",
        [
            Limit(("foreign_cpu_share",), FOREIGN_CPU_LIMIT),
            Limit(("client_thread_late_ms",), WAITING_LIMIT, unit_ms=1),
        ],
        instead=Limit(("foreign_cpu_share",), FOREIGN_CPU_ALONE_LIMIT),
    ),
)
MACHINE = frozenset(reason.name for reason in REASONS if reason.machine)


def unsound(record: Mapping[str, Any]) -> str | None:
    """The name of the first reason why a record, as a JSON mapping, does not count; None when it counts."""
    for reason in REASONS:
        if reason.applies(*(_value(record, keys) for keys in reason.reads)):
            return reason.name
    return None


def _value(record: object, keys: Keys) -> object:
    for key in keys:
        record = record.get(key) if isinstance(record, Mapping) else None
    return record


def _number(value: object) -> float | None:
    """A number as it is; a missing one is None in a record and NaN in a frame."""
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return value
