"""What others published against what was measured here: a verdict for each published claim in each of its settings.

Estimate, interval and direction are those of the study's own claims (`analysis.claims.claims`), over the published
claims as a family of their own. The rules, in their order:

  not comparable    the claims' file says why; or this study, or this run, measured nothing of it
  not reproduced    an event that was published, as a first error, happened in no trial
  not known yet     there is no interval, as of fewer than three pairs of blocks; or a bound is not decided
  reproduced        our interval lies inside the published range, both ends included; a bound alone ("below 1") is
                    shown at 5 %, as an expectation that holds
  compatible        our interval overlaps the range, and is no wider than the range or than 10 %
  same direction    the published range lies on one side of 1, and our ratio is on the same side by its verdict
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
from dataclasses import dataclass, replace
from enum import StrEnum

from analysis.claims.claimresult import ClaimRow, ClaimVerdict
from analysis.claims.claims import evaluated
from analysis.claims.measured import Measured
from analysis.runs.rundirectory import Run
from analysis.statistics.compare import Verdict
from analysis.statistics.contrast import ROUNDING
from analysis.statistics.plainly import no_interval_text
from harness.study.published import Publication, PublishedClaim

NARROW = 1.1  # high over low: an interval of 10 % tells a size, whatever was published


class PublishedVerdict(StrEnum):
    """What became of a published claim, the best first."""

    REPRODUCED = "reproduced"
    COMPATIBLE = "compatible"
    SAME_DIRECTION = "same direction"
    UNKNOWN = "not known yet"
    NOT_REPRODUCED = "not reproduced"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True)
class PublishedRow:
    """A published claim in one setting. `row` is what was measured of it, None where nothing was; `reason` is why it
    cannot be compared, what is not known, or in how many trials an event did not happen.
    """

    published: PublishedClaim
    verdict: PublishedVerdict
    reason: str = ""
    row: ClaimRow | None = None

    @property
    def interval(self) -> tuple[float, float, float] | None:
        """Estimate, low and high in the unit of what was published; None without data."""
        if self.row is None or self.row.comparison is None:
            return None
        seen, scale = self.row.comparison, self.row.claim.at_most or 1.0
        return scale * seen.ratio, scale * seen.low, scale * seen.high

    @property
    def direction_open(self) -> bool:
        """Whether it is compatible although our interval also holds 1, and the published range does not."""
        seen = self.row.comparison if self.row and not self.row.claim.is_budget else None
        if seen is None or self.verdict is not PublishedVerdict.COMPATIBLE:
            return False
        return seen.low <= 1 <= seen.high and _side(self.published) is not None


def publications_of(runs: Sequence[Run]) -> tuple[Publication, ...]:
    """What the runs' studies repeat, each publication once with all claims that some run holds."""
    found: dict[str, Publication] = {}
    for run in runs:
        mine = run.plan.published if run.plan else None
        if mine is None:
            continue
        known = found.setdefault(mine.title, mine)
        names = {claim.name for claim in known.claims}
        more = [claim for claim in mine.claims if claim.name not in names]
        found[mine.title] = known.with_claims([*known.claims, *more])
    return tuple(found.values())


def against_published(
    claims: Sequence[PublishedClaim], measured: Measured, like: Sequence[PublishedRow] | None = None
) -> tuple[PublishedRow, ...]:
    """A row per published claim and setting, in the order of the claims; every claim has one. `like`: as of
    `evaluated`.

    A claim about a crowd asks for the column that holds its metric at a number of users (`crowd_column`).
    """
    asked = [replace(each, metric=crowd_column(each)) if is_of_a_crowd(each) else each for each in claims]
    rows: dict[int, list[ClaimRow]] = {}
    known = None if like is None else [each.row for each in like if each.row is not None]
    for row in evaluated([each for each in asked if each.compares], measured, like=known):
        rows.setdefault(id(row.claim), []).append(row)
    found: list[PublishedRow] = []
    for claim, each in zip(claims, asked, strict=True):
        found += [judged(claim, row) for row in rows.get(id(each), [])] or [_without(claim)]
    return tuple(found)


def is_of_a_crowd(published: PublishedClaim) -> bool:
    """Whether it is about a crowd of so many users, and compares."""
    return published.at_users is not None and published.compares


def crowd_column(published: PublishedClaim) -> str:
    """The column that holds its metric at its number of users."""
    since = "" if published.since_users is None else f" since {published.since_users}"
    against = "" if published.against_users is None else f" against {published.against_users}"
    return f"{published.metric} at {published.at_users} users{since}{against}"


