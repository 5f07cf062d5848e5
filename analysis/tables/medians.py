"""The median of each condition in each metric that a visitor feels, for programs that keep figures.

As lines of InfluxDB's line protocol, which Telegraf, VictoriaMetrics and QuestDB read, too: a line per condition, its
names as tags, each metric as four fields.

    coldload,study=demo,page=agency,protocol=h2 plt_ms=812.5,plt_ms_low=801.2,plt_ms_high=830.9,plt_ms_trials=20i 17...

As metrics of OpenTelemetry, the JSON of an ExportMetricsServiceRequest of OTLP: of each metric four gauges, as
`coldload.plt_ms.median`, `.low`, `.high` and `.trials`, with a point per condition, whose names are attributes. A
collector takes it as it is:

    curl -H 'Content-Type: application/json' --data @medians.json http://localhost:4318/v1/metrics

What a line or JSON cannot hold (a value that time-outs leave open, an empty name) is left out. The time is when the
last trial that counts began. https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/ and
https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pandas as pd

import harness
from analysis.evaluation.results import Results
from analysis.labels.conditions import varying
from analysis.statistics.estimate import Estimate, estimate
from harness.errors import MeasurementRefused
from harness.input.shown import one_line
from harness.model.kind import FELT, Kind
from harness.model.metric import Unit
from harness.study.metrics import metrics_of

# What names a condition, whether it varies or not: a series of figures keeps its name when a study grows.
NAMING = (
    *("page", "variant", "compression", "protocol", "engine", "server", "device", "link", "rtt_ms"),
    *("cpu_slowdown", "cache", "users", "connections", "depth"),
)
NAME = "coldload"  # of the measurement, and of the service
_SPECIAL = re.compile(r"[,= ]")
# Units of UCUM, as OpenTelemetry wants them; a number without a unit is 1.
UNITS: Mapping[Unit, str] = {
    **{Unit.US: "us", Unit.MS: "ms", Unit.S: "s", Unit.BYTES: "By"},
    **{Unit.PER_S: "1/s", Unit.BYTES_PER_S: "By/s"},
}
TRIALS = "{trial}"
STATISTICS: Mapping[str, Callable[[Estimate], float]] = {
    "median": lambda each: each.median,
    "low": lambda each: each.low,
    "high": lambda each: each.high,
    "trials": lambda each: each.n,
}


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

    @property
    def last_ns(self) -> int:
        """Since 1970; records tell ms."""
        return round(self.last.timestamp() * 1000) * 1_000_000


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
        estimates = {name: estimate(values[name].dropna().to_numpy(dtype=float)) for name in observed}
        known = {name: each for name, each in estimates.items() if each.n}
        yield MedianCondition({name: cell[name] for name in names if not pd.isna(cell[name])}, known)


def starts(records: pd.DataFrame) -> pd.Series[Any]:
    """When each attempt began, of those that tell."""
    told = records.get("started_utc", pd.Series(dtype=str))
    return pd.to_datetime(told, errors="coerce", utc=True, format="ISO8601").dropna()


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


def to_influx(told: ToldMedians) -> str:
    """A line per condition with a value, in the order of the report."""
    return "".join(f"{line} {told.last_ns}\n" for line in _lines(told))


def _lines(told: ToldMedians) -> Iterator[str]:
    for condition in told.conditions:
        fields = list(_fields(condition))
        if fields:
            tags = {"study": told.study, **condition.names}
            named = [
                f"{_escaped(name)}={_escaped(str(value))}" for name, value in tags.items() if value != ""
            ]
            yield f"{','.join([NAME, *named])} {','.join(fields)}"


def _fields(condition: MedianCondition) -> Iterator[str]:
    for metric, each in condition.estimates.items():
        for name, value in _values(metric, each).items():
            if math.isfinite(value):
                yield f"{_escaped(name)}={value!r}"
        yield f"{_escaped(metric)}_trials={each.n}i"


def _values(metric: str, each: Estimate) -> dict[str, float]:
    return {metric: each.median, f"{metric}_low": each.low, f"{metric}_high": each.high}


def _escaped(text: str) -> str:
    """A name or value of a tag. A line break would end the line, a backslash would escape what follows."""
    return _SPECIAL.sub(r"\\\g<0>", one_line(text).replace("\\", "/"))


def to_otlp(told: ToldMedians) -> str:
    """The request as JSON."""
    resource = {"service.name": NAME, "coldload.study": told.study}
    scope = {"scope": {"name": NAME, "version": harness.__version__}, "metrics": list(_metrics(told))}
    request = {
        "resourceMetrics": [{"resource": {"attributes": _attributes(resource)}, "scopeMetrics": [scope]}]
    }
    return json.dumps(request, indent=1, allow_nan=False) + "\n"


def _metrics(told: ToldMedians) -> Iterator[dict[str, Any]]:
    declared = metrics_of(told.kind)
    time_ns = str(told.last_ns)  # 64 bits are a text in OTLP
    for metric in dict.fromkeys(name for condition in told.conditions for name in condition.estimates):
        unit = UNITS.get(declared[metric].unit, "1")
        for statistic, value in STATISTICS.items():
            points = [
                {"attributes": _attributes(condition.names), "timeUnixNano": time_ns, "asDouble": number}
                for condition in told.conditions
                if math.isfinite(number := _number(condition, metric, value))
            ]
            if points:
                yield {
                    "name": f"{NAME}.{metric}.{statistic}",
                    "description": declared[metric].meaning,
                    "unit": TRIALS if statistic == "trials" else unit,
                    "gauge": {"dataPoints": points},
                }


def _number(condition: MedianCondition, metric: str, value: Callable[[Estimate], float]) -> float:
    summary = condition.estimates.get(metric)
    return math.nan if summary is None else float(value(summary))


def _attributes(names: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in names.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}
