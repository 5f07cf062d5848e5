"""What a record tells of disturbances of its load, and what a rule over it would drop and keep."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Record = Mapping[str, Any]  # as in records.jsonl
Measure = Callable[[Record], float]
NOTHING = "nothing"


def _link(record: Record, key: str) -> float:
    """Of the direction with more of it."""
    return max(record["link_reading"][way][key] or 0.0 for way in ("down", "up"))


def _wait(record: Record, *keys: str) -> float:
    """As a share of the load's time."""
    return max(record[key] or 0.0 for key in keys) / float(record["plt_ms"])


# By the name of a column. All are shares of the load's time or, of CPU, of the cores' time, but for the first two.
MEASURES: Mapping[str, Measure] = {
    "late p99 ms": lambda record: _link(record, "lateness_p99_us") / 1e3,
    "late max ms": lambda record: _link(record, "lateness_max_us") / 1e3,
    "stalled": lambda record: _link(record, "stalled_us") / 1e3 / float(record["plt_ms"]),
    "foreign": lambda record: float(record["foreign_cpu_share"]),
    "steal": lambda record: float(record["steal_share"]),
    "client all": lambda record: _wait(record, "client_late_ms"),
    "server all": lambda record: _wait(record, "server_late_ms"),
    "client thread": lambda record: _wait(record, "client_thread_late_ms"),
    "server thread": lambda record: _wait(record, "server_thread_late_ms"),
    "any thread": lambda record: _wait(record, "client_thread_late_ms", "server_thread_late_ms"),
}
SHARES = (0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5)
LIMITS: Mapping[str, Sequence[float]] = {
    "late p99 ms": (0.1, 0.2, 0.5, 1, 2, 5, 10),
    "late max ms": (1, 2, 5, 10, 20, 50),
    "client all": (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5),
}


@dataclass(frozen=True)
class Load:
    """A load that went well: what it was, what disturbed it, and its time's ratio to undisturbed ones."""

    kind: str
    disturbance: str
    record: Record
    ratio: float

    @property
    def log_ratio(self) -> float:
        return math.log(self.ratio)


@dataclass(frozen=True)
class Rule:
    """Drops a load when any of its measures is above its limit."""

    limits: Mapping[str, float]

    @property
    def name(self) -> str:
        return " or ".join(f"{name} > {limit:g}" for name, limit in self.limits.items())

    def drops(self, load: Load) -> bool:
        return any(MEASURES[name](load.record) > limit for name, limit in self.limits.items())


def with_ratios(rows: Iterable[Mapping[str, Any]]) -> list[Load]:
    """Loads with their ratio to the median undisturbed load of their kind and round."""
    good = [row for row in rows if row["record"]["outcome"] == "ok"]
    usual: dict[tuple[str, int], list[float]] = {}
    for row in good:
        if row["disturbance"] == NOTHING:
            usual.setdefault((row["kind"], row["round"]), []).append(row["record"]["plt_ms"])
    loads = []
    for row in good:
        quiet = usual.get((row["kind"], row["round"]))
        if quiet:
            ratio = row["record"]["plt_ms"] / statistics.median(quiet)
            loads.append(Load(row["kind"], row["disturbance"], row["record"], ratio))
    return loads


def by_disturbance(loads: Sequence[Load], rules: Sequence[Rule]) -> Iterator[str]:
    """Per kind of load and disturbance: bias, what every measure says, and the share that every rule drops."""
    cells: dict[tuple[str, str], list[Load]] = {}
    for load in loads:
        cells.setdefault((load.kind, load.disturbance), []).append(load)
    for number, rule in enumerate(rules, start=1):
        yield f"rule {number}: {rule.name}"
    heads = [*MEASURES, *(f"rule {number}" for number, _ in enumerate(rules, start=1))]
    yield f"{'load':6} {'disturbance':34} {'n':>3} {'ratio (range)':>22} " + " ".join(
        f"{each:>13}" for each in heads
    )
    for (kind, disturbance), group in cells.items():
        ratios = [load.ratio for load in group]
        spread = f"{statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f})"
        said = [statistics.median(MEASURES[name](load.record) for load in group) for name in MEASURES]
        dropped = [sum(map(rule.drops, group)) / len(group) for rule in rules]
        cell = [*(f"{each:13.3f}" for each in said), *(f"{each:13.0%}" for each in dropped)]
        yield f"{kind:6} {disturbance:34} {len(group):3} {spread:>22} {' '.join(cell)}"


def curve(loads: Sequence[Load], rules: Iterable[Rule]) -> Iterator[str]:
    """Per rule: what it drops, and the bias of what it keeps."""
    kinds = list(dict.fromkeys(load.kind for load in loads))
    heads = [
        *(f"{kind}, {what}" for what in ("quiet", "disturbed") for kind in kinds),
        "mean",
        "mean |log|",
        "p95 |log|",
    ]
    heads += [f"mean, {kind}" for kind in kinds]
    yield f"{'dropped of / bias of the kept':44} " + " ".join(f"{each:>17}" for each in heads)
    for rule in (Rule({}), *rules):
        cells = [
            _share(
                [load for load in loads if load.kind == kind and (load.disturbance == NOTHING) == quiet], rule
            )
            for quiet in (True, False)
            for kind in kinds
        ]
        disturbed = [load for load in loads if load.disturbance != NOTHING and not rule.drops(load)]
        cells += _bias(disturbed)
        cells += [_bias([load for load in disturbed if load.kind == kind])[0] for kind in kinds]
        yield f"{rule.name or 'none':44} " + " ".join(f"{each:>17}" for each in cells)


def _share(loads: Sequence[Load], rule: Rule) -> str:
    return f"{sum(map(rule.drops, loads)) / len(loads):.0%} of {len(loads)}" if loads else "-"


def _bias(kept: Sequence[Load]) -> list[str]:
    if not kept:
        return ["-", "-", "-"]
    logs = sorted(abs(load.log_ratio) for load in kept)
    mean = statistics.fmean(load.log_ratio for load in kept)
    return [f"{mean:+.2%}", f"{statistics.fmean(logs):.2%}", f"{logs[math.ceil(0.95 * len(logs)) - 1]:.2%}"]
