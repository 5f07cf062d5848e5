"""Baselines that were measured twice (A/A): the second against the first, and the floor that follows for every cell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from analysis.evaluation.explored import JUDGED, Pair
from analysis.statistics.compare import Blocks, Certainty, compared
from analysis.statistics.contrast import Sample
from analysis.statistics.floor import Floors, floors
from harness.model.condition import AGAIN

# A setting: what is compared inside it stands together in a block.
SETTING = (
    *("page", "link", "rtt_ms", "down_mbps", "engine", "driver", "device", "cpu_slowdown", "cache"),
    "factor",
)


@dataclass(frozen=True)
class CellFloors:
    """The floors of a run, asked by cells. `settings`: the number of the setting that each cell is in."""

    floors: Floors = field(default_factory=Floors)
    settings: Mapping[int, int] = field(default_factory=dict)

    def of(self, cells: Iterable[int]) -> float | None:
        """The floor of a ratio over the settings of these cells; None where none was measured twice."""
        return self.floors.of(self.settings[cell] for cell in cells if cell in self.settings)


def cell_floors(
    every: pd.DataFrame, condition: Sequence[str], blocks: Blocks, certainty: Certainty
) -> CellFloors:
    """`every`: the conditions with their `cell`, those that were measured again among them."""
    keys = [name for name in SETTING if name in every]
    numbers = every.groupby(keys, dropna=False).ngroup()
    settings = dict(zip(every["cell"].astype(int), numbers.astype(int), strict=True))
    measured: dict[int, list[Sample]] = defaultdict(list)
    for _, again, first in _pairs(every, condition):
        measured[settings[again]] += blocks.by_run(again, first).values()
    return CellFloors(floors(measured, certainty.confidence), settings)


def twins(
    every: pd.DataFrame, condition: Sequence[str], blocks: Blocks, certainty: Certainty
) -> pd.DataFrame:
    """Each baseline that was measured twice: the second in units of the first, which differ by chance alone."""
    found = compared(blocks, _pairs(every, condition), certainty)
    return found.reindex(columns=[*condition, "place", *JUDGED])


def _pairs(every: pd.DataFrame, condition: Sequence[str]) -> Iterator[Pair]:
    keys = list(condition)
    both = every.loc[every[AGAIN], [*keys, "place", "cell"]].merge(
        every.loc[~every[AGAIN], [*keys, "cell"]], on=keys, suffixes=("", "_first")
    )
    for row in both.to_dict("records"):
        says = {str(name): row[name] for name in (*keys, "place")}
        yield says, int(row["cell"]), int(row["cell_first"])
