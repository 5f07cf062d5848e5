"""Claims against what was measured: a verdict for each claim in each of its settings.

A ratio over three pages or more is the geometric mean of the pages' ratios, with an interval for pages of their kind.
Fewer pages are no sample of pages, and a page whose loads timed out may have no finite ratio: then each is told by
itself. All rows that ask the same kind of question
(direction and size of a ratio, an expectation) pay for each other, and for nothing else: claims were named before the
run. An expectation holds when the test that it does not is passed at 5 %, and fails
when the test that it does is passed; in between it is not known yet. A published value has rules of its own
(`analysis.claims.published`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from analysis.claims.claimresult import (
    TWICE,
    Absence,
    ClaimRow,
    ClaimVerdict,
    sentence,
    setting_text,
)
from analysis.claims.measured import Measured, same_archive
from analysis.claims.published import against_published
from analysis.labels import words
from analysis.runs.exclude import TIMED
from analysis.runs.rundirectory import Run
from analysis.statistics import LEAST_LEVELS
from analysis.statistics.compare import (
    ALPHA,
    NOTHING,
    UNTOLD,
    Certainty,
    Comparison,
    JudgedComparison,
    Judgement,
    Verdict,
    benjamini_hochberg,
    described,
    log_of,
    over_runs,
    told,
)
from analysis.statistics.contrast import LeastSure, Statistic, contrast, crossed, mean, mean_of
from harness.study.claim import Claim, DimensionsPair, Setting, settings
from harness.study.defaultclaims import default_claims

NOT_RECORDED = Setting({}, ())
APART = "the pages are told one by one, as one of them has no finite ratio: loads timed out"


class Floored(Protocol):
    """How large a difference equal conditions can show, asked by cells; None where none was measured twice."""

    def of(self, cells: Iterable[int]) -> float | None: ...


@dataclass(frozen=True)
class _Asked:
    """A claim in one setting with its statistic: of ratios in logarithms, of a budget in units over its limit."""

    claim: Claim
    setting: Mapping[str, Any]
    pages: tuple[str, ...]
    pairs: tuple[tuple[int, int | None], ...]
    of_pair: tuple[str, ...] = ()  # the page of each
    comparison: Comparison = NOTHING
    within: Comparison = NOTHING
    holds: float = 1.0  # one-sided p-values of what is expected not being so, and of it being so
    fails: float = 1.0
    by_page: tuple[tuple[str, Comparison], ...] = ()
    by_run: tuple[tuple[str, Comparison], ...] = ()
    notes: tuple[str, ...] = ()


def evaluated(
    claims: Sequence[Claim],
    measured: Measured,
    floors: Mapping[str, Floored] | None = None,
    *,
    beforehand: bool = True,
    like: Sequence[ClaimRow] | None = None,
) -> tuple[ClaimRow, ...]:
    """A row per claim and setting, in the order of the claims; of fewer than three pages with data, and where one of
    more has no finite ratio, one per page. With `like`, rows of the same claims of other trials, pages stand
    together where they do there.

    Where nothing was recorded of a claim, one that expects something has a row without data, too: it must not pass. So
    has one with a published value, which then pays for no other.
    `floors`: by metric. `beforehand`: the claims were named before the run, so that intervals are plain
    (`analysis.statistics.compare.told`).
    """
    asked = [
        row
        for claim in claims
        for setting in settings(claim, measured.conditions)
        or ([NOT_RECORDED] if claim.expects or claim.is_published else [])
        for row in _page_by_page(_asked(claim, setting.dimensions, setting.pairs, measured), measured, like)
    ]
    margin = measured.certainty.margin
    ratios = [
        question
        for question in asked
        if not question.claim.is_budget and (question.pairs or question.claim.expects)
    ]
    said = told([question.comparison for question in ratios], margin, beforehand=beforehand)
    known = dict(zip(map(id, ratios), said, strict=True))
    expecting = [question for question in asked if question.claim.expects]
    holds = benjamini_hochberg([question.holds for question in expecting])
    fails = benjamini_hochberg([question.fails for question in expecting])
    expected = dict(zip(map(id, expecting), zip(holds, fails, strict=True), strict=True))
    return tuple(
        _row(
            question,
            known.get(id(question), (question.comparison, UNTOLD)),
            expected.get(id(question), (1.0, 1.0)),
            measured,
            (floors or {}).get(question.claim.metric),
        )
        for question in asked
    )


def claims_of(runs: Sequence[Run], conditions: Sequence[Mapping[str, Any]]) -> tuple[Claim, ...]:
    """The claims of the runs' plans, each once; the default ones where no plan says any, published ones included."""
    named = {claim_key(claim): claim for run in runs for claim in run.claims}
    if named or any(run.every_claim for run in runs):
        return tuple(named.values())
    return default_claims(conditions, runs[0].kind)


