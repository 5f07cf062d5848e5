"""What a run says in a few sentences, computed from its verdicts and claiming nothing beyond them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis import conditions, protocols, words
from analysis.compare import Verdict
from analysis.estimate import IntervalKind
from analysis.results import Results
from analysis.tables import verdict_text


def tally(results: Results) -> list[str]:
    """Each protocol against the baseline over all places, one sentence each."""
    if results.baseline is None or results.comparisons.empty:
        return ["One protocol only: there is nothing to compare."]
    return [_tally(results, protocol) for protocol in results.protocols if protocol != results.baseline]


def _tally(results: Results, protocol: str) -> str:
    every = results.comparisons
    mine = every[(every["protocol"] == protocol) & (every["reference"] == results.baseline)]
    name, other = protocols.label(protocol), protocols.label(str(results.baseline))
    if mine.empty:
        return f"{name} was not measured where {other} was."
    counts = mine["verdict"].value_counts()
    said = [
        f"{verdict_text(verdict, 0, results.margin) if verdict is not Verdict.INCONCLUSIVE else 'inconclusive'}"
        f" in {counts[verdict]}"
        for verdict in Verdict
        if verdict in counts
    ]
    return f"{name} against {other}: {words.listed(said)} of {words.count(len(mine), 'setting')}."


def by_panel(results: Results) -> list[tuple[str, list[str]]]:
    """(page and rate, sentences) of each panel: the extremes at its lowest and at its highest RTT."""
    found = []
    for _, cells in results.cells.groupby("panel", sort=False):
        known = cells[cells["n"] > 0]
        if known["protocol"].nunique() < 2:
            continue
        times = known["rtt_ms"]
        ends = dict.fromkeys((times.min(), times.max()))
        said = [_extremes(results, known[times == rtt]) for rtt in ends]
        title = conditions.title(cells.iloc[0].to_dict(), results.split_columns)
        found.append((title, [sentence for sentence in said if sentence]))
    return found


def _extremes(results: Results, cells: pd.DataFrame) -> str:
    """The fastest and the slowest protocol at one place, and what the comparison of the two allows to say."""
    if len(cells) < 2:
        return ""
    ranked = cells.sort_values("median", kind="stable")
    fast, slow = ranked.iloc[0].to_dict(), ranked.iloc[-1].to_dict()
    every = results.comparisons
    seen = every[
        (every["place"] == fast["place"])
        & (every["protocol"] == slow["protocol"])
        & (every["reference"] == fast["protocol"])
    ]
    where = f"At {words.plain(fast['rtt_ms'])} ms RTT"
    return _sentence(where, fast, slow, seen.iloc[0].to_dict(), results.margin)


def _sentence(
    where: str, fast: Mapping[Any, Any], slow: Mapping[Any, Any], seen: Mapping[Any, Any], margin: float
) -> str:
    quick = f"{protocols.label(fast['protocol'])} ({words.duration(fast['median'])})"
    late = f"{protocols.label(slow['protocol'])} ({words.duration(slow['median'])})"
    ratio = f"{words.number(seen['ratio'], 2)} times as long{_bounds(seen)}"
    if seen["verdict"] == Verdict.SLOWER:
        return f"{where}, {late} took {ratio} as {quick}."
    if seen["verdict"] == Verdict.NO_DIFFERENCE:
        return (
            f"{where}, the extremes {quick} and {late} show {verdict_text(Verdict.NO_DIFFERENCE, 0, margin)}."
        )
    verdict = verdict_text(Verdict.INCONCLUSIVE, seen["more"], margin)
    return f"{where}, {late} took {ratio} as {quick} in the sample, which is {verdict}."


def _bounds(seen: Mapping[Any, Any]) -> str:
    if seen["interval"] == IntervalKind.NONE:
        return ""
    name = "95 % interval" if seen["interval"] == IntervalKind.BOOTSTRAP else "range"
    return f" ({name} {words.number(seen['low'], 2)} to {words.number(seen['high'], 2)})"
