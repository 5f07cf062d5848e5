"""Medians as a collector of OpenTelemetry reads them."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

from analysis.evaluation.medians import MedianCondition, ToldMedians
from analysis.statistics.estimate import estimate
from analysis.tables.otlp import to_otlp
from harness.model.kind import Kind

LAST = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)


def metrics(*conditions: MedianCondition) -> dict[str, Any]:
    request = json.loads(to_otlp(ToldMedians("demo", Kind.LOAD, LAST, conditions)))
    (resource,) = request["resourceMetrics"]
    assert {"key": "coldload.study", "value": {"stringValue": "demo"}} in resource["resource"]["attributes"]
    (scope,) = resource["scopeMetrics"]
    return {each["name"]: each for each in scope["metrics"]}


def test_a_gauge_has_a_point_per_condition_with_its_names_as_attributes() -> None:
    one, other = (
        MedianCondition({"page": page, "cpu_slowdown": 4, "rtt_ms": 20.0}, {"plt_ms": estimate(values)})
        for page, values in (("a", [1.0, 2.0, 3.0]), ("b", [5.0]))
    )
    found = metrics(one, other)
    assert found.keys() == {f"coldload.plt_ms.{name}" for name in ("median", "low", "high", "trials")}
    median = found["coldload.plt_ms.median"]
    assert median["unit"] == "ms"
    assert [point["asDouble"] for point in median["gauge"]["dataPoints"]] == [2.0, 5.0]
    point = median["gauge"]["dataPoints"][0]
    assert point["timeUnixNano"] == "1767323045678000000"
    assert point["attributes"] == [
        {"key": "page", "value": {"stringValue": "a"}},
        {"key": "cpu_slowdown", "value": {"intValue": "4"}},
        {"key": "rtt_ms", "value": {"doubleValue": 20.0}},
    ]
    assert [point["asDouble"] for point in found["coldload.plt_ms.low"]["gauge"]["dataPoints"]] == [1.0]
    assert found["coldload.plt_ms.trials"]["unit"] == "{trial}"


def test_what_time_outs_leave_open_has_no_point() -> None:
    found = metrics(MedianCondition({"page": "a"}, {"plt_ms": estimate([1.0, 2.0, math.inf])}))
    assert "coldload.plt_ms.high" not in found
    assert found["coldload.plt_ms.low"]["gauge"]["dataPoints"][0]["asDouble"] == 1.0
