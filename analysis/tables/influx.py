"""Medians as lines of InfluxDB's line protocol, which Telegraf, VictoriaMetrics and QuestDB read, too.

A line per condition, its names as tags, each metric as four fields:

    coldload,study=demo,page=agency,protocol=h2 plt_ms=812.5,plt_ms_low=801.2,plt_ms_high=830.9,plt_ms_trials=20i 17...

What a line cannot hold (a value that time-outs leave open, an empty name) is left out of it. The time is when the last
trial that counts began, in ns. https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from analysis.evaluation.medians import MedianCondition, ToldMedians
from analysis.statistics.estimate import Estimate
from harness.input.shown import one_line

MEASUREMENT = "coldload"
_SPECIAL = re.compile(r"[,= ]")


def to_influx(told: ToldMedians) -> str:
    """A line per condition with a value, in the order of the report."""
    time_ns = round(told.last.timestamp() * 1000) * 1_000_000  # records tell ms
    return "".join(f"{line} {time_ns}\n" for line in _lines(told))


def _lines(told: ToldMedians) -> Iterator[str]:
    for condition in told.conditions:
        fields = list(_fields(condition))
        if fields:
            tags = {"study": told.study, **condition.names}
            named = [
                f"{_escaped(name)}={_escaped(str(value))}" for name, value in tags.items() if value != ""
            ]
            yield f"{','.join([MEASUREMENT, *named])} {','.join(fields)}"


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
