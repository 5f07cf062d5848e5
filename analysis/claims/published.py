"""What became of a claim whose value others published, in a setting that was measured.

Estimate, interval and direction are those of any claim (`analysis.claims.claims`), over the published claims as a
family of their own. The rules, in their order:

  not comparable    the claims' file says why; or this study, or this run, measured nothing of it
  not reproduced    an event that was published, as a first error, happened in no trial
  not known yet     there is no interval, as of fewer than three pairs of blocks; a bound is not decided; or an event
                    did not happen in some trial, which would have been the one with the most users
  reproduced        our interval lies inside the published range, both ends included; a bound alone ("below 1") is
                    shown at 5 %, as an expectation that holds
  compatible        our interval overlaps the range, and is no wider than the range or than 10 %
  same direction    the published range lies on one side of 1, and our ratio is on the same side by its verdict; of two
                    pages there is no direction, as a ratio of 1 is nothing special there
  not known yet     our interval overlaps the range and is too wide to tell more
  not reproduced    anything else

The range is as published, widened by nothing but the tolerance that the claim names. So noise, which widens our
interval, makes "reproduced" rarer and never more frequent. A value with no reference, as a number of bytes, has no
direction.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from analysis.claims.claimresult import NOTHING_HELD, ClaimRow, ClaimVerdict
from analysis.runs.rundirectory import Run
from analysis.statistics.compare import Verdict
from analysis.statistics.contrast import ROUNDING
from analysis.statistics.plainly import no_interval_text
from harness.errors import RecordsError
from harness.input.shown import shown
from harness.study.claim import Claim, Publication

TEXTS = ("text", "stands", "figure", "differs")  # of a published claim
NARROW = 1.1  # high over low: an interval of 10 % tells a size, whatever was published
VERDICTS = (  # the best first
    ClaimVerdict.REPRODUCED,
    ClaimVerdict.COMPATIBLE,
    ClaimVerdict.SAME_DIRECTION,
    ClaimVerdict.UNKNOWN,
    ClaimVerdict.NOT_REPRODUCED,
    ClaimVerdict.NOT_COMPARABLE,
)


def against_published(row: ClaimRow) -> ClaimRow:
    """The row of a claim with the verdict on its published value, in place of that on what this expects."""
    verdict, reason = _judged(row)
    return replace(row, verdict=verdict, reason=reason)


def direction_open(row: ClaimRow) -> bool:
    """Whether it is compatible although our interval also holds 1, and the published range does not."""
    seen = row.comparison
    if seen is None or row.claim.is_budget or row.verdict is not ClaimVerdict.COMPATIBLE:
        return False
    return seen.low <= 1 <= seen.high and _side(row.claim) is not None


def publications_of(runs: Sequence[Run]) -> tuple[Publication, ...]:
    """What the runs' studies repeat, each publication once with all claims that some run holds.

    A claim is about what any of the runs measures of it. RecordsError where runs hold other values against one claim.
    """
    publications: dict[str, Publication] = {}
    for run in runs:
        mine = run.plan.published if run.plan else None
        if mine is None:
            continue
        known = publications.setdefault(mine.title, mine)
        claims = {claim.name: claim for claim in known.claims}
        for claim in mine.claims:
            claims[claim.name] = _of_both(claims.get(claim.name, claim), claim, run)
        differs = tuple(dict.fromkeys((*known.differs, *mine.differs)))
        publications[mine.title] = replace(known, differs=differs, claims=tuple(claims.values()))
    return tuple(publications.values())


def _of_both(known: Claim, claim: Claim, run: Run) -> Claim:
    """A claim as two runs hold it, of which `run` is the second. Either may measure nothing of it, or a part."""
    if not claim.compares:
        return known
    if not known.compares:
        return claim
    if _compared(known) != _compared(claim):
        raise RecordsError(
            f"{run.directory.resolve().name}: the published claim {shown(claim.name)} has another value here than in "
            "the runs before it; report these runs apart"
        )
    where = {
        dimension: tuple(dict.fromkeys((*values, *claim.where[dimension])))
        for dimension, values in known.where.items()
        if dimension in claim.where
    }
    return replace(known, where=where)


def _compared(claim: Claim) -> dict[str, Any]:
    """What a claim compares, and its published value. Not where: a run may measure a part of that."""
    return {key: said for key, said in claim.to_json().items() if key not in ("where", *TEXTS)}


def overall(rows: Sequence[ClaimRow]) -> dict[str, ClaimVerdict]:
    """One verdict per claim, by its name."""
    return worst((row.claim.name, row.verdict) for row in rows)


def counted(rows: Sequence[ClaimRow]) -> tuple[int, str]:
    """How many claims there are, and how many came out how: `3 reproduced, 1 compatible`."""
    counts = Counter(overall(rows).values())
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return counts.total(), told


def worst(places: Iterable[tuple[str, ClaimVerdict]]) -> dict[str, ClaimVerdict]:
    """Of verdicts by name the worst of each name, of those places that can be compared where some can."""
    verdicts: dict[str, ClaimVerdict] = {}
    for name, verdict in places:
        before = verdicts.get(name)
        if before is None or before is ClaimVerdict.NOT_COMPARABLE:
            verdicts[name] = verdict
        elif verdict is not ClaimVerdict.NOT_COMPARABLE:
            verdicts[name] = max(before, verdict, key=VERDICTS.index)
    return verdicts


def _judged(row: ClaimRow) -> tuple[ClaimVerdict, str]:
    """The verdict, and the reason of a row."""
    if row.claim.published.not_comparable:
        return ClaimVerdict.NOT_COMPARABLE, row.claim.published.not_comparable
    if not row.pairs and not row.expects:
        return ClaimVerdict.NOT_COMPARABLE, "nothing of it was measured"
    if row.comparison is None:
        never = row.claim.is_budget and row.absence is not None and row.absence.always
        verdict = ClaimVerdict.NOT_REPRODUCED if never else ClaimVerdict.NOT_COMPARABLE
        return verdict, "; ".join(row.notes) or NOTHING_HELD
    if math.isnan(row.comparison.low):
        return ClaimVerdict.UNKNOWN, no_interval_text(row.comparison)
    if row.absence is not None:
        return ClaimVerdict.UNKNOWN, str(row.absence)
    return (_of_bound(row) if row.claim.published.is_bound else _of_range(row)), ""


def _of_range(row: ClaimRow) -> ClaimVerdict:
    """What our interval says of a range."""
    _, low, high = row.interval or (math.nan,) * 3
    least, most = row.claim.published.bounds
    least, most = least * (1 - ROUNDING), most * (1 + ROUNDING)
    if least <= low and high <= most:
        return ClaimVerdict.REPRODUCED
    overlap = low <= most and least <= high
    if overlap and low > 0 and high / low <= max(most / least if least > 0 else math.inf, NARROW):
        return ClaimVerdict.COMPATIBLE
    if _side(row.claim) is not None and _side(row.claim) == _measured_side(row):
        return ClaimVerdict.SAME_DIRECTION
    return ClaimVerdict.UNKNOWN if overlap else ClaimVerdict.NOT_REPRODUCED


def _of_bound(row: ClaimRow) -> ClaimVerdict:
    """A bound is what the claim expects; of a value that was published to be above one, the opposite of a budget."""
    holds, fails = ClaimVerdict.HOLDS, ClaimVerdict.FAILS
    if row.claim.is_budget and row.claim.published.high is None:
        holds, fails = fails, holds
    if row.verdict is holds:
        return ClaimVerdict.REPRODUCED
    if row.verdict is not fails:
        return ClaimVerdict.UNKNOWN
    if not row.claim.is_budget and _side(row.claim) == _measured_side(row) is not None:
        return ClaimVerdict.SAME_DIRECTION
    return ClaimVerdict.NOT_REPRODUCED


def _side(claim: Claim) -> Verdict | None:
    """The direction that was published of a ratio; None of a value, of a range that holds 1, and of two pages: a ratio
    of 1 is nothing special where the sides differ in what they load.
    """
    if not claim.compares or claim.is_budget or "page" in claim.named:
        return None
    low, high = claim.published.bounds
    if high <= 1:
        return Verdict.FASTER
    return Verdict.SLOWER if low >= 1 else None


def _measured_side(row: ClaimRow) -> Verdict | None:
    """The direction that our verdict tells, if it tells one."""
    verdict = row.judgement.verdict if row.judgement else None
    return verdict if verdict in (Verdict.FASTER, Verdict.SLOWER) else None
