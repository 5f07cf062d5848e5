"""What a study found, in a few sentences: its claims, and how large a difference equal conditions can show."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from analysis.claims.claimresult import (
    TWICE,
    ClaimRow,
    ClaimVerdict,
    digits_of,
    expectations,
    floor_text,
    subject_text,
)
from analysis.claims.doubleratios import DoubleRatio
from analysis.evaluation.leftout import CONDITION, LeftOut, Losses, Share
from analysis.evaluation.results import Results
from analysis.labels import metrics, words
from analysis.labels.conditions import value_text
from analysis.statistics import LEAST_PAIRS
from analysis.statistics.compare import ALPHA, Verdict, log_of
from analysis.statistics.estimate import is_open
from analysis.statistics.plainly import change_text, direction_text, signed
from harness.input.shown import shortened
from harness.model.kind import Kind

NOTHING = "One protocol, one variant and one compression only: there is nothing to compare."
ALL_PUBLISHED = "All claims of the study are on published values, and are told with those."
MOST_SENTENCES = 12
MOST_NAMED = 3  # settings by name in one sentence
LOST_BY = {
    "rtt_ms": "round-trip time",
    "down_mbps": "rate",
    "cpu_slowdown": "CPU slowdown",
    CONDITION: "condition",
}
DIRECTED = (Verdict.FASTER, Verdict.SLOWER)
GOOD, BAD, OPEN, PLAIN = "good", "bad", "open", "plain"  # tones
TONES = {
    ClaimVerdict.HOLDS: GOOD,
    ClaimVerdict.FAILS: BAD,
    ClaimVerdict.NO_DATA: BAD,
    ClaimVerdict.UNKNOWN: OPEN,
    ClaimVerdict.TOLD: PLAIN,
}


@dataclass(frozen=True)
class Said:
    """A sentence and its tone."""

    text: str
    tone: str


def claims(results: Results) -> list[Said]:
    """A sentence for each claim and setting, or where these are many for each claim over its settings."""
    if not results.claims:
        return [Said(ALL_PUBLISHED if results.published else NOTHING, PLAIN)]
    if len(results.claims) <= MOST_SENTENCES:
        return [Said(row.sentence, tone([row])) for row in results.claims]
    return [
        Said(group[0].sentence if len(group) == 1 else _over_settings(group, results.margin), tone(group))
        for group in by_claim(results.claims)
    ]


def by_claim(rows: Iterable[ClaimRow]) -> Iterator[list[ClaimRow]]:
    """The rows of each claim, in all its settings."""
    for _, group in itertools.groupby(rows, key=lambda row: id(row.claim)):
        yield list(group)


def tone(rows: Sequence[ClaimRow]) -> str:
    """Of a claim in all its settings: its worst verdict."""
    tones = [TONES[row.verdict] for row in rows]
    if not rows[0].expects:
        return PLAIN
    return next((tone for tone in (BAD, OPEN) if tone in tones), GOOD)


def _over_settings(rows: Sequence[ClaimRow], margin: float) -> str:
    """A claim in all its settings: which verdict it has where, and the range of its ratios."""
    claim = rows[0].claim
    said = [", ".join(_where(rows, [_phrase(row, margin) for row in rows]))]
    expected = " and ".join(expectations(claim))
    said += [f"expected {expected}"] if expected else []
    said += _range(rows)
    below = [row for row in rows if row.below_floor]
    if below:
        floor = max(row.floor for row in below if row.floor is not None)
        said.append(f"{floor_text(floor)} in {_names(below, len(rows))}")
    return f"{subject_text(claim)}: {'; '.join(said)}."


def _range(rows: Sequence[ClaimRow]) -> list[str]:
    """The least and the largest figure, and what holds all intervals."""
    claim = rows[0].claim
    known = [row.comparison for row in rows if row.comparison is not None]
    if not known:
        return []
    limit = claim.at_most or 1.0

    def text(value: float) -> str:
        return words.number(limit * value, digits_of(limit)) if claim.is_budget else words.ratio(value)

    ends = sorted(
        {text(comparison.ratio): comparison.ratio for comparison in known}.items(), key=itemgetter(1)
    )
    unit = f" {metrics.unit_text(claim.metric)}" if claim.is_budget else ""
    reach = f"{' to '.join(dict.fromkeys((ends[0][0], ends[-1][0])))}{unit}".rstrip()
    lows = [comparison.low for comparison in known if not math.isnan(comparison.low)]
    highs = [comparison.high for comparison in known if not math.isnan(comparison.high)]
    inside = f", all intervals inside [{text(min(lows))}{words.DASH}{text(max(highs))}]" if lows else ""
    return [f"{'mean' if claim.is_budget else 'ratio'} {reach}{inside}"]


def _phrase(row: ClaimRow, margin: float) -> str:
    if row.verdict is ClaimVerdict.NO_DATA or row.expects or row.judgement is None:
        return str(row.verdict)
    if row.idle:
        return TWICE
    if row.judgement.verdict is Verdict.WITHIN:
        return f"within {margin * 100:g} % of each other"
    return direction_text(row.judgement.verdict, row.claim.metric)


def _where(rows: Sequence[ClaimRow], phrases: Sequence[str]) -> Iterator[str]:
    """Every verdict with its settings: by name when they are few. None is left out."""
    for phrase in dict.fromkeys(phrases):
        mine = [row for row, each in zip(rows, phrases, strict=True) if each == phrase]
        yield f"{phrase} in {_names(mine, len(rows))}"


def _names(rows: Sequence[ClaimRow], of: int) -> str:
    if len(rows) == of:
        return f"all {words.count(of, 'setting')}"
    if len(rows) <= MOST_NAMED and all(row.where for row in rows):
        return " / ".join(row.where for row in rows)
    return words.count(len(rows), "setting")


def interactions(results: Results) -> list[str]:
    """Of each claim that was measured with several protocols, or in several engines: whether its ratio is the same with
    all of them.
    """
    by_claim: dict[tuple[str, int], list[DoubleRatio]] = {}
    for double_ratio in results.interactions:
        by_claim.setdefault((double_ratio.dimension, id(double_ratio.usual.claim)), []).append(double_ratio)
    return [text for (dimension, _), found in by_claim.items() if (text := _interaction(dimension, found))]


def _interaction(dimension: str, found: Sequence[DoubleRatio]) -> str:
    known = [double_ratio for double_ratio in found if not math.isnan(double_ratio.comparison.low)]
    if not known:
        return ""
    title = subject_text(known[0].usual.claim)
    strongest = min(known, key=lambda each: each.judgement.q)
    if strongest.judgement.q < ALPHA:
        told = sum(double_ratio.judgement.verdict in DIRECTED for double_ratio in known)
        ratio, where = (
            strongest.comparison.chosen(1, max(told, 1)),
            strongest.where,
        )  # one of those is picked out
        sized = not (ratio.low <= 1 <= ratio.high or (is_open(ratio.low) and is_open(ratio.high)))
        size = f"{change_text(ratio.low, ratio.high)} " if sized else ""
        other, reference = (
            value_text(dimension, row.setting[dimension]) for row in (strongest.changed, strongest.usual)
        )
        return (
            f"{title}: the effect differs between {dimension}s. With {other} the ratio is "
            f"{size}{'higher' if ratio.ratio > 1 else 'lower'} than with {reference}"
            f"{f' ({where})' if where else ''}, q {_q(strongest.judgement.q)}."
        )
    widest = [
        double_ratio.comparison.chosen(1, len(found)) for double_ratio in known
    ]  # the largest is picked out
    reach = math.exp(
        max(abs(log_of(end)) for comparison in widest for end in (comparison.low, comparison.high))
    )
    if math.isinf(reach):
        return f"{title}: whether the effect differs between {dimension}s is not known: loads timed out."
    unknown = [double_ratio for double_ratio in found if math.isnan(double_ratio.comparison.low)]
    others = f"Of {_changed(dimension, unknown)} too little is known. " if unknown else ""
    rest = "other" if unknown else "of them"
    references = list(dict.fromkeys(value_text(dimension, each.usual.setting[dimension]) for each in known))
    which = ", whichever it was compared with" if len(references) > 1 else ""
    return (
        f"{title}: no difference between {dimension}s was found. {others}The ratio with any {rest} is within "
        f"{signed(reach).removeprefix('+')} % of that with {' or '.join(references)}{which}."
    )


def _changed(dimension: str, found: Sequence[DoubleRatio]) -> str:
    """What changed in each of these: `HTTP/3 (QUIC) (50 ms RTT)`."""
    told = [
        f"{value_text(dimension, each.changed.setting[dimension])}{f' ({each.where})' if each.where else ''}"
        for each in found
    ]
    return shortened(told, MOST_NAMED)


def _q(value: float) -> str:
    text = words.probability(value)
    return text.replace("<", "below ") if text.startswith("<") else f"= {text}"


def floor(results: Results) -> str:
    """How large a difference equal conditions can show, from the baselines that were measured twice."""
    known = results.twins.dropna(subset=["ratio"])
    if results.twins.empty:
        return "No baseline was measured twice, so this report cannot say how far two equal conditions lie apart."
    if known.empty:
        return "The baselines that were to be measured twice have no block that holds both."
    twice = f"{words.count(len(known), 'setting')} measured twice"
    reach = results.floors.floors.range
    if reach is None:
        return f"{twice}, in fewer than {LEAST_PAIRS} blocks: too few to say what equal conditions can show."
    least, most = (signed(ratio).removeprefix("+") for ratio in reach)
    size = f"{most} %" if least == most else f"{least} to {most} %, by setting: the settings differ in that"
    wrong = int(known["verdict"].isin([Verdict.FASTER, Verdict.SLOWER]).sum())
    warning = (
        f" In {words.count(wrong, 'setting')} the two are told apart although they are equal: something other than "
        "chance moves times here."
    )
    return (
        f"The floor: equal conditions can show differences of up to {size} ({twice}). A difference that is no larger "
        f"is no finding.{warning if wrong else ''}"
    )


def lost(results: Results) -> list[str]:
    """Whether conditions lost different shares of attempts, and whether what was left out took longer."""
    unmeasurable = results.unmeasurable
    lost = [f"Not measurable on this machine: {'; '.join(unmeasurable)}."] if unmeasurable else []
    value = "time" if results.kind is Kind.LOAD else results.metric_label.lower()
    return [*lost, *_losses(results.left_out, value)]


def _losses(found: LeftOut, value: str) -> list[str]:
    """`value`: what the main metric is called."""
    if not found.lost:
        return []
    share = 100 * found.lost / found.attempts
    head = f"{found.lost:,} of {words.count(found.attempts, 'attempt')} were left out ({words.number(share, 1)} %)."
    apart = "; ".join(unlike(loss) for loss in found.differing)
    said = [
        f"{head} Some lost more than others: {apart}. What is left of them may not be alike."
        if apart
        else head
    ]
    if not found.differing and found.losses:
        least = min(found.losses, key=lambda each: each.q)
        said = [
            f"{head} That conditions lost different shares was not found: losses shuffled inside blocks are as uneven "
            f"(least q, by {_name(least)}, {_q(least.q).removeprefix('= ')})."
        ]
    if found.times is None:
        return [*said, f"None of them has a {value} to compare."]
    seen = found.times
    bounds = "" if math.isnan(seen.low) else f" [{signed(seen.low)} to {signed(seen.high)} %]"
    return [
        *said,
        f"Those with a {value} ({seen.n:,}) differ by {signed(seen.ratio)} %{bounds} from those of the same condition "
        f"that count: leaving them out moves a {value} by about {signed(found.bias)} %.",
    ]


def unlike(losses: Losses) -> str:
    """The greatest share and the least: `by protocol 15.9 % (11 of 69) of HTTP/1.1 and 1.6 % (2 of 122) of HTTP/2`."""
    most, least = losses.shares[0], losses.shares[-1]
    if losses.dimension == CONDITION:
        return f"one condition {_lost(most)}, another {_lost(least)} (q {_q(losses.q)})"
    named = [f"{_lost(share)} of {value_text(losses.dimension, share.value)}" for share in (most, least)]
    return f"by {_name(losses)} {' and '.join(named)} (q {_q(losses.q)})"


def _name(losses: Losses) -> str:
    return LOST_BY.get(losses.dimension, losses.dimension)


def _lost(share: Share) -> str:
    return f"{words.number(100 * share.share, 1)} % ({share.lost} of {share.attempts})"


def of_all(results: Results) -> str:
    """What becomes of the claims when nothing is left out."""
    if not results.claims:
        return ""
    left_out = len(results.sifted.excluded)
    if not left_out:
        return "Nothing was left out, so there is no other result with everything in it."
    changed = results.otherwise
    head = f"With nothing left out ({words.count(left_out, 'attempt')} more, where they have a time)"
    known = [row.comparison for row in results.claims if row.comparison is not None]
    bare = sum(math.isnan(seen.low) for seen in known)
    none = f" ({bare} of {len(known)} without one)" if bare else ""
    if not changed and bare == len(known):
        return f"{head} every verdict is the same. No ratio has an interval to tell how much it moves."
    if not changed:
        return f"{head} every verdict is the same, and no ratio moves by more than half its interval{none}."
    results_text = words.count(len(results.claims), "result")
    return f"{head} {len(changed)} of {results_text} differ in the verdict, or by more than half the interval{none}."
