"""The conditions that two runs have in common, and those that one of them has alone. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.labels.conditions import in_reading_order
from analysis.runs.exclude import Sifted, rules_of, sift
from analysis.runs.rundirectory import Run
from harness.errors import Outcome, RecordsError
from harness.input.shown import shortened
from harness.model.condition import AGAIN, EVERY_DIMENSION, SET, value

ConditionRow = Mapping[str, Any]
ConditionKey = tuple[Any, ...]

# The order in which people read conditions: those that are compared inside a block stand together.
READING = (
    *("page", "down_mbps", "up_mbps", "rtt_ms", "link", "engine", "driver", "device"),
    *("cpu_slowdown", "cache"),
    *("users", "connections", "depth", "compression", "variant", "protocol", "server", "origins"),
)
VALUES_NAMED = 3


@dataclass(frozen=True)
class Side:
    """One run: its conditions in reading order, each with its `cell`, and its trials that count.

    `again`: the baselines that were measured a second time. `columns`: what a condition is told by.
    """

    name: str
    columns: tuple[str, ...]
    conditions: tuple[ConditionRow, ...]
    again: tuple[ConditionRow, ...]
    sifted: Sifted

    @classmethod
    def of(cls, run: Run) -> Side:
        """A run as its own records tell it: which trials count does not depend on the other run."""
        told = dict.fromkeys((*EVERY_DIMENSION, *run.condition_columns))
        columns = tuple(name for name in told if name in run.condition_columns and name != AGAIN)
        cell = run.records.groupby([*columns, AGAIN], dropna=False).ngroup()
        records = run.records.assign(cell=cell)
        order = tuple(dict.fromkeys((*READING, *columns)))
        cells = in_reading_order(
            records.drop_duplicates("cell"), [name for name in order if name in columns]
        )[[*columns, AGAIN, "cell"]]
        rows = [{str(name): each for name, each in row.items()} for row in cells.to_dict("records")]
        return cls(
            name=str(run.directory),
            columns=columns,
            conditions=tuple(row for row in rows if not row[AGAIN]),
            again=tuple(row for row in rows if row[AGAIN]),
            sifted=sift(records, rules_of(run.kind)),
        )

    @property
    def dimensions(self) -> list[dict[str, Any]]:
        """The conditions by what they are told by alone."""
        return [{name: condition[name] for name in self.columns} for condition in self.conditions]

    @property
    def cells(self) -> pd.DataFrame:
        """The conditions as a frame."""
        return pd.DataFrame(self.conditions)[[*self.columns, "cell"]]

    def observed(self, metric: str) -> bool:
        """Whether a trial that counts has it."""
        counted = self.sifted.by_metric
        return metric in counted and bool(counted[metric].notna().any())

    @property
    def without_vitals(self) -> bool:
        """Whether no load that ended was observed for its vitals."""
        counted = self.sifted.kept
        ended = counted[counted["outcome"] == Outcome.OK] if "outcome" in counted else counted
        return len(ended) > 0 and not ("settled" in ended and ended["settled"].notna().any())

    def tells(self, column: str) -> bool:
        return any(value(condition, column) is not None for condition in self.conditions)


@dataclass(frozen=True)
class Matched:
    """`names`: what conditions were matched by. `pairs`: a condition of A with that of B. `only`: of A, and of B."""

    names: tuple[str, ...]
    pairs: tuple[tuple[ConditionRow, ConditionRow], ...]
    only: tuple[tuple[ConditionRow, ...], tuple[ConditionRow, ...]]


def matched(a: Side, b: Side) -> Matched:
    """The conditions that agree in every dimension that both runs tell. RecordsError when there are none."""
    for side in (a, b):
        if not side.conditions:
            raise RecordsError(
                f"{side.name} holds the second loads of baselines alone, which are not compared; let the run go on"
            )
    names = _names(a, b)
    mine, others = ({key(row, names): row for row in side.conditions} for side in (a, b))
    shared = [condition_key for condition_key in mine if condition_key in others]
    if not shared:
        raise RecordsError(f"{a.name} and {b.name} have no condition in common: {_apart(a, b, names)}")
    return Matched(
        names=names,
        pairs=tuple((mine[condition_key], others[condition_key]) for condition_key in shared),
        only=(
            tuple(condition for each, condition in mine.items() if each not in others),
            tuple(condition for each, condition in others.items() if each not in mine),
        ),
    )


def key(condition: ConditionRow, names: Iterable[str]) -> ConditionKey:
    """What is equal for equal conditions."""
    return tuple(value(condition, name) for name in names)


def varying(conditions: Sequence[ConditionRow], names: Iterable[str]) -> tuple[str, ...]:
    """The dimensions in which some of the conditions differ."""
    return tuple(name for name in names if len({value(condition, name) for condition in conditions}) > 1)


def _names(a: Side, b: Side) -> tuple[str, ...]:
    """The dimensions that both tell, and what else tells two conditions of one run apart. The set follows the page, and
    one page may be of other sets in another run.
    """
    names = [name for name in EVERY_DIMENSION if name != SET and a.tells(name) and b.tells(name)]
    for side, other in ((a, b), (b, a)):
        for name in _telling(side, names):
            if not other.tells(name):
                raise RecordsError(
                    f"{other.name} does not tell {name}, in which conditions of {side.name} differ; compare runs of "
                    "one study"
                )
            names.append(name)
    return tuple(names)


def _telling(side: Side, names: Sequence[str]) -> tuple[str, ...]:
    """The columns in which conditions differ that are equal by those names."""
    alike: dict[ConditionKey, list[ConditionRow]] = {}
    for condition in side.conditions:
        alike.setdefault(key(condition, names), []).append(condition)
    columns = (name for group in alike.values() for name in varying(group, side.columns))
    return tuple(dict.fromkeys(columns))


def _apart(a: Side, b: Side, names: Sequence[str]) -> str:
    """Why no condition of one is a condition of the other."""
    for name in names:
        mine, others = ({value(condition, name) for condition in side.conditions} for side in (a, b))
        if not mine & others:
            return f"{name} is {_listed(mine)} in one and {_listed(others)} in the other; name two runs of one study"
    return "no condition of one is one of the other in every dimension; name two runs of one study"


def _listed(values: Iterable[Any]) -> str:
    return shortened(sorted(map(str, values)), VALUES_NAMED)
