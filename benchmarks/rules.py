"""What a record tells of disturbances of its load, and what a rule over it would drop and keep."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy import stats

from analysis.statistics import LEAST_PAIRS
from benchmarks import common
from harness.errors import Outcome
from harness.records import StoredRecord

Measure = Callable[[StoredRecord], float]
NOTHING = "nothing"
OTHERS = "others"
CALM = 0.08  # of the cores' time: what the kernel's rounding can look like


def _number(record: StoredRecord, key: str) -> float:
    return float(record.facts[key] or 0.0)


def _link(record: StoredRecord, key: str) -> float:
    """Of the direction with more of it."""
    return max(record.facts["link_reading"][way][key] or 0.0 for way in ("down", "up"))


def _wait(record: StoredRecord, key: str) -> float:
    """As a share of the load's time."""
    return _number(record, key) / _number(record, "plt_ms")


# By the name of a column. All are shares of the load's time or, of CPU, of the cores' time, but for those in ms.
MEASURES: Mapping[str, Measure] = {
    "late p99 ms": lambda record: _link(record, "lateness_p99_us") / 1e3,
    "stalled": lambda record: _link(record, "stalled_us") / 1e3 / _number(record, "plt_ms"),
    "foreign": lambda record: _number(record, "foreign_cpu_share"),
    "steal": lambda record: _number(record, "steal_share"),
    "server": lambda record: _wait(record, "server_late_ms"),
    "client thread": lambda record: _wait(record, "client_thread_late_ms"),
    "runner late ms": lambda record: _number(record, "runner_late_ms"),
    "navigate longer ms": lambda record: _number(record, "navigate_ms") - _number(record, "plt_ms"),
}
Row = Mapping[str, str]


@dataclass(frozen=True)
class Load:
    """A load that went well: what it was, what disturbed it, and its time's ratio to undisturbed ones."""

    kind: str
    disturbance: str
    record: StoredRecord
    ratio: float

    @property
    def log_ratio(self) -> float:
        return math.log(self.ratio)


@dataclass(frozen=True)
class Rule:
    """Drops a load when, in any of its groups, every measure is above its limit."""

    groups: tuple[Mapping[str, float], ...] = ()

    @property
    def name(self) -> str:
        said = [" and ".join(f"{name} > {limit:g}" for name, limit in group.items()) for group in self.groups]
        return " or ".join(said) or "none"

    def drops(self, load: Load) -> bool:
        return any(
            all(MEASURES[name](load.record) > limit for name, limit in group.items()) for group in self.groups
        )


def with_ratios(rows: Iterable[Mapping[str, Any]]) -> list[Load]:
    """Loads with their ratio to the median undisturbed load of their kind.

    A load is undisturbed only if others left the machine alone; where the disturbance is none of the cores', their work
    is one of its own.
    """
    read = [(row, common.record_of(row["record"])) for row in rows]
    good = [
        (str(row["kind"]), _named(row, record), record)
        for row, record in read
        if record.outcome == Outcome.OK
    ]
    usual: dict[str, list[float]] = {}
    for kind, disturbance, record in good:
        if disturbance == NOTHING:
            usual.setdefault(kind, []).append(_number(record, "plt_ms"))
    return [
        Load(kind, disturbance, record, _number(record, "plt_ms") / statistics.median(usual[kind]))
        for kind, disturbance, record in good
        if kind in usual
    ]


def _named(row: Mapping[str, Any], record: StoredRecord) -> str:
    name = str(row["disturbance"])
    if row["programs"] or _number(record, "foreign_cpu_share") <= CALM:
        return name
    return OTHERS if name == NOTHING else f"{name}, {OTHERS}"


def by_disturbance(loads: Sequence[Load], rule: Rule) -> Iterator[Row]:
    """A row for each kind of load and disturbance: the ratio, the median of each measure, and how many a rule drops."""
    cells: dict[tuple[str, str], list[Load]] = {}
    for load in loads:
        cells.setdefault((load.kind, load.disturbance), []).append(load)
    for (kind, disturbance), group in cells.items():
        ratios = [load.ratio for load in group]
        said = {
            name: f"{statistics.median(measure(load.record) for load in group):.3f}"
            for name, measure in MEASURES.items()
        }
        yield {
            "load": kind,
            "disturbance": disturbance,
            "n": str(len(group)),
            "ratio": common.spread(ratios, 3),
            **{name.replace(" ", "_"): value for name, value in said.items()},
            "dropped": str(sum(map(rule.drops, group))),
        }


def by_rule(loads: Sequence[Load], rules: Iterable[Rule]) -> Iterator[Row]:
    """A row for each rule and kind of load: what it drops, and the mean bias of the disturbed loads that it keeps, with
    its standard error.
    """
    for rule in rules:
        for kind in dict.fromkeys(load.kind for load in loads):
            calm, disturbed = (
                [load for load in loads if load.kind == kind and (load.disturbance == NOTHING) == quiet]
                for quiet in (True, False)
            )
            yield {
                "rule": rule.name,
                "load": kind,
                "undisturbed_dropped": _share(calm, rule),
                "disturbed_dropped": _share(disturbed, rule),
                "bias_of_the_kept": _bias([load.log_ratio for load in disturbed if not rule.drops(load)]),
            }


def _share(loads: Sequence[Load], rule: Rule) -> str:
    return f"{sum(map(rule.drops, loads))} of {len(loads)}"


def _bias(kept: Sequence[float]) -> str:
    if len(kept) < LEAST_PAIRS:
        return "too few are kept"
    mean, error = statistics.fmean(kept), statistics.stdev(kept) / math.sqrt(len(kept))
    return f"{100 * mean:+.1f} % ({100 * error:.1f})"


def telling(loads: Sequence[Load]) -> Iterator[Row]:
    """A row for each measure: how well it tells the loads of a kind that took longer, by its rank correlation with
    their ratios.
    """
    kinds = dict.fromkeys(load.kind for load in loads)
    for name, measure in MEASURES.items():
        row = {"measure": name}
        for kind in kinds:
            pairs = [(measure(load.record), load.ratio) for load in loads if load.kind == kind]
            varies = all(len(set(side)) > 1 for side in zip(*pairs, strict=True))
            row[kind] = f"{stats.spearmanr(pairs).statistic:.2f}" if varies else ""
        yield row
