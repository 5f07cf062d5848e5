"""The ratio of a claim in one setting in units of that in another: with a factor, another protocol, another engine.

A claim compares two conditions, SPDY and HTTP/1.1 say. With a factor both change, and so may their ratio. That it does
is a test of its own, so that a report need not compare two intervals by eye: the double difference of the logarithms,
inside blocks that hold all four conditions. All double ratios of a kind in a report pay for each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.claims.claimresult import ClaimRow, setting_text
from analysis.claims.claims import over_pages
from analysis.claims.measured import Measured
from analysis.statistics import LEAST_LEVELS
from analysis.statistics.compare import Comparison, Judgement, described, told
from harness.model.condition import USUAL_FACTOR, follows

FACTOR, PROTOCOL, ENGINE = "factor", "protocol", "engine"


@dataclass(frozen=True)
class DoubleRatio:
    """A claim in two settings: the ratio of `changed` in units of that of `usual`. `dimension` is what differs, `where`
    says what both share.
    """

    dimension: str
    changed: ClaimRow
    usual: ClaimRow
    where: str
    comparison: Comparison
    judgement: Judgement


def factor_effects(rows: Sequence[ClaimRow], measured: Measured) -> tuple[DoubleRatio, ...]:
    """Every claim with every factor against the study as it is, in the order of the claims."""
    return _judged(FACTOR, _with_usual(rows), measured)


def interactions(
    rows: Sequence[ClaimRow], measured: Measured, engines: Sequence[str] = ()
) -> tuple[DoubleRatio, ...]:
    """Each claim that was measured with several protocols, or in several engines: each of them against the first.

    `engines`: as the study lists them.
    """
    return tuple(
        double_ratio
        for dimension, order in ((PROTOCOL, ()), (ENGINE, engines))
        for double_ratio in _judged(dimension, _alike_but_for(dimension, rows, order), measured)
    )


def _judged(
    dimension: str, pairs: Iterable[tuple[ClaimRow, ClaimRow]], measured: Measured
) -> tuple[DoubleRatio, ...]:
    triples = [
        (changed, usual, comparison)
        for changed, usual in pairs
        if (comparison := _in_units_of(usual, changed, measured)) is not None
    ]
    said = told([comparison for *_, comparison in triples], measured.certainty.margin)
    return tuple(
        DoubleRatio(
            dimension,
            changed,
            usual,
            setting_text(_both(usual.setting, changed.setting), usual.pages, measured.wording),
            comparison,
            judgement,
        )
        for (changed, usual, _), (comparison, judgement) in zip(triples, said, strict=True)
    )


def _in_units_of(usual: ClaimRow, changed: ClaimRow, measured: Measured) -> Comparison | None:
    """Pair by pair; over several pages the geometric mean. None without a block, and with unlike numbers of pairs."""
    if len(usual.pairs) != len(changed.pairs):
        return None
    blocks = measured.blocks(usual.claim.metric)
    pages = [
        blocks.sums_by_run([(one, 1), (one_less, -1), (two, -1), (two_less, 1)])
        for (one, one_less), (two, two_less) in zip(changed.pairs, usual.pairs, strict=True)
        if one_less is not None and two_less is not None
    ]
    there = [runs for runs in pages if runs]
    statistic = over_pages(there)
    if statistic is None or 1 < len(there) < LEAST_LEVELS:  # pages that are no sample of pages
        return None
    n = sum(sums.size for runs in there for sums in runs.values())
    runs = len({run for runs in there for run in runs})
    return described(statistic, n, runs, measured.certainty, len(there))


def _with_usual(rows: Sequence[ClaimRow]) -> Iterator[tuple[ClaimRow, ClaimRow]]:
    """Every row with a factor, and the row of its claim without: of several, that in an equal place."""
    by_claim: dict[int, list[ClaimRow]] = defaultdict(list)
    for row in rows:
        if FACTOR in row.setting and not row.claim.is_budget:
            by_claim[id(row.claim)].append(row)
    for together in by_claim.values():
        usual = [row for row in together if row.setting[FACTOR] == USUAL_FACTOR]
        changed = [row for row in together if row.setting[FACTOR] != USUAL_FACTOR]
        telling = _telling(usual)
        for base in usual:
            for row in changed:
                if _place(row.setting, telling) == _place(base.setting, telling):
                    yield row, base


def _telling(rows: Sequence[ClaimRow]) -> list[str]:
    """What tells places apart: of links their numbers, where these do, as a factor may give a link another name."""
    differing = [name for name in (rows[0].setting if rows else ()) if _differs(name, rows)]
    numbers = [name for name in differing if name != "link"]
    places, by_number = ({_place(row.setting, names) for row in rows} for names in (differing, numbers))
    return numbers if len(by_number) == len(places) else differing


def _differs(name: str, rows: Sequence[ClaimRow]) -> bool:
    return len({str(row.setting.get(name)) for row in rows}) > 1


def _place(setting: Mapping[str, Any], telling: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(setting.get(name)) for name in telling)


def _alike_but_for(
    dimension: str, rows: Sequence[ClaimRow], order: Sequence[str]
) -> Iterator[tuple[ClaimRow, ClaimRow]]:
    """Every further row of a claim, pages and setting, and the first one: by `order`, else as they come."""
    ranks = {value: rank for rank, value in enumerate(order)}
    groups: dict[Any, list[ClaimRow]] = defaultdict(list)
    for row in rows:
        if row.setting.get(dimension) is not None and not row.claim.is_budget:
            rest = {
                name: each
                for name, each in row.setting.items()
                if name != dimension and not follows(name, dimension)
            }
            groups[id(row.claim), *map(str, rest.items())].append(row)
    for group in groups.values():
        first, *others = sorted(group, key=lambda row: ranks.get(row.setting[dimension], len(ranks)))
        yield from ((other, first) for other in others if other.pages == first.pages)


def _both(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What two settings share."""
    return {name: each for name, each in one.items() if other.get(name) == each}
