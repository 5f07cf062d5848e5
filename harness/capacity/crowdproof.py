"""What came of a crowd: whether its trial may count, by the generator's lines and the server's log, and the
numbers of its record. Pure.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.capacity.crowd import NO_TLS, CrowdSeen, ServedCounts, users_at
from harness.capacity.limit import Bottleneck
from harness.capacity.series import (
    UNTOLD,
    Bucket,
    PageLine,
    known,
    most,
    of_the_crowd,
    percentile,
    server_memory,
)
from harness.errors import Outcome
from harness.model.kind import Users
from harness.model.protocol import Protocol
from harness.model.underload import CrowdObservation
from harness.probes.link import lost_outside


@dataclass(frozen=True, kw_only=True)
class CrowdEvidence:
    """What a crowd's trial left behind for its proof; None for what it did not get to.

    `origins` is how many hosts and ports the page asks, `connections_per_host` what HTTP/1.1 may have open to each.
    `logged`: whether the server writes a log of requests at all.
    """

    protocol: Protocol
    origins: int
    connections_per_host: int
    tls: str
    tls_resumption: bool
    pages: Sequence[PageLine]
    served: ServedCounts | None
    link_reading: Mapping[str, Any] | None
    logged: bool = True


def verdict(evidence: CrowdEvidence) -> tuple[Outcome, str | None]:
    """Whether a trial that reached its end may count; else the outcome with its reason."""
    for outcome, find in CHECKS:
        reason = find(evidence)
        if reason:
            return outcome, reason
    return Outcome.OK, None


def _nothing_loaded(evidence: CrowdEvidence) -> str | None:
    if any(page.ms is not None for page in evidence.pages):
        return None
    failed = Counter(page.error or "unknown" for page in evidence.pages)
    told = ", ".join(f"{count:,} by {error}" for error, count in failed.most_common())
    return f"no page was loaded: {told}" if told else "no page was loaded, and none failed"


def _wrong_at_generator(evidence: CrowdEvidence) -> str | None:
    protocol = evidence.protocol
    told = [page for page in evidence.pages if page.protocol is not None]
    wrong = Counter(page.protocol for page in told if page.protocol != protocol.wire)
    if wrong:
        return f"pages were not loaded by {protocol}: {_counts(wrong)}"
    expected = evidence.tls if protocol.encrypted else None
    other = Counter(_version(page.tls) for page in told if _version(page.tls) != expected)
    if other:
        return f"pages were not loaded by {f'TLS {expected}' if expected else 'plain HTTP'}: {_counts(other)}"
    return None


def _wrong_connections(evidence: CrowdEvidence) -> str | None:
    """More connections at once than the protocol has, or, where it keeps none, fewer than requests.

    A server may close an idle one, so that a page has more of them one after the other.
    """
    protocol, whole = evidence.protocol, [page for page in evidence.pages if page.ms is not None]
    if not protocol.keep_alive:
        few = sum(page.connections < page.requests for page in whole)
        return f"{few:,} pages had fewer connections than requests, though none is kept" if few else None
    each = evidence.connections_per_host if protocol.wire == Protocol.HTTP1.wire else 1
    most = each * evidence.origins
    many = sum(_at_once(page) > most for page in whole)
    return f"{many:,} pages had more than {most} connections at once" if many else None


def _wrong_at_server(evidence: CrowdEvidence) -> str | None:
    protocol, served = evidence.protocol, evidence.served
    if not evidence.logged:
        return None
    if served is None:
        return "the server's log was not read"
    wrong = {name: count for name, count in served.by_protocol.items() if name != protocol.wire}
    if wrong:
        return f"the server did not use {protocol} for all requests: {_counts(wrong)}"
    expected = f"TLSv{evidence.tls}" if protocol.encrypted else NO_TLS
    other = {name: count for name, count in served.by_tls.items() if name != expected}
    if other:
        return f"the server did not use {expected} for all requests: {_counts(other)}"
    if served.resumed and not evidence.tls_resumption:
        return f"not cold: the server resumed a TLS session for {served.resumed:,} requests"
    return None


def _unseen_at_server(evidence: CrowdEvidence) -> str | None:
    """What a whole page asked for has been answered, so it has been logged."""
    answered = sum(page.requests - page.failed for page in evidence.pages if page.ms is not None)
    logged = evidence.served.requests if evidence.served else 0
    if evidence.logged and logged < answered:
        return f"{answered:,} requests were answered, but the testbed's server logged {logged:,}"
    return None


CHECKS: tuple[tuple[Outcome, Callable[[CrowdEvidence], str | None]], ...] = (
    (Outcome.TESTBED_FAILED, lambda evidence: lost_outside(evidence.link_reading)),
    (Outcome.WRONG_PROTOCOL, _wrong_at_generator),
    (Outcome.WRONG_PROTOCOL, _wrong_connections),
    (Outcome.WRONG_PROTOCOL, _wrong_at_server),
    (Outcome.WRONG_PROTOCOL, _unseen_at_server),
    (Outcome.PAGE_ERROR, _nothing_loaded),
)


def _at_once(page: PageLine) -> int:
    """All of them where nobody tells."""
    return page.connections if page.connections_at_once is None else page.connections_at_once


def _version(told: str | None) -> str | None:
    """A version of TLS without the letters that some put before it."""
    return told.removeprefix("TLS").removeprefix("v").strip() if told else None


def _counts(counts: Mapping[Any, int]) -> str:
    return ", ".join(f"{count:,} by {name or 'no TLS'}" for name, count in counts.items())


def observe(
    seen: CrowdSeen,
    lot: Sequence[Bucket],
    limited_by: str | None = None,
    *,
    workload: Users,
    asked_s: float | None = None,
) -> CrowdObservation:
    """The numbers of a record, with the buckets of what was seen.

    `asked_s` is how long its users began pages (None: to the end): page times are of pages that ended by then, as those
    of buckets are. What fails later is told with the users that there were then.
    """
    asked_s = workload.seconds if asked_s is None else asked_s
    judged = of_the_crowd(lot, asked_s)
    loaded = [page for page in seen.pages if page.ms is not None]
    failed = [page for page in seen.pages if page.ms is None]
    times = [page.ms for page in loaded if page.ms is not None and page.counts_at_s <= asked_s]
    broke_s = min(known(page.broke_at_s for page in failed), default=None)
    busiest = max(judged, key=lambda bucket: bucket.pages_per_s, default=None)
    bytes_down = _of_link(seen.link_reading, "down")
    generator_cpu_s = _total(second.generator_cpu_s for second in seen.seconds)
    server_cpu_s = _total(second.server_cpu_s for second in seen.seconds)
    return CrowdObservation(
        pages=len(loaded),
        pages_failed=len(failed),
        errors=dict(Counter(page.error or UNTOLD for page in failed)),
        pages_per_s=busiest.pages_per_s if busiest else None,
        users_at_most_pages=_whole(busiest.users) if busiest else None,
        page_ms=round(statistics.median(times), 3) if times else None,
        page_mean_ms=round(statistics.fmean(times), 3) if times else None,
        page_p95_ms=percentile(times, 0.95),
        first_error_users=None if broke_s is None else users_at(workload, min(broke_s, asked_s)),
        users_over_bound=users_over(judged, 1000 * workload.slower_than_s),
        requests=sum(page.requests for page in seen.pages),
        bytes_down=bytes_down,
        bytes_down_per_page=round(bytes_down / len(seen.pages)) if bytes_down and seen.pages else None,
        bytes_up=_of_link(seen.link_reading, "up"),
        connections=sum(page.connections for page in seen.pages),
        generator_cpu_s=generator_cpu_s,
        generator_cpu_ms_per_page=_a_page(generator_cpu_s, len(seen.pages)),
        generator_memory_bytes=most(second.generator_rss_bytes for second in seen.seconds),
        server_cpu_s=server_cpu_s,
        server_cpu_ms_per_page=_a_page(server_cpu_s, len(seen.pages)),
        server_memory_bytes=most(server_memory(seen.seconds)),
        workers_busy=most(second.workers_busy for second in seen.seconds),
        workers=most(second.workers for second in seen.seconds),
        cpu_idle_share=min(known(bucket.cpu_idle_share for bucket in judged), default=None),
        # Where nothing ran out and yet no page was loaded, something else is wrong, which the outcome tells.
        limited_by=limited_by if loaded or limited_by != Bottleneck.NOTHING else None,
        requests_by_protocol=dict(seen.served.by_protocol) if seen.served else {},
        tls_versions=_tls_versions(seen.pages),
        link_reading=seen.link_reading,
        duration_s=round(math.fsum(bucket.seconds for bucket in lot), 3) or None,
        foreign_cpu_share=seen.foreign_cpu_share,
        accounting=seen.accounting,
    )


def users_over(buckets: Sequence[Bucket], limit_ms: float) -> int | None:
    """Users in the first bucket from which on the median page takes longer than this, or fails."""
    first: Bucket | None = None
    for bucket in reversed([stretch for stretch in buckets if stretch.pages or stretch.failed]):
        if bucket.waited_ms is not None and bucket.waited_ms <= limit_ms:
            break
        first = bucket
    return _whole(first.users) if first else None


def _tls_versions(pages: Iterable[PageLine]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for page in pages:
        if page.tls:
            counts[page.tls] += page.connections
    return dict(counts)


def _of_link(reading: Mapping[str, Any] | None, way: str) -> int | None:
    return reading.get(way, {}).get("bytes_out") if reading else None


def _a_page(seconds: float | None, pages: int) -> float | None:
    return None if seconds is None or not pages else round(1000 * seconds / pages, 3)


def _total(values: Iterable[float | None]) -> float | None:
    told = known(values)
    return round(math.fsum(told), 3) if told else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
