"""The table of a study's factors: what is claimed with each of them, and against the study as it is."""

from __future__ import annotations

from dataclasses import asdict

import pandas as pd

from analysis.claims.claimresult import ClaimRow
from analysis.claims.claimtext import subject_text
from analysis.claims.doubleratios import FACTOR, DoubleRatio
from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.statistics.compare import Comparison
from analysis.statistics.verdicts import verdict_text
from analysis.tables.table import Shown, Table
from harness.model.condition import USUAL_FACTOR

USUAL_LAST = Shown(words.DASH)


def factors(results: Results) -> Table | None:
    """One row per claim and factor, below the claim as it is; None without factors."""
    found = results.factors
    if not found:
        return None
    rows: list[tuple[Shown, ...]] = []
    last: ClaimRow | None = None
    for each in found:
        if each.usual is not last:
            rows.append(_usual(each.usual))
        last = each.usual
        rows.append(_changed(each, results.margin))
    return Table(
        name="factors",
        title="One factor at a time",
        note="Ratio: subject / reference with the factor [95 % interval]. Change: that ratio in units of the usual "
        "one, from blocks that hold all four conditions; n: those blocks. q: p-value of the change, corrected for all.",
        data=_data(found),
        head=("Claim", "Factor", "Ratio", "n", "Change", "q", "Against the usual ratio"),
        rows=tuple(rows),
        keys=2,
    )


def _usual(row: ClaimRow) -> tuple[Shown, ...]:
    seen = row.comparison
    n = Shown(words.number(seen.n if seen else 0))
    return (Shown(subject_text(row.claim)), Shown(USUAL_FACTOR), _ratio(seen), n, *[USUAL_LAST] * 3)


def _changed(each: DoubleRatio, margin: float) -> tuple[Shown, ...]:
    known = {**asdict(each.comparison), **asdict(each.judgement)}
    return (
        Shown(subject_text(each.changed.claim)),
        Shown(str(each.changed.setting[FACTOR])),
        _ratio(each.changed.comparison),
        Shown(words.number(each.comparison.n)),
        _ratio(each.comparison),
        Shown(words.probability(each.judgement.q)),
        Shown(verdict_text(known, margin, each.changed.claim.metric)),
    )


def _ratio(seen: Comparison | None) -> Shown:
    if seen is None:
        return Shown("no data")
    return Shown(words.number(seen.ratio, 3), words.span(seen.low, seen.high, 3))


def _data(found: tuple[DoubleRatio, ...]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "claim": each.changed.claim.name,
            "factor": str(each.changed.setting[FACTOR]),
            "where": each.usual.where,
            "metric": each.changed.claim.metric,
            **_figures("", each.changed.comparison),
            **_figures("usual_", each.usual.comparison),
            **_figures("change_", each.comparison),
            "n": each.comparison.n,
            "q": each.judgement.q,
            "verdict": str(each.judgement.verdict),
        }
        for each in found
    )


def _figures(prefix: str, seen: Comparison | None) -> dict[str, float | None]:
    return {f"{prefix}{key}": getattr(seen, key, None) for key in ("ratio", "low", "high")}