def claim_key(claim: Claim) -> str:
    """What two equal claims share."""
    return json.dumps(claim.to_json(), sort_keys=True)


def _asked(
    claim: Claim, setting: Mapping[str, Any], pairs: Sequence[DimensionsPair], measured: Measured
) -> _Asked:
    number, certainty, blocks = measured.numbers, measured.certainty, measured.blocks(claim.column)
    cells = tuple((number[id(one)], None if other is None else number[id(other)]) for one, other in pairs)
    of_pair = tuple(str(one["page"]) for one, _ in pairs)
    asked = _Asked(claim, setting, tuple(dict.fromkeys(of_pair)), cells, of_pair)
    if claim.at_most is not None:
        above = [
            values - claim.at_most for cell, _ in cells for values in blocks.values_by_run(cell).values()
        ]
        if not above:
            return asked
        budget, within = (over_runs(above, mean, random=random) for random in (True, False))
        holds, fails = _within_budget(budget)
        if any(
            measured.timed_out(cell) for cell, _ in cells
        ):  # nobody knows how long, or what they would have told
            holds = 1.0
        return replace(
            asked,
            comparison=_budget(budget, above, claim.at_most, certainty),
            within=_budget(within, above, claim.at_most, certainty),
            holds=certainty.p(holds),
            fails=certainty.p(fails),
        )
    parts = [
        (page, runs)
        for page, (one, other) in zip(of_pair, cells, strict=True)
        if other is not None and (runs := blocks.by_run(one, other))
    ]
    statistic, alone = (over_pages([runs for _, runs in parts], random=random) for random in (True, False))
    if statistic is None or alone is None:
        return asked
    holds, fails = _expected(claim, statistic)
    if claim.metric not in TIMED and any(
        measured.timed_out(cell) for pair in cells for cell in pair if cell is not None
    ):  # what they would have told is gone, and it is the longest loads that time out
        holds = 1.0
    names = list(dict.fromkeys(run for _, runs in parts for run in runs))
    pages = len({page for page, _ in parts})
    seen = described(statistic, _size(runs for _, runs in parts), len(names), certainty, pages)
    return replace(
        asked,
        comparison=seen,
        within=described(alone, seen.n, seen.runs, certainty, pages) if seen.levels else seen,
        holds=certainty.p(holds),
        fails=certainty.p(fails),
        by_page=tuple((page, _of([(page, runs)], certainty)) for page, runs in parts),
        by_run=tuple(
            (name, _of([(page, {name: runs[name]}) for page, runs in parts if name in runs], certainty))
            for name in names
        ),
    )


def _page_by_page(asked: _Asked, measured: Measured, like: Sequence[ClaimRow] | None) -> list[_Asked]:
    """The row, or where it is over several pages of which fewer than three have data, or one has no finite ratio, a
    row for each page.
    """
    if asked.claim.is_budget or len(asked.pages) < (2 if like is None else 1):
        return [asked]
    there = len(dict(asked.by_page))
    endless = there >= LEAST_LEVELS and not math.isfinite(log_of(asked.comparison.ratio))
    few = there < LEAST_LEVELS and (there > 0 or len(asked.pages) < LEAST_LEVELS)
    together = not few and not endless
    if like is not None:
        where = str(dict(asked.setting))
        together = any(row.claim == asked.claim and str(dict(row.setting)) == where for row in like)
    notes = (APART,) if endless else ()
    return (
        [asked]
        if together
        else [replace(_of_page(asked, page, measured), notes=notes) for page in asked.pages]
    )


def _of_page(asked: _Asked, page: str, measured: Measured) -> _Asked:
    conditions = {measured.numbers[id(condition)]: condition for condition in measured.conditions}
    pairs = [
        (conditions[one], None if other is None else conditions[other])
        for its, (one, other) in zip(asked.of_pair, asked.pairs, strict=True)
        if its == page
    ]
    return _asked(asked.claim, {**asked.setting, "page": page}, pairs, measured)


def _of(parts: Sequence[tuple[str, Mapping[str, np.ndarray]]], certainty: Certainty) -> Comparison:
    """A part of what a claim compares, by itself: pages with their log ratios by run."""
    of_runs = [runs for _, runs in parts]
    statistic = over_pages(of_runs)
    if statistic is None:
        return NOTHING
    names, pages = {run for runs in of_runs for run in runs}, {page for page, _ in parts}
    return described(statistic, _size(of_runs), len(names), certainty, len(pages))


