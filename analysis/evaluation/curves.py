"""The buckets of a crowd's trials: read from trials/<id>/, as curves against time or users, and what is read off them.

A bucket stands at its middle. Trials of a condition have the same buckets, so what they have in common is their time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from analysis.runs.rundirectory import Run
from analysis.statistics.contrast import Sample
from harness.errors import RecordsError
from harness.input import jsontext
from harness.records import Number
from harness.study.claim import Claim

TIME, USERS = "at_s", "users"
TRIAL = ["run", "trial"]
LEAST_BUCKETS = 3  # for a slope
FILE = "buckets.jsonl"
MOST_LINES = 2_000_000  # of a file
ROUNDING_S = 0.0005  # of the end of a bucket
BUCKET = (
    *("t_s", "seconds", "users", "pages", "failed", "pages_per_s", "page_ms", "page_mean_ms", "page_p95_ms"),
    *("workers_busy", "workers", "cpu_idle_share", "server_cpu_s", "memory_bytes", "requests"),
)
# Metrics of which a bucket has something of another name, or for each of its seconds.
OF_BUCKETS: Mapping[str, Callable[[pd.DataFrame], pd.Series[Any]]] = {
    "server_cpu_s": lambda trial: trial["server_cpu_s"] / trial["seconds"],
    "server_memory_bytes": lambda trial: trial["memory_bytes"],
}
_DECODER = msgspec.json.Decoder(msgspec.defstruct("BucketLine", [(key, Number, None) for key in BUCKET]))


def buckets_of(run: Run, trial: str, attempt: int) -> pd.DataFrame:
    """A row per line, numbers as floats, NaN where nothing was observed; empty where the file is missing.

    A torn last line, of a trial that was killed, is left out.
    """
    path, rows = run.folder_of(trial, attempt) / FILE, []
    if path.is_file():
        for number, line in jsontext.each(path, lambda text: jsontext.decoded(text, _DECODER)):
            if number > MOST_LINES:
                raise RecordsError(
                    f"{path} holds more than {MOST_LINES:,} lines; no trial of ours has so many"
                )
            rows.append(msgspec.structs.astuple(line))
    return pd.DataFrame(rows, columns=list(BUCKET)).astype(float)


def buckets_of_all(runs: Mapping[str, Run], records: pd.DataFrame) -> pd.DataFrame:
    """The crowd's buckets of those records (columns run, trial, attempt, cell, workload_seconds), each with run, trial
    and cell in front. `runs`: by the names that the records give them.

    A bucket that ends after the time for which users begin pages is not the crowd's: what is under way then ends among
    ever fewer users, and is more often a slow page.
    """
    parts = []
    for record in records.to_dict("records"):
        run, trial = record["run"], str(record["trial"])
        buckets = buckets_of(runs[run], trial, int(record["attempt"]))
        if not buckets.empty:
            ends_s = buckets["t_s"] + buckets["seconds"]
            buckets = buckets[ends_s <= record["workload_seconds"] + ROUNDING_S]
        if not buckets.empty:
            parts.append(buckets.assign(run=run, trial=trial, cell=record["cell"]))
    columns = ["run", "trial", "cell", *BUCKET]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


@dataclass(frozen=True)
class TrialCurve:
    """One trial."""

    x: Sample
    y: Sample


@dataclass(frozen=True)
class Curve:
    """The median over the trials with their range, and the trials."""

    x: Sample
    median: Sample
    low: Sample
    high: Sample
    trials: tuple[TrialCurve, ...]

    @property
    def is_empty(self) -> bool:
        return not bool(np.isfinite(self.median).any())


def page_times(buckets: pd.DataFrame) -> pd.Series[Any]:
    """The page time of each bucket in ms, which is that of pages that loaded. Where pages failed and none loaded it is
    infinite, the longest time; NaN where no page ended.
    """
    return buckets["page_ms"].mask(buckets["page_ms"].isna() & (buckets["failed"] > 0), math.inf)


def drawable(buckets: pd.DataFrame) -> pd.DataFrame:
    """The buckets with what figures show of them, in the units of their axes; page times as of `page_times`."""
    return buckets.assign(
        at_s=buckets["t_s"] + buckets["seconds"] / 2,
        page_s=page_times(buckets) / 1e3,
        failed_per_s=buckets["failed"] / buckets["seconds"],
        idle_percent=100 * buckets["cpu_idle_share"],
        memory_mb=buckets["memory_bytes"] / 1e6,
        cpu_cores=buckets["server_cpu_s"] / buckets["seconds"],
    )


def curve(buckets: pd.DataFrame, x: str, y: str) -> Curve:
    """`y` of one condition against `TIME` or `USERS`; what stays at a number of users for some buckets is a point.

    An infinite value is the longest one; what is infinite itself becomes NaN, and is not drawn.
    """
    known = buckets.dropna(subset=[x, "t_s"])
    grouped = known.groupby(known["t_s"].round(3))
    every = pd.DataFrame(
        {
            "x": grouped[x].median(),
            "median": grouped[y].median(),
            "low": grouped[y].min(),
            "high": grouped[y].max(),
        }
    )
    if x == USERS:
        steps = every.groupby(every["x"].round().rename("step"))
        every = steps.agg({"x": "median", "median": "median", "low": "min", "high": "max"})
    x_of, median, low, high = (_finite(every[name]) for name in ("x", "median", "low", "high"))
    return Curve(x_of, median, low, high, tuple(_lines(known, x, y)))


def _lines(buckets: pd.DataFrame, x: str, y: str) -> Iterator[TrialCurve]:
    for _, trial in buckets.groupby(TRIAL, sort=False):
        ordered = trial.sort_values("t_s")[[x, y]]
        if x == USERS:
            ordered = ordered.groupby(ordered[x].round().rename("step")).median()
        yield TrialCurve(_finite(ordered[x]), _finite(ordered[y]))


def _finite(values: pd.Series[Any]) -> Sample:
    return values.astype(float).replace(math.inf, math.nan).to_numpy(dtype=float)


def at_users(trial: pd.DataFrame, column: str, users: float) -> float:
    """What a trial's buckets say at so many users, on the straight line between two of them; NaN beyond them."""
    line = trial.dropna(subset=[USERS])
    steps = line.groupby(line[USERS].round().rename("step"))[[USERS, column]].median()
    if steps.empty or not steps[USERS].iloc[0] <= users <= steps[USERS].iloc[-1]:
        return math.nan
    return float(np.interp(users, steps[USERS], steps[column]))


