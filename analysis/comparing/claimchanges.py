"""The claims of a study whose verdict is another one in the second of two runs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.claims.claimresult import ClaimRow, ClaimVerdict
from analysis.claims.claims import Measured, claim_key, evaluated
from analysis.comparing.matching import Side
from analysis.statistics.compare import Certainty
from harness.model.claim import Claim
from harness.model.condition import EVERY_DIMENSION, value


@dataclass(frozen=True)
class ClaimChange:
    """One claim in one setting, as run A and as run B answer it."""

    a: ClaimRow
    b: ClaimRow


@dataclass(frozen=True)
class ClaimChanges:
    """`asked`: how many rows both runs answer. `changed`: those with another verdict."""

    asked: int
    changed: tuple[ClaimChange, ...]


def claim_changes(claims: Sequence[Claim], a: Side, b: Side, certainty: Certainty) -> ClaimChanges:
    """Each run is judged by itself; where the verdict is told, not expected, its direction counts."""
    before, after = (
        {_key(row): row for row in evaluated(claims, Measured(side.cells, side.sifted.kept, certainty))}
        for side in (a, b)
    )
    both = [ClaimChange(row, after[key]) for key, row in before.items() if key in after]
    return ClaimChanges(len(both), tuple(each for each in both if _verdict(each.a) != _verdict(each.b)))


def _key(row: ClaimRow) -> tuple[Any, ...]:
    """Claim and setting; what else a link is may differ between versions."""
    setting = tuple(value(row.setting, name) for name in EVERY_DIMENSION)
    return claim_key(row.claim), setting


def _verdict(row: ClaimRow) -> tuple[Any, ...]:
    direction = row.judgement.verdict if row.judgement and row.verdict is ClaimVerdict.TOLD else None
    return row.verdict, direction
