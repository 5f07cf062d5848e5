"""The median of each condition in each metric that a visitor feels: what is handed to programs that keep figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pandas as pd

from analysis.evaluation.results import Results
from analysis.labels.conditions import varying
from analysis.statistics.estimate import Estimate, estimate
from harness.errors import MeasurementRefused
from harness.model.kind import FELT, Kind
from harness.study.metrics import metrics_of

# What names a condition, whether it varies or not: a series of figures keeps its name when a study grows.
NAMING = (
    *("page", "variant", "compression", "protocol", "engine", "server", "device", "link", "rtt_ms"),
    *("cpu_slowdown", "cache", "users", "connections", "depth"),
)


@dataclass(frozen=True)
class MedianCondition:
    """A condition by its names, and in each metric that was observed the estimate of its median.

    Values are in the metrics' own units (`harness.study.metrics`); those that time-outs leave open are infinite.
    """

    names: Mapping[str, Any]
    estimates: Mapping[str, Estimate]


@dataclass(frozen=True)
class ToldMedians:
    """The conditions with a trial that counts, in the order of the report. `last`: when their last trial began."""

    study: str
    kind: Kind
    last: datetime
    conditions: tuple[MedianCondition, ...]


def metrics_told(kind: Kind) -> tuple[str, ...]:
    """The metrics of a kind that medians are told of: what a visitor feels of a load, else all that are numbers."""
    return (
        FELT if kind is Kind.LOAD else tuple(n for n, each in metrics_of(kind).items() if each.unit.is_number)
    )


def medians(results: Results) -> ToldMedians:
    """The medians of runs that were evaluated. MeasurementRefused where no trial counts."""
    if results.sifted.kept.empty:
        runs = ", ".join(str(run.directory) for run in results.runs)
        raise MeasurementRefused(
            f"no trial of {runs} counts, so there is no median; `coldload report` says what was left out and why"
        )
    started = starts(results.sifted.kept)
    if started.empty:
        raise MeasurementRefused("no record tells when its trial began, so its medians have no time")
    study = " and ".join(dict.fromkeys(run.study for run in results.runs))
    return ToldMedians(study, results.kind, started.max().to_pydatetime(), tuple(_of_conditions(results)))


def _of_conditions(results: Results) -> Iterator[MedianCondition]:
    cells, trials = results.cells, results.sifted.by_metric
    there = [name for name in (*NAMING, *results.condition_columns) if name in cells]
    names = [n for n in dict.fromkeys(there) if n in NAMING or n in varying(cells, results.condition_columns)]
    observed = [name for name in metrics_told(results.kind) if name in trials]
    of_cell = dict(iter(trials[observed].groupby(trials["cell"])))
    for cell in cells.to_dict("records"):
        values = of_cell.get(cell["cell"])
        if values is None:
            continue
        found = {name: estimate(values[name].dropna().to_numpy(dtype=float)) for name in observed}
        known = {name: each for name, each in found.items() if each.n}
        yield MedianCondition({name: cell[name] for name in names if not pd.isna(cell[name])}, known)


def as_frame(told: ToldMedians) -> pd.DataFrame:
    """A row per condition and metric: the names, `metric`, `unit`, `trials`, `median`, `low`, `high`."""
    metrics = metrics_of(told.kind)
    rows = [
        {
            **condition.names,
            "metric": name,
            "unit": str(metrics[name].unit),
            "trials": each.n,
            "median": each.median,
            "low": each.low,
            "high": each.high,
        }
        for condition in told.conditions
        for name, each in condition.estimates.items()
    ]
    return pd.DataFrame(rows)


def starts(records: pd.DataFrame) -> pd.Series[Any]:
    """When each attempt began, of those that tell."""
    told = records.get("started_utc", pd.Series(dtype=str))
    return pd.to_datetime(told, errors="coerce", utc=True, format="ISO8601").dropna()
