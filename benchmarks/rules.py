"""What a record tells of disturbances of its load, and what a rule over it would drop and keep."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy import stats

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


# By the name of a column. All are shares of the load's time or, of CPU, of the cores' time, but for the first.
MEASURES: Mapping[str, Measure] = {
    "late p99 ms": lambda record: _link(record, "lateness_p99_us") / 1e3,
    "stalled": lambda record: _link(record, "stalled_us") / 1e3 / _number(record, "plt_ms"),
    "foreign": lambda record: _number(record, "foreign_cpu_share"),
    "steal": lambda record: _number(record, "steal_share"),
    "server": lambda record: _wait(record, "server_late_ms"),
    "client thread": lambda record: _wait(record, "client_thread_late_ms"),
}
LEAST_OF_A_CELL = 3  # loads, for a mean


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


def by_disturbance(loads: Sequence[Load], rules: Sequence[Rule]) -> Iterator[str]:
    """Per kind of load and disturbance: bias, what every measure says, and the share that every rule drops."""
    cells: dict[tuple[str, str], list[Load]] = {}
    for load in loads:
        cells.setdefault((load.kind, load.disturbance), []).append(load)
    for number, rule in enumerate(rules, start=1):
        yield f"rule {number}: {rule.name}"
    heads = [*MEASURES, *(f"rule {number}" for number, _ in enumerate(rules, start=1))]
    yield f"{'load':6} {'disturbance':34} {'n':>3} {'ratio (range)':>22} " + " ".join(
        f"{head:>13}" for head in heads
    )
    for (kind, disturbance), group in cells.items():
        ratios = [load.ratio for load in group]
        spread = f"{statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f})"
        said = [statistics.median(MEASURES[name](load.record) for load in group) for name in MEASURES]
        dropped = [sum(map(rule.drops, group)) / len(group) for rule in rules]
        cell = [*(f"{value:13.3f}" for value in said), *(f"{share:13.0%}" for share in dropped)]
        yield f"{kind:6} {disturbance:34} {len(group):3} {spread:>22} {' '.join(cell)}"


def curve(loads: Sequence[Load], rules: Iterable[Rule]) -> Iterator[str]:
    """Per rule: what it drops, and the bias of the disturbed loads that it keeps: of all, of a cell and of a kind."""
    kinds = list(dict.fromkeys(load.kind for load in loads))
    heads = [f"{kind}, {what}" for what in (NOTHING, "disturbed") for kind in kinds]
    heads += ["mean", "mean |log|", "p95 |log|", "worst cell", *(f"mean, {kind}" for kind in kinds)]
    yield f"{'dropped of, and bias of the kept':60} " + " ".join(f"{head:>16}" for head in heads)
    for rule in rules:
        cells = [
            _share(
                [
                    page_load
                    for page_load in loads
                    if page_load.kind == kind and (page_load.disturbance == NOTHING) == quiet
                ],
                rule,
            )
            for quiet in (True, False)
            for kind in kinds
        ]
        kept = [load for load in loads if load.disturbance != NOTHING and not rule.drops(load)]
        cells += _bias(kept)
        cells += [_bias([load for load in kept if load.kind == kind])[0] for kind in kinds]
        yield f"{rule.name:60} " + " ".join(f"{cell:>16}" for cell in cells)


def _share(loads: Sequence[Load], rule: Rule) -> str:
    return f"{sum(map(rule.drops, loads)) / len(loads):.0%} of {len(loads)}" if loads else "-"


def _bias(kept: Sequence[Load]) -> list[str]:
    """Mean, mean size, size that 95 % do not exceed, and the mean of the cell that is the furthest off."""
    if not kept:
        return ["-"] * 4
    sizes = sorted(abs(load.log_ratio) for load in kept)
    cells: dict[tuple[str, str], list[float]] = {}
    for load in kept:
        cells.setdefault((load.kind, load.disturbance), []).append(load.log_ratio)
    means = [statistics.fmean(cell) for cell in cells.values() if len(cell) >= LEAST_OF_A_CELL]
    return [
        f"{statistics.fmean(load.log_ratio for load in kept):+.2%}",
        f"{statistics.fmean(sizes):.2%}",
        f"{sizes[math.ceil(0.95 * len(sizes)) - 1]:.2%}",
        f"{max(means, key=abs):+.2%}" if means else "-",
    ]


def telling(loads: Sequence[Load]) -> Iterator[str]:
    """How well each measure tells the loads that took longer: the rank correlation with their ratios."""
    kinds = list(dict.fromkeys(load.kind for load in loads))
    yield f"{'rank correlation with the ratio':32} " + " ".join(f"{kind:>8}" for kind in kinds)
    for name, measure in MEASURES.items():
        correlations = []
        for kind in kinds:
            pairs = [(measure(load.record), load.ratio) for load in loads if load.kind == kind]
            correlations.append(stats.spearmanr(pairs).statistic)
        yield f"{name:32} " + " ".join(f"{correlation:8.2f}" for correlation in correlations)
