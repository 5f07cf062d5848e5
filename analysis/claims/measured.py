"""What claims are asked of: the conditions that were measured, and the trials that count."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

from analysis.claims.claimresult import Absence, absence, wording
from analysis.runs.exclude import TIMED
from analysis.statistics.compare import Blocks, Certainty


class Measured:
    """What claims are asked of: conditions with their `cell`, and the trials that count.

    `missing` says of a cell why it has no trial that counts, `late` that all of its trials timed out.
    """

    def __init__(
        self,
        cells: pd.DataFrame,
        kept: pd.DataFrame,
        certainty: Certainty,
        missing: Mapping[int, str] | None = None,
        late: Mapping[int, str] | None = None,
    ) -> None:
        self.conditions = dictionaries(cells.drop(columns="cell"))
        self.numbers = {
            id(each): int(cell) for each, cell in zip(self.conditions, cells["cell"], strict=True)
        }
        self.wording = wording(cells)
        self.certainty = certainty
        self.missing = missing or {}
        self.late = late or {}
        self._kept = kept

    @cached_property
    def archives(self) -> Mapping[int, frozenset[str]]:
        """The archives that each cell was served."""
        return archives_of(self._kept)

    def observed(self, metric: str) -> bool:
        return metric in self._kept and bool(self._kept[metric].notna().any())

    def absence(self, metric: str, pairs: Iterable[tuple[int, int | None]]) -> Absence | None:
        """Of an event, the trials of these cells in which it did not happen."""
        return absence(self._kept, metric, {cell for pair in pairs for cell in pair if cell is not None})

    def timed_out(self, cell: int) -> bool:
        """Whether any load of a condition did."""
        return any(
            np.isinf(values).any()
            for name in TIMED
            for values in self.blocks(name).values_by_run(cell).values()
        )

    @lru_cache  # noqa: B019 - lives no longer than the report that is made
    def blocks(self, metric: str) -> Blocks:
        return Blocks(self._kept if metric in self._kept else self._kept.assign(**{metric: math.nan}), metric)


def archives_of(kept: pd.DataFrame) -> dict[int, frozenset[str]]:
    """The digests of what each cell was served; empty where the records do not tell."""
    if "archive_digest" not in kept:
        return {}
    digests = kept.dropna(subset=["archive_digest"]).groupby("cell")["archive_digest"]
    return {int(str(cell)): frozenset(found) for cell, found in digests.unique().items()}


def same_archive(archives: Mapping[int, Collection[str]], one: int, other: int | None) -> bool:
    """Whether both cells were served the very same archive, as far as the records tell."""
    return other is not None and archives.get(one, ()) == archives.get(other, ()) != ()


def dictionaries(conditions: pd.DataFrame) -> list[dict[str, Any]]:
    """A mapping of dimension to value for each row."""
    return [{str(name): value for name, value in row.items()} for row in conditions.to_dict("records")]