def _size(pages: Iterable[Mapping[str, np.ndarray]]) -> int:
    return sum(ratios.size for runs in pages for ratios in runs.values())


def over_pages(pages: Sequence[Mapping[str, np.ndarray]], *, random: bool = True) -> Statistic | None:
    """The mean log ratio of several pages, each with its log ratios by run; None without any.

    It is no surer than what the pages show, than what (from three on) the runs show, and than what both add up to.
    Without `random` it is that of these very pages and runs: of what the blocks show alone.
    """
    if not pages:
        return None
    by_page = mean_of([over_runs(list(runs.values()), random=random) for runs in pages], random=random)
    names = list(dict.fromkeys(run for runs in pages for run in runs))
    if len(pages) == 1 or len(names) < LEAST_LEVELS or not random:
        return by_page
    found = [{name: contrast(ratios) for name, ratios in runs.items()} for runs in pages]
    by_run = mean_of(
        [mean_of([runs[name] for runs in found if name in runs], random=False) for name in names]
    )
    if not math.isfinite(by_run.centre) or not math.isfinite(by_page.centre):
        return by_page if not math.isfinite(by_page.centre) else by_run
    seen = [by_page, by_run]
    if len(pages) >= LEAST_LEVELS:
        seen.append(
            crossed(
                np.array(
                    [[runs[name].centre if name in runs else math.nan for name in names] for runs in found]
                )
            )
        )
    known = [statistic for statistic in seen if not math.isnan(statistic.error)]
    return LeastSure(tuple(known)) if known else by_page


def _budget(
    statistic: Statistic, runs: Sequence[np.ndarray], at_most: float, certainty: Certainty
) -> Comparison:
    """A budget as a comparison with its limit, so that 1 is the limit itself."""
    low, high = (1 + end / at_most for end in statistic.interval(certainty.confidence))
    ratio = 1 + statistic.centre / at_most
    n = sum(values.size for values in runs)
    return Comparison(n, len(runs), ratio, low, high, statistic.method, 1.0, 1.0, certainty.confidence)


def _within_budget(statistic: Statistic) -> tuple[float, float]:
    """The p-values that a mean is above its limit (0 of the statistic), and that it is not.

    What never varies, as a number of requests, is known for sure as soon as an interval is.
    """
    if statistic.error == 0:
        return (0.0, 1.0) if statistic.centre <= 0 else (1.0, 0.0)
    return statistic.p_not_below(0.0), statistic.p_not_above(0.0)


def _expected(claim: Claim, statistic: Statistic) -> tuple[float, float]:
    """The p-values that what is expected of a ratio is not so, and that it is so; 1 where nothing is expected."""
    lows: list[float] = []
    highs: list[float] = []
    if claim.ratio_below is not None:
        highs.append(math.log(claim.ratio_below))
    if claim.ratio_within is not None:
        lows.append(math.log(claim.ratio_within[0]))
        highs += [] if claim.is_open_above else [math.log(claim.ratio_within[1])]
    if not lows + highs:
        return 1.0, 1.0
    holds = max([*map(statistic.p_not_below, highs), *map(statistic.p_not_above, lows)])
    fails = min([*map(statistic.p_not_above, highs), *map(statistic.p_not_below, lows)])
    return holds, min(1.0, 2 * fails if lows else fails)


