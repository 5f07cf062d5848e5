"""What is observed of a closed loop: the one place where a metric of the kind `requests` is declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.model.metric import Source, Unit, metric
from harness.model.underload import UnderLoadObservation

MS, S, BYTES, COUNT = Unit.MS, Unit.S, Unit.BYTES, Unit.COUNT
GENERATOR, PROC = Source.GENERATOR, Source.PROC


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


MAIN_METRIC = "requests_per_s"
