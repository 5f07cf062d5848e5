"""Whether what a claim compares comes out alike with every protocol: a test, so that a report need not guess.

The ratio of a claim with one protocol in units of that with another, inside blocks that hold all four conditions: the
double difference of the logarithms. Over several pages it is the geometric mean. All of a report pay for each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.claims.claimresult import ClaimRow
from analysis.claims.claims import Measured
from analysis.claims.claimtext import setting_text
from analysis.claims.doubledifference import in_units_of
from analysis.statistics.compare import Comparison, Judgement, judged
from harness.model.claim import Claim
from harness.model.dimensions import follows


@dataclass(frozen=True)
class Interaction:
    """The ratio of a claim with `protocol` in units of that with `reference`, in a setting that is alike but for it."""

    claim: Claim
    where: str
    protocol: str
    reference: str
    comparison: Comparison
    judgement: Judgement


def interactions(rows: Sequence[ClaimRow], measured: Measured) -> tuple[Interaction, ...]:
    """Each claim that was measured with several protocols: each of them against the first."""
    found = [
        (first, other, comparison)
        for first, other in _alike_but_for_protocol(rows)
        if (comparison := _compared(first, other, measured)) is not None
    ]
    judgements = judged([comparison for *_, comparison in found], measured.certainty.margin)
    return tuple(
        Interaction(
            first.claim,
            setting_text(_both(first.setting, other.setting), first.pages, measured.wording),
            str(other.setting["protocol"]),
            str(first.setting["protocol"]),
            comparison,
            judgement,
        )
        for (first, other, comparison), judgement in zip(found, judgements, strict=True)
    )


def _alike_but_for_protocol(rows: Sequence[ClaimRow]) -> Iterator[tuple[ClaimRow, ClaimRow]]:
    groups: dict[Any, list[ClaimRow]] = defaultdict(list)
    for row in rows:
        if row.setting.get("protocol") is not None and not row.claim.is_budget:
            groups[id(row.claim), *map(str, _rest(row.setting).items())].append(row)
    for first, *others in groups.values():
        for other in others:
            yield first, other


def _rest(setting: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: each for name, each in setting.items() if name != "protocol" and not follows(name, "protocol")
    }


def _both(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What two settings share."""
    return {name: each for name, each in one.items() if other.get(name) == each}


def _compared(first: ClaimRow, other: ClaimRow, measured: Measured) -> Comparison | None:
    return in_units_of(other, first, measured) if first.pages == other.pages else None
