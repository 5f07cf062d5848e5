"""The tables of what others published: each claim beside our estimate, with its verdict and figure; by page; by run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import pandas as pd

from analysis.charts import studyfigures
from analysis.claims.claimresult import ClaimRow, side_text
from analysis.claims.published import counted, direction_open
from analysis.evaluation.results import Results
from analysis.labels import metrics, words
from analysis.tables.claimtables import MOST_RUNS
from analysis.tables.table import NOT_KNOWN, Shown, Table
from harness.model.metric import Unit
from harness.study.claim import Claim
from harness.study.metrics import metric_named

OPEN = "direction open"
OF_A_RUN = ("claim", "where", "n", "here", "low", "high", "verdict", "reason")  # columns


def published(results: Results) -> Table | None:
    """Every published claim in every setting, in the order of the claims' file."""
    rows = results.published
    if not rows:
        return None
    shown = {points.figure.name for points in results.figures if studyfigures.is_drawn(points)}
    return Table(
        name="published",
        title="Published and here",
        note=f"{summary(rows)} A ratio is subject / reference [{results.certainty.interval}], over pages their "
        "geometric mean; other values are means. n: pairs of loads inside one block, of other values trials. "
        "Reproduced: our interval lies inside the published range. Compatible: it overlaps the range and is narrow. "
        "Same direction: neither, and both are on the same side of 1. A claim with several settings counts by its "
        "worst.",
        data=pd.DataFrame(_data(row) for row in rows),
        head=("Claim", "Stands in", "Where", "Published", "Here", "n", "Verdict", "Figure", "Differs here"),
        rows=tuple(_row(row, shown) for row in rows),
        keys=3,
    )


def published_by_page(results: Results) -> Table | None:
    """What each page says of a published ratio over several of them; None where no claim is over several.

    A page alone has no verdict: what was published is about all of them.
    """
    parts = [
        (row, page, seen) for row in results.published if len(row.by_page) > 1 for page, seen in row.by_page
    ]
    if not parts:
        return None
    return Table(
        name="published-by-page",
        title="Published and here, page by page",
        note=f"Subject / reference [{results.certainty.interval}] of each page alone, of the claims that are over "
        "several.",
        data=pd.DataFrame(
            {"claim": row.claim.name, "where": _where(row), "page": page, "n": seen.n}
            | {"here": seen.ratio, "low": seen.low, "high": seen.high}
            for row, page, seen in parts
        ),
        head=("Claim", "Where", "Published", "Page", "Here", "n"),
        rows=tuple(
            (
                Shown(row.claim.published.text),
                Shown(_where(row) or words.DASH),
                Shown(published_text(row.claim)),
                Shown(page),
                Shown(value_text(row.claim, seen.ratio), span_text(row.claim, seen.low, seen.high)),
                Shown(words.number(seen.n)),
            )
            for row, page, seen in parts
        ),
        keys=4,
    )


def published_by_run(results: Results) -> Table | None:
    """What became of each published claim in every run alone; None where there is one run, or nothing published."""
    runs = list(results.published_by_run)
    if not runs:
        return None
    # The claims and settings are those of all runs together, in their order.
    alone = list(zip(*results.published_by_run.values(), strict=True))
    same = sum(len({row.verdict for row in rows}) == 1 for rows in alone)
    return Table(
        name="published-by-run",
        title="Published and here, run by run",
        note=f"Each run by itself: {same} of {len(alone)} claims at a place have one verdict in all runs.",
        data=pd.DataFrame(
            {"run": name} | {column: value for column, value in _data(row).items() if column in OF_A_RUN}
            for rows in alone
            for name, row in zip(runs, rows, strict=True)
        ),
        head=("Claim", "Where", "All runs", *(runs if len(runs) <= MOST_RUNS else ["Runs alone"])),
        rows=tuple(
            (
                Shown(row.claim.published.text),
                Shown(_where(row) or words.DASH),
                _verdict(row),
                *(map(_verdict, rows) if len(runs) <= MOST_RUNS else [_counted(rows)]),
            )
            for row, rows in zip(results.published, alone, strict=True)
        ),
        keys=2,
    )


def _counted(rows: Sequence[ClaimRow]) -> Shown:
    """The verdicts of many runs: `reproduced 8, same direction 1`."""
    counts = Counter(str(row.verdict) for row in rows)
    return Shown(", ".join(f"{verdict} {count}" for verdict, count in counts.most_common()))


