"""Medians as InfluxDB and a collector of OpenTelemetry read them."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from analysis.evaluation.results import evaluate
from analysis.runs.rundirectory import load
from analysis.statistics.estimate import estimate
from analysis.tables.medians import MedianCondition, ToldMedians, medians, to_influx, to_otlp
from harness.errors import MeasurementRefused
from harness.model.kind import Kind
from tests.unit.analysis.synthetic import Synthetic

LAST = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
PARTS = re.compile(r"(?<!\\) ")  # spaces that are not escaped

SMALL = Synthetic(pages=("news-mobile",), protocols=("http1", "h2"), rates_mbps=(10.0,), aa=True)


def told(*conditions: MedianCondition, study: str = "demo") -> ToldMedians:
    return ToldMedians(study, Kind.LOAD, LAST, conditions)


def test_a_line_is_a_condition_with_tags_fields_and_the_time() -> None:
    condition = MedianCondition(
        {"page": "agency", "rtt_ms": 20.0}, {"plt_ms": estimate([1.0, 2.0, 3.0]), "requests": estimate([7.0])}
    )
    assert to_influx(told(condition)) == (
        "coldload,study=demo,page=agency,rtt_ms=20.0 "
        "plt_ms=2.0,plt_ms_low=1.0,plt_ms_high=3.0,plt_ms_trials=3i,requests=7.0,requests_trials=1i "
        "1767323045678000000\n"
    )


def test_names_of_any_kind_stay_names() -> None:
    names = {"page": "a b,c=d\\", "variant": "x\nplt_ms=1 2", "device": ""}
    line = to_influx(told(MedianCondition(names, {"plt_ms": estimate([1.0])}), study="two words"))
    assert line.count("\n") == 1
    tags, fields, _ = PARTS.split(line)
    assert tags == r"coldload,study=two\ words,page=a\ b\,c\=d/,variant=x\ plt_ms\=1\ 2"
    assert fields == "plt_ms=1.0,plt_ms_trials=1i"


def test_what_time_outs_leave_open_is_left_out() -> None:
    line = to_influx(told(MedianCondition({"page": "a"}, {"plt_ms": estimate([1.0, 2.0, math.inf])})))
    assert "plt_ms=2.0,plt_ms_low=1.0,plt_ms_trials=3i" in line


def test_a_condition_without_values_has_no_line() -> None:
    assert to_influx(told(MedianCondition({"page": "a"}, {}))) == ""


def test_they_are_those_of_the_report(tmp_path: Path) -> None:
    results = evaluate([load(SMALL.write(tmp_path / "run"))])
    told = medians(results)
    mine = [each.estimates["plt_ms"] for each in told.conditions]
    assert [(each.median, each.low, each.high, each.n) for each in mine] == list(
        results.cells[["median", "low", "high", "n"]].itertuples(index=False, name=None)
    )
    assert told.last == datetime.fromisoformat(str(results.records["started_utc"].max()))


def test_names_stay_when_nothing_varies(tmp_path: Path) -> None:
    small = Synthetic(
        pages=("news-mobile",), protocols=("h2",), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=2
    )
    (condition,) = medians(evaluate([load(small.write(tmp_path / "run"))])).conditions
    assert {"page", "variant", "protocol", "link", "rtt_ms", "engine"} <= condition.names.keys()
    assert "queue_down_bytes" not in condition.names


@pytest.mark.thorough
def test_a_time_out_leaves_the_upper_end_open(tmp_path: Path) -> None:
    small = Synthetic(
        pages=("news-mobile",),
        protocols=("h2",),
        rates_mbps=(10.0,),
        rtts_ms=(20.0,),
        outcomes={"00002": "page-timeout"},
    )
    (condition,) = medians(evaluate([load(small.write(tmp_path / "run"))])).conditions
    assert math.isinf(condition.estimates["plt_ms"].high)
    assert math.isfinite(condition.estimates["plt_ms"].median)


def test_nothing_that_counts_is_refused(tmp_path: Path) -> None:
    small = Synthetic(
        protocols=("h2",),
        rates_mbps=(10.0,),
        rtts_ms=(20.0,),
        trials=1,
        outcomes=dict.fromkeys(["00001", "00002"], "testbed-failed"),
    )
    with pytest.raises(MeasurementRefused, match=r"no trial of .*run counts"):
        medians(evaluate([load(small.write(tmp_path / "run"))]))


def gauges(*conditions: MedianCondition) -> dict[str, Any]:
    request = json.loads(to_otlp(told(*conditions)))
    (resource,) = request["resourceMetrics"]
    assert {"key": "coldload.study", "value": {"stringValue": "demo"}} in resource["resource"]["attributes"]
    (scope,) = resource["scopeMetrics"]
    return {each["name"]: each for each in scope["metrics"]}


def test_a_gauge_has_a_point_per_condition_with_its_names_as_attributes() -> None:
    one, other = (
        MedianCondition({"page": page, "cpu_slowdown": 4, "rtt_ms": 20.0}, {"plt_ms": estimate(values)})
        for page, values in (("a", [1.0, 2.0, 3.0]), ("b", [5.0]))
    )
    found = gauges(one, other)
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
    found = gauges(MedianCondition({"page": "a"}, {"plt_ms": estimate([1.0, 2.0, math.inf])}))
    assert "coldload.plt_ms.high" not in found
    assert found["coldload.plt_ms.low"]["gauge"]["dataPoints"][0]["asDouble"] == 1.0
