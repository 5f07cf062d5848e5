"""What was measured but not claimed: protocols, variants and compressions of a place against each other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.claims.claims import archives_of
from analysis.evaluation.effects import Pair, compression_pairs, variant_pairs
from analysis.labels.conditions import POINT
from analysis.statistics.compare import Blocks, Certainty, Comparison, Judgement, Verdict, compared

JUDGED = (*Comparison.__dataclass_fields__, *Judgement.__dataclass_fields__)
# What the rows of each kind of comparison say beside that.
SAYS = (
    ("panel", "place", "rtt_ms", "protocol", "reference"),
    ("whole", "filter", "way", "idle"),
    ("compression", "reference"),
)


@dataclass(frozen=True)
class Explored:
    """`comparisons`: every pair of protocols, both ways round; `effects`: what each variant, and each filter of a
    factorial study, does; `compressions`: what each compression does. All pay for each other.
    """

    comparisons: pd.DataFrame
    effects: pd.DataFrame
    compressions: pd.DataFrame


def explore(
    cells: pd.DataFrame,
    panel: Sequence[str],
    names: Sequence[str],
    kept: pd.DataFrame,
    blocks: Blocks,
    certainty: Certainty,
) -> Explored:
    """`panel`: the columns of a condition that split panels; `names`: the protocols, in order."""
    kinds = (
        _protocol_pairs(cells, names),
        variant_pairs(cells, _place_but(panel, "variant"), archives_of(kept)),
        compression_pairs(cells, _place_but(panel, "compression")),
    )
    found = compared(blocks, itertools.chain(*kinds), certainty)
    places: tuple[list[str], ...] = ([], _place_but(panel, "variant"), _place_but(panel, "compression"))
    parts, start = [], 0
    for kind, place, says in zip(kinds, places, SAYS, strict=True):
        part = found.iloc[start : start + len(kind)]
        parts.append(part.reindex(columns=[*place, *says, *JUDGED]).reset_index(drop=True))
        start += len(kind)
    return Explored(_both_ways(parts[0]), parts[1], parts[2])


def _protocol_pairs(cells: pd.DataFrame, names: Sequence[str]) -> list[Pair]:
    """Every two protocols of a place, the later one of `names` as the reference."""
    pairs: list[Pair] = []
    for (panel, place, rtt_ms), group in cells.groupby(["panel", "place", "rtt_ms"], dropna=False):
        found = dict(zip(group["protocol"].astype(str), group["cell"].astype(int), strict=True))
        for subject, reference in itertools.combinations([name for name in names if name in found], 2):
            row = {
                "panel": panel,
                "place": place,
                "rtt_ms": rtt_ms,
                "protocol": subject,
                "reference": reference,
            }
            pairs.append((row, found[subject], found[reference]))
    return pairs


def _both_ways(comparisons: pd.DataFrame) -> pd.DataFrame:
    """Every comparison and its reverse."""
    back = comparisons.assign(
        protocol=comparisons["reference"],
        reference=comparisons["protocol"],
        ratio=1 / comparisons["ratio"],
        low=1 / comparisons["high"],
        high=1 / comparisons["low"],
        verdict=[Verdict(verdict).flipped for verdict in comparisons["verdict"]],
    )
    return pd.concat([comparisons, back], ignore_index=True)


def _place_but(panel: Sequence[str], column: str) -> list[str]:
    """Everything of a condition but that column."""
    return [*(each for each in panel if each != column), *POINT]
