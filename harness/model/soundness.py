"""Which attempts count: the mechanical reasons for which one does not, declared once.

A reason looks at the record of one attempt alone, and never at how long its load took compared with others. The runner
asks right after an attempt; the report asks the same reasons of all records (analysis/exclude.py). Where a number was
not observed, the reason that needs it does not apply.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
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
    """The most that a number of a record may be, as a plain number or per second of the load."""

    reads: Keys
    most: float
    per_load_second: bool = False

    def exceeded(self, value: float | None, load_ms: float | None) -> bool:
        if value is None or not self.per_load_second:
            return value is not None and value > self.most
        return load_ms is not None and load_ms > 0 and value / (load_ms / 1000) > self.most


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


def disturbed(name: str, meaning: str, limits: Iterable[Limit]) -> Reason:
    """The machine disturbed the load beyond one of the limits."""
    limits = tuple(limits)

    def applies(load_ms: object, *values: object) -> bool:
        read = zip(limits, map(_number, values), strict=True)
        return any(limit.exceeded(value, _number(load_ms)) for limit, value in read)

    return Reason(name, meaning, (LOAD_MS, *(limit.reads for limit in limits)), applies, machine=True)


# The emulator's own lateness. With real-time scheduling the 99th percentile is some 0.05 ms and the worst packet of a
# load some 1 ms late, also on a busy machine; beyond these limits the link was not the one of the condition.
LATE_P99_LIMIT_US = 1000
LATE_MAX_LIMIT_US = 20_000

# Browser and servers want the cores too: docs/results.md has what other programs' use of them did to load times.
FOREIGN_CPU_LIMIT = 0.25


def late(way: str) -> Reason:
    """Attempts over a link that a starved machine made late."""
    return disturbed(
        f"late-packets-{way}",
        f"the machine was starved: over 1 % of the packets {way} were delivered more than 1 ms late, or one over 20 ms",
        (
            Limit(("link_reading", way, "lateness_p99_us"), LATE_P99_LIMIT_US),
            Limit(("link_reading", way, "lateness_max_us"), LATE_MAX_LIMIT_US),
        ),
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
        f"other programs had more than {FOREIGN_CPU_LIMIT:.0%} of the machine's cores while the page loaded",
        [Limit(("foreign_cpu_share",), FOREIGN_CPU_LIMIT)],
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
