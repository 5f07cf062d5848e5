"""How busy the link and the main thread were while a page loaded, step by step: two rows of a waterfall. Pure.

It is for the HAR, and for people to look at: no metric comes from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from harness.engines.browserlog import BrowserLog
from harness.model.link import Link
from harness.model.rate import ConstantRate
from harness.probes.evidence import Evidence
from harness.probes.link import LinkSeen
from harness.probes.processor import Processor
from harness.probes.running import Stretch
from harness.probes.spans import Span, Spans, union
from harness.probes.timeline import times
from harness.probes.trace import Trace
from harness.probes.waits import Clock

MOST_STEPS = 500  # of a row: some 2 kB
STEPS_US = tuple(base * 10**power for power in range(3, 9) for base in (1, 2, 5))
TRACE, KERNEL = "trace", "kernel"  # who tells of the main thread

Busy = tuple[int, int, float]  # from one instant to a later one in us, and for what share of that time


def activity(evidence: Evidence, log: BrowserLog, link: Link, end_ms: float) -> dict[str, Any] | None:
    """The rows from navigation start to that time, in whole per cent; None where neither of them was seen.

    The main thread is seen until the load event alone.
    """
    took, begin = (times(evidence).get(name) for name in ("plt_ms", "navigation_start_ms"))
    if took is None or begin is None:
        return None
    clock = Clock.of(log, begin, evidence.setup.since_1970_us)
    until, load = (max(1, round(each * 1000)) for each in (max(end_ms, took), took))
    step = next((each for each in STEPS_US if each * MOST_STEPS >= until), math.ceil(until / MOST_STEPS))
    found: dict[str, Any] = {}
    account = evidence.of(LinkSeen).account
    if account is not None:
        for name, spans in (("linkDown", account.down), ("linkUp", account.up)):
            found[name] = _per_cent(_whole(map(clock.monotonic, spans)), step, until)
        rates = [each.rate for each in link.directions]
        if link.emulated and all(isinstance(each, ConstantRate) for each in rates):
            found["downMbps"], found["upMbps"] = (each.mean_mbps for each in rates)
    traced, runs = evidence.of(Trace).main_thread, evidence.of(Processor).runs
    if traced is not None:
        found["mainThread"] = _per_cent(_whole(traced.tasks_us), step, load)
        found["mainThreadBy"] = TRACE
    elif runs:
        found["mainThread"] = _per_cent([_share(each, clock) for each in runs], step, load)
        found["mainThreadBy"] = KERNEL
    return {"stepMs": step / 1000, **found} if found else None


def _whole(spans: Iterable[Span]) -> list[Busy]:
    apart: Spans = union(spans)
    return [(begin, end, 1.0) for begin, end in apart]


def _share(stretch: Stretch, clock: Clock) -> Busy:
    """A stretch in which a thread ran at some time: evenly."""
    begin, end = clock.monotonic((stretch.began_us, stretch.ended_us))
    return begin, end, stretch.ran_us / (end - begin) if end > begin else 0.0


def _per_cent(busy: Sequence[Busy], step: int, until: int) -> list[int]:
    """Of each step until then; of more than one thread at a time, all at most."""
    steps = [0.0] * math.ceil(until / step)
    for began, ended, share in busy:
        begin, end = max(0, began), min(ended, until)
        for number in range(begin // step, -(-end // step) if begin < end else 0):
            steps[number] += share * (min(end, (number + 1) * step) - max(begin, number * step))
    lengths = [min(until - number * step, step) for number in range(len(steps))]
    return [min(100, round(100 * took / whole)) for took, whole in zip(steps, lengths, strict=True)]
