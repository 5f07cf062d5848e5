"""Estimates of several runs or pages taken together: each counts once, however many trials it has.

Runs of one study differ by more than their trials say (another hour, another machine), and so do pages. Three or more
of them show by how much: the interval then is that of their mean with Student's t (a random effect of the level), and
never narrower than the trials alone make it. Fewer cannot show it: the interval then speaks of these very runs or
pages, and the report says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from analysis.statistics.contrast import Method, Statistic, StudentT

LEAST_LEVELS = 3


def mean_of(parts: Sequence[Statistic], *, random: bool = True) -> Statistic:
    """The mean of estimates; of log ratios it is the geometric mean of ratios. At least one is needed.

    `random`: the parts stand for others of their kind, so their spread counts as soon as it can be seen.
    """
    if len(parts) == 1:
        return parts[0]
    centres = np.array([part.centre for part in parts])
    errors = np.array([part.error for part in parts])
    centre = float(centres.mean())
    within = float(np.sqrt((errors**2).sum())) / len(parts)
    if not random or len(parts) < LEAST_LEVELS:
        return StudentT(centre, within, _freedom(parts), Method.LEVELS_T)
    between = float(centres.std(ddof=1)) / math.sqrt(len(parts))
    error = between if math.isnan(within) else max(between, within)
    return StudentT(centre, error, len(parts) - 1, Method.LEVELS_T)


def _freedom(parts: Sequence[Statistic]) -> float:
    """Degrees of freedom of the sum of the parts' variances (Satterthwaite 1946)."""
    variances = [(part.error**2, part.freedom if isinstance(part, StudentT) else math.inf) for part in parts]
    total = sum(variance for variance, _ in variances)
    share = sum(variance**2 / freedom for variance, freedom in variances)
    return total**2 / share if share > 0 else 1e9
