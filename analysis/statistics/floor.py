"""The floor: how large a difference equal conditions can show. No difference up to it is a finding. Pure.

In every setting the baseline is measured twice in each block (A/A). The log ratio of the two has the same statistic as
any comparison of the setting, so it tells how far equal conditions lie apart, and how uncertain that is itself. What is
wanted is the upper end: a difference that another pair of equal conditions would pass in at most 5 %.

All settings of a run tell it together: the distance of their common mean from 0, and Student's t times the error of one
setting, pooled over all of them. Where their distances differ by more than chance (Kruskal and Wallis 1952), as of a
calm and a bursty link, every setting has a floor of its own. `benchmarks/simulation` holds both to 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special, stats

from analysis.statistics import CONFIDENCE, LEAST_PAIRS
from analysis.statistics.compare import ALPHA, over_runs
from analysis.statistics.contrast import Sample, Statistic, StudentT, mean_of

SettingKey = Any  # what tells settings apart; hashable


@dataclass(frozen=True)
class Floors:
    """The floors of a run in one metric. `parts`: of each setting that was measured twice the log ratio of the two.

    `apart`: the settings differ, so that each has a floor of its own.
    """

    parts: Mapping[SettingKey, Statistic] = field(default_factory=dict)
    apart: bool = False
    confidence: float = CONFIDENCE

    def of(self, settings: Iterable[SettingKey]) -> float | None:
        """The floor of a ratio over these settings, as a ratio of at least 1; None where nothing tells it.

        A setting that was not measured twice itself has that of all together, unless settings differ.
        """
        asked = list(dict.fromkeys(settings))
        mine = [self.parts[setting] for setting in asked if setting in self.parts] if self.apart else []
        every = mine if self.apart else list(self.parts.values())
        if not asked or not every:
            return None
        share = len(every) / len(mine or asked)
        return math.exp(self._reach(mean_of(every, random=False), math.sqrt(share)))

    @property
    def range(self) -> tuple[float, float] | None:
        """The least floor of one setting and the greatest; None without any."""
        floor_ratios = [floor for setting in self.parts if (floor := self.of([setting])) is not None]
        return (min(floor_ratios), max(floor_ratios)) if floor_ratios else None

    def _reach(self, statistic: Statistic, wider: float) -> float:
        """The upper end of the distance from 0, with an error that is so many times as wide."""
        if not isinstance(statistic, StudentT):
            return max(abs(end) for end in statistic.interval(self.confidence))
        quantile = float(special.stdtrit(statistic.freedom, (1 + self.confidence) / 2))
        return abs(statistic.centre) + quantile * statistic.error * wider


def floors(measured: Mapping[SettingKey, Sequence[Sample]], confidence: float = CONFIDENCE) -> Floors:
    """Of each setting the log ratios of its two equal baselines, run by run."""
    whole = {setting: np.concatenate(list(runs)) for setting, runs in measured.items() if len(runs)}
    parts = {
        setting: over_runs(list(measured[setting]))
        for setting, ratios in whole.items()
        if ratios.size >= LEAST_PAIRS
    }
    known = {setting: part for setting, part in parts.items() if math.isfinite(part.error)}
    return Floors(known, _differ([np.abs(whole[setting]) for setting in known]), confidence)


def _differ(distances: Sequence[Sample]) -> bool:
    """Whether equal conditions lie further apart in one setting than in another, by more than chance."""
    if len(distances) < 2 or np.ptp(np.concatenate(list(distances))) == 0:
        return False
    return bool(stats.kruskal(*distances).pvalue < ALPHA)
