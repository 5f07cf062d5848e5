"""From the evidence of a trial of kind `requests` to the numbers of its record. Pure."""

from __future__ import annotations

from collections import Counter

from harness.capacity.rateproof import RateEvidence
from harness.model.underload import RateObservation


def observe(evidence: RateEvidence, limited_by: str | None) -> RateObservation:
    """The numbers; those of the tool are null where it left no reading."""
    reading, used = evidence.reading, evidence.used
    latency = reading.latency if reading else None
    cpu_s = used.server_cpu_s if used else None
    return RateObservation(
        requests_per_s=round(reading.requests_per_s, 3) if reading else None,
        requests=reading.requests if reading else None,
        latency_p50_ms=latency.p50_ms if latency else None,
        latency_p90_ms=latency.p90_ms if latency else None,
        latency_p99_ms=latency.p99_ms if latency else None,
        latency_p999_ms=latency.p999_ms if latency else None,
        errors=dict(reading.errors) if reading else {},
        bytes_body=bytes_body(evidence),
        bytes_per_s=round(reading.bytes_read / reading.seconds, 3) if reading else None,
        server_cpu_s=cpu_s,
        server_cpu_us_per_request=round(1e6 * cpu_s / reading.requests, 3)
        if cpu_s is not None and reading and reading.requests
        else None,
        generator_cpu_s=evidence.generator_cpu_s,
        limited_by=limited_by,
        requests_by_protocol=requests_by_protocol(evidence),
        tls_versions=tls_versions(evidence),
        link_reading=used.link_reading if used else None,
        duration_s=round(reading.seconds, 3) if reading else None,
        foreign_cpu_share=used.foreign_cpu_share if used else None,
        accounting=evidence.accounting,
    )


def bytes_body(evidence: RateEvidence) -> int | None:
    """All answers have the same body. The server's log tells its size, and also what became of the last requests, which
    the tool left unread.
    """
    sizes = Counter(each.body_bytes for each in evidence.served or ())
    if not sizes or evidence.reading is None:
        return None
    ((size, _),) = sizes.most_common(1)
    return size * evidence.reading.requests


def requests_by_protocol(evidence: RateEvidence) -> dict[str, int]:
    """All requests, by the protocol of those that were logged; none where there were several."""
    protocols = {each.protocol for each in evidence.served or ()}
    if len(protocols) != 1 or evidence.reading is None:
        return {}
    return {protocols.pop(): evidence.reading.requests}


def tls_versions(evidence: RateEvidence) -> dict[str, int]:
    """Connections that were logged, by version of TLS."""
    versions = {each.connection: each.tls for each in evidence.served or () if each.tls}
    return dict(Counter(version for version in versions.values() if version))
