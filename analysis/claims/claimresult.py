"""What became of one claim in one setting, as a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pandas as pd

from analysis.labels import words
from analysis.statistics.compare import Comparison, Judgement
from harness.model.claim import Claim
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


class ClaimVerdict(StrEnum):
    """Whether what was expected is so. A claim without an expectation is told, or not known yet."""

    HOLDS = "holds"
    FAILS = "fails"
    TOLD = "told"
    UNKNOWN = "not known yet"
    NO_DATA = "no data"


@dataclass(frozen=True)
class ClaimRow:
    """One line of the report's first table.

    `setting`: the dimensions that the pairs share; `where`: the same in words, as short as the study allows. `pairs`:
    the cells that are set against each other, the second None of a budget. `comparison`: of a budget the values against
    its limit, else the ratio; None without data. `floor`: how far the two equal baselines of these settings lie apart,
    as a ratio of at least 1; None where none was measured. `by_page` and `by_run`: what each page and run says alone.
    `idle`: subject and reference were served the very same archive, on every page.
    `absence`: of the trials that count, those in which an event did not happen. `notes`: what is missing, and why.
    """

    claim: Claim
    setting: Mapping[str, Any]
    verdict: ClaimVerdict
    sentence: str
    pages: tuple[str, ...] = ()
    pairs: tuple[tuple[int, int | None], ...] = ()
    comparison: Comparison | None = None
    judgement: Judgement | None = None
    floor: float | None = None
    where: str = ""
    by_page: tuple[tuple[str, Comparison], ...] = ()
    by_run: tuple[tuple[str, Comparison], ...] = ()
    absence: Absence | None = None
    idle: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def expects(self) -> bool:
        return self.claim.expects

    @property
    def below_floor(self) -> bool:
        """Whether two equal baselines lie as far apart as subject and reference, or further."""
        return self.comparison is not None and self.comparison.below(self.floor)

    @property
    def went_wrong(self) -> bool:
        """Whether a command that was given the claim ends with 1."""
        return self.expects and self.verdict in (ClaimVerdict.FAILS, ClaimVerdict.NO_DATA)

    def differs(self, other: ClaimRow) -> bool:
        """Whether another evaluation has another verdict, or a ratio that is off by more than half the interval."""
        if self.comparison is None or other.comparison is None:
            return self.comparison is not other.comparison
        if self.verdict is not other.verdict:
            return True
        mine, others = self.judgement, other.judgement
        if mine is not None and others is not None and mine.verdict is not others.verdict:
            return True
        half = (self.comparison.high - self.comparison.low) / 2
        return abs(self.comparison.ratio - other.comparison.ratio) > half
