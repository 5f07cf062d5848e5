"""The metrics as columns of the report's tables: which, under which heading, in which unit."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.labels import words
from harness.model.metric import MetricTable, Unit
from harness.model.observation import METRICS

UNITS = {Unit.MS: "ms", Unit.S: "s", Unit.BYTES: "kB"}  # in headings; a count needs none


@dataclass(frozen=True)
class MetricColumn:
    """`name` is that of the records' column."""

    name: str
    head: str
    unit: Unit

    def text(self, value: float) -> str:
        """A value as a cell shows it."""
        if self.unit is Unit.BYTES:
            return words.kilobytes(value)
        if self.unit is Unit.MS:
            return words.milliseconds(value)
        if self.unit is Unit.S:
            return words.number(value, 2)
        if self.unit is Unit.SCORE:
            return words.number(value, 3)
        return words.number(value, 0 if value % 1 == 0 else 1)


def columns(table: MetricTable) -> tuple[MetricColumn, ...]:
    """The columns of a table, from left to right."""
    placed = {
        column.place: MetricColumn(
            name=f"{key}_{column.part}" if column.part else key,
            head=_head(column.label or metric.label, metric.unit),
            unit=metric.unit,
        )
        for key, metric in METRICS.items()
        for column in metric.columns
        if column.table is table
    }
    return tuple(placed[place] for place in sorted(placed))


def _head(label: str, unit: Unit) -> str:
    return f"{label} ({UNITS[unit]})" if unit in UNITS else label
