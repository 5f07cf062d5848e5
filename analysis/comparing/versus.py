"""Two releases of a page, or two variants of it, set against each other within one run (`coldload versus`).

All figures are those of the claims that the study named before the run (`analysis.claims`): B in units of A inside
blocks, with plain intervals, as nothing was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analysis.claims.claimresult import ClaimRow, side_text
from analysis.comparing.answers import Answered, AnswersJson, Place, answers_json
from analysis.comparing.between import Change, Levels, difference, direction_alone, median, pooled
from analysis.evaluation.results import Results, evaluate
from analysis.labels import words
from analysis.runs.alike import environment_differences, machine_differences, not_alike_text
from analysis.runs.rundirectory import load
from analysis.statistics.compare import MARGIN, NOTHING, UNTOLD, Blocks, Judgement, benjamini_hochberg
from harness.errors import RecordsError
from harness.model.kind import Kind
from harness.model.variant import PLAIN
from harness.study.budget import PageBudget
from harness.study.claim import Claim


@dataclass(frozen=True)
class Versus:
    """`claim`: what all claims of the run set against each other. `limits`: what became of those of B's budget."""

    results: Results
    answers: Answered
    claim: Claim
    limits: tuple[ClaimRow, ...] = ()

    @property
    def cautions(self) -> list[str]:
        """What was odd about reading the run, and what it went on with that it was not begun with."""
        runs = self.results.runs
        apart = not_alike_text(environment_differences(runs) | machine_differences(runs), runs)
        return [*(note for run in runs for note in run.notes), *([apart] if apart else [])]

    @property
    def text(self) -> str:
        """How it was measured: `cable and 4g, h2, chromium, desktop, 20 trials of each that count`."""
        cells = self.results.cells
        links, spoken, engines, devices = (
            words.listed([str(label) for label in cells[name].dropna().unique()])
            for name in ("link", "protocol", "engine", "device")
        )
        least, most = int(cells["n"].min()), int(cells["n"].max())
        one = least == most == 1
        trials = (
            "1 trial of each that counts"
            if one
            else f"{words.between(least, most)} trials of each that count"
        )
        return f"{links}, {spoken}, {engines}, {devices}, {trials}"


class VersusJson(AnswersJson):
    """What `coldload versus --json` prints."""

    a: str
    """archive or variant A"""
    b: str
    """archive or variant B"""
    run: str | None
    """run directory; null where nothing was measured, as no file differs"""
    cautions: list[str]
    """what was odd about reading the run, and with what else it went on"""
    files: list[dict[str, Any]] | None
    """files that differ: `url`, bytes of its body in `a` and `b`, whether it is the `same_body`; null of a run told
    again"""
    budget: list[dict[str, str]]
    """what became of the budget of B: `claim`, `verdict`, `sentence`"""


def versus_json(
    versus: Versus, folder: Path, files: list[dict[str, Any]] | None, limit: float | None
) -> VersusJson:
    """The keys are those of docs/reference/files.md. `files` are those that differ, where somebody knows."""
    a, b = versus.answers.names
    return {
        "a": a,
        "b": b,
        "run": str(folder),
        **answers_json(versus.answers, limit),
        "cautions": versus.cautions,
        "files": files,
        "budget": [
            {"claim": row.claim.name, "verdict": row.verdict, "sentence": row.sentence}
            for row in versus.limits
        ],
    }


def alike_json(names: tuple[str, str], margin: float, limit: float | None) -> VersusJson:
    """The same of two sides of which no file differs, where nothing was measured."""
    a, b = names
    answers = Answered(kind=Kind.LOAD, names=names, margin=margin, places=(), alike=True)
    return {
        "a": a,
        "b": b,
        "run": None,
        **answers_json(answers, limit),
        "cautions": [],
        "files": [],
        "budget": [],
    }


