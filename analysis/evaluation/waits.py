"""What the loads of each condition waited for, and what of it a variant or a protocol changes.

These are means: the parts of a mean add up to the mean of the whole, those of medians do not. Each run counts once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from analysis.claims.measured import archives_of, same_archive
from analysis.evaluation.results import Results
from analysis.labels.conditions import POINT
from analysis.runs.rundirectory import LEVEL, in_levels
from analysis.statistics.compare import Certainty
from analysis.statistics.contrast import Sample, Statistic, mean, mean_of
from harness.model.kind import Waiting
from harness.model.variant import PLAIN

LABELS = {
    Waiting.DOWN: "link down",
    Waiting.UP: "link up",
    Waiting.HANDSHAKES: "handshakes",
    Waiting.SERVER: "server",
    Waiting.ROUND_TRIPS: "round trips",
    Waiting.MAIN_THREAD: "main thread",
    Waiting.UNKNOWN: "nothing known",
}
# Pale: the strong colours are those of protocols.
COLOURS = {
    Waiting.DOWN: "#9DB7D5",
    Waiting.UP: "#CFE0EE",
    Waiting.HANDSHAKES: "#E8A48C",
    Waiting.SERVER: "#A8CFA0",
    Waiting.ROUND_TRIPS: "#F3DFA2",
    Waiting.MAIN_THREAD: "#CDB8DC",
    Waiting.UNKNOWN: "#E4E4E4",
}
ALL = "all"  # of a change: that of the whole load
KEYS = {waiting.value: waiting.key for waiting in Waiting}
MEANS = ("cell", "waiting", "ms", "low", "high", "share", "n")
CHANGES = ("cell", "reference", "column", "waiting", "ms", "low", "high", "n")


def means(results: Results) -> pd.DataFrame:
    """A row per condition and class, in the order of precedence; empty where no trial tells."""
    seen, certainty = _seen(results), results.certainty
    by_cell, rows = dict(iter(seen.groupby("cell"))), []
    for cell in results.cells["cell"]:
        if cell not in by_cell:
            continue
        mine = by_cell[cell]
        parts = {
            waiting: _interval(
                [found[key].to_numpy(dtype=float) for _, found in mine.groupby("run", sort=False)], certainty
            )
            for waiting, key in KEYS.items()
        }
        whole = sum(ms for ms, _, _ in parts.values())
        rows += [
            (cell, waiting, ms, max(low, 0.0), high, ms / whole, len(mine))
            for waiting, (ms, low, high) in parts.items()
        ]
    return pd.DataFrame(rows, columns=list(MEANS))


def changes(results: Results) -> pd.DataFrame:
    """What each variant changes against the page as it is, and each protocol against the baseline, within blocks.

    `column` names which of the two it is; a row per class, and one for the whole load (`all`).
    """
    seen, certainty = _seen(results), results.certainty
    seen = seen.assign(**{ALL: seen[list(KEYS.values())].sum(axis=1)})
    blocks = {cell: found.set_index(list(LEVEL)) for cell, found in seen.groupby("cell")}
    rows = []
    for column, subject, reference in _pairs(results):
        if not {subject, reference} <= blocks.keys():
            continue
        for waiting, key in {**KEYS, ALL: ALL}.items():
            differences = (blocks[subject][key] - blocks[reference][key]).dropna()
            if differences.empty:
                continue
            runs = [found.to_numpy(dtype=float) for _, found in differences.groupby("run", sort=False)]
            ms, low, high = _interval(runs, certainty)
            rows.append((subject, reference, column, waiting, ms, low, high, len(differences)))
    return pd.DataFrame(rows, columns=list(CHANGES))


def of_one_archive(results: Results, changed: pd.DataFrame) -> list[bool]:
    """Of rows of `changes`, whether a variant was the page as it is: the same archive measured twice."""
    archives = archives_of(results.sifted.kept)
    cells = zip(changed["column"], changed["cell"], changed["reference"], strict=True)
    return [column == "variant" and same_archive(archives, one, other) for column, one, other in cells]


def _seen(results: Results) -> pd.DataFrame:
    """The trials that count and tell what they waited for."""
    kept = results.sifted.kept
    if not set(KEYS.values()) <= set(kept):
        return pd.DataFrame(columns=[*LEVEL, "cell", *KEYS.values()])
    return in_levels(kept)[[*LEVEL, "cell", *KEYS.values()]].dropna()


def _interval(runs: Sequence[Sample], certainty: Certainty) -> tuple[float, float, float]:
    """The mean of runs with its bounds; NaN where there are too few values."""
    parts: list[Statistic] = [mean(np.asarray(values)) for values in runs]
    statistic = mean_of(parts)
    return statistic.centre, *statistic.interval(certainty.confidence)


def _pairs(results: Results) -> Iterator[tuple[str, int, int]]:
    """Which column tells two conditions apart, and both."""
    but_variant = [*(column for column in results.panel_columns if column != "variant"), *POINT]
    for column, alike, reference in (
        ("variant", but_variant, PLAIN),
        ("protocol", ["place"], results.baseline),
    ):
        for _, cells in results.cells.groupby(alike, dropna=False, sort=False):
            numbers = dict(zip(cells[column], cells["cell"], strict=True))
            for value, cell in numbers.items():
                if reference in numbers and value != reference:
                    yield column, int(cell), int(numbers[reference])
