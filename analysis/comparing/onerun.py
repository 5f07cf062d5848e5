"""Two releases of a page, or two variants of it, within one run: what `coldload versus` tells of the run it made.

All figures are those of the claims that the study named before the run (`analysis.claims`): B in units of A inside
blocks, with plain intervals, as nothing was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from analysis.claims.claimresult import ClaimRow, side_text
from analysis.comparing.answers import Answered, Place
from analysis.comparing.between import Change, difference, median
from analysis.evaluation.results import Results, evaluate
from analysis.labels import words
from analysis.runs.rundirectory import load
from analysis.statistics.compare import MARGIN, NOTHING, UNTOLD, Blocks
from harness.errors import RecordsError
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
    def text(self) -> str:
        """How it was measured: `cable and 4g, h2, chromium, desktop, 20 trials of each that count`."""
        cells = self.results.cells
        links, spoken, engines, devices = (
            words.listed([str(each) for each in cells[name].dropna().unique()])
            for name in ("link", "protocol", "engine", "device")
        )
        least, most = self.results.trials
        return (
            f"{links}, {spoken}, {engines}, {devices}, {words.between(least, most)} trials of each that count"
        )


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
    rows = [row for row in results.claims if len(row.pairs) == 1 and not row.claim.is_budget]
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
        name
        for name in wanted
        if any(row.comparison or _there(row, results) for row in rows if row.claim.metric == name)
    ]
    places = {
        row.where: Place(
            row.where,
            tuple(
                _change(each, results)
                for name in observed
                for each in rows
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
            interval=results.certainty.interval,
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


def _there(row: ClaimRow, results: Results) -> bool:
    """Whether both sides have a value, whether or not that makes a ratio."""
    return all(sample.size for sample in _samples(row, results))


def _samples(row: ClaimRow, results: Results) -> tuple[np.ndarray, np.ndarray]:
    """The values of A and of B."""
    ((b, a),) = row.pairs
    if row.claim.metric not in results.sifted.by_metric or a is None:
        return np.array([]), np.array([])
    blocks = Blocks(results.sifted.by_metric, row.claim.metric)
    return blocks.values(a), blocks.values(b)


def _change(row: ClaimRow, results: Results) -> Change:
    a, b = _samples(row, results)
    return Change(
        condition=row.setting,
        metric=row.claim.metric,
        n=(a.size, b.size),
        medians=(median(a), median(b)),
        comparison=row.comparison or NOTHING,
        judgement=row.judgement or UNTOLD,
        floor=row.floor,
        difference=difference(a, b, results.certainty.confidence),
    )