def judged(published: PublishedClaim, row: ClaimRow) -> PublishedRow:
    """The verdict on a claim in a setting that was measured."""
    if published.not_comparable:
        return PublishedRow(published, PublishedVerdict.NOT_COMPARABLE, published.not_comparable, row)
    if row.comparison is None:
        reason = "; ".join(row.notes) or "no block holds what it needs"
        never = row.claim.is_budget and row.absence is not None and row.absence.always
        verdict = PublishedVerdict.NOT_REPRODUCED if never else PublishedVerdict.NOT_COMPARABLE
        return PublishedRow(published, verdict, reason, row)
    if math.isnan(row.comparison.low):
        return PublishedRow(published, PublishedVerdict.UNKNOWN, no_interval_text(row.comparison), row)
    lacking = "" if row.absence is None else str(row.absence)
    if published.is_bound:
        return PublishedRow(published, _of_bound(published, row), lacking, row)
    made = PublishedRow(published, PublishedVerdict.REPRODUCED, lacking, row)
    _, low, high = made.interval or (math.nan,) * 3
    return replace(made, verdict=_of_range(published, row, low, high))


def overall(rows: Sequence[PublishedRow]) -> dict[str, PublishedVerdict]:
    """One verdict per claim, by its name."""
    return worst((row.published.name, row.verdict) for row in rows)


def counted(rows: Sequence[PublishedRow]) -> tuple[int, str]:
    """How many claims there are, and how many came out how: `3 reproduced, 1 compatible`."""
    counts = Counter(overall(rows).values())
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in PublishedVerdict if counts[verdict])
    return counts.total(), told


def worst(places: Iterable[tuple[str, PublishedVerdict]]) -> dict[str, PublishedVerdict]:
    """Of verdicts by name the worst of each name, of those places that can be compared where some can."""
    order = list(PublishedVerdict)
    found: dict[str, PublishedVerdict] = {}
    for name, verdict in places:
        before = found.get(name)
        if before is None or before is PublishedVerdict.NOT_COMPARABLE:
            found[name] = verdict
        elif verdict is not PublishedVerdict.NOT_COMPARABLE:
            found[name] = max(before, verdict, key=order.index)
    return found


def _without(published: PublishedClaim) -> PublishedRow:
    reason = published.not_comparable or "nothing of it was measured"
    return PublishedRow(published, PublishedVerdict.NOT_COMPARABLE, reason)


def _of_range(published: PublishedClaim, row: ClaimRow, low: float, high: float) -> PublishedVerdict:
    """What our interval, low to high, says of a range."""
    least, most = published.bounds[0] * (1 - ROUNDING), published.bounds[1] * (1 + ROUNDING)
    if least <= low and high <= most:
        return PublishedVerdict.REPRODUCED
    overlap = low <= most and least <= high
    if overlap and low > 0 and high / low <= max(most / least if least > 0 else math.inf, NARROW):
        return PublishedVerdict.COMPATIBLE
    if _side(published) is not None and _side(published) == _measured_side(row):
        return PublishedVerdict.SAME_DIRECTION
    return PublishedVerdict.UNKNOWN if overlap else PublishedVerdict.NOT_REPRODUCED


def _of_bound(published: PublishedClaim, row: ClaimRow) -> PublishedVerdict:
    """A bound is what the claim expects; of a value that was published to be above one, the opposite of a budget."""
    holds, fails = ClaimVerdict.HOLDS, ClaimVerdict.FAILS
    if row.claim.is_budget and published.high is None:
        holds, fails = fails, holds
    if row.verdict is holds:
        return PublishedVerdict.REPRODUCED
    if row.verdict is not fails:
        return PublishedVerdict.UNKNOWN
    if not row.claim.is_budget and _side(published) == _measured_side(row) is not None:
        return PublishedVerdict.SAME_DIRECTION
    return PublishedVerdict.NOT_REPRODUCED


def _side(published: PublishedClaim) -> Verdict | None:
    """The direction that was published of a ratio; None of a value, and of a range that holds 1."""
    if not published.compares or published.is_budget:
        return None
    low, high = published.bounds
    if high <= 1:
        return Verdict.FASTER
    return Verdict.SLOWER if low >= 1 else None


def _measured_side(row: ClaimRow) -> Verdict | None:
    """The direction that our verdict tells, if it tells one."""
    verdict = row.judgement.verdict if row.judgement else None
    return verdict if verdict in (Verdict.FASTER, Verdict.SLOWER) else None
