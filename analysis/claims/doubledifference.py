"""The ratio of a claim in one setting in units of that in another: the double difference of the logarithms. Pure."""

from __future__ import annotations

from analysis.claims.claimresult import ClaimRow
from analysis.claims.claims import Measured, over_pages
from analysis.statistics.compare import Comparison, described


def in_units_of(other: ClaimRow, first: ClaimRow, measured: Measured) -> Comparison | None:
    """The ratio of `other` in units of that of `first`, inside blocks that hold all four conditions; pair by pair.

    Over several pages it is the geometric mean. None without any such block, and where they have not as many pairs.
    """
    if len(first.pairs) != len(other.pairs):
        return None
    blocks = measured.blocks(first.claim.metric)
    pages = [
        blocks.sums_by_run([(one, 1), (one_less, -1), (two, -1), (two_less, 1)])
        for (one, one_less), (two, two_less) in zip(other.pairs, first.pairs, strict=True)
        if one_less is not None and two_less is not None
    ]
    there = [runs for runs in pages if runs]
    statistic = over_pages(there)
    if statistic is None:
        return None
    n = sum(sums.size for runs in there for sums in runs.values())
    return described(statistic, n, len({run for runs in there for run in runs}), measured.certainty)
