"""Two compared runs as JSON, for programs: what is not known is null."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from analysis.claims.claimresult import ClaimRow
from analysis.comparing.between import Change
from analysis.comparing.matching import Condition
from analysis.comparing.runpair import RunPair
from analysis.statistics.compare import Comparison, Judgement
from analysis.statistics.verdicts import direction_text
from harness.model.condition import dimensions_by, value
from harness.model.kind import Kind


def to_json(pair: RunPair) -> dict[str, Any]:
    """The keys are those of docs/record-format.md, "Two runs compared"."""
    kind = pair.kind
    return {
        "a": str(pair.runs[0].directory),
        "b": str(pair.runs[1].directory),
        "metric": pair.metric,
        "margin": pair.margin,
        "floor": pair.floor,
        "differences": [asdict(each) for each in pair.differences],
        "only_a": [_dimensions(each, kind) for each in pair.matched.only[0]],
        "only_b": [_dimensions(each, kind) for each in pair.matched.only[1]],
        "left_out_a": dict(pair.left_out[0]),
        "left_out_b": dict(pair.left_out[1]),
        "conditions": [_change(each, pair) for each in pair.changes],
        "claims": [
            {"name": each.a.claim.name, "a": _claim(each.a), "b": _claim(each.b)}
            for each in pair.claims.changed
        ],
    }


def _change(change: Change, pair: RunPair) -> dict[str, Any]:
    relative = change.relative
    return {
        "condition": _dimensions(change.condition, pair.kind),
        "n": list(change.n),
        "medians": [_known(each) for each in change.medians],
        **_judged(change.comparison, change.judgement, pair.metric),
        "floor": change.floor,
        "relative": relative
        and {
            "baseline": _dimensions(relative.baseline, pair.kind),
            **_judged(relative.comparison, relative.judgement, pair.metric),
        },
    }


def _judged(comparison: Comparison, judgement: Judgement, metric: str) -> dict[str, Any]:
    said = ("ratio", "low", "high", "method")
    return {
        **{name: _known(getattr(comparison, name)) for name in said},
        **{name: _known(getattr(judgement, name)) for name in ("q", "q_size", "small")},
        "verdict": direction_text(judgement.verdict, metric),
    }


def _claim(row: ClaimRow) -> dict[str, str]:
    return {"verdict": row.verdict, "sentence": row.sentence}


def _dimensions(condition: Condition, kind: Kind) -> dict[str, Any]:
    return {name: value(condition, name) for name in dimensions_by(kind)}


def _known(found: Any) -> Any:
    return None if isinstance(found, float) and not math.isfinite(found) else found
