"""What each factor of a study does to what is claimed: the ratio with the factor against the ratio without it.

A claim compares two conditions, SPDY and HTTP/1.1 say. With a factor both change, and so may their ratio. That it does
is a test of its own, so that a report need not compare two intervals by eye. All of a report pay for each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.claims.claimresult import ClaimRow
from analysis.claims.claims import Measured
from analysis.claims.doubledifference import in_units_of
from analysis.statistics.compare import Comparison, Judgement, judged
from harness.model.condition import USUAL_FACTOR

FACTOR = "factor"


@dataclass(frozen=True)
class FactorEffect:
    """A claim with a factor and in the study as it is, and the first ratio in units of the second."""

    changed: ClaimRow
    usual: ClaimRow
    comparison: Comparison
    judgement: Judgement

    @property
    def factor(self) -> str:
        return str(self.changed.setting[FACTOR])


def factor_effects(rows: Sequence[ClaimRow], measured: Measured) -> tuple[FactorEffect, ...]:
    """Every claim with every factor, in the order of the claims."""
    found = [
        (changed, usual, comparison)
        for changed, usual in _with_usual(rows)
        if (comparison := in_units_of(changed, usual, measured)) is not None
    ]
    judgements = judged([comparison for *_, comparison in found], measured.certainty.margin)
    return tuple(
        FactorEffect(changed, usual, comparison, judgement)
        for (changed, usual, comparison), judgement in zip(found, judgements, strict=True)
    )


def _with_usual(rows: Sequence[ClaimRow]) -> list[tuple[ClaimRow, ClaimRow]]:
    """Every row with a factor, and the row of its claim without: of several, that in an equal place."""
    by_claim: dict[int, list[ClaimRow]] = defaultdict(list)
    for row in rows:
        if FACTOR in row.setting and not row.claim.is_budget:
            by_claim[id(row.claim)].append(row)
    found = []
    for together in by_claim.values():
        usual = [row for row in together if row.setting[FACTOR] == USUAL_FACTOR]
        changed = [row for row in together if row.setting[FACTOR] != USUAL_FACTOR]
        telling = [name for name in (usual[0].setting if usual else ()) if _differs(name, usual)]
        found += [
            (row, base)
            for base in usual
            for row in changed
            if _place(row.setting, telling) == _place(base.setting, telling)
        ]
    return found


def _differs(name: str, rows: Sequence[ClaimRow]) -> bool:
    return len({str(row.setting.get(name)) for row in rows}) > 1


def _place(setting: Mapping[str, Any], telling: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(setting.get(name)) for name in telling)
