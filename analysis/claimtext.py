"""A claim and what became of it, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from analysis import protocols, words
from analysis.claimresult import ClaimVerdict
from analysis.compare import Comparison, Judgement, Verdict
from analysis.verdicts import signed, unknown_text, verdict_text
from harness.model.claim import Claim
from harness.model.dimensions import DIMENSIONS
from harness.model.observation import MAIN_METRIC, METRICS


def sentence(
    claim: Claim, where: str, seen: Comparison, judgement: Judgement, verdict: ClaimVerdict, margin: float
) -> str:
    """What became of a claim at one place.

    `HTTP/2 against HTTP/1.1, 10mbps-50ms: faster, by 5 to 9 % (ratio 0.93 [0.91-0.95]); expected below 1: holds.`
    """
    head = f"{subject_text(claim)}, {where}"
    if seen.n == 0:
        return f"{head}: no block holds what it needs."
    if claim.at_most is not None:
        return f"{head}: {_budget_text(claim, seen)}: {verdict}."
    row = {
        **{name: getattr(seen, name) for name in ("ratio", "low", "high", "n")},
        "trials": judgement.trials,
    }
    told = (
        unknown_text(row)
        if judgement.verdict is Verdict.UNKNOWN
        else verdict_text(
            {**row, "verdict": judgement.verdict, "small": judgement.small},
            margin,
            claim.metric,
        )
    )
    ratio = f"ratio {words.number(seen.ratio, 3)} {words.span(seen.low, seen.high, 3)}".rstrip()
    expected = "".join(f"; expected {each}" for each in expectations(claim))
    ending = f"{expected}: {verdict}" if expected else ""
    return f"{head}: {told} ({ratio}){ending}."


def _budget_text(claim: Claim, seen: Comparison) -> str:
    unit = METRICS[claim.metric].unit if claim.metric in METRICS else ""
    limit = claim.at_most or math.nan
    ends = words.span(seen.low * limit, seen.high * limit, words.decimals(seen.ratio * limit))
    value = words.milliseconds(seen.ratio * limit)
    return f"{value} {ends} {unit}; expected at most {words.plain(limit)}".replace("  ", " ")


def subject_text(claim: Claim) -> str:
    """Both sides in the names of the figures, and the metric unless it is the page-load time."""
    subject = _side(claim.subject) or "every condition"
    against = "" if claim.is_budget else f" against {_side(claim.reference)}"
    metric = METRICS.get(claim.metric)
    label = "" if claim.metric == MAIN_METRIC else f"{metric.label if metric else claim.metric} of "
    return f"{label}{subject}{against}"


def _side(side: Mapping[str, Any]) -> str:
    return ", ".join(
        protocols.label(str(each)) if dimension == "protocol" else f"{each}"
        for dimension, each in side.items()
    )


def setting_text(setting: Mapping[str, Any], pages: Sequence[str]) -> str:
    """Where: the pages, the link, and what else tells settings apart."""
    where = [pages[0] if len(pages) == 1 else f"{len(pages)} pages"]
    told = [
        name for name in DIMENSIONS if name in setting and name not in ("page", "origins", "device", "server")
    ]
    link = [name for name in ("link", "rtt_ms", "down_mbps", "up_mbps") if name in told]
    where += [str(setting["link"])] if "link" in told else [f"{name} {setting[name]}" for name in link]
    where += [_side({name: setting[name]}) for name in told if name not in link and name != "driver"]
    return ", ".join(where)


def expectations(claim: Claim) -> list[str]:
    """What is expected of a ratio."""
    found = []
    if claim.ratio_below is not None:
        found.append(f"below {claim.ratio_below:g}")
    if claim.ratio_within is not None:
        low, high = claim.ratio_within
        found.append(f"between {signed(low)} and {signed(high)} %")
    return found
