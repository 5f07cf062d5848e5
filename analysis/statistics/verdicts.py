"""Verdicts in words: a direction, a size, or what is known so far."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from analysis.labels import metrics, words
from analysis.statistics.compare import MOST_TRIALS_FORETOLD, Verdict
from analysis.statistics.contrast import LEAST_PAIRS
from harness.model.observation import MAIN_METRIC


def verdict_text(row: Mapping[Any, Any], margin: float, metric: str = MAIN_METRIC) -> str:
    """What is known of a comparison: a row with the fields of `Comparison` and `Judgement`.

    A column of verdicts holds their values (pandas makes them plain text).
    """
    verdict, within = row["verdict"], f"{margin * 100:g} %"
    if verdict == Verdict.WITHIN:
        return f"within {within} of each other"
    if verdict == Verdict.UNKNOWN:
        return unknown_text(row)
    direction = direction_text(Verdict(verdict), metric)
    if row["small"]:
        return f"{direction} by less than {within}"
    return f"{direction}, by {change(row['low'], row['high'])}"


def direction_text(verdict: Verdict, metric: str = MAIN_METRIC) -> str:
    """`faster` of what somebody waits for, `lower` of a rate, `less` of anything else."""
    words_of = metrics.direction(metric)
    return {Verdict.FASTER: words_of.below, Verdict.SLOWER: words_of.above}.get(verdict, str(verdict))


def unknown_text(row: Mapping[Any, Any]) -> str:
    """What is not known yet, and what would tell."""
    if math.isnan(row["ratio"]):
        return "not known: no block holds a value above 0 of both" if row["n"] == 0 else "not known"
    if math.isnan(row["low"]) and row["n"] >= LEAST_PAIRS:
        return f"not known yet: a page or a run has fewer than {LEAST_PAIRS} blocks"
    if math.isnan(row["low"]):
        return f"not known yet: {words.count(row['n'], 'block')} of at least {LEAST_PAIRS}"
    seen = f"not known yet: between {signed(row['low'])} and {signed(row['high'])} %"
    trials = row["trials"]
    if not words.is_number(trials):
        return seen
    about = "over" if trials >= MOST_TRIALS_FORETOLD else "about"
    return f"{seen} (a run with {about} {int(trials):,} trials would tell)"


def change(low: float, high: float) -> str:
    """The size of a change that both bounds agree on: `1.2 to 3.4 %`."""
    ends = sorted(abs(100 * (bound - 1)) for bound in (low, high))
    texts = [words.number(end, _digits(ends[1])) for end in ends]
    return f"{texts[0]} %" if texts[0] == texts[1] else f"{texts[0]} to {texts[1]} %"


def signed(ratio: float) -> str:
    """A ratio as a change in per cent with its sign."""
    percent = 100 * (ratio - 1)
    text = words.number(percent, _digits(abs(percent)))
    return f"+{text}" if percent > 0 else text


def _digits(percent: float) -> int:
    """A decimal below 10 %, two below 0.1 %."""
    return 0 if percent >= 10 else 1 if percent >= 0.1 else 2
