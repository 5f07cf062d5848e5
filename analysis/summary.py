"""What a run says in a few sentences, computed from its verdicts and claiming nothing beyond them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis import engines, protocols, words
from analysis.compare import Verdict
from analysis.effects import TOGETHER
from analysis.results import Results


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
            said.append(_tally(names, name, title, mine))
    return said


def _variants(results: Results) -> list[str]:
    every = results.effects[results.effects["way"] == TOGETHER]
    names = engines.ordered(every["engine"].astype(str))
    return [
        _tally(names, name, f"{variant} against plain", mine[mine["whole"] == variant])
        for name in names
        for mine in [every[every["engine"] == name]]
        for variant in mine["whole"].unique()
    ]


def _compressions(results: Results) -> list[str]:
    every = results.compressions
    names = engines.ordered(every["engine"].astype(str))
    return [
        _tally(names, name, f"{compression} against {mine['reference'].iloc[0]}", mine)
        for name in names
        for compression, mine in every[every["engine"] == name].groupby("compression")
    ]


def _tally(names: Sequence[str], engine: str, title: str, found: pd.DataFrame) -> str:
    which = f"{engines.label(engine)}: " if engines.worth_saying(names) else ""
    if found.empty:
        return f"{which}{title}: not measured at the same place."
    counts = found["verdict"].value_counts()
    said = [f"{verdict} in {counts[verdict]}" for verdict in Verdict if verdict in counts]
    return f"{which}{title}: {words.listed(said)} of {words.count(len(found), 'setting')}."
