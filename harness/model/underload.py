"""What is observed of any server under load, whatever kind of load that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.model.metric import Source, Unit, metric


@dataclass(frozen=True)
class UnderLoadObservation:
    """How a trial under load went: its limit, its proofs, its link and who else used the machine."""

    limited_by: str | None = metric(
        "Limit",
        Unit.TEXT,
        Source.ALL,
        "what ran out: workers, server-cpu, generator-cpu, emulator, link or nothing",
    )
    requests_by_protocol: Mapping[str, int] = metric(
        "Protocols",
        Unit.COUNTS,
        Source.GENERATOR,
        "how many of `requests` each protocol carried, by its ALPN name",
        unobserved=dict,
    )
    tls_versions: Mapping[str, int] = metric(
        "TLS", Unit.COUNTS, Source.GENERATOR, "how many connections had each version of TLS", unobserved=dict
    )
    link_reading: Mapping[str, Any] | None = metric(
        "Link", Unit.READING, Source.EMULATOR, "the emulator's counters at the end of the trial"
    )
    duration_s: float | None = metric(
        "Duration", Unit.S, Source.GENERATOR, "how long the load lasted, without its start and its end"
    )
    foreign_cpu_share: float | None = metric(
        "CPU of others", Unit.SHARE, Source.PROC, "share of the cores' time that others had during the trial"
    )
    accounting: str | None = metric(
        "Accounting", Unit.TEXT, Source.PROC, "how CPU time and memory were told: `cgroup` or `processes`"
    )
