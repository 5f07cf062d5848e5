"""Tables that are too long for a page, folded: rows that differ in one of their keys alone, as the page, become one.

The files hold every row. Nothing is estimated here: a folded row says how the rows that it stands for are spread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from analysis.labels import words
from analysis.tables.table import MOST_SHOWN, Shown, Table

MOST_VALUES = 4  # of a column of words


class FoldedColumn(NamedTuple):
    """A column of a folded table: what it shows of a column of the data, over the rows that are taken together."""

    head: str
    name: str
    shows: Callable[[pd.Series[Any]], Shown]


def spread(text: Callable[[float], str]) -> Callable[[pd.Series[Any]], Shown]:
    """The median of the rows, and in brackets the least and the most; `text` writes a value."""

    def shows(values: pd.Series[Any]) -> Shown:
        known = values.dropna()
        if known.empty:
            return Shown(words.DASH)
        return Shown(
            text(float(known.median())), f"[{text(float(known.min()))}{words.DASH}{text(float(known.max()))}]"
        )

    return shows


def total(values: pd.Series[Any]) -> Shown:
    """The sum over the rows."""
    return Shown(words.number(values.sum()))


def counts(values: pd.Series[Any]) -> Shown:
    """How many rows have which value, the most frequent first."""
    found = values.dropna().value_counts()
    shown = [f"{value} {count:,}" for value, count in found.head(MOST_VALUES).items()]
    left = int(found.iloc[MOST_VALUES:].sum())
    return Shown(", ".join([*shown, *([f"others {left:,}"] if left else [])]) or words.DASH)


def folded(table: Table, columns: Sequence[FoldedColumn], leading: int) -> Table:
    """The table, with a summary for the page where it is too long for one.

    Its rows must go with its data, one for one. Of the `leading` columns, which say what a row is about, the one with
    the most values is folded away, and further ones until the page can hold the rest.
    """
    if len(table.rows) <= MOST_SHOWN:
        return table
    keys = pd.DataFrame([[str(cell) for cell in row[:leading]] for row in table.rows])
    left: list[int] = list(range(leading))
    gone: list[int] = []
    while len(left) > 1 and (not gone or len(keys[left].drop_duplicates()) > MOST_SHOWN):
        most = max(left, key=lambda column: keys[column].nunique())
        left.remove(most)
        gone.append(most)
    data = table.data.reset_index(drop=True)
    rows = [
        (
            *(table.rows[group.index[0]][column] for column in left),
            Shown(words.number(len(group))),
            *(column.shows(data.loc[group.index, column.name]) for column in columns),
        )
        for _, group in keys.groupby(left, sort=False)
    ]
    names = words.listed([f"{keys[column].nunique():,} of {table.head[column]}" for column in gone])
    summary = replace(
        table,
        head=(*(table.head[column] for column in left), "Rows", *(column.head for column in columns)),
        rows=tuple(rows[:MOST_SHOWN]),
        keys=len(left),
        note=f"{table.note} Folded over {names}: a row stands for several; figures are their median, in brackets the "
        "least and the most, counts their sum.",
    )
    return replace(table, summary=summary)
