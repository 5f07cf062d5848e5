"""What a run says in a few sentences, computed from its verdicts and claiming nothing beyond them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis import conditions, engines, protocols, words
from analysis.compare import Verdict
from analysis.effects import TOGETHER
from analysis.estimate import IntervalKind
from analysis.results import Results
from analysis.tables import verdict_text


def tally(results: Results) -> list[str]:
    """Protocols against the baseline, variants against plain, compressions against none.

    A sentence each over all places of an engine.
    """
    said = [*_protocols(results), *_variants(results), *_compressions(results)]
    return said or ["One protocol, one variant and one compression only: there is nothing to compare."]


def _protocols(results: Results) -> list[str]:
    places = results.cells.drop_duplicates("place").set_index("place")["engine"].astype(str)
    names = engines.ordered(places)
    said = []
    for name in names:
        cells = results.cells[results.cells["engine"] == name]
        every = results.comparisons[results.comparisons["place"].map(places) == name]
        for protocol in protocols.ordered(cells["protocol"]):
            if protocol == results.baseline:
                continue
            mine = every[(every["protocol"] == protocol) & (every["reference"] == results.baseline)]
            title = f"{protocols.label(protocol)} against {protocols.label(str(results.baseline))}"
            said.append(_tally(results, names, name, title, mine))
    return said


def _variants(results: Results) -> list[str]:
    every = results.effects[results.effects["way"] == TOGETHER]
    names = engines.ordered(every["engine"].astype(str))
    return [
        _tally(results, names, name, f"{variant} against plain", mine[mine["whole"] == variant])
        for name in names
        for mine in [every[every["engine"] == name]]
        for variant in mine["whole"].unique()
    ]


def _compressions(results: Results) -> list[str]:
    every = results.compressions
    names = engines.ordered(every["engine"].astype(str))
    return [
        _tally(results, names, name, f"{compression} against {mine['reference'].iloc[0]}", mine)
        for name in names
        for compression, mine in every[every["engine"] == name].groupby("compression")
    ]


def _tally(results: Results, names: Sequence[str], engine: str, title: str, found: pd.DataFrame) -> str:
    which = f"{engines.label(engine)}: " if engines.worth_saying(names) else ""
    if found.empty:
        return f"{which}{title}: not measured at the same place."
    counts = found["verdict"].value_counts()
    said = [
        f"{verdict if verdict == Verdict.INCONCLUSIVE else verdict_text(verdict, 0, results.margin)}"
        f" in {counts[verdict]}"
        for verdict in Verdict
        if verdict in counts
    ]
    return f"{which}{title}: {words.listed(said)} of {words.count(len(found), 'setting')}."


def by_panel(results: Results) -> list[tuple[str, list[str]]]:
    """(page and rate, sentences) of each panel: the extremes at its lowest and at its highest RTT."""
    found = []
    for _, cells in results.main_cells.groupby("panel", sort=False):
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
    return _sentence(fast, slow, seen.iloc[0].to_dict(), results.margin)


def _sentence(
    fast: Mapping[Any, Any], slow: Mapping[Any, Any], seen: Mapping[Any, Any], margin: float
) -> str:
    times = ", and ".join(
        f"{words.duration(cell['median'])} with {protocols.label(cell['protocol'])}" for cell in (slow, fast)
    )
    told = f"At {words.plain(fast['rtt_ms'])} ms RTT a load took {times}"
    method = "block by block" if seen["paired"] else "by their medians"
    digits = 2 if seen["ratio"] > 1.1 else 3
    ratio, bounds = words.number(seen["ratio"], digits), ""
    if seen["interval"] != IntervalKind.NONE:
        kind = "95 % interval" if seen["interval"] == IntervalKind.BOOTSTRAP else "range"
        bounds = f" ({kind} {words.number(seen['low'], digits)} to {words.number(seen['high'], digits)})"
    if seen["verdict"] == Verdict.SLOWER:
        return f"{told}; {method} the former took {ratio} times as long{bounds}."
    verdict = verdict_text(seen["verdict"], seen["more"], margin)
    return f"{told}; {method} their ratio is {ratio}{bounds}: {verdict}."
