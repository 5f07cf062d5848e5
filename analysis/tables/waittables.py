"""Tables of what loads wait for: the means of each condition, and what variants and protocols change of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.evaluation import waits
from analysis.evaluation.results import Results
from analysis.evaluation.waits import LABELS
from analysis.labels import conditions, words
from analysis.tables.cellcolumns import cell_heads, cell_of
from analysis.tables.table import Shown, Table, with_interval
from harness.model.kind import Waiting

HEADS = tuple(LABELS[waiting].capitalize() for waiting in Waiting)


def waiting_times(results: Results) -> Table | None:
    """The mean time of each class; None where no trial tells."""
    found = waits.means(results)
    if found.empty:
        return None
    data, rows = _told(results, found), []
    for cell, parts in found.groupby("cell", sort=False):
        row = _cell(results, cell)
        shown = [_ms(part) for part in parts.to_dict("records")]
        rows.append((*cell_of(results, row), *shown, Shown(words.number(parts["n"].iloc[0]))))
    return Table(
        name="waits",
        title=f"What loads waited for, mean in ms [{results.certainty.interval}]",
        note="The parts add up to the mean page-load time. Of what goes on at once, the first in this order counts.",
        data=data,
        head=(*cell_heads(results), *HEADS, "n"),
        rows=tuple(rows),
        keys=len(cell_heads(results)),
    )


def waiting_changes(results: Results) -> Table | None:
    """What variants and protocols change of it; None where there is nothing to set against another."""
    found = waits.changes(results)
    if found.empty:
        return None
    rows = []
    for (cell, reference, column), parts in found.groupby(["cell", "reference", "column"], sort=False):
        against = conditions.value_text(str(column), _cell(results, reference)[column])
        against += " (the same archive)" * all(waits.of_one_archive(results, parts))
        shown = [_ms(part) for part in parts.to_dict("records")]
        n = Shown(words.number(parts["n"].iloc[0]))
        rows.append((*cell_of(results, _cell(results, cell)), Shown(against), *shown, n))
    return Table(
        name="waits-changed",
        title=f"What a variant or a protocol changes of it, mean in ms [{results.certainty.interval}]",
        note="Below 0: loads wait less for it than against what the row names. n: blocks that hold both.",
        data=_told(results, found),
        head=(*cell_heads(results), "Against", *HEADS, "Whole load", "n"),
        rows=tuple(rows),
        keys=len(cell_heads(results)),
    )


def _told(results: Results, found: pd.DataFrame) -> pd.DataFrame:
    """With what the conditions are, for the CSV."""
    cells = results.conditions
    data = cells.merge(found, on="cell", how="inner")
    if "reference" in data:
        names = cells.set_index("cell")
        reference = [
            names.loc[cell, column] for cell, column in zip(data["reference"], data["column"], strict=True)
        ]
        data = data.assign(reference=reference)
    return data.drop(columns="cell")


def _cell(results: Results, cell: Any) -> Mapping[Any, Any]:
    found: Mapping[Any, Any] = results.cells[results.cells["cell"] == cell].iloc[0].to_dict()
    return found


def _ms(part: Mapping[Any, Any]) -> Shown:
    digits = words.decimals(part["ms"])
    return with_interval(part["ms"], part["low"], part["high"], digits)
