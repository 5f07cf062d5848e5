"""From the series of a crowd's trial to the numbers of its record. Pure."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.capacity.buckets import UNTOLD, known, most, percentile
from harness.capacity.limit import Bottleneck
from harness.capacity.series import Bucket, PageLine, Second, server_memory
from harness.model.underload import CrowdObservation

LONG_PAGE_MS = 3000.0


@dataclass(frozen=True, kw_only=True)
class CrowdResults:
    """All that was seen of a crowd; None for what the trial did not get to.

    `asked_s` is how long its users begin pages, None: to the end.
    """

    pages: Sequence[PageLine]
    seconds: Sequence[Second]
    buckets: Sequence[Bucket]
    link_reading: Mapping[str, Any] | None = None
    requests_by_protocol: Mapping[str, int] | None = None
    foreign_cpu_share: float | None = None
    accounting: str | None = None
    limited_by: str | None = None
    asked_s: float | None = None


def observe(seen: CrowdResults) -> CrowdObservation:
    """The numbers of a record."""
    loaded = [page for page in seen.pages if page.ms is not None]
    failed = [page for page in seen.pages if page.ms is None]
    times = [page.ms for page in loaded if page.ms is not None]
    busiest = max(_of_the_crowd(seen), key=lambda bucket: bucket.pages_per_s, default=None)
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
        page_p95_ms=percentile(times, 0.95),
        first_error_users=min(failed, key=lambda page: page.t_s).users if failed else None,
        users_over_3s=users_over(_of_the_crowd(seen), LONG_PAGE_MS),
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
        cpu_idle_share=min(known(bucket.cpu_idle_share for bucket in seen.buckets), default=None),
        # Where nothing ran out and yet no page was loaded, something else is wrong, which the outcome tells.
        limited_by=seen.limited_by if loaded or seen.limited_by != Bottleneck.NOTHING else None,
        requests_by_protocol=dict(seen.requests_by_protocol or {}),
        tls_versions=_tls_versions(seen.pages),
        link_reading=seen.link_reading,
        duration_s=round(math.fsum(bucket.seconds for bucket in seen.buckets), 3) or None,
        foreign_cpu_share=seen.foreign_cpu_share,
        accounting=seen.accounting,
    )


def _of_the_crowd(seen: CrowdResults) -> Sequence[Bucket]:
    """The buckets in which users begin pages: once none does, those under way end faster than a crowd's ever do."""
    asked_s = seen.asked_s
    if asked_s is None:
        return seen.buckets
    return [each for each in seen.buckets if each.t_s + each.seconds <= asked_s] or seen.buckets


def users_over(buckets: Sequence[Bucket], limit_ms: float) -> int | None:
    """Users in the first bucket from which on the median page takes longer than this, or all pages fail."""
    first: Bucket | None = None
    for bucket in reversed([each for each in buckets if each.pages or each.failed]):
        if bucket.page_ms is not None and bucket.page_ms <= limit_ms:
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
