"""The long series of a crowd as values, and their JSON lines: a line per page, per second, per bucket.

`harness.capacity.buckets` makes the buckets. What is not known is None. The keys are the contract of
docs/record-format.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PAGES_NAME, SECONDS_NAME, BUCKETS_NAME = "pages.jsonl", "seconds.jsonl", "buckets.jsonl"


@dataclass(frozen=True, kw_only=True, slots=True)
class PageLine:
    """One page that a user asked for. `t_s` is when, since the trial began; `users` were there then.

    `ms` is None when it failed, and `error` then says by what. `protocol` is named as ALPN does. Of its `connections`,
    `connections_at_once` took requests at a time, at most.
    """

    t_s: float
    user: int
    users: int | None = None
    ms: float | None = None
    document_ms: float | None = None
    requests: int = 0
    failed: int = 0
    error: str | None = None
    connections: int = 0
    connections_at_once: int | None = None
    bytes: int = 0
    protocol: str | None = None
    tls: str | None = None

    @property
    def counts_at_s(self) -> float:
        """When it counts: at its end; a page that failed, of which no end is told, at its start."""
        return self.t_s + (self.ms or 0.0) / 1000

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True, kw_only=True)
class Second:
    """What was read at one moment, `t_s` since the trial began. CPU, hits, packets and bytes: since the last one."""

    t_s: float
    users: int | None = None
    server_cpu_s: float | None = None
    server_rss_bytes: int | None = None
    server_pss_bytes: int | None = None
    server_threads: int | None = None
    server_connections: int | None = None
    workers_busy: int | None = None
    workers_idle: int | None = None
    server_hits: int | None = None
    server_bytes: int | None = None
    server_errors: int | None = None
    generator_cpu_s: float | None = None
    generator_rss_bytes: int | None = None
    emulator_cpu_s: float | None = None
    machine_idle_share: float | None = None
    machine_memory_bytes: int | None = None
    idle_by_core: tuple[float, ...] | None = None
    down_packets: int | None = None
    up_packets: int | None = None
    down_bytes: int | None = None
    up_bytes: int | None = None
    down_drops: int | None = None
    up_drops: int | None = None

    @property
    def workers(self) -> int | None:
        """All workers that there are."""
        if self.workers_busy is None or self.workers_idle is None:
            return None
        return self.workers_busy + self.workers_idle

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def server_memory(seconds: Sequence[Second]) -> list[int | None]:
    """The server's memory in each second: proportional, where that was read at all in the trial, else resident.

    It is not read every second. Resident memory counts what processes share in each of them: the two do not mix.
    """
    if any(each.server_pss_bytes is not None for each in seconds):
        return [each.server_pss_bytes for each in seconds]
    return [each.server_rss_bytes for each in seconds]


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A stretch of the trial, `seconds` long from `t_s` on. `users` is the mean, workers and memory are the most."""

    t_s: float
    seconds: float
    users: float | None = None
    pages: int = 0
    failed: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    pages_per_s: float = 0.0
    page_ms: float | None = None
    page_p95_ms: float | None = None
    workers_busy: int | None = None
    workers: int | None = None
    cpu_idle_share: float | None = None
    server_cpu_s: float | None = None
    memory_bytes: int | None = None
    requests: int = 0

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)
