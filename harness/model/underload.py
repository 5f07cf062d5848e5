"""What is observed of a server under load: the one place where metrics of `users` and `requests` are declared."""

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
        "Duration",
        Unit.S,
        Source.GENERATOR,
        "how long the load lasted; of a crowd with the pages that ended after it",
    )
    foreign_cpu_share: float | None = metric(
        "CPU of others", Unit.SHARE, Source.PROC, "share of the cores' time that others had during the trial"
    )
    accounting: str | None = metric(
        "Accounting", Unit.TEXT, Source.PROC, "how CPU time and memory were told: `cgroup` or `processes`"
    )


MS, S, BYTES, COUNT = Unit.MS, Unit.S, Unit.BYTES, Unit.COUNT
GENERATOR, EMULATOR, PROC = Source.GENERATOR, Source.EMULATOR, Source.PROC
SERVER_STATUS = Source.SERVER_STATUS


@dataclass(frozen=True)
class CrowdObservation(UnderLoadObservation):
    """What a crowd saw, and what it cost. Anything not observed is None, never 0. A bucket is a part of the trial."""

    pages: int | None = metric(
        "Pages", COUNT, GENERATOR, "pages that were loaded in time", more_is_better=True
    )
    pages_failed: int | None = metric("Pages failed", COUNT, GENERATOR, "pages that were not")
    errors: Mapping[str, int] = metric(
        "Errors", Unit.COUNTS, GENERATOR, "how many of `pages_failed` failed by what", unobserved=dict
    )
    pages_per_s: float | None = metric(
        "Page rate",
        Unit.PER_S,
        GENERATOR,
        "the most pages a second in a bucket while users begin pages: the default metric",
        more_is_better=True,
    )
    users_at_most_pages: int | None = metric(
        "Users at the most pages",
        COUNT,
        GENERATOR,
        "users in the bucket of `pages_per_s`, on average",
        more_is_better=True,
    )
    page_ms: float | None = metric(
        "Page time",
        MS,
        GENERATOR,
        "from when a user asks for the page, look-up and handshakes included, to the last byte: median of the pages "
        "that ended, loaded, while users begin pages",
    )
    page_mean_ms: float | None = metric("Mean page time", MS, GENERATOR, "the mean of these pages")
    page_p95_ms: float | None = metric("Page time, 95 %", MS, GENERATOR, "95 % of these pages took no longer")
    first_error_users: int | None = metric(
        "Users at the first error",
        COUNT,
        GENERATOR,
        "users that there were when a request of a page first failed; null when no page did",
        more_is_better=True,
    )
    users_over_bound: int | None = metric(
        "Users over the bound",
        COUNT,
        GENERATOR,
        "users from which on the median page takes longer than `slower_than_s` (3 s) or fails; null when it never did",
        more_is_better=True,
    )
    requests: int | None = metric("Requests", COUNT, GENERATOR, "requests of all pages")
    bytes_down: int | None = metric(
        "Down", BYTES, EMULATOR, "IP bytes (headers included) that the link delivered to the clients"
    )
    bytes_down_per_page: int | None = metric(
        "Down a page", BYTES, EMULATOR, "the same for one page, also for failed ones"
    )
    bytes_up: int | None = metric(
        "Up", BYTES, EMULATOR, "IP bytes (headers included) that the link delivered to the server"
    )
    connections: int | None = metric("Connections", COUNT, GENERATOR, "connections of all pages")
    generator_cpu_s: float | None = metric("Generator's CPU", S, PROC, "CPU time of the generator")
    generator_cpu_ms_per_page: float | None = metric(
        "Generator's CPU a page", MS, PROC, "the same for one page of `pages`, also of failed ones"
    )
    generator_memory_bytes: int | None = metric(
        "Generator's memory", BYTES, PROC, "the most memory of the generator"
    )
    server_cpu_s: float | None = metric("Server's CPU", S, PROC, "CPU time of the server")
    server_cpu_ms_per_page: float | None = metric(
        "Server's CPU a page", MS, PROC, "the same for one page, also for failed ones"
    )
    server_memory_bytes: int | None = metric(
        "Server's memory",
        BYTES,
        PROC,
        "the most memory of the server, with what earlier crowds left, shared pages divided by their users",
    )
    workers_busy: int | None = metric(
        "Busy workers", COUNT, SERVER_STATUS, "the most workers that were busy at a time"
    )
    workers: int | None = metric(
        "Workers",
        COUNT,
        SERVER_STATUS,
        "the most workers that there were, without the one that tells of them",
    )
    cpu_idle_share: float | None = metric(
        "CPU idle",
        Unit.SHARE,
        PROC,
        "the least share of the machine's CPU that was idle in a bucket while users begin pages",
        more_is_better=True,
    )


# When something first happened: null in a trial that went to its end without it.
EVENTS = frozenset({"first_error_users", "users_over_bound"})


@dataclass(frozen=True)
class RateObservation(UnderLoadObservation):
    """What a server answered without a pause, and what it cost. Anything not observed is None, never 0."""

    requests_per_s: float | None = metric(
        "Request rate",
        Unit.PER_S,
        GENERATOR,
        "answers a second: the default metric of the kind",
        more_is_better=True,
    )
    requests: int | None = metric(
        "Requests", COUNT, GENERATOR, "requests that were answered", more_is_better=True
    )
    latency_p50_ms: float | None = metric(
        "Latency", MS, GENERATOR, "half of the answers took no longer; null where nothing tells"
    )
    latency_p90_ms: float | None = metric("Latency, 90 %", MS, GENERATOR, "90 % of them did not")
    latency_p99_ms: float | None = metric("Latency, 99 %", MS, GENERATOR, "99 % of them did not")
    latency_p999_ms: float | None = metric("Latency, 99.9 %", MS, GENERATOR, "99.9 % of them did not")
    batch_p50_ms: float | None = metric(
        "Batch time",
        MS,
        GENERATOR,
        "from the first request of a batch to its last answer, median; of depth 1 that of a request; wrk alone tells",
    )
    batch_p99_ms: float | None = metric(
        "Batch time, 99 %", MS, GENERATOR, "99 % of the batches took no longer"
    )
    errors: Mapping[str, int] = metric(
        "Errors", Unit.COUNTS, GENERATOR, "how many requests failed by what", unobserved=dict
    )
    bytes_body: int | None = metric("Bodies", BYTES, GENERATOR, "body bytes as they travelled")
    bytes_per_s: float | None = metric(
        "Throughput",
        Unit.BYTES_PER_S,
        GENERATOR,
        "bytes that the generator read in a second",
        more_is_better=True,
    )
    server_cpu_s: float | None = metric("Server's CPU", S, PROC, "CPU time of the server")
    server_cpu_us_per_request: float | None = metric(
        "Server's CPU a request", Unit.US, PROC, "the same for one of `requests`"
    )
    generator_cpu_s: float | None = metric("Generator's CPU", S, PROC, "CPU time of the generator")
