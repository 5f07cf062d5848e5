"""Records as CSV, as quickly as a large run needs it."""

from __future__ import annotations

from functools import reduce
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from analysis.tables.table import FORMULA


def write_csv(table: pa.Table, file: IO[bytes]) -> None:
    """A line per record below the names of the columns; texts that a spreadsheet takes for formulas are defused."""
    names = [f"'{name}" if name.startswith(FORMULA) else name for name in table.column_names]
    columns = [_defused(column) if pa.types.is_string(column.type) else column for column in table.columns]
    csv.write_csv(pa.table(columns, names=names), file, csv.WriteOptions(quoting_style="needed"))


def _defused(column: pa.ChunkedArray) -> pa.ChunkedArray:
    begins = reduce(pc.or_, (pc.starts_with(column, each) for each in FORMULA))
    return pc.if_else(begins, pc.binary_join_element_wise("'", column, ""), column)
