"""Of a metric that tells when something first happened: the trials that went to their end without it.

Such a trial has no value, and says something all the same. An estimate from the others alone tells the event too early.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from analysis.labels import words
from harness.model.crowdobservation import EVENTS, MAIN_METRIC


@dataclass(frozen=True)
class Absence:
    """Of so many trials that count, the event did not happen in some, one at least."""

    without: int
    trials: int

    @property
    def always(self) -> bool:
        return self.without == self.trials

    def __str__(self) -> str:
        """`it did not happen in any of 3 trials`."""
        some = "any" if self.always else f"{self.without}"
        return f"it did not happen in {some} of {words.count(self.trials, 'trial')}"


def absence(kept: pd.DataFrame, metric: str, cells: Iterable[int]) -> Absence | None:
    """Of an event in these cells; None where it happened in every trial that counts, and of any other metric."""
    if metric not in EVENTS or not {metric, MAIN_METRIC} <= {*kept.columns}:
        return None
    # Trials without the main metric tell what a page costs, and no more.
    whole = kept["cell"].isin(list(cells)) & kept[MAIN_METRIC].notna()
    without = int(kept.loc[whole, metric].isna().sum())
    return Absence(without, int(whole.sum())) if without else None
