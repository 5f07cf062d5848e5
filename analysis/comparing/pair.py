"""Two run directories set against each other, as one value (`coldload compare`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.claims.claimresult import ClaimRow, ClaimVerdict, of_as_many_pages, retold
from analysis.claims.claims import claim_key, claims_of, evaluated
from analysis.claims.measured import Measured
from analysis.comparing.answers import Answered, AnswersJson, Place, answers_json, dimensions_json, felt
from analysis.comparing.between import changes, vitals_missing
from analysis.comparing.matching import ConditionRow, Matched, Side, matched, varying
from analysis.evaluation.explored import CellFloors, cell_floors
from analysis.labels import words
from analysis.labels.conditions import FOLLOWERS
from analysis.runs.alike import (
    Difference,
    differences,
    kind_of,
    refuse_copies,
    refuse_some_observed_at_a_cost,
)
from analysis.runs.exclude import all_late, uncounted
from analysis.runs.rundirectory import Run, load
from analysis.statistics.compare import MARGIN, Certainty, level_of_choice
from harness.errors import RecordsError
from harness.model.condition import AGAIN, EVERY_DIMENSION, OF_LINKS, value
from harness.model.kind import main_metric
from harness.study.claim import Claim, Dimensions, settings
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
    """Each run is judged by itself, B page by page where A is; where the verdict is told, not expected, its direction
    counts. Those that changed are picked out, so their intervals are those of this choice, too: they need not exclude 1
    where a direction is told.
    """
    measured, other = _measured(a, certainty), _measured(b, certainty)
    before = {
        _key(row): row for row in evaluated(claims, measured, _floors(a, claims, measured), beforehand=False)
    }
    like = _at_settings(before, claims, other.conditions)
    after = {
        _key(row): row
        for row in evaluated(claims, other, _floors(b, claims, other), beforehand=False, like=like)
    }
    both = [
        ClaimChange(row, of_as_many_pages(after[key], row, certainty.margin))
        for key, row in before.items()
        if key in after
    ]
    changed = [change for change in both if _verdict(change.a) != _verdict(change.b)]
    level = level_of_choice(certainty.confidence, len(changed), max(len(both), 1))
    made = (
        ClaimChange(_picked_out(change.a, level, certainty), _picked_out(change.b, level, certainty))
        for change in changed
    )
    return ClaimChanges(len(both), tuple(made))


def _at_settings(
    rows: Mapping[tuple[Any, ...], ClaimRow], claims: Sequence[Claim], conditions: Sequence[Dimensions]
) -> list[ClaimRow]:
    """The rows that are not page by page, at their settings as another run tells them, which has these conditions."""
    found = ((claim, setting.dimensions) for claim in claims for setting in settings(claim, conditions))
    return [
        replace(rows[key], setting=setting)
        for claim, setting in found
        if (key := (claim_key(claim), _place(setting))) in rows
    ]


def _picked_out(row: ClaimRow, level: float, certainty: Certainty) -> ClaimRow:
    """With the interval of this level, where that is the wider one; a budget has no other than its own."""
    seen = row.comparison
    if seen is None or seen.statistic is None or level <= seen.confidence:
        return row
    return retold(row, seen.at(level), certainty.margin)


def _measured(side: Side, certainty: Certainty) -> Measured:
    columns = [name for name in side.columns if name not in FOLLOWERS]
    missing = {condition.cell: str(condition) for condition in uncounted(side.cells, side.sifted, columns)}
    late = all_late(side.cells, side.sifted, columns)
    return Measured(side.cells, side.sifted.by_metric, certainty, missing, late)


def _floors(side: Side, claims: Sequence[Claim], measured: Measured) -> Mapping[str, CellFloors]:
    """The floors of a run by metric, as its own report has them."""
    every = pd.DataFrame([*side.conditions, *side.again]).assign(place=0)
    every[AGAIN] = [False] * len(side.conditions) + [True] * len(side.again)
    return {
        metric: cell_floors(every, side.columns, measured.blocks(metric), measured.certainty)
        for metric in {claim.metric for claim in claims if not claim.is_budget}
    }


def _key(row: ClaimRow) -> tuple[Any, ...]:
    """Claim and setting."""
    return claim_key(row.claim), _place(row.setting)


def _place(setting: Mapping[str, Any]) -> tuple[Any, ...]:
    """What is equal for equal settings; what else a link is may differ between versions."""
    return tuple(value(setting, name) for name in EVERY_DIMENSION)


def _verdict(row: ClaimRow) -> tuple[Any, ...]:
    direction = row.judgement.verdict if row.judgement and row.verdict is ClaimVerdict.TOLD else None
    return row.verdict, direction


@dataclass(frozen=True)
class RunPair:
    """Run A, the reference, and run B. `left_out`: of each run, how many attempts each rule took away."""

    runs: tuple[Run, Run]
    differences: tuple[Difference, ...]
    matched: Matched
    answers: Answered
    claims: ClaimChanges
    left_out: tuple[Mapping[str, int], Mapping[str, int]]


def load_pair(
    paths: Sequence[Path], cache: Path | None = None, given: Sequence[Path] = ()
) -> tuple[Run, Run]:
    """Two run directories. `cache`: as of `load`. `given`: what both are called, where that is not their directory: a
    pack, not where it was unpacked.

    RecordsError when one is none, or both are the same.
    """
    (a, b), (name, other) = paths, given or paths
    if name.resolve() == other.resolve():
        raise RecordsError(f"the same run is given twice: {name} and {other}; name two runs")
    runs = replace(load(a, cache), directory=name), replace(load(b, cache), directory=other)
    refuse_copies(runs, (str(name), str(other)))
    return runs


def compare_runs(
    runs: tuple[Run, Run],
    metrics: Sequence[str] = (),
    margin: float = MARGIN,
    tell: Callable[[str], None] = lambda _: None,
) -> RunPair:
    """Compare two runs by metrics, or by the usual ones of their kind (`felt`). `tell` is called with what is compared
    next, as `metric 2 of 5`. What A has and B lacks is compared, too: it is lost. Vitals of a B that was run without
    them are not compared.

    Conditions of A alone are named, and not known against a bound. RecordsError when they are of different kinds, or
    nothing can be compared; StudyError when the kind has no such metric that is a number.
    """
    kind = kind_of(runs)
    refuse_some_observed_at_a_cost(runs)
    wanted = [numeric_metric(metric, kind) for metric in metrics] or felt(kind)
    sides = Side.of(runs[0]), Side.of(runs[1])
    conditions = matched(*sides)
    certainty = Certainty(margin, looked=any(run.looked for run in runs))
    spared = () if metrics else [name for name in wanted if name != main_metric(kind)]
    lacking = tuple(name for name in spared if not sides[0].observed(name))
    blind = vitals_missing(*sides)
    unseen = tuple(
        name for name in spared if name in blind and name not in lacking and not sides[1].observed(name)
    )
    compared = [name for name in wanted if name not in (*lacking, *unseen)]
    made = []
    for number, name in enumerate(compared, start=1):
        tell(f"metric {number} of {len(compared)}")
        made.append(changes(*sides, conditions, name, certainty))
    tell("claims")
    return RunPair(
        runs=runs,
        differences=differences(*runs),
        matched=conditions,
        answers=Answered(
            kind=kind,
            names=(str(runs[0].directory), str(runs[1].directory)),
            margin=margin,
            places=tuple(
                Place(name_of(place_changes[0].condition, conditions), place_changes)
                for place_changes in zip(*made, strict=True)
            ),
            lacking=lacking,
            unseen=unseen,
            missing=tuple(name_of(condition, conditions) for condition in conditions.only[0]),
            certainty=certainty,
        ),
        claims=claim_changes(claims_of(runs, sides[0].dimensions), *sides, certainty),
        left_out=(sides[0].sifted.by_rule(), sides[1].sifted.by_rule()),
    )


def name_of(condition: ConditionRow, found: Matched) -> str:
    """A condition by its page and what else differs among those of the runs: `agency, h2, 10mbps-20ms`."""
    every = [each for each, _ in found.pairs] + [row for only in found.only for row in only]
    telling = ["page", *(name for name in varying(every, EVERY_DIMENSION) if name != "page")]
    if "link" in telling:
        telling = [name for name in telling if name == "link" or name not in OF_LINKS]
    texts = {name: value(condition, name) for name in telling}
    return ", ".join(
        str(text) if isinstance(text, str) else f"{name} {words.plain(text)}" for name, text in texts.items()
    )


class PairJson(AnswersJson):
    """What `coldload compare --json` prints."""

    a: str
    """run directory of A"""
    b: str
    """run directory of B"""
    differences: list[dict[str, str | None]]
    """settings and versions that differ: `name`, `a`, `b`; null where a run does not tell"""
    only_a: list[dict[str, Any]]
    """conditions of A alone, as dimensions"""
    only_b: list[dict[str, Any]]
    """conditions of B alone, as dimensions"""
    left_out_a: dict[str, int]
    """how many attempts of A each rule took away"""
    left_out_b: dict[str, int]
    """how many attempts of B each rule took away"""
    claims: list[dict[str, Any]]
    """claims with another verdict: `name`, and `verdict` and `sentence` of `a` and of `b`"""


def to_json(pair: RunPair, limit: float | None = None) -> PairJson:
    """The keys are those of docs/reference/files.md."""
    kind = pair.answers.kind
    a, b = pair.answers.names
    return {
        "a": a,
        "b": b,
        "differences": [asdict(mismatch) for mismatch in pair.differences],
        "only_a": [dimensions_json(condition, kind) for condition in pair.matched.only[0]],
        "only_b": [dimensions_json(condition, kind) for condition in pair.matched.only[1]],
        "left_out_a": dict(pair.left_out[0]),
        "left_out_b": dict(pair.left_out[1]),
        **answers_json(pair.answers, limit),
        "claims": [
            {"name": change.a.claim.name, "a": _claim(change.a), "b": _claim(change.b)}
            for change in pair.claims.changed
        ],
    }


def _claim(row: ClaimRow) -> dict[str, str]:
    return {"verdict": row.verdict, "sentence": row.sentence}
