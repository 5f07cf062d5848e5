"""Records as CSV, as quickly as a large run needs it."""

from __future__ import annotations

from functools import reduce
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from analysis.tables.table import FORMULA
from harness.input.shown import ACTED_ON, printable


def write_csv(table: pa.Table, file: IO[bytes]) -> None:
    """A line per record below the names of the columns.

    Texts that a spreadsheet takes for formulas are defused, and what a terminal would act on is made visible.
    """
    names = [f"'{name}" if name.startswith(FORMULA) else name for name in table.column_names]
    columns = [
        _defused(_visible(column)) if pa.types.is_string(column.type) else column for column in table.columns
    ]
    csv.write_csv(pa.table(columns, names=names), file, csv.WriteOptions(quoting_style="needed"))


def _visible(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Without what a terminal would act on; few columns have any, and the others are only searched."""
    if not pc.any(pc.match_substring_regex(column, f"[{ACTED_ON}]")).as_py():
        return column
    texts = [None if text is None else printable(text) for text in column.to_pylist()]
    return pa.chunked_array([texts], type=column.type)


def _defused(column: pa.ChunkedArray) -> pa.ChunkedArray:
    begins = reduce(pc.or_, (pc.starts_with(column, each) for each in FORMULA))
    return pc.if_else(begins, pc.binary_join_element_wise("'", column, ""), column)