def _row(
    asked: _Asked,
    told: JudgedComparison,
    q: tuple[float, float],
    measured: Measured,
    floors: Floored | None,
) -> ClaimRow:
    seen, judgement = told
    zeros = _of_zero(asked, measured)
    every = bool(zeros) and len(zeros) == len(asked.pairs)
    absent = measured.absence(asked.claim.column, asked.pairs)
    # Trials without the event are those in which it would have come last: the others are no sample of all.
    open_ended = seen.n > 0 and absent is not None
    verdict = ClaimVerdict.UNKNOWN if every or open_ended else _verdict(asked, judgement, *q)
    floor = None
    if floors is not None and not asked.claim.is_budget:
        # Sides in two settings differ as two conditions of either do: they are no mean over both.
        of_sides = (
            floors.of(cell for cell in side if cell is not None) for side in zip(*asked.pairs, strict=True)
        )
        floor = max((each for each in of_sides if each is not None), default=None)
    pages = () if "page" in asked.claim.named else asked.pages  # which the claim says itself
    where = setting_text(asked.setting, pages, measured.wording)
    known = seen.n > 0
    if verdict in (ClaimVerdict.HOLDS, ClaimVerdict.FAILS) and _at_the_limit(
        asked.claim, verdict, seen, floor
    ):
        verdict = ClaimVerdict.UNKNOWN
    twice = _measured_twice(asked, measured)
    idle = known and twice == asked.pages
    notes = (*asked.notes, *_missing(asked, absent, measured), *zeros)
    notes += (f"{TWICE}: {', '.join(twice)}",) if twice and not idle else ()
    row = ClaimRow(
        claim=asked.claim,
        setting=asked.setting,
        verdict=verdict,
        pages=asked.pages,
        pairs=asked.pairs,
        comparison=seen if known else None,
        within=asked.within if known else None,
        judgement=judgement if known and not asked.claim.is_budget else None,
        floor=floor,
        where=where,
        by_page=asked.by_page,
        by_run=asked.by_run,
        absence=absent,
        idle=idle,
        notes=notes,
    )
    row = against_published(row) if asked.claim.is_published else row
    return replace(row, sentence=sentence(row, measured.certainty.margin))


def _at_the_limit(claim: Claim, verdict: ClaimVerdict, seen: Comparison, floor: float | None) -> bool:
    """Whether a difference is no farther from what is expected of it than equal conditions lie apart: no finding.

    That a ratio lies around 1 is no difference.
    """
    low, high = claim.ratio_within or (math.inf, -math.inf)
    if verdict is ClaimVerdict.HOLDS and low < 1 < high:
        return False
    limits = [claim.ratio_below, *(claim.ratio_within or ())]
    return floor is not None and any(
        abs(log_of(seen.ratio) - math.log(limit)) <= math.log(floor) for limit in limits if limit
    )


def _measured_twice(asked: _Asked, measured: Measured) -> tuple[str, ...]:
    """The pages of which a variant is its reference, byte for byte: what else differs would make a difference."""
    if set(asked.claim.named) != {"variant"}:
        return ()
    pages: dict[str, list[bool]] = {page: [] for page in asked.pages}
    for page, pair in zip(asked.of_pair, asked.pairs, strict=True):
        pages[page].append(same_archive(measured.archives, *pair))
    return tuple(page for page, same in pages.items() if same and all(same))


def _missing(asked: _Asked, absent: Absence | None, measured: Measured) -> tuple[str, ...]:
    """In how many trials an event did not happen; and which conditions have no trial that counts, and why: the pages
    where several were asked for.
    """
    blocks = measured.blocks(asked.claim.column)
    cells = dict.fromkeys(cell for pair in asked.pairs for cell in pair if cell is not None)
    without = [
        why[cell]
        for why in (measured.missing, measured.late)
        for cell in cells
        if cell in why and not blocks.values(cell).size
    ]
    if absent is None and not without and not measured.observed(asked.claim.column):
        return (f"{asked.claim.column} was not observed in any trial",)
    both_late = (
        not without
        and not asked.comparison.n
        and all(np.isinf(blocks.values(condition)).any() for condition in cells)
    )
    return (
        *([str(absent)] if absent else []),
        *without,
        *(["both sides timed out in every block that holds both"] if cells and both_late else []),
    )


def _of_zero(asked: _Asked, measured: Measured) -> tuple[str, ...]:
    """A note for each pair of conditions that have values, but no ratio, as one of the values is 0."""
    if asked.claim.is_budget:
        return ()
    blocks, notes = measured.blocks(asked.claim.column), []
    for page, (one, other) in zip(asked.of_pair, asked.pairs, strict=True):
        zeros, both = (0, 0) if other is None else blocks.zeros(one, other)
        where = f"{page}: " if len(asked.pages) > 1 else ""
        if zeros:
            notes.append(f"{where}a value of 0 has no ratio ({zeros} of {words.count(both, 'block')})")
    return tuple(notes)


def _verdict(asked: _Asked, judgement: Judgement, holds: float, fails: float) -> ClaimVerdict:
    if asked.comparison.n == 0:
        return ClaimVerdict.NO_DATA
    if not asked.claim.expects:
        return ClaimVerdict.UNKNOWN if judgement.verdict is Verdict.UNKNOWN else ClaimVerdict.TOLD
    if holds < ALPHA:
        return ClaimVerdict.HOLDS
    return ClaimVerdict.FAILS if fails < ALPHA else ClaimVerdict.UNKNOWN
