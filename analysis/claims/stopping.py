"""When a study knows enough: at a look, the intervals of its claims against the half-width that was asked for.

A look is judged by width alone, never by a verdict or a ratio, so that chance cannot end a study where it likes. Below
10 pairs of a page nothing is narrow: their spread is often small by chance, and with it false verdicts pile up. The
intervals are those that the report gives to a study with looks (`Certainty.looked`), over all trials up to the look.

Over three pages, or runs or lanes, or more the report's interval also holds how far these lie apart. Trials do not
narrow that, and of three it is often small by chance. There a look is judged by the interval of these very pages and
runs.

Every claim of the study, or of one without any every published one, is judged in each of its settings. A condition
needs no more trials when all settings that it is part of are narrow enough; one that belongs to no claim, when all
others need none. A baseline that is measured twice ends with itself. Without claims nothing can be narrow enough. Nor
can a published value of a crowd at some number of users: it is read off the buckets of trials, which no look does.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.claims.claimresult import ClaimRow
from analysis.claims.claims import evaluated
from analysis.claims.measured import Measured
from analysis.runs.exclude import rules_of, sift
from analysis.runs.rundirectory import Run, load
from analysis.statistics import LEAST_PAIRS_LOOKED
from analysis.statistics.compare import Certainty, Comparison, log_of
from harness.model.condition import AGAIN

LOOKED = Certainty(looked=True)


@dataclass(frozen=True)
class Precision:
    """What a look shows: the trials of the conditions that need no more, and the widths as JSON can hold them."""

    trials: frozenset[str]
    facts: Mapping[str, Any]


def look(folder: Path, block: int, until: float) -> Precision:
    """What a run directory is precise enough for after a block, at a half-width of `until` (0.02: 2 %)."""
    return precision(load(folder), block, until)


def precision(run: Run, block: int, until: float) -> Precision:
    """The same of a run that was read."""
    # Baselines that are measured twice are two conditions: `again` is one of the columns.
    cells = run.records.assign(cell=run.records.groupby(list(run.condition_columns), dropna=False).ngroup())
    records = cells[cells["block"] <= block]
    conditions = cells.drop_duplicates("cell")
    measured = conditions[~conditions[AGAIN]]
    columns = [name for name in run.condition_columns if name != AGAIN]
    known = Measured(measured[[*columns, "cell"]], sift(records, rules_of(run.kind)).by_metric, LOOKED)
    rows = evaluated(run.claims or run.every_claim, known)
    stopped = _stopped(rows, until, measured["cell"].tolist())
    twins = conditions[conditions[AGAIN]].merge(measured, on=columns, suffixes=("", "_first"))
    stopped |= set(twins.loc[twins["cell_first"].isin(stopped), "cell"])
    return Precision(
        trials=frozenset(records.loc[records["cell"].isin(stopped), "trial"]),
        facts={
            "until": until,
            "confidence": LOOKED.confidence,
            "settings": [_facts(row, until) for row in rows],
        },
    )


def half_width(comparison: Comparison | None, *, of_budget: bool = False) -> float:
    """Half the interval: of a ratio as a share of it, of a budget as a share of its limit; NaN without an interval."""
    if comparison is None:
        return math.nan
    if of_budget:
        return (comparison.high - comparison.low) / 2
    return of_logs(log_of(comparison.low), log_of(comparison.high))


def of_logs(low: float, high: float) -> float:
    """Half an interval of log ratios, as a share of the ratio."""
    return math.expm1((high - low) / 2)


def is_narrow(width: float, pairs: int, until: float) -> bool:
    """Whether the half-width of an interval of so many pairs is known and small enough."""
    return pairs >= LEAST_PAIRS_LOOKED and width <= until  # NaN is not


def _width(row: ClaimRow) -> float:
    return half_width(row.within, of_budget=row.claim.is_budget)


def _pairs(row: ClaimRow) -> int:
    """Of a budget the values; of a ratio over several pages the pairs of the page that has the fewest."""
    return min((seen.n for _, seen in row.by_page), default=row.comparison.n if row.comparison else 0)


def _stopped(rows: Collection[ClaimRow], until: float, cells: Collection[int]) -> set[int]:
    """The cells that need no more trials."""
    claimed = {cell for row in rows for cell in _cells(row)}
    wanting = {cell for row in rows if not is_narrow(_width(row), _pairs(row), until) for cell in _cells(row)}
    if not claimed:
        return set()
    return claimed - wanting if wanting else set(cells)


def _cells(row: ClaimRow) -> set[int]:
    return {cell for pair in row.pairs for cell in pair if cell is not None}


def _facts(row: ClaimRow, until: float) -> dict[str, Any]:
    width = _width(row)
    return {
        "claim": row.claim.name,
        "setting": dict(row.setting),
        "pages": list(row.pages),
        "n": _pairs(row),
        "half_width": None if math.isnan(width) else round(width, 6),
        "enough": is_narrow(width, _pairs(row), until),
    }
