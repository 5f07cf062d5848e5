"""Two run directories set against each other, as one value and as JSON: what `coldload compare` tells."""

from __future__ import annotations

import filecmp
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from analysis.claims.claimresult import ClaimRow, ClaimVerdict
from analysis.claims.claims import Measured, claim_key, claims_of, evaluated
from analysis.comparing.between import Change, changes
from analysis.comparing.matching import Condition, Matched, Side, matched
from analysis.labels import metrics
from analysis.runs.alike import Difference, differences, kind_of, refuse_some_observed_at_a_cost
from analysis.runs.rundirectory import Run, load
from analysis.statistics.compare import Certainty, Comparison, Judgement, direction_text
from harness.errors import RecordsError
from harness.model.condition import EVERY_DIMENSION, dimensions_by, value
from harness.model.kind import Kind, main_metric
from harness.records import RECORDS
from harness.study.claim import Claim
from harness.study.metrics import numeric_metric


@dataclass(frozen=True)
class ClaimChange:
    """One claim in one setting, as run A and as run B answer it."""

    a: ClaimRow
    b: ClaimRow


@dataclass(frozen=True)
class ClaimChanges:
    """`asked`: how many rows both runs answer. `changed`: those with another verdict."""

    asked: int
    changed: tuple[ClaimChange, ...]


def claim_changes(claims: Sequence[Claim], a: Side, b: Side, certainty: Certainty) -> ClaimChanges:
    """Each run is judged by itself; where the verdict is told, not expected, its direction counts. Those that changed
    are picked out, so intervals are those of a choice.
    """
    before, after = (
        {
            _key(row): row
            for row in evaluated(
                claims, Measured(side.cells, side.sifted.by_metric, certainty), beforehand=False
            )
        }
        for side in (a, b)
    )
    both = [ClaimChange(row, after[key]) for key, row in before.items() if key in after]
    return ClaimChanges(len(both), tuple(each for each in both if _verdict(each.a) != _verdict(each.b)))


def _key(row: ClaimRow) -> tuple[Any, ...]:
    """Claim and setting; what else a link is may differ between versions."""
    setting = tuple(value(row.setting, name) for name in EVERY_DIMENSION)
    return claim_key(row.claim), setting


def _verdict(row: ClaimRow) -> tuple[Any, ...]:
    direction = row.judgement.verdict if row.judgement and row.verdict is ClaimVerdict.TOLD else None
    return row.verdict, direction


@dataclass(frozen=True)
class RunPair:
    """Run A, the reference, and run B. `left_out`: of each run, how many attempts each rule took away."""

    runs: tuple[Run, Run]
    metric: str
    margin: float
    differences: tuple[Difference, ...]
    matched: Matched
    changes: tuple[Change, ...]
    claims: ClaimChanges
    left_out: tuple[Mapping[str, int], Mapping[str, int]]

    @property
    def kind(self) -> Kind:
        return self.runs[0].kind

    @property
    def floor(self) -> float | None:
        """How large a difference equal conditions can show at most inside a run, as a ratio of at least 1."""
        return max((each.floor for each in self.changes if each.floor is not None), default=None)

    def worse_by(self, percent: float) -> tuple[Change, ...]:
        """The conditions that are slower, or of a rate lower (verdict), by more than so many per cent (estimate)."""
        better = metrics.more_is_better(self.metric)
        return tuple(each for each in self.changes if each.worse_by(percent, more_is_better=better))

    @property
    def lost(self) -> tuple[Change, ...]:
        """The conditions of which trials count in A and none in B."""
        return tuple(each for each in self.changes if each.n[0] and not each.n[1])


def read_pair(a: Path, b: Path, metric: str | None, margin: float, cache: Path | None = None) -> RunPair:
    """Compare two run directories by a metric, or by the main one of their kind. `cache`: as of `load`.

    RecordsError when one is none, both are the same, they are of different kinds, or nothing can be compared;
    StudyError when the kind has no such metric that is a number.
    """
    first, second = load(a, cache), load(b, cache)
    if a.resolve() == b.resolve():
        raise RecordsError(f"the same run is given twice: {a} and {b}; name two runs")
    if filecmp.cmp(a / RECORDS, b / RECORDS, shallow=False):
        raise RecordsError(f"{b} holds the very records of {a}: it is a copy; name two runs")
    kind = kind_of([first, second])
    runs = first, second
    refuse_some_observed_at_a_cost(runs)
    metric = numeric_metric(metric or main_metric(kind), kind)
    sides = Side.of(runs[0]), Side.of(runs[1])
    found = matched(*sides)
    certainty = Certainty(margin, looked=any(run.looked for run in runs))
    return RunPair(
        runs=runs,
        metric=metric,
        margin=margin,
        differences=differences(*runs),
        matched=found,
        changes=changes(*sides, found, metric, certainty),
        claims=claim_changes(claims_of(runs, sides[0].dimensions), *sides, certainty),
        left_out=(sides[0].sifted.by_rule(), sides[1].sifted.by_rule()),
    )


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
