"""The metrics of every kind as a reader meets them: which is the main one, how it is called, in which unit, and what
its direction is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from analysis.labels import words
from harness.model.kind import Kind, main_metric
from harness.model.metric import MetricTable, Source, Unit
from harness.study.metrics import metric_named, metrics_of

UNITS = {Unit.MS: "ms", Unit.S: "s", Unit.BYTES: "kB", Unit.US: "µs"}  # in headings; a count needs none
TIMES = frozenset({Unit.MS, Unit.S})
IN_SENTENCES = {Unit.MS: "ms", Unit.S: "s", Unit.BYTES: "bytes", Unit.US: "µs", Unit.PER_S: "per second"}
MAIN_UNITS: Mapping[Kind, str] = {Kind.LOAD: "ms", Kind.USERS: "pages/s", Kind.REQUESTS: "requests/s"}

# In a sentence, where the label, which is a heading, says too little: `Bytes down of HTTP/2 against HTTP/1.1`.
SUBJECTS: Mapping[str, str] = {
    "dcl_ms": "Time to DOM ready",
    "tbt_ms": "Blocked time",
    "bytes_down": "Bytes down",
    "bytes_up": "Bytes up",
    "bytes_body": "Bytes of bodies",
    "bytes_down_per_page": "Bytes down for each page",
    "requests_after_load": "Later requests",
    "failed_requests": "Failed requests",
    "missed_requests": "Requests that are not archived",
    "fuzzy_requests": "Requests answered by the closest URL",
    "connect_ms": "Time of a handshake",
    "pages_failed": "Failed pages",
    "server_cpu_ms_per_page": "Server's CPU for each page",
    "generator_cpu_ms_per_page": "Generator's CPU for each page",
    "server_cpu_us_per_request": "Server's CPU for each request",
    "cpu_idle_share": "Idle CPU",
}

OF_ENDED = " of loads that ended"  # on an axis

FINE = (Unit.SCORE, Unit.SHARE)  # a hundredth is much

# How much load a trial puts on its server, as texts say it.
WORKLOADS = {"users": "users {}", "connections": "{} connections", "depth": "depth {}"}


class Comparatives(NamedTuple):
    """What a value below another one is called, and one above it."""

    below: str
    above: str


def more_is_better(name: str) -> bool:
    """Whether of two values the larger one is the better one."""
    metric = metric_named(name)
    return metric is not None and metric.more_is_better


def direction(name: str) -> Comparatives:
    """`faster` and `slower` of what somebody waits for, `lower` and `higher` of rates, else `less` and `more`."""
    metric = metric_named(name)
    if is_time(name):
        return Comparatives("faster", "slower")
    rate = metric is not None and metric.unit is Unit.PER_S and metric.source is not Source.PROC
    return Comparatives("lower", "higher") if rate else Comparatives("less", "more")


def unit_text(name: str) -> str:
    """The unit behind a value in a sentence; empty where the metric's name tells it."""
    metric = metric_named(name)
    return IN_SENTENCES.get(metric.unit, "") if metric else ""


def short_unit(name: str) -> str:
    """The same as short as in a heading: `pages/s` and `requests/s` of rates."""
    of_rates = {main_metric(kind): unit for kind, unit in MAIN_UNITS.items()}
    return of_rates.get(name) or unit_text(name)


def digits(value: float, unit: Unit) -> int:
    """Digits after the point: three of scores and shares, of others one below 100."""
    return 3 if unit in FINE else words.decimals(value)


def is_time(name: str) -> bool:
    """Whether it is what somebody waits for, in ms or s: the CPU of a process is not."""
    metric = metric_named(name)
    return metric is not None and metric.unit in TIMES and metric.source is not Source.PROC


def subject(name: str) -> str:
    """A metric as the subject of a sentence."""
    metric = metric_named(name)
    return SUBJECTS.get(name) or (metric.label if metric else name)


def ended_text(late: int) -> str:
    """What to say of figures that a load which timed out has none of; empty where no load did."""
    return f" Of the loads that ended; {late:,} timed out." if late else ""


def main_label(kind: Kind) -> str:
    """What a report of that kind is about: `Page-load time`, `Page rate`."""
    return metrics_of(kind)[main_metric(kind)].label


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
        if self.unit in (Unit.PER_S, Unit.US, *FINE):
            return words.number(value, digits(value, self.unit))
        return words.number(value, 0 if value % 1 == 0 else 1)


def columns(table: MetricTable) -> tuple[MetricColumn, ...]:
    """The columns of a table, from left to right."""
    placed = {
        column.position: MetricColumn(
            name=f"{key}_{column.part}" if column.part else key,
            head=_head(column.label or metric.label, metric.unit),
            unit=metric.unit,
        )
        for key, metric in metrics_of(Kind.LOAD).items()
        for column in metric.columns
        if column.table is table
    }
    return tuple(placed[place] for place in sorted(placed))


def metric_column(name: str, kind: Kind) -> MetricColumn:
    """A metric of a kind by itself as a column."""
    metric = metrics_of(kind)[name]
    return MetricColumn(name, _head(metric.label, metric.unit), metric.unit)


def _head(label: str, unit: Unit) -> str:
    return f"{label} ({UNITS[unit]})" if unit in UNITS else label
