"""What `coldload crowd` prints: the line of a page, of a second, of a trial."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from harness.errors import Outcome
from harness.input.shown import count_of
from harness.model.underload import CrowdObservation

if TYPE_CHECKING:
    from harness.capacity.recipe import PageRecipe
    from harness.capacity.series import PageLine, Second
    from harness.model.condition import Condition
    from harness.records import Record

LIMITS = {
    "workers": "the server's workers or connections",
    "server-cpu": "the server's CPU",
    "generator-cpu": "the generator's CPU, so the trial does not count",
    "emulator": "the link emulator, so the trial does not count",
    "link": "the link",
    "nothing": "nothing",
}


def recipe_line(name: str, recipe: PageRecipe) -> str:
    """What a page is, before the crowd starts."""
    waiting = sum(resource.after != (-1,) for resource in recipe.objects)
    return (
        f"{name}: {recipe.requests} requests to {count_of(len(recipe.hosts), 'host')}, {waiting} of them after others "
        "than the document"
    )


def second_line(second: Second, ended: Sequence[PageLine]) -> str:
    """One second: `ended` are the pages that ended or failed in it."""
    times = [page.ms for page in ended if page.ms is not None]
    failed = Counter(page.error or "unknown" for page in ended if page.ms is None)
    words = [
        f"{second.t_s:4.0f} s",
        f"{_count(second.users)} users",
        f"{len(times):,} pages",
        f"{statistics.median(times):,.0f} ms" if times else "- ms",
        _failures(failed),
        f"server {_cores(second.server_cpu_s)} {_mb(second.server_rss_bytes)}{_workers(second)}",
        f"generator {_cores(second.generator_cpu_s)}",
        f"emulator {_cores(second.emulator_cpu_s)}",
        f"idle {_share(second.machine_idle_share)}",
    ]
    return "  ".join(words)


def summary(record: Record) -> Iterator[str]:
    """The trial in some lines."""
    yield f"{record.planned.condition}"
    if record.outcome is not Outcome.OK:
        yield f"  {record.outcome}: {record.reason}"
    if isinstance(record.observation, CrowdObservation):
        yield from _figures(record.observation)


def cut_short(condition: Condition, seen: CrowdObservation) -> Iterator[str]:
    """What was measured of a trial that somebody ended early."""
    yield f"{condition}"
    yield f"  interrupted after {_number(seen.duration_s)} s; what was measured until then:"
    yield from _figures(seen)


def _figures(seen: CrowdObservation) -> Iterator[str]:
    if seen.pages is None:
        return
    yield (
        f"  pages: {seen.pages:,} loaded, {_failures(seen.errors)}; at most {_number(seen.pages_per_s)} a second "
        f"at {_count(seen.users_at_most_pages)} users"
    )
    yield f"  page time: {_ms(seen.page_ms)} median, {_ms(seen.page_mean_ms)} mean, {_ms(seen.page_p95_ms)} for 95 %"
    yield (
        f"  requests: {_count(seen.requests)} over {_count(seen.connections)} connections ("
        f"{', '.join(f'{count:,} by {name}' for name, count in seen.requests_by_protocol.items()) or '-'}); "
        f"{_mb(seen.bytes_down)} down, {_mb(seen.bytes_up)} up"
    )
    yield (
        f"  server: {_number(seen.server_cpu_s)} s of CPU, {_ms(seen.server_cpu_ms_per_page)} a page, "
        f"{_mb(seen.server_memory_bytes)}, {_count(seen.workers_busy)} of {_count(seen.workers)} workers busy"
    )
    yield (
        f"  generator: {_number(seen.generator_cpu_s)} s of CPU, {_ms(seen.generator_cpu_ms_per_page)} a page, "
        f"{_mb(seen.generator_memory_bytes)}"
    )
    if seen.limited_by is None and not seen.pages:
        yield "  what limits the crowd is not known, as no page was loaded"
    else:
        yield f"  limited by {LIMITS.get(seen.limited_by or '', 'what was not found out')}"


def _failures(counts: Mapping[str, int]) -> str:
    told = ", ".join(f"{count:,} {error}" for error, count in counts.items())
    return f"{sum(counts.values()):,} failed{f' ({told})' if told else ''}"


def _workers(second: Second) -> str:
    if second.workers_busy is None:
        return ""
    return f" {second.workers_busy:,}{'' if second.workers is None else f'/{second.workers:,}'} workers"


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


def _cores(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f} ms" if value < 100 else f"{value:,.0f} ms"


def _mb(value: int | None) -> str:
    return "-" if value is None else f"{value / 1e6:,.1f} MB"
