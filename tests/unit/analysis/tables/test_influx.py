"""Medians as InfluxDB reads them."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from analysis.evaluation.medians import MedianCondition, ToldMedians
from analysis.statistics.estimate import estimate
from analysis.tables.influx import to_influx
from harness.model.kind import Kind

LAST = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
PARTS = re.compile(r"(?<!\\) ")  # spaces that are not escaped


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
