"""The tables of a server under load: what it gives a growing crowd, what gives way first, and request rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.evaluation import curves
from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.statistics.estimate import estimate, medians_of_times
from analysis.tables.cellcolumns import cell_heads, cell_of
from analysis.tables.table import NOT_KNOWN, Shown, Table, with_interval

USUAL_USERS = (100, 120, 200, 777)  # at which the study of 2013 told page times
QUARTERS = (0.25, 0.5, 0.75, 1.0)  # of the most users, where few of them were reached
LEAST_USUAL = 2
SIGNIFICANT = 2  # digits of a quarter
LIMITS = {"server-cpu": "server's CPU", "generator-cpu": "generator's CPU", "nothing": "none"}
LATENCIES = {
    "latency_p50_ms": "Latency 50 % (ms)",
    "latency_p90_ms": "90 %",
    "latency_p99_ms": "99 %",
    "latency_p999_ms": "99.9 %",
}
CPU = "server_cpu_us_per_request"
FEW_MS = 10.0  # below, a latency needs two decimals


def crowds(results: Results) -> Table | None:
    """A row per condition that has a trial that counts: medians over its trials."""
    kept = results.sifted.kept
    if kept.empty:
        return None
    marks = _marks(results.buckets)
    rows = [
        {**cell, **_row(kept[kept["cell"] == cell["cell"]], results.buckets, marks)}
        for cell in results.cells[results.cells["n"] > 0].to_dict("records")
    ]
    heads, over = cell_heads(results), _over(kept["workload_slower_than_s"])
    return Table(
        name="crowds",
        title="What the server gave a growing crowd",
        note=f"{_medians(results)} Page at 100: page time at 100 users, on the line between "
        "two buckets, of pages that loaded; where none did it is the longest time, and brackets tell in how "
        "many trials some did. "
        f"First error, {over.lower()}: users when a page first failed, and from whom on the median page "
        "took longer or failed; in brackets in how many trials; a dash: never. Up to the most pages/s: CPU idle, the "
        "least share of the machine in a bucket, and memory per user, the slope of the server's memory. Limit: what "
        "ran out.",
        data=pd.DataFrame(_data(results, row) for row in rows),
        head=(
            *heads,
            *("Most pages/s", "At users"),
            *(f"Page at {users} (s)" for users in marks),
            *("First error (users)", f"{over} (users)", "CPU idle (%)", "Memory per user (kB)", "Limit"),
        ),
        rows=tuple((*cell_of(results, row), *_shown_crowd(row, marks)) for row in rows),
        keys=len(heads),
    )


def _over(bounds_s: pd.Series[float]) -> str:
    """What a page takes that is too slow: `Over 3 s`."""
    bounds = sorted(set(bounds_s))
    return f"Over {bounds[0]:g} s" if len(bounds) == 1 else "Over the bound"


def _marks(buckets: pd.DataFrame) -> tuple[int, ...]:
    """The users at which page times are told: the usual numbers that were reached, else quarters of the most."""
    if buckets["users"].isna().all():
        return ()
    most = float(buckets["users"].max())
    reached = tuple(users for users in USUAL_USERS if users <= most)
    if len(reached) >= LEAST_USUAL:
        return reached
    return tuple(dict.fromkeys(_rounded_down(share * most) for share in QUARTERS if share * most >= 1))


def _rounded_down(users: float) -> int:
    unit = 10 ** max(0, math.floor(math.log10(users)) + 1 - SIGNIFICANT)
    return int(users // unit * unit)


def _row(trials: pd.DataFrame, buckets: pd.DataFrame, marks: tuple[int, ...]) -> dict[str, Any]:
    cell = trials["cell"].iloc[0]
    series = dict(iter(buckets[buckets["cell"] == cell].groupby(curves.TRIAL, sort=False)))
    most = trials.set_index(curves.TRIAL)["pages_per_s"]
    timed = [each.assign(page_ms=curves.page_times(each)) for each in series.values()]
    pages = {
        users: np.array([curves.at_users(trial, "page_ms", users) for trial in timed]) for users in marks
    }
    rising = [curves.before_the_most(each, float(most[trial])) for trial, each in series.items()]

    def median(tell: Callable[[pd.DataFrame], float], of: Iterable[pd.DataFrame]) -> float:
        return _median(np.array([tell(frame) for frame in of]))

    return {
        "trials": len(trials),
        "users_at_most_pages": _median(trials["users_at_most_pages"]),
        **{
            name: value
            for users, times in pages.items()
            for name, value in (
                (f"page_ms_at_{users}", _finite(_median(times))),
                (f"trials_loading_at_{users}", int(np.isfinite(times).sum())),
            )
        },
        "first_error_users": _median(trials["first_error_users"]),
        "trials_with_errors": int(trials["first_error_users"].notna().sum()),
        "users_over_bound": _median(trials["users_over_bound"]),
        "trials_over_bound": int(trials["users_over_bound"].notna().sum()),
        "cpu_idle_share": median(curves.least_idle, rising),
        "memory_bytes_per_user": median(curves.memory_per_user, rising),
        "limited_by": limits_text(trials["limited_by"]) if "limited_by" in trials else "",
    }


def _shown_crowd(row: Mapping[str, Any], marks: tuple[int, ...]) -> Iterator[Shown]:
    digits = words.decimals(row["median"])
    yield with_interval(row["median"], row["low"], row["high"], digits)
    yield Shown(words.number(row["users_at_most_pages"]))
    for users in marks:
        seconds = row[f"page_ms_at_{users}"] / 1e3
        yield _counted(_seconds(seconds), row[f"trials_loading_at_{users}"], row["trials"])
    for name, happened in (("first_error_users", "with_errors"), ("users_over_bound", "over_bound")):
        yield _counted(words.number(row[name]), row[f"trials_{happened}"], row["trials"])
    yield Shown(words.number(100 * row["cpu_idle_share"]))
    yield Shown(words.number(row["memory_bytes_per_user"] / 1e3))
    yield Shown(row["limited_by"] or words.DASH)


def _seconds(value: float) -> str:
    """Three digits that say something."""
    return words.number(value, 2 if value < 10 else 1)


def _counted(text: str, happened: int, trials: int) -> Shown:
    """What happened in so many of the trials."""
    if not happened:
        return NOT_KNOWN
    return Shown(text, "" if happened == trials else f"({happened} of {trials})")


def _finite(median: float) -> float:
    return median if math.isfinite(median) else math.nan


def _medians(results: Results) -> str:
    """How the figures of a table are to be read."""
    few = "; below five trials the range" if results.few else ""
    return f"Medians, {results.n} trials per condition. Brackets: 95 % interval{few}."


def limits_text(limits: pd.Series[Any]) -> str:
    """What ran out, with the number of trials where it was not the same in all."""
    counts = limits.dropna().astype(str).value_counts()
    return ", ".join(
        LIMITS.get(str(name), str(name)) + (f" {count}" if len(counts) > 1 else "")
        for name, count in counts.items()
    )


def _data(results: Results, row: Mapping[str, Any]) -> dict[str, Any]:
    figures = {"median": "pages_per_s", "low": "pages_per_s_low", "high": "pages_per_s_high"}
    kept = [*results.condition_columns, *figures, *list(row)[list(row).index("trials") :]]
    return {figures.get(name, name): row[name] for name in kept}


def _median(values: Any) -> float:
    known = np.asarray(values, dtype=float)
    return estimate(known[~np.isnan(known)]).median


def rates(results: Results) -> Table | None:
    """A row per condition that has a trial that counts."""
    kept = results.sifted.kept
    if kept.empty:
        return None
    by_cell = kept.groupby("cell")
    medians = by_cell[[CPU, "error_count"]].median()
    medians = medians.join(by_cell[[*LATENCIES]].apply(medians_of_times))
    limits = by_cell["limited_by"].agg(limits_text) if "limited_by" in kept else None
    cells = results.cells[results.cells["n"] > 0].join(medians, on="cell")
    cells["limited_by"] = "" if limits is None else cells["cell"].map(limits).fillna("")
    heads = cell_heads(results)
    figures = {"median": "requests_per_s", "low": "requests_per_s_low", "high": "requests_per_s_high"}
    told = [*results.condition_columns, *figures, "n", *LATENCIES, CPU, "error_count", "limited_by"]
    return Table(
        name="rates",
        title="Requests a second",
        note=f"{_medians(results)} Latency: so many per cent of the answers took no longer; "
        "a dash where the generator tells none (wrk: of pipelined requests, and where an answer took over 2 s). "
        "Errors: of one trial.",
        data=cells[told].rename(columns=figures),
        head=(*heads, "Requests/s", *LATENCIES.values(), "Server's CPU a request (µs)", "Errors", "Limit"),
        rows=tuple((*cell_of(results, row), *_shown_rates(row)) for row in cells.to_dict("records")),
        keys=len(heads),
    )


def _shown_rates(row: Mapping[Any, Any]) -> tuple[Shown, ...]:
    digits = words.decimals(row["median"])
    return (
        with_interval(row["median"], row["low"], row["high"], digits),
        *(Shown(words.number(row[name], 2 if row[name] < FEW_MS else 1)) for name in LATENCIES),
        Shown(words.number(row[CPU], words.decimals(row[CPU]))),
        Shown(words.number(row["error_count"])),
        Shown(row["limited_by"] or words.DASH),
    )
