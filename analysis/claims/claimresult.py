"""What became of one claim in one setting: as a value, and in words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import pandas as pd

from analysis.labels import conditions, metrics, words
from analysis.statistics import LEAST_LEVELS
from analysis.statistics.compare import Comparison, Judgement, Verdict
from analysis.statistics.plainly import signed, unknown_text, verdict_text
from harness.model.condition import EVERY_DIMENSION, NUMBERS, OF_LINKS, OF_VARIANTS, SET, SET_MARK, value
from harness.model.kind import CROWD_METRIC, MAIN_METRIC
from harness.model.underload import EVENTS
from harness.study.claim import Claim

NUMBERED = re.compile(r"[\d.]+(-[\d.]+)?mbps-[\d.]+ms")  # the name of a link that has no other
COMPRESSED = {"none": "uncompressed text", "recorded": "text compressed as recorded"}
WORDED = {*conditions.LABELS, *conditions.OF_BROWSERS, *metrics.WORKLOADS}  # said as everywhere else
NOTHING_HELD = "no block holds what it needs"
TWICE = "the same archive measured twice, which shows the noise"
FIRST_PAINT, PAINTED = "fcp_ms", "painted"
NOT_PAINTED = "nothing was painted by the end of the load"
FOLLOW = ("origins", "device", "server", "driver")  # said only where they tell settings apart


@dataclass(frozen=True)
class Absence:
    """Of so many trials that count, the event did not happen in some, one at least."""

    without: int
    trials: int
    said: str = "it did not happen"

    @property
    def always(self) -> bool:
        return self.without == self.trials

    def __str__(self) -> str:
        """`it did not happen in any of 3 trials`."""
        some = "any" if self.always else f"{self.without}"
        return f"{self.said} in {some} of {words.count(self.trials, 'trial')}"


def absence(kept: pd.DataFrame, metric: str, cells: Iterable[int]) -> Absence | None:
    """Of an event in these cells; None where it happened in every trial that counts, and of any other metric.

    A first paint is one of a load that is not observed beyond its end: it is known of loads that painted by then.
    """
    telling = PAINTED if metric == FIRST_PAINT else CROWD_METRIC if metric in EVENTS else None
    if telling is None or not {metric, telling} <= {*kept.columns}:
        return None
    # Trials without the main metric of a crowd tell what a page costs, and no more.
    whole = kept["cell"].isin(list(cells)) & kept[telling].notna()
    without = int(kept.loc[whole, metric].isna().sum())
    said = NOT_PAINTED if metric == FIRST_PAINT else Absence.said
    return Absence(without, int(whole.sum()), said) if without else None


class ClaimVerdict(StrEnum):
    """Whether what was expected is so, or what was published. A claim with neither is told, or not known yet."""

    HOLDS = "holds"
    FAILS = "fails"
    TOLD = "told"
    REPRODUCED = "reproduced"
    COMPATIBLE = "compatible"
    SAME_DIRECTION = "same direction"
    UNKNOWN = "not known yet"
    NOT_REPRODUCED = "not reproduced"
    NOT_COMPARABLE = "not comparable"
    NO_DATA = "no data"


@dataclass(frozen=True)
class ClaimRow:
    """One line of the report's first table.

    `setting`: the dimensions that the pairs share; `where`: the same in words, as short as the study allows. `pairs`:
    the cells that are set against each other, the second None of a budget. `comparison`: of a budget the values against
    its limit, else the ratio; None without data. `within`: the same of these very pages and runs, whose interval
    further trials narrow; where neither is a level it is `comparison`. `floor`: how large a difference equal conditions
    of these settings can show, as a ratio of at least 1; None where none was measured twice. `by_page` and `by_run`:
    what each page and run says alone. `idle`: subject and reference were served the very same archive, on every page.
    `absence`: of the trials that count, those in which an event did not happen. `notes`: what is missing, and why.
    `reason`: of a published value why it cannot be compared, what is not known, or in how many trials an event did not
    happen.
    """

    claim: Claim
    setting: Mapping[str, Any]
    verdict: ClaimVerdict
    sentence: str = ""
    pages: tuple[str, ...] = ()
    pairs: tuple[tuple[int, int | None], ...] = ()
    comparison: Comparison | None = None
    within: Comparison | None = None
    judgement: Judgement | None = None
    floor: float | None = None
    where: str = ""
    by_page: tuple[tuple[str, Comparison], ...] = ()
    by_run: tuple[tuple[str, Comparison], ...] = ()
    absence: Absence | None = None
    idle: bool = False
    notes: tuple[str, ...] = field(default=())
    reason: str = ""

    @property
    def interval(self) -> tuple[float, float, float] | None:
        """Estimate, low and high: a ratio, or of a budget in the unit of its metric; None without data."""
        if self.comparison is None:
            return None
        seen, scale = self.comparison, self.claim.at_most or 1.0
        return scale * seen.ratio, scale * seen.low, scale * seen.high

    @property
    def expects(self) -> bool:
        return self.claim.expects

    @property
    def instead_text(self) -> str:
        """What stands in place of a figure where there is none."""
        return "no data" if self.verdict is ClaimVerdict.NO_DATA else "no ratio"

    @property
    def below_floor(self) -> bool:
        """Whether equal conditions can show as large a difference."""
        return self.comparison is not None and self.comparison.below(self.floor)

    @property
    def went_wrong(self) -> bool:
        """Whether a command that was given the claim ends with 1."""
        return self.expects and self.verdict in (ClaimVerdict.FAILS, ClaimVerdict.NO_DATA)

    def differs(self, other: ClaimRow) -> bool:
        """Whether another evaluation has another verdict, or a ratio that is off by more than half the interval, if
        there is one.
        """
        if self.comparison is None or other.comparison is None:
            return self.comparison is not other.comparison
        if self.verdict is not other.verdict:
            return True
        mine, others = self.judgement, other.judgement
        if mine is not None and others is not None and mine.verdict is not others.verdict:
            return True
        half = (self.comparison.high - self.comparison.low) / 2
        return abs(self.comparison.ratio - other.comparison.ratio) > half


@dataclass(frozen=True)
class Wording:
    """What has to be said of a setting: the dimensions that tell the conditions of the study apart.

    `links`: a shorter text for each link, where its name is not needed.
    """

    telling: frozenset[str] = frozenset(EVERY_DIMENSION) - frozenset(FOLLOW)
    links: Mapping[str, str] = field(default_factory=dict)


def wording(measured: pd.DataFrame) -> Wording:
    """The wording for a study of these conditions, a row each; what a column does not tell, needs no word."""
    there = measured.reindex(columns=[*EVERY_DIMENSION, *OF_VARIANTS])
    varying = {name for name in there if there[name].nunique(dropna=False) > 1}
    if there.groupby("engine", dropna=False)["driver"].nunique(dropna=False).max() == 1:
        varying.discard("driver")  # follows from the engine
    if there.groupby(["engine", "protocol"], dropna=False)["server"].nunique(dropna=False).max() == 1:
        varying.discard("server")
    return Wording(frozenset(map(str, varying)), _link_texts(there))


def _link_texts(measured: pd.DataFrame) -> dict[str, str]:
    """`50 ms RTT` where links differ in the RTT alone, `10 Mbit/s` where only in the rate; of others whose names are
    made of their numbers both.
    """
    links = measured[["link", *NUMBERS]].drop_duplicates().dropna(subset=["link"])
    named = links.to_dict("records")
    texts: dict[str, str] = {}
    rates = len(links.drop_duplicates(["down_mbps", "up_mbps"]))
    if rates == 1 and links["rtt_ms"].nunique() == len(links):
        texts = {link["link"]: f"{words.plain(link['rtt_ms'])} ms RTT" for link in named}
    elif links["rtt_ms"].nunique() == 1 and rates == len(links):
        texts = {link["link"]: words.rate_with_unit(link["down_mbps"], link["up_mbps"]) for link in named}
    else:
        texts = {
            link["link"]: f"{words.rate_with_unit(link['down_mbps'], link['up_mbps'])}, "
            f"{words.plain(link['rtt_ms'])} ms RTT"
            for link in named
            if NUMBERED.fullmatch(str(link["link"]))
        }
        return texts if len(set(texts.values())) == len(texts) else {}
    return texts if len(texts) == len(links) else {}


def sentence(row: ClaimRow, margin: float) -> str:
    """What became of a claim at one place.

    `HTTP/2 against HTTP/1.1, 10mbps-50ms: faster, by 5 to 9 % (ratio 0.93 [0.91-0.95]); expected below 1: holds.`
    """
    claim, seen = row.claim, row.comparison
    head = f"{subject_text(claim)}, {row.where}" if row.where else subject_text(claim)
    if seen is None:
        return f"{head}: {row.verdict}: {'; '.join(row.notes) or NOTHING_HELD}."
    if row.judgement is None:
        told = f"{head}: {_budget_text(claim, seen)}: {row.verdict}"
    else:
        ratio = f"ratio {words.ratio(seen.ratio)} {words.ratio_span(seen.low, seen.high)}".rstrip()
        ratio += f" over {seen.pages} pages" if seen.pages > 1 else ""
        known = TWICE if row.idle else told_text(claim, seen, row.judgement, margin)
        told = f"{head}: {known} ({ratio})"
        expected = " and ".join(expectations(claim))
        told += f"; expected {expected}: {_decided(row, seen)}" if expected else ""
        told += f"; {floor_text(row.floor)}" if row.below_floor else ""
    told += f"; {'; '.join(row.notes)}" if row.notes else ""
    return f"{told}."


def of_as_many_pages(row: ClaimRow, reference: ClaimRow, margin: float) -> ClaimRow:
    """The row; not known where it has too few pages to speak of pages of their kind, of which the reference speaks."""
    seen, other = row.comparison, reference.comparison
    if seen is None or other is None or not seen.pages < LEAST_LEVELS <= other.pages:
        return row
    pages = words.count(len(row.pages), "page")
    why = f"{seen.pages} of {pages} can be compared, of at least {LEAST_LEVELS}"
    unknown = replace(
        row,
        verdict=ClaimVerdict.UNKNOWN,
        comparison=None,
        within=None,
        judgement=None,
        notes=(why, *row.notes),
        reason=why if row.claim.is_published else row.reason,
    )
    return replace(unknown, sentence=sentence(unknown, margin))


def retold(row: ClaimRow, seen: Comparison, margin: float) -> ClaimRow:
    """A row with another interval of the same statistic, in its sentence, too."""
    seen_so = replace(row, comparison=seen)
    return replace(seen_so, sentence=sentence(seen_so, margin))


def told_text(claim: Claim, seen: Comparison, judgement: Judgement, margin: float) -> str:
    """Direction and size of what a claim compares."""
    row = {**seen.figures, **vars(judgement)}
    if judgement.verdict is Verdict.UNKNOWN:
        return unknown_text(row)
    return verdict_text(row, margin, claim.metric)


def _decided(row: ClaimRow, seen: Comparison) -> str:
    """The verdict, and by what it is known where the interval does not tell: it is of the ratio, and of two sides."""
    below, within = row.claim.ratio_below, row.claim.ratio_within or ()
    limits = within if below is None else (*within, below)
    open_by_interval = any(seen.low <= limit <= seen.high for limit in limits)
    if open_by_interval and row.verdict in (ClaimVerdict.HOLDS, ClaimVerdict.FAILS):
        return f"{row.verdict} by a test of its own"
    return str(row.verdict)


def floor_text(floor: float | None) -> str:
    """That equal conditions can show as large a difference."""
    most = signed(floor or math.nan).removeprefix("+")
    return f"no finding: below the floor of this study (equal conditions can show {most} %)"


def _budget_text(claim: Claim, seen: Comparison) -> str:
    limit = claim.at_most or math.nan
    return f"{value_text(claim, seen)}; expected at most {words.plain(limit)}"


def value_text(claim: Claim, seen: Comparison) -> str:
    """The mean that a budget limits, with its interval and unit."""
    limit = claim.at_most or math.nan
    digits = digits_of(limit)
    value = words.number(seen.ratio * limit, digits)
    ends = words.span(seen.low * limit, seen.high * limit, digits)
    return " ".join(part for part in (value, ends, metrics.unit_text(claim.metric)) if part)


def digits_of(limit: float) -> int:
    """The digits after the point, 0 to 6, that show a change of 1 % of the limit."""
    return min(6, max(0, 2 - math.floor(math.log10(limit)))) if limit > 0 else 1


def subject_text(claim: Claim) -> str:
    """Both sides in the names of the figures, and the metric unless it is the page-load time."""
    subject = side_text(claim.subject) or "every condition"
    against = "" if claim.is_budget else f" against {side_text(claim.reference)}"
    return f"{metric_text(claim)}{subject}{against}"


def metric_text(claim: Claim) -> str:
    return "" if claim.metric == MAIN_METRIC else f"{metrics.subject(claim.metric)} of "


def side_text(side: Mapping[str, Any]) -> str:
    """The values of a side of a claim as readers know them."""
    return ", ".join(_value(dimension, each) for dimension, each in side.items())


def _value(dimension: str, each: Any) -> str:
    if dimension == "compression":
        return COMPRESSED.get(str(each), f"text compressed by {each}")
    if dimension == "rtt_ms":
        return f"{words.plain(each)} ms RTT"
    if dimension in ("down_mbps", "up_mbps"):
        return f"{words.plain(each)} Mbit/s {dimension.removesuffix('_mbps')}"
    return conditions.value_text(dimension, each) if dimension in WORDED else str(each)


def setting_text(setting: Mapping[str, Any], pages: Sequence[str], telling: Wording | None = None) -> str:
    """Where: the pages if any, the link, and what else tells settings apart."""
    wanted = telling or Wording()
    where = []
    if pages and "page" in wanted.telling:
        of_set = f" of {SET_MARK}{setting[SET]}" if value(setting, SET) is not None else ""
        where = [pages[0] if len(pages) == 1 else f"{len(pages)} pages{of_set}"]
    said = [name for name in (*EVERY_DIMENSION, *OF_VARIANTS) if name in setting and name in wanted.telling]
    said = [name for name in said if name not in ("page", SET)]
    link = [name for name in OF_LINKS if name in said]
    if "link" in setting and link:
        where.append(wanted.links.get(str(setting["link"]), str(setting["link"])))
    else:
        where += [_value(name, setting[name]) for name in link]
    where += [_value(name, setting[name]) for name in said if name not in link]
    return ", ".join(where)


def expectations(claim: Claim) -> list[str]:
    """What is expected."""
    bounds = []
    if claim.at_most is not None:
        bounds.append(f"at most {words.plain(claim.at_most)}")
    if claim.ratio_below is not None:
        bounds.append(f"below {claim.ratio_below:g}")
    if claim.ratio_within is not None:
        low, high = claim.ratio_within
        between = f"between {signed(low)} and {signed(high)} %"
        bounds.append(f"at least {signed(low)} %" if claim.is_open_above else between)
    return bounds
