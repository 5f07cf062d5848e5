"""The metrics of records as rows for people. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.labels import words
from analysis.labels.metrics import UNITS, MetricColumn
from harness.input.shown import clipped
from harness.model.kind import Kind
from harness.model.metric import Metric, Unit
from harness.model.metrics import metrics_of

LONGEST = 120  # characters of a text
UNIT_TEXTS = {**UNITS, Unit.PER_S: "/s", Unit.BYTES_PER_S: "bytes/s"}


@dataclass(frozen=True)
class MetricRow:
    """A metric: its label, and its value in each record, a dash where it was not observed. `change` is by how much the
    second one is above the first.
    """

    key: str
    label: str
    meaning: str
    values: tuple[str, ...]
    change: str = ""


def metric_rows(records: Sequence[Mapping[str, Any]], kind: Kind) -> list[MetricRow]:
    """The metrics that some record observed, numbers and flags and short texts; lists are in the record itself."""
    found = []
    for key, metric in metrics_of(kind).items():
        values = [each.get(key) for each in records]
        if metric.unit in (Unit.TEXTS, Unit.COUNTS, Unit.READING) or all(each is None for each in values):
            continue
        shown = tuple(_text(key, metric, each) for each in values)
        found.append(
            MetricRow(key, metric.label, metric.meaning.replace("`", ""), shown, _change(metric, values))
        )
    return found


def _text(key: str, metric: Metric, value: Any) -> str:
    if value is None:
        return words.DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not metric.unit.is_number or not words.is_number(value):
        return clipped(str(value), LONGEST)
    unit = UNIT_TEXTS.get(metric.unit, "")
    return f"{MetricColumn(key, metric.label, metric.unit).text(value)} {unit}".strip()


def _change(metric: Metric, values: Sequence[Any]) -> str:
    """`+12 %` of a number, `+3` of a small count; empty where nothing differs or there is nothing to compare."""
    if len(values) < 2 or not metric.unit.is_number or not all(map(words.is_number, values)):
        return ""
    first, second = float(values[0]), float(values[1])
    if first == second:
        return "same"
    if metric.unit is Unit.COUNT:
        return signed(second - first, "")
    return signed(100 * (second / first - 1), " %") if first > 0 and math.isfinite(second / first) else ""


def signed(value: float, unit: str) -> str:
    """With its sign, and a decimal below 10 where it has one."""
    digits = 1 if abs(value) < 10 and value % 1 else 0
    return f"{'+' if value > 0 else words.MINUS}{abs(value):,.{digits}f}{unit}"
