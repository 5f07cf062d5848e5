"""The trials behind the medians, in groups that share one axis: the conditions of a page over a link."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.evaluation.results import Results
from analysis.labels import conditions, protocols, words
from analysis.statistics.contrast import Sample
from analysis.statistics.runorder import in_run_order
from harness.model.condition import AGAIN
from harness.model.defaultclaims import single_filters

FORM = ("variant", "compression")  # of a page: they share axes with the page as it is
MOST_CONDITIONS = 12  # on one axis
MOST_GROUPS = 4  # drawn of a report: a figure takes some 0.6 s to store
PARQUET = "records.parquet has every trial."


@dataclass(frozen=True)
class DrawnTrials:
    """The trials of one condition that have a time, in the order in which they ran.

    `form`: the variant and compression, as far as they vary in the group. `again`: a baseline, measured a second time.
    """

    label: str
    protocol: str
    form: str
    again: bool
    times_ms: Sample
    counts: NDArray[np.bool_]

    @property
    def kept_ms(self) -> Sample:
        return self.times_ms[self.counts]


@dataclass(frozen=True)
class Group:
    """What shares an axis. `untimed`: how many trials were left out that have no time to draw."""

    title: str
    conditions: tuple[DrawnTrials, ...]
    untimed: int

    @property
    def times_ms(self) -> pd.Series[float]:
        return pd.Series(np.concatenate([each.times_ms for each in self.conditions]))


@dataclass(frozen=True)
class Drawn:
    """The groups that are drawn, of how many there are."""

    groups: tuple[Group, ...]
    of: int

    @property
    def note(self) -> str:
        """What is not drawn; empty when everything is."""
        if len(self.groups) == self.of:
            return ""
        return (
            f" {len(self.groups)} of {self.of} settings are drawn, spread evenly over their order; {PARQUET}"
        )


def drawn(results: Results) -> Drawn:
    """A group per page and link; where that would be too many conditions, one per variant and compression of it."""
    records = in_run_order(results.records)
    records = records[~records["variant"].isin(single_filters(set(results.cells["variant"])))]
    counts = records.index.isin(results.sifted.kept.index)
    records = records.assign(counts=counts, time=records[results.metric].where(records[results.metric] > 0))
    together = [name for name in results.panel_columns if name not in FORM]
    frames: list[tuple[list[str], pd.DataFrame]] = []
    for part in _parts(records, results, [*together, "rtt_ms"]):
        if part["cell"].nunique() <= MOST_CONDITIONS:
            frames.append((together, part))
        else:
            columns = list(results.panel_columns)
            frames += [(columns, each) for each in _parts(part, results, [*columns, "rtt_ms"])]
    frames = [(columns, part) for columns, part in frames if part.loc[part["counts"], "time"].notna().any()]
    chosen = np.linspace(0, len(frames) - 1, min(len(frames), MOST_GROUPS)).round().astype(int)
    picked = [frames[number] for number in chosen]
    return Drawn(tuple(_group(part, results, columns) for columns, part in picked), len(frames))


def _parts(records: pd.DataFrame, results: Results, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """The records of each place that the columns name, in reading order."""
    order = {place: number for number, place in enumerate(results.cells["cell"])}
    groups = [part for _, part in records.groupby(list(columns), dropna=False, sort=False)]
    yield from sorted(groups, key=lambda part: part["cell"].map(order).min())


def _group(records: pd.DataFrame, results: Results, columns: Sequence[str]) -> Group:
    place = records.iloc[0].to_dict()
    named = [name for name in results.split_columns if name in columns]
    title = f"{conditions.title(place, named)}, {words.plain(place['rtt_ms'])} ms RTT"
    first = records.drop_duplicates("cell")
    varying = [name for name in conditions.varying(first, FORM) if name not in columns]
    members = conditions.in_order(first, [*FORM, "protocol", AGAIN])
    made: list[DrawnTrials] = []
    for member in members.to_dict("records"):
        mine = records[records["cell"] == member["cell"]]
        timed = mine[mine["time"].notna()]
        form = ", ".join(str(member[name]) for name in varying)
        made.append(
            DrawnTrials(
                label=_label(member, form),
                protocol=str(member["protocol"]),
                form=form,
                again=bool(member[AGAIN]),
                times_ms=timed["time"].to_numpy(dtype=float),
                counts=timed["counts"].to_numpy(dtype=bool),
            )
        )
    return Group(title, tuple(_told_apart(made)), int(records["time"].isna().sum()))


def _label(member: Mapping[Any, Any], form: str) -> str:
    parts = (protocols.label(str(member["protocol"])), form, "again" if member[AGAIN] else "")
    return ", ".join(part for part in parts if part)


def _told_apart(made: Sequence[DrawnTrials]) -> Iterator[DrawnTrials]:
    """Labels that say the same get a number."""
    seen: dict[str, int] = {}
    for each in made:
        seen[each.label] = number = seen.get(each.label, 0) + 1
        yield each if number == 1 else replace(each, label=f"{each.label} ({number})")
