"""The claims of a study against what was measured: a verdict for each claim in each of its settings.

A ratio over several pages is the geometric mean of the pages' ratios. All rows pay for each other, and for nothing
else: claims were named before the run. An expectation holds when the test that it does not is passed at 5 %, and fails
when the test that it does is passed; in between it is not known yet.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from analysis.claimresult import ClaimRow, ClaimVerdict
from analysis.claimtext import sentence, setting_text
from analysis.compare import (
    ALPHA,
    NOTHING,
    Blocks,
    Certainty,
    Comparison,
    Judgement,
    Verdict,
    benjamini_hochberg,
    described,
    judged,
    over_runs,
)
from analysis.contrast import Statistic, contrast
from analysis.levels import LEAST_LEVELS, mean_of
from analysis.rundirectory import Run
from harness.model.claim import Claim, Pair, settings


@dataclass(frozen=True)
class _Asked:
    """A claim in one setting with its statistic: of ratios in logarithms, of a budget in units over its limit."""

    claim: Claim
    setting: Mapping[str, Any]
    pages: tuple[str, ...]
    pairs: tuple[tuple[int, int | None], ...]
    statistic: Statistic | None
    comparison: Comparison
    holds: float  # one-sided p-values of what is expected not being so, and of it being so
    fails: float


def evaluated(
    claims: Sequence[Claim],
    cells: pd.DataFrame,
    kept: pd.DataFrame,
    certainty: Certainty,
    floors: Mapping[int, float] | None = None,
) -> tuple[ClaimRow, ...]:
    """A row per claim and setting, in the order of the claims.

    `cells`: the conditions with their `cell`; `kept`: the trials that count. `floors`: by cell, how far two equal
    baselines of its setting lie apart.
    """
    conditions: list[dict[str, Any]] = [
        {str(name): value for name, value in each.items()}
        for each in cells.drop(columns="cell").to_dict("records")
    ]
    number = {id(each): int(cell) for each, cell in zip(conditions, cells["cell"], strict=True)}

    @lru_cache
    def blocks(metric: str) -> Blocks:
        return Blocks(kept, metric)

    asked = [
        _asked(claim, setting.dimensions, setting.pairs, number, blocks(claim.metric), certainty)
        for claim in claims
        for setting in settings(claim, conditions)
    ]
    judgements = judged([each.comparison for each in asked], certainty.margin)
    holds = benjamini_hochberg([each.holds for each in asked])
    fails = benjamini_hochberg([each.fails for each in asked])
    return tuple(
        _row(each, judgement, (hold, fail), certainty, floors or {})
        for each, judgement, hold, fail in zip(asked, judgements, holds, fails, strict=True)
    )


def claims_of(runs: Sequence[Run]) -> tuple[Claim, ...]:
    """The claims of the runs' plans, each once."""
    named = [claim for run in runs for claim in run.plan.claims or ()]
    return tuple({json.dumps(claim.to_json(), sort_keys=True): claim for claim in named}.values())


def _asked(
    claim: Claim,
    setting: Mapping[str, Any],
    pairs: Sequence[Pair],
    number: Mapping[int, int],
    blocks: Blocks,
    certainty: Certainty,
) -> _Asked:
    cells = tuple((number[id(one)], None if other is None else number[id(other)]) for one, other in pairs)
    pages = tuple(dict.fromkeys(str(one["page"]) for one, _ in pairs))
    if claim.at_most is not None:
        values = np.concatenate([blocks.values(subject) for subject, _ in cells])
        statistic = contrast(values - claim.at_most) if values.size else None
        comparison = _budget(statistic, values.size, claim.at_most, certainty)
    else:
        parts = [runs for one, other in cells if other is not None and (runs := blocks.by_run(one, other))]
        statistic = over_pages(parts)
        n = sum(ratios.size for runs in parts for ratios in runs.values())
        names = {run for part in parts for run in part}
        comparison = described(statistic, n, len(names), certainty) if statistic else NOTHING
    holds, fails = _expected(claim, statistic)
    return _Asked(claim, setting, pages, cells, statistic, comparison, certainty.p(holds), certainty.p(fails))