def _verdict(row: ClaimRow) -> Shown:
    """The verdict, and what it is about."""
    if row.interval is None:
        return Shown(str(row.verdict))
    value, low, high = row.interval
    return Shown(
        str(row.verdict), f"{value_text(row.claim, value)} {span_text(row.claim, low, high)}".rstrip()
    )


def summary(rows: Sequence[ClaimRow]) -> str:
    """How many claims came out how."""
    claims, told = counted(rows)
    return f"{words.count(claims, 'published claim')}: {told}."


def _row(row: ClaimRow, shown: set[str]) -> tuple[Shown, ...]:
    claim, published, seen = row.claim, row.claim.published, row.comparison
    here = NOT_KNOWN
    if row.interval is not None:
        value, low, high = row.interval
        here = Shown(value_text(claim, value), span_text(claim, low, high))
    reason = OPEN if direction_open(row) else row.reason
    figure = NOT_KNOWN
    if published.figure:
        anchor = f"#figure-study-{published.figure}" if published.figure in shown else ""
        figure = Shown(published.figure, link=anchor)
    return (
        Shown(published.text),
        Shown(published.stands),
        Shown(_where(row) or words.DASH),
        Shown(published_text(claim)),
        here,
        Shown(words.number(seen.n)) if seen else NOT_KNOWN,
        Shown(str(row.verdict), reason),
        figure,
        Shown(published.differs or words.DASH),
    )


def _where(row: ClaimRow) -> str:
    """The setting; of a value also whose it is."""
    said = row.claim.published
    subject = side_text(row.claim.subject) if row.claim.is_budget else ""
    parts = [part for part in (subject, row.where) if part]
    if said.at_users is not None:
        parts.append(words.count(said.at_users, "user"))
    if said.since_users is not None:
        parts.append(f"more than with {said.since_users}")
    if said.against_users is not None:
        parts.append(f"against {said.against_users}")
    return ", ".join(parts)


def published_text(claim: Claim) -> str:
    """`0.61`, `below 1`, `1,222 kB, 5 % either way`."""
    said = claim.published
    ends = dict.fromkeys(_as_published(claim, end) for end in (said.low, said.high) if end is not None)
    bound = "" if not said.is_bound else "below " if said.low is None else "above "
    tolerated = f", {said.tolerance * 100:g} % either way" if said.tolerance else ""
    return f"{bound}{' to '.join(ends)}{tolerated}" if ends else words.DASH


def _as_published(claim: Claim, value: float) -> str:
    """With the digits that the claims' file gives a ratio."""
    return words.plain(value) if _unit(claim) is None else value_text(claim, value)


def value_text(claim: Claim, value: float) -> str:
    """A ratio, or a value with its unit."""
    unit = _unit(claim)
    if unit is None:
        return words.ratio(value)
    named = metrics.UNITS.get(unit, "per second" if unit is Unit.PER_S else "")
    return f"{_number(unit, value)} {named}".rstrip()


def span_text(claim: Claim, low: float, high: float) -> str:
    """The interval in brackets; nothing where there is none."""
    if math.isnan(low) or math.isnan(high):
        return ""
    unit = _unit(claim)
    if unit is None:
        return words.ratio_span(low, high)
    return f"[{_number(unit, low)}{words.DASH}{_number(unit, high)}]"


def _unit(claim: Claim) -> Unit | None:
    """The unit of a value; None of a ratio, and of what has no metric."""
    if not claim.is_budget or claim.published.against_users is not None:
        return None
    metric = metric_named(claim.metric)
    return metric.unit if metric else Unit.COUNT


def _number(unit: Unit, value: float) -> str:
    return metrics.MetricColumn("", "", unit).text(value)


def _data(row: ClaimRow) -> dict[str, object]:
    claim, published, seen = row.claim, row.claim.published, row.comparison
    value, low, high = row.interval or (math.nan,) * 3
    return {
        "claim": claim.name,
        "text": published.text,
        "stands": published.stands,
        "figure": published.figure,
        "subject": side_text(claim.subject),
        "reference": side_text(claim.reference),
        "where": _where(row),
        "metric": claim.metric if claim.compares else "",
        "published_low": published.low,
        "published_high": published.high,
        "tolerance": published.tolerance,
        "n": seen.n if seen else 0,
        "here": value,
        "low": low,
        "high": high,
        "method": str(seen.method) if seen else "",
        "verdict": str(row.verdict),
        "reason": OPEN if direction_open(row) else row.reason,
        "differs": published.differs,
    }
