"""Medians as metrics of OpenTelemetry: the JSON of an ExportMetricsServiceRequest of OTLP.

A collector takes it as it is:

    curl -H 'Content-Type: application/json' --data @medians.json http://localhost:4318/v1/metrics

Of each metric there are four gauges, as `coldload.plt_ms.median`, `.low`, `.high` and `.trials`, with a point per
condition, whose names are attributes. What JSON cannot hold (a value that time-outs leave open) has no point. The time
of a point is when the last trial that counts began.
https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import harness
from analysis.evaluation.medians import MedianCondition, ToldMedians
from analysis.statistics.estimate import Estimate
from harness.model.metric import Unit
from harness.study.metrics import metrics_of

NAME = "coldload"
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
    time_ns = str(
        round(told.last.timestamp() * 1000) * 1_000_000
    )  # records tell ms; 64 bits are a text in OTLP
    for metric in dict.fromkeys(name for each in told.conditions for name in each.estimates):
        unit = UNITS.get(declared[metric].unit, "1")
        for statistic, value in STATISTICS.items():
            points = [
                {"attributes": _attributes(each.names), "timeUnixNano": time_ns, "asDouble": number}
                for each in told.conditions
                if math.isfinite(number := _number(each, metric, value))
            ]
            if points:
                yield {
                    "name": f"{NAME}.{metric}.{statistic}",
                    "description": declared[metric].meaning,
                    "unit": TRIALS if statistic == "trials" else unit,
                    "gauge": {"dataPoints": points},
                }


def _number(condition: MedianCondition, metric: str, value: Callable[[Estimate], float]) -> float:
    found = condition.estimates.get(metric)
    return math.nan if found is None else float(value(found))


def _attributes(names: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in names.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}
