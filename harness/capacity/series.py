"""The long series of a crowd as values, and their JSON lines: a line per page, per second, per bucket. Pure.

The buckets sum up pages and seconds. What is not known is None. The keys are the contract of
docs/reference/files.md.
"""

from __future__ import annotations

import itertools
import math
import statistics
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from harness.errors import TestbedFailed

PAGES_NAME, SECONDS_NAME, BUCKETS_NAME = "pages.jsonl", "seconds.jsonl", "buckets.jsonl"
RealNumber = TypeVar("RealNumber", int, float)
WHOLE_SHARE = 0.5  # what is left of the time asked for is a bucket of its own from half a bucket on
SOON_S = 0.001  # what ends so soon after the time asked for ended at its end
UNTOLD = "unknown"  # a page that failed by nothing that was told
Timed = TypeVar("Timed")


@dataclass(frozen=True, kw_only=True, slots=True)
class PageLine:
    """One page that a user asked for."""

    t_s: float
    """when it was asked for, in s since the trial began"""
    user: int
    """whose it was, from 0"""
    users: int | None = None
    """users that there were then"""
    ms: float | None = None
    """until the last byte of all; null when it failed"""
    document_ms: float | None = None
    """until the last byte of the document"""
    ended_ms: float | None = None
    """until it was loaded, or had failed"""
    broke_ms: float | None = None
    """until the first of its requests failed; null when none did"""
    requests: int = 0
    """requests made"""
    failed: int = 0
    """requests without the answer that they should have"""
    error: str | None = None
    """what the first of them failed by; null when none did"""
    connections: int = 0
    """connections made"""
    connections_at_once: int | None = None
    """most connections that took requests at a time"""
    bytes: int = 0
    """bytes read from the connections"""
    protocol: str | None = None
    """what the connections spoke, by its ALPN name; null when none was made"""
    tls: str | None = None
    """version of TLS; null without"""

    @property
    def counts_at_s(self) -> float:
        """When it counts: at its end; a page of which no end is told (before 2026-12) at its start where it failed."""
        ended_ms = self.ms if self.ended_ms is None else self.ended_ms
        return self.t_s + (ended_ms or 0.0) / 1000

    @property
    def broke_at_s(self) -> float | None:
        """When the first of its requests failed; None when none did."""
        if self.ms is not None:
            return None
        return self.counts_at_s if self.broke_ms is None else self.t_s + self.broke_ms / 1000


@dataclass(frozen=True, kw_only=True)
class Second:
    """What was read at one moment. CPU, hits, packets and bytes: what they grew by since they were last known."""

    t_s: float
    """when it was read, in s since the trial began"""
    users: int | None = None
    """users that were active as the second ended"""
    server_cpu_s: float | None = None
    """user and system CPU of all processes of the server"""
    server_rss_bytes: int | None = None
    """resident memory of the server"""
    server_pss_bytes: int | None = None
    """proportional memory of the server; not read every second"""
    server_threads: int | None = None
    """threads of the server"""
    server_connections: int | None = None
    """open TCP connections of the server"""
    workers_busy: int | None = None
    """busy workers, without the one that answers our question"""
    workers_idle: int | None = None
    """idle workers"""
    server_hits: int | None = None
    """requests answered"""
    server_bytes: int | None = None
    """bytes of the answered bodies"""
    server_errors: int | None = None
    """lines of the server's error log"""
    generator_cpu_s: float | None = None
    """CPU of what makes the load"""
    generator_rss_bytes: int | None = None
    """resident memory of what makes the load"""
    emulator_cpu_s: float | None = None
    """CPU of the emulator's process"""
    machine_idle_share: float | None = None
    """idle share of all cores together"""
    machine_memory_bytes: int | None = None
    """memory of the machine in use"""
    idle_by_core: tuple[float, ...] | None = None
    """idle share of each core, by the kernel's number; 0 of a core that is off"""
    down_packets: int | None = None
    """packets that left the emulator downwards"""
    up_packets: int | None = None
    """the same upwards"""
    down_bytes: int | None = None
    """IP bytes that left the emulator downwards"""
    up_bytes: int | None = None
    """the same upwards"""
    down_drops: int | None = None
    """packets down that the emulator dropped"""
    up_drops: int | None = None
    """the same upwards"""

    @property
    def workers(self) -> int | None:
        """All workers that there are."""
        if self.workers_busy is None or self.workers_idle is None:
            return None
        return self.workers_busy + self.workers_idle