def over_pages(pages: Sequence[Mapping[str, np.ndarray]]) -> Statistic | None:
    """The mean log ratio of several pages, each with its log ratios by run; None without any.

    Its error is the largest of what the blocks, the pages and (from three on) the runs show.
    """
    if not pages:
        return None
    by_page = mean_of([over_runs(list(runs.values())) for runs in pages])
    names = list(dict.fromkeys(run for runs in pages for run in runs))
    if len(pages) == 1 or len(names) < LEAST_LEVELS:
        return by_page
    by_run = mean_of(
        [mean_of([contrast(runs[name]) for runs in pages if name in runs], random=False) for name in names]
    )
    return max((by_page, by_run), key=lambda each: 0.0 if math.isnan(each.error) else each.error)


def _budget(statistic: Statistic | None, n: int, at_most: float, certainty: Certainty) -> Comparison:
    """A budget as a comparison with its limit, so that 1 is the limit itself."""
    if statistic is None:
        return NOTHING
    low, high = (1 + end / at_most for end in statistic.interval(certainty.confidence))
    p = min(1.0, 2 * min(statistic.p_not_above(0.0), statistic.p_not_below(0.0)))
    ratio = 1 + statistic.centre / at_most
    return Comparison(n, 1, ratio, low, high, statistic.method, certainty.p(p), 1.0)


def _expected(claim: Claim, statistic: Statistic | None) -> tuple[float, float]:
    """The p-values that what is expected is not so, and that it is so; 1 where nothing is expected or known."""
    if statistic is None or not claim.expects:
        return 1.0, 1.0
    lows: list[float] = []
    highs: list[float] = []
    if claim.at_most is not None:
        highs.append(0.0)
    if claim.ratio_below is not None:
        highs.append(math.log(claim.ratio_below))
    if claim.ratio_within is not None:
        lows.append(math.log(claim.ratio_within[0]))
        highs.append(math.log(claim.ratio_within[1]))
    holds = max([*map(statistic.p_not_below, highs), *map(statistic.p_not_above, lows)])
    fails = min([*map(statistic.p_not_above, highs), *map(statistic.p_not_below, lows)])
    return holds, min(1.0, 2 * fails if lows else fails)


def _row(
    asked: _Asked,
    judgement: Judgement,
    q: tuple[float, float],
    certainty: Certainty,
    floors: Mapping[int, float],
) -> ClaimRow:
    verdict = _verdict(asked, judgement, *q)
    apart = [floors[cell] for pair in asked.pairs for cell in pair if cell is not None and cell in floors]
    return ClaimRow(
        claim=asked.claim,
        setting=asked.setting,
        verdict=verdict,
        sentence=sentence(
            asked.claim,
            setting_text(asked.setting, asked.pages),
            asked.comparison,
            judgement,
            verdict,
            certainty.margin,
        ),
        pages=asked.pages,
        pairs=asked.pairs,
        comparison=asked.comparison if asked.comparison.n else None,
        judgement=judgement if asked.comparison.n else None,
        floor=max(apart, default=None) if not asked.claim.is_budget else None,
    )


def _verdict(asked: _Asked, judgement: Judgement, holds: float, fails: float) -> ClaimVerdict:
    if asked.comparison.n == 0:
        return ClaimVerdict.NO_DATA
    if not asked.claim.expects:
        return ClaimVerdict.UNKNOWN if judgement.verdict is Verdict.UNKNOWN else ClaimVerdict.TOLD
    if holds < ALPHA:
        return ClaimVerdict.HOLDS
    return ClaimVerdict.FAILS if fails < ALPHA else ClaimVerdict.UNKNOWN
