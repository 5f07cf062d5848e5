"""What a metric is. The metrics themselves are declared in the observations of the kinds (`harness.study.metrics`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from harness.model.engine import Capability


class Unit(StrEnum):
    """What a value is counted in or, where it is no number, what it holds."""

    US = "us"
    MS = "ms"
    S = "s"
    BYTES = "bytes"
    COUNT = "count"
    PER_S = "per second"
    BYTES_PER_S = "bytes per second"
    SHARE = "share"  # 0 to 1
    SCORE = "score"  # a number without a unit
    FLAG = "true or false"
    TEXT = "text"
    TEXTS = "list of texts"
    COUNTS = "counts by name"
    READING = "object"

    @property
    def is_number(self) -> bool:
        return self not in (Unit.FLAG, Unit.TEXT, Unit.TEXTS, Unit.COUNTS, Unit.READING)


class Source(StrEnum):
    """Where a metric is observed."""

    DRIVER = "driver"
    TIMELINE = "page's timeline"
    VITALS = "vitals"  # the page's timelines, until the page has come to rest
    TRACE = "trace"
    FILM = "film"
    CONSOLE = "page's console"
    VIEWPORT = "viewport"
    BROWSER_LOG = "browser's log"  # of the network: its own, or its hop's
    SERVER_LOG = "server's log"
    BOTH_LOGS = "both logs"
    EMULATOR = "emulator"
    PROC = "/proc"
    GENERATOR = "generator"
    SERVER_STATUS = "server's status"
    ALL = "all of these"


class MetricTable(StrEnum):
    """The report's tables of metrics, by their names."""

    TRAFFIC = "traffic"
    SERVER = "server"
    OTHER_TIMES = "other-times"


@dataclass(frozen=True)
class Column:
    """A metric in a table of the report: the `position` of its column there, from 1.

    `label` is its heading where that of the metric would mislead; `part` names the number that is shown of a value
    which is an object, `down_drops_queue` for `{"down": {"drops_queue": 3}}`.
    """

    table: MetricTable
    position: int
    label: str = ""
    part: str = ""


@dataclass(frozen=True)
class Metric:
    """One thing that is observed in a trial. Its key is the name of its field; the unit is no part of the label.

    `more_is_better`: of two values the larger one is the better one, as of a rate. `needs` is what an engine must offer
    for it to be observed: what its probe needs, and what it needs beyond that. `asked_by` is the word by which a
    study asks for its probe: `vitals`, or one of `keep`; None where it need not. Both are added by
    `harness.probes.registry`.
    """

    label: str
    unit: Unit
    source: Source
    meaning: str
    columns: tuple[Column, ...]
    more_is_better: bool = False
    needs: frozenset[Capability] = frozenset()
    asked_by: str | None = None


def metric(  # noqa: PLR0913  # it is a table's row
    label: str,
    unit: Unit,
    source: Source,
    meaning: str,
    *columns: Column,
    unobserved: Callable[[], object] | None = None,
    more_is_better: bool = False,
    needs: Capability | None = None,
) -> Any:
    """A field of a dataclass that is a metric. It is None, or what `unobserved` makes, until it is observed.

    `needs` is what an engine must offer for it beyond what its probe needs.
    """
    needed = frozenset({needs} if needs else ())
    declared = {Metric: Metric(label, unit, source, meaning, columns, more_is_better, needed)}
    if unobserved is None:
        return field(default=None, metadata=declared)
    return field(default_factory=unobserved, metadata=declared)


def metrics_declared(observation: type[Any]) -> Mapping[str, Metric]:
    """The metrics of a dataclass, by their keys."""
    return {
        attribute.name: attribute.metadata[Metric]
        for attribute in fields(observation)
        if Metric in attribute.metadata
    }