def server_memory(seconds: Sequence[Second]) -> list[int | None]:
    """The server's memory in each second: proportional, where that was read at all in the trial, else resident.

    It is not read every second. Resident memory counts what processes share in each of them: the two do not mix.
    """
    if any(second.server_pss_bytes is not None for second in seconds):
        return [second.server_pss_bytes for second in seconds]
    return [second.server_rss_bytes for second in seconds]


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A stretch of the trial."""

    t_s: float
    """start, in s since the trial began"""
    seconds: float
    """length"""
    users: float | None = None
    """mean number of users"""
    pages: int = 0
    """pages loaded"""
    failed: int = 0
    """pages that failed"""
    errors: Mapping[str, int] = field(default_factory=dict)
    """how many pages failed by what"""
    pages_per_s: float = 0.0
    """pages loaded per second"""
    page_ms: float | None = None
    """median of the pages that loaded"""
    page_mean_ms: float | None = None
    """mean of the pages that loaded"""
    page_p95_ms: float | None = None
    """95 % of the pages that loaded took no longer"""
    waited_ms: float | None = None
    """median of all pages, where a page that failed takes for ever; null where the median does"""
    workers_busy: int | None = None
    """most busy workers"""
    workers: int | None = None
    """most workers"""
    cpu_idle_share: float | None = None
    """idle share of the machine, the mean"""
    server_cpu_s: float | None = None
    """CPU of the server"""
    memory_bytes: int | None = None
    """most memory of the server: proportional where the trial read that, else resident"""
    requests: int = 0
    """requests of all these pages"""


def buckets(
    pages: Sequence[PageLine], seconds: Sequence[Second], bucket_s: float, asked_s: float
) -> list[Bucket]:
    """The buckets of a trial whose users begin pages for `asked_s`: every page and every second is in one of them, and
    in one alone.

    A page counts in the bucket in which it ended, loaded or failed; a second in that of its middle.
    What ends after `asked_s` is in a last bucket of its own, which is not the crowd's (`of_the_crowd`).
    """
    edges = _edges(bucket_s, asked_s)
    times = [second.t_s for second in seconds]
    last_s = max([page.counts_at_s for page in pages] + times, default=0.0)
    if last_s > asked_s + SOON_S:
        edges.append(last_s)
    page_lots = _lots(pages, edges, lambda page: page.counts_at_s)
    # What was read is of the time since the reading before.
    middles = [(start + end) / 2 for start, end in itertools.pairwise([0.0, *times])]
    read = [_Read(*each) for each in zip(middles, seconds, server_memory(seconds), strict=True)]
    read_lots = _lots(read, edges, lambda each: each.middle_s)
    made = [
        _bucket(start, end - start, page_lots[number], read_lots[number])
        for number, (start, end) in enumerate(itertools.pairwise(edges))
    ]
    _refuse_uneven(pages, seconds, made)
    return made


def of_the_crowd(lot: Sequence[Bucket], asked_s: float) -> Sequence[Bucket]:
    """The buckets in which users begin pages. What ends later ends among ever fewer users, and oftener is slow."""
    return [bucket for bucket in lot if bucket.t_s + bucket.seconds <= asked_s + SOON_S / 2]


def percentile(values: Iterable[float], share: float) -> float | None:
    """The least of the values that this share of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def _edges(bucket_s: float, asked_s: float) -> list[float]:
    """Where buckets begin, and the end of the last one, which may be up to half a bucket longer than the others."""
    whole = int(asked_s / bucket_s)
    left = asked_s - whole * bucket_s
    count = max(1, whole + (left >= WHOLE_SHARE * bucket_s))
    return [*(number * bucket_s for number in range(count)), asked_s]


def _lots(items: Iterable[Timed], edges: Sequence[float], at: Callable[[Timed], float]) -> list[list[Timed]]:
    lots: list[list[Timed]] = [[] for _ in edges[1:]]
    for value in items:
        lots[min(max(bisect_right(edges, at(value)) - 1, 0), len(lots) - 1)].append(value)
    return lots


class _Read(NamedTuple):
    """A second, the middle of the time that it tells of, and the server's memory in it."""

    middle_s: float
    second: Second
    memory_bytes: int | None


def _bucket(start: float, length: float, pages: Sequence[PageLine], read: Sequence[_Read]) -> Bucket:
    seconds = [reading.second for reading in read]
    times = [page.ms for page in pages if page.ms is not None]
    waited_ms = statistics.median([math.inf if page.ms is None else page.ms for page in pages] or [math.inf])
    failed = [page for page in pages if page.ms is None]
    users = [moment.users for moment in seconds if moment.users is not None]
    users = users or [page.users for page in pages if page.users is not None]
    idle = known(second.machine_idle_share for second in seconds)
    cpu = known(second.server_cpu_s for second in seconds)
    return Bucket(
        t_s=round(start, 6),
        seconds=round(length, 6),
        users=round(statistics.fmean(users), 2) if users else None,
        pages=len(times),
        failed=len(failed),
        errors=dict(Counter(page.error or UNTOLD for page in failed)),
        pages_per_s=round(len(times) / length, 4),
        page_ms=round(statistics.median(times), 3) if times else None,
        page_mean_ms=round(statistics.fmean(times), 3) if times else None,
        page_p95_ms=percentile(times, 0.95),
        waited_ms=round(waited_ms, 3) if math.isfinite(waited_ms) else None,
        workers_busy=most(second.workers_busy for second in seconds),
        workers=most(second.workers for second in seconds),
        cpu_idle_share=round(statistics.fmean(idle), 4) if idle else None,
        server_cpu_s=round(math.fsum(cpu), 4) if cpu else None,
        memory_bytes=most(reading.memory_bytes for reading in read),
        requests=sum(page.requests for page in pages),
    )


def known(values: Iterable[RealNumber | None]) -> list[RealNumber]:
    """Those that somebody told."""
    return [value for value in values if value is not None]


def most(values: Iterable[int | None]) -> int | None:
    """The most of those that somebody told."""
    return max(known(values), default=None)


def _refuse_uneven(pages: Sequence[PageLine], seconds: Sequence[Second], made: Sequence[Bucket]) -> None:
    """Hold the buckets against the lines they are made of."""
    loaded = sum(page.ms is not None for page in pages)
    sums = {
        "pages": (loaded, sum(bucket.pages for bucket in made)),
        "failed pages": (len(pages) - loaded, sum(bucket.failed for bucket in made)),
        "errors": (len(pages) - loaded, sum(sum(bucket.errors.values()) for bucket in made)),
        "requests": (sum(page.requests for page in pages), sum(bucket.requests for bucket in made)),
        "seconds of CPU": (
            round(math.fsum(known(second.server_cpu_s for second in seconds)), 1),
            round(math.fsum(known(bucket.server_cpu_s for bucket in made)), 1),
        ),
    }
    for what, (lines, summed) in sums.items():
        if not math.isclose(lines, summed, abs_tol=0.11):
            raise TestbedFailed(
                f"the buckets do not add up: {lines:g} {what} in the lines, {summed:g} in them"
            )
