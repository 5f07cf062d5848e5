"""The record of a trial as a value. Its keys are the contract of docs/record-format.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.outcome import Outcome
from harness.study.plan import PlannedTrial

RECORD_SCHEMA = 1


@dataclass(frozen=True)
class Observation:
    """What one load showed. Anything not observed is None, never 0. Times are ms since navigation start."""

    navigate_ms: float | None = None
    plt_ms: float | None = None
    ttfb_ms: float | None = None
    dcl_ms: float | None = None
    fcp_ms: float | None = None
    lcp_ms: float | None = None
    cls: float | None = None
    tbt_ms: float | None = None
    speed_index_ms: float | None = None
    requests: int | None = None
    requests_after_load: int | None = None
    failed_requests: int | None = None
    missed_requests: int | None = None
    fuzzy_requests: int | None = None
    cache_hits: int | None = None
    connections: int | None = None
    connect_ms: float | None = None
    tls: Mapping[str, int] = field(default_factory=dict)
    tls_resumed: int | None = None
    bytes_down: int | None = None
    bytes_up: int | None = None
    bytes_body: int | None = None
    protocols: Mapping[str, int] = field(default_factory=dict)
    missed: tuple[str, ...] = ()
    fuzzy: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    service_requests: int | None = None
    relayed_requests: int | None = None
    server_requests: int | None = None
    server_connections: int | None = None
    pipelining_depth: int | None = None
    spdy_streams: int | None = None
    link_reading: Mapping[str, Any] | None = None
    client_cpu_s: float | None = None
    server_cpu_s: float | None = None
    foreign_cpu_share: float | None = None
    console_errors: tuple[str, ...] | None = None
    console_error_count: int | None = None
    server_stopped_ms: float | None = None
    server_late_ms: float | None = None
    client_stopped_ms: float | None = None
    blank: bool | None = None
    requested: tuple[str, ...] = ()  # stored beside the records, once for each digest
    requested_digest: str | None = None


@dataclass(frozen=True)
class Record:
    """One trial as it is stored: what was planned, how it ended, what was observed."""

    planned: PlannedTrial
    outcome: Outcome
    reason: str | None
    started_utc: str
    observation: Observation
    overhead_ms: float | None
    archive_digest: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": RECORD_SCHEMA,
            **self.planned.to_json(),
            "outcome": self.outcome.value,
            "reason": self.reason,
            "started_utc": self.started_utc,
            **{key: value for key, value in asdict(self.observation).items() if key != "requested"},
            "overhead_ms": self.overhead_ms,
            "archive_digest": self.archive_digest,
        }