def with_crowds(kept: pd.DataFrame, crowded: Sequence[Claim], buckets: pd.DataFrame) -> pd.DataFrame:
    """The trials with what their buckets say of these claims about a crowd of so many users, a column each."""
    trials = {tuple(key): trial for key, trial in buckets.groupby(TRIAL, sort=False)}
    columns = {
        claim.column: [
            _crowded(trials[key], claim) if key in trials else math.nan
            for key in zip(kept["run"], kept["trial"], strict=True)
        ]
        for claim in crowded
    }
    return kept.assign(**columns)


def _crowded(trial: pd.DataFrame, claim: Claim) -> float:
    """What the buckets of a trial say of a claim; NaN where they do not."""
    metric, published = claim.metric, claim.published
    trial = trial.assign(**{metric: OF_BUCKETS[metric](trial)}) if metric in OF_BUCKETS else trial
    amount, since, against = (
        math.nan if users is None else at_users(trial, metric, users)
        for users in (published.at_users, published.since_users, published.against_users)
    )
    if published.since_users is not None:
        return amount - since
    return amount if published.against_users is None else amount / against


def before_the_most(trial: pd.DataFrame, most_pages_per_s: float) -> pd.DataFrame:
    """The buckets of a trial up to the one with the most pages a second, as its record has them."""
    ordered = trial.sort_values("t_s").reset_index(drop=True)
    apart = (ordered["pages_per_s"] - most_pages_per_s).abs()
    return ordered if apart.isna().all() else ordered.loc[: apart.idxmin()]


def memory_per_user(buckets: pd.DataFrame) -> float:
    """How many bytes a further user takes, by the straight line through the buckets."""
    told = buckets.dropna(subset=[USERS, "memory_bytes"])
    if len(told) < LEAST_BUCKETS or told[USERS].nunique() < 2:
        return math.nan
    slope, _ = np.polyfit(told[USERS], told["memory_bytes"], 1)
    return float(slope)


def least_idle(buckets: pd.DataFrame) -> float:
    """The least share of CPU that was idle in a bucket."""
    return float(buckets["cpu_idle_share"].min())