def read_versus(
    run: Path,
    metrics: Sequence[str] = (),
    margin: float = MARGIN,
    cache: Path | None = None,
    budget: PageBudget | None = None,
) -> Versus:
    """The run of a study whose claims all set the same two pages or variants against each other.

    RecordsError for any other, and where it did not measure one of the metrics. B is held to the `budget`.
    """
    loaded = load(run, cache)
    of_b = budget.of(loaded.claims[0].subject) if budget and loaded.claims else None
    results = evaluate([loaded], margin=margin, budget=of_b)
    limits = tuple(row for row in results.claims if row.claim.is_budget)
    compared = [row for row in results.claims if not row.claim.is_budget]
    if not compared and any(not claim.is_budget for claim in loaded.claims):
        raise RecordsError(
            f"{run} holds no loads yet of both sides that it compares; the same `coldload versus` goes on"
        )
    rows = [row for row in compared if len(row.pairs) == 1]
    sides = {(str(dict(row.claim.subject)), str(dict(row.claim.reference))) for row in rows}
    if len(sides) != 1 or not results.named:
        raise RecordsError(
            f"{run} is no run of two releases or variants: its claims compare {len(sides)} pairs; "
            "`coldload versus A B` makes one, `coldload compare` takes two runs"
        )
    claim = rows[0].claim
    claimed = list(dict.fromkeys(row.claim.metric for row in rows))
    for name in metrics:
        if name not in claimed:
            raise RecordsError(f"{run} did not ask for {name}; it compares: {', '.join(claimed)}")
    wanted = list(metrics) or claimed
    observed = [
        name for name in wanted if any(_samples(row, results)[0] for row in rows if row.claim.metric == name)
    ]
    judged = list(zip(rows, _judgements(rows, results), strict=True))
    places = {
        row.where: Place(
            row.where,
            tuple(
                _change(each, judgement, results)
                for name in observed
                for each, judgement in judged
                if (each.where, each.claim.metric) == (row.where, name)
            ),
        )
        for row in rows
    }
    return Versus(
        results=results,
        answers=Answered(
            kind=results.kind,
            names=(_name(claim.reference, results), _name(claim.subject, results)),
            margin=margin,
            places=tuple(places.values()),
            lacking=tuple(name for name in wanted if name not in observed),
            certainty=results.certainty,
        ),
        claim=claim,
        limits=limits,
    )


def _name(side: Mapping[str, Any], results: Results) -> str:
    """`agency`, or `agency:core` of a variant, as the command line has it; of other dimensions as the report."""
    if not side.keys() <= {"page", "variant"}:
        return side_text(side)
    page, variant = (side.get(name, results.cells[name].iloc[0]) for name in ("page", "variant"))
    return str(page) if variant == PLAIN else f"{page}:{variant}"


def _samples(row: ClaimRow, results: Results) -> tuple[Levels, Levels]:
    """The values of A and of B. They stand in the same blocks, so that those of all lanes are one sample."""
    ((b, a),) = row.pairs
    if row.claim.metric not in results.sifted.by_metric or a is None:
        return {}, {}
    blocks = Blocks(results.sifted.by_metric, row.claim.metric)
    of_a, of_b = ({"": values} if (values := blocks.values(cell)).size else {} for cell in (a, b))
    return of_a, of_b


def _judgements(rows: Sequence[ClaimRow], results: Results) -> list[Judgement]:
    """Those of the claims; a difference of values without a ratio pays for all of them."""
    comparisons = [
        row.comparison or direction_alone(*_samples(row, results), results.certainty) for row in rows
    ]
    paid = benjamini_hochberg([comparison.p for comparison in comparisons])
    return [
        row.judgement if row.comparison and row.judgement else replace(UNTOLD, q=q)
        for row, q in zip(rows, paid, strict=True)
    ]


def _change(row: ClaimRow, judgement: Judgement, results: Results) -> Change:
    levels = _samples(row, results)
    a, b = map(pooled, levels)
    known = row.absence is None
    return Change(
        condition=row.setting,
        metric=row.claim.metric,
        n=(a.size, b.size),
        medians=(median(a), median(b)),
        comparison=(row.comparison or NOTHING) if known else NOTHING,
        judgement=judgement if known else UNTOLD,
        floor=row.floor,
        difference=difference(*levels, results.certainty.confidence) if known else None,
        unmeasured=str(row.absence or "") or ("" if b.size else results.sifted.unmeasured(row.pairs[0][0])),
    )
