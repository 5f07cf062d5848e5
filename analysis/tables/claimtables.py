"""The tables of the claims: what became of them, by run, by factor, with nothing left out, and the A/A floor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import compress

import pandas as pd

from analysis.claims.claimresult import TWICE, ClaimRow, expectations, subject_text, told_text, value_text
from analysis.claims.doubleratios import FACTOR, DoubleRatio
from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.statistics.compare import WIDER, Comparison
from analysis.statistics.plainly import direction_text, signed, verdict_text
from analysis.tables import cellcolumns
from analysis.tables.cellcolumns import OF_RATIOS, reading_of_open
from analysis.tables.table import NOT_KNOWN, FoldedColumn, Shown, Table, counts, folded, ratio_with_interval
from harness.model.condition import USUAL_FACTOR

MOST_RUNS = 8  # that have a column each


def claims(results: Results) -> Table | None:
    """Every claim in every setting, in the order of the study."""
    rows = results.claims
    if not rows:
        return None
    expecting = any(row.expects for row in rows)
    floor = any(row.floor is not None for row in rows)
    where = any(row.where for row in rows)
    pages = any(row.comparison is not None and row.comparison.pages > 1 for row in rows)
    head = ["Claim", "Where", "Ratio", "Pages", "n", "q", "Known", "Expected", "Verdict", "A/A floor"]
    wanted = [True, where, True, pages, True, True, True, expecting, expecting, floor]
    made = Table(
        name="claims",
        title="Claims",
        note=f"A ratio is subject / reference [{results.certainty.interval}], over pages their geometric mean; a "
        f"budget has the mean of its metric. {_plain_or_chosen(results)} n: pairs of loads inside one block. q: "
        "p-value of the direction, corrected for all claims. A/A floor: the largest difference that equal conditions "
        f"can show.{reading_of_open(_ratios(rows))}",
        data=_data(rows, results),
        head=tuple(compress(head, wanted)),
        rows=tuple(tuple(compress(_row(row, results.margin), wanted)) for row in rows),
        keys=2 if where else 1,
    )
    return folded(made, [OF_RATIOS[0], FoldedColumn("Known", "known", counts), OF_RATIOS[1]], made.keys)


def _ratios(rows: Iterable[ClaimRow]) -> Iterator[float]:
    """All ratios and their bounds."""
    for row in rows:
        if row.comparison is not None and not row.claim.is_budget:
            yield from (row.comparison.ratio, row.comparison.low, row.comparison.high)


def _plain_or_chosen(results: Results) -> str:
    """Which intervals these are."""
    if results.named:
        return "The claims were named before the run and all are told, so intervals are plain."
    return "No claim was named: intervals of what is told as found cover after that choice."


def _row(row: ClaimRow, margin: float) -> list[Shown]:
    seen, judgement = row.comparison, row.judgement
    known = NOT_KNOWN
    if seen is not None and judgement is not None:
        known = Shown(TWICE if row.idle else told_text(row.claim, seen, judgement, margin))
    floor = (
        Shown(signed(row.floor) + " %", "above the difference" if row.below_floor else "")
        if row.floor
        else NOT_KNOWN
    )
    return [
        Shown(subject_text(row.claim)),
        Shown(row.where),
        _figure(row),
        Shown(words.number(seen.pages if seen else 0)),
        Shown(words.number(seen.n if seen else 0)),
        Shown(words.probability(judgement.q)) if judgement else NOT_KNOWN,
        known,
        Shown(" and ".join(expectations(row.claim)) or words.DASH),
        Shown(str(row.verdict) if row.expects or seen is None else words.DASH),
        floor,
    ]


def _figure(row: ClaimRow) -> Shown:
    if row.claim.is_budget and row.comparison is not None:
        return Shown(value_text(row.claim, row.comparison))
    return _ratio(row.comparison) if row.comparison else Shown(row.instead_text)


def _ratio(seen: Comparison | None) -> Shown:
    return Shown("no data") if seen is None else ratio_with_interval(seen.ratio, seen.low, seen.high)


def _data(rows: Iterable[ClaimRow], results: Results) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "claim": row.claim.name,
            "subject": subject_text(row.claim),
            "where": row.where,
            "metric": row.claim.metric,
            "pages": " ".join(row.pages),
            **_figures(row),
            "floor": row.floor,
            "below_floor": row.below_floor,
            "expected": " and ".join(expectations(row.claim)),
            "verdict": str(row.verdict),
            "margin": results.margin,
            "sentence": row.sentence,
        }
        for row in rows
    )


def _figures(row: ClaimRow) -> dict[str, float | str | int | None]:
    """A budget in the unit of its metric."""
    seen, judgement = row.comparison, row.judgement
    return {
        "n": seen.n if seen else 0,
        "of_pages": seen.pages if seen else 0,
        "runs": seen.runs if seen else 0,
        **dict(zip(("ratio", "low", "high"), row.interval or (math.nan,) * 3, strict=True)),
        "confidence": seen.confidence if seen else math.nan,
        "method": str(seen.method) if seen else "",
        "p": seen.p if seen and judgement else math.nan,
        "q": judgement.q if judgement else math.nan,
        "q_size": judgement.q_size if judgement else math.nan,
        "known": direction_text(judgement.verdict, row.claim.metric) if judgement else "",
        "small": judgement.small if judgement else None,
    }


def claims_by_run(results: Results) -> Table | None:
    """What each run says alone, and each machine or lane of a run on several, where there are several.

    Of many it shows the least and the greatest; its data hold all.
    """
    runs = list(dict.fromkeys(name for row in results.claims for name, _ in row.by_run))
    rows = [row for row in results.claims if row.by_run]
    if len(runs) < 2 or not rows:
        return None
    folded_runs = len(runs) > MOST_RUNS
    interval = results.certainty.interval
    return Table(
        name="claims-by-run",
        title="Claims, run by run",
        note=f"The least and the greatest ratio of {len(runs)} runs, machines or lanes alone [{interval}]; files "
        "hold all."
        if folded_runs
        else f"The ratio in each run alone [{interval}]; a dash: nothing of the run counts there.",
        data=pd.DataFrame(
            {"claim": row.claim.name, "where": row.where, "run": name, "n": seen.n, "of_pages": seen.pages}
            | {key: getattr(seen, key) for key in ("ratio", "low", "high")}
            for row in rows
            for name, seen in row.by_run
        ),
        head=("Claim", "Where", "All runs", *(("Least", "Greatest") if folded_runs else runs)),
        rows=tuple(
            (
                Shown(subject_text(row.claim)),
                Shown(row.where),
                _figure(row),
                *(_extremes(row) if folded_runs else _each_run(row, runs)),
            )
            for row in rows
        ),
        keys=2,
    )


def _each_run(row: ClaimRow, runs: Iterable[str]) -> Iterator[Shown]:
    known = dict(row.by_run)
    return (_of_run(row, known[name]) if name in known else NOT_KNOWN for name in runs)


def _of_run(row: ClaimRow, seen: Comparison) -> Shown:
    """The ratio of a run alone; and of how many pages it is, where all runs together have more."""
    shown = _ratio(seen)
    if row.comparison is None or seen.pages == row.comparison.pages:
        return shown
    return Shown(shown.text, ", ".join(filter(None, (shown.aside, words.count(seen.pages, "page")))))


def _extremes(row: ClaimRow) -> Iterator[Shown]:
    """The least ratio and the greatest, each with its run."""
    ordered = sorted(row.by_run, key=lambda each: each[1].ratio)
    for name, seen in (ordered[0], ordered[-1]):
        yield Shown(str(_of_run(row, seen)), name)


def claims_of_all(results: Results) -> Table | None:
    """The claims that come out otherwise when nothing is left out."""
    pairs = results.otherwise
    if not pairs:
        return None
    return Table(
        name="claims-of-all",
        title="Claims that come out otherwise with nothing left out",
        note="Every attempt that has a time counts here, also those that a rule leaves out.",
        data=_data([other for _, other in pairs], results),
        head=("Claim", "Where", "Ratio", "Verdict", "With nothing left out", "Verdict then"),
        rows=tuple(
            (
                Shown(subject_text(row.claim)),
                Shown(row.where),
                _figure(row),
                _verdict(row, results.margin),
                _figure(other),
                _verdict(other, results.margin),
            )
            for row, other in pairs
        ),
        keys=2,
    )


def _verdict(row: ClaimRow, margin: float) -> Shown:
    if row.expects or row.comparison is None or row.judgement is None:
        return Shown(str(row.verdict))
    return Shown(told_text(row.claim, row.comparison, row.judgement, margin))


def equal_baselines(results: Results) -> Table | None:
    """Each baseline that was measured twice: the second in units of the first."""
    twins = results.twins
    if twins.empty:
        return None
    return cellcolumns.ratio_table(
        results,
        twins.drop(columns="place"),
        name="equal-baselines",
        title="Baselines measured twice (A/A)",
        note=f"The second in units of the first [{results.certainty.interval}, {WIDER}]: the truth is 1, so these are "
        "ratios of chance. All settings together tell the floor of the study.",
    )


def factors(results: Results) -> Table | None:
    """One row per claim and factor, below the claim as it is; None without factors."""
    ratios = results.factors
    if not ratios:
        return None
    interval = results.certainty.interval
    chosen = f"{interval}, {WIDER}"
    rows: list[tuple[Shown, ...]] = []
    last: ClaimRow | None = None
    for double_ratio in ratios:
        if double_ratio.usual is not last:
            rows.append(_usual(double_ratio.usual))
        last = double_ratio.usual
        rows.append(_changed(double_ratio, results.margin))
    return Table(
        name="factors",
        title="One factor at a time",
        note=f"Ratio: subject / reference with the factor [{interval if results.named else chosen}]. Change: "
        f"that ratio in units of the usual one, from blocks that hold all four conditions [{chosen}]; n: those blocks. "
        "q: p-value of the change, corrected for all.",
        data=double_ratios(ratios),
        head=("Claim", "Factor", "Ratio", "n", "Change", "q", "Against the usual ratio"),
        rows=tuple(rows),
        keys=2,
    )


def _usual(row: ClaimRow) -> tuple[Shown, ...]:
    seen = row.comparison
    n = Shown(words.number(seen.n if seen else 0))
    return (Shown(subject_text(row.claim)), Shown(USUAL_FACTOR), _ratio(seen), n, *[NOT_KNOWN] * 3)


def _changed(each: DoubleRatio, margin: float) -> tuple[Shown, ...]:
    known = {**each.comparison.figures, **vars(each.judgement)}
    return (
        Shown(subject_text(each.changed.claim)),
        Shown(str(each.changed.setting[FACTOR])),
        _ratio(each.changed.comparison),
        Shown(words.number(each.comparison.n)),
        _ratio(each.comparison),
        Shown(words.probability(each.judgement.q)),
        Shown(verdict_text(known, margin, each.changed.claim.metric)),
    )


def double_ratios(found: Iterable[DoubleRatio]) -> pd.DataFrame:
    """One row each, of one dimension: the ratio with it changed, the usual one, and the change; each with its interval
    and the level of that.
    """
    return pd.DataFrame(
        {
            "claim": double_ratio.changed.claim.name,
            double_ratio.dimension: str(double_ratio.changed.setting[double_ratio.dimension]),
            "where": double_ratio.usual.where,
            "metric": double_ratio.changed.claim.metric,
            **_prefixed("", double_ratio.changed.comparison),
            **_prefixed("usual_", double_ratio.usual.comparison),
            **_prefixed("change_", double_ratio.comparison),
            "n": double_ratio.comparison.n,
            "q": double_ratio.judgement.q,
            "verdict": direction_text(double_ratio.judgement.verdict, double_ratio.changed.claim.metric),
        }
        for double_ratio in found
    )


def _prefixed(prefix: str, seen: Comparison | None) -> dict[str, float | None]:
    names = ("ratio", "low", "high", "confidence")
    return {f"{prefix}{name}": getattr(seen, name, None) for name in names}
