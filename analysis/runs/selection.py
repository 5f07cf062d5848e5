"""Some of the records, chosen by an expression that a user writes: DuckDB's SQL, as after WHERE.

The expression sees the records and nothing else: no file, no network, no variable of this program.
"""

from __future__ import annotations

import re

import duckdb
import pandas as pd
import pyarrow as pa

from analysis.runs.exclude import Sifted, rules_of, sift
from analysis.runs.rundirectory import Run
from harness.errors import RecordsError
from harness.input.shown import shown
from harness.model.metric import Unit
from harness.study.metrics import metrics_of

NOTHING_ELSE: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}
# How the parser tells a place: the text after a word of its own, and a caret below.
PLACE = re.compile(r"^LINE 1: (SELECT )(.*)\n( *)\^", re.MULTILINE)
COUNTS = "counts"  # the column
NAMED = "docs/records.md names the columns"


def given_out(run: Run) -> pd.DataFrame:
    """The records of a run, with `counts`: whether the report counts the attempt."""
    return with_counts(run.records, sift(run.records, rules_of(run.kind)))


def with_counts(records: pd.DataFrame, sifted: Sifted) -> pd.DataFrame:
    """The same of records that were sifted."""
    counts = pd.Series(records.index.isin(sifted.kept.index), index=records.index, name=COUNTS)
    return pd.concat([records[["run"]], counts, records.drop(columns="run")], axis="columns")


def as_table(run: Run) -> pa.Table:
    """The same as an Arrow table: what was not observed is null, also where nothing of a column was."""
    table = pa.Table.from_pandas(given_out(run), preserve_index=False).replace_schema_metadata()
    flags = [COUNTS, *(key for key, each in metrics_of(run.kind).items() if each.unit is Unit.FLAG)]
    kinds = [
        field.with_type(pa.bool_() if field.name in flags else pa.string())
        if pa.types.is_null(field.type) or pa.types.is_large_string(field.type)
        else field
        for field in table.schema
    ]
    return table.cast(pa.schema(kinds))


def selected(records: pa.Table, where: str) -> pa.Table:
    """The records for which an expression is true; RecordsError, in one line, for one that cannot be asked."""
    with duckdb.connect(config=NOTHING_ELSE) as connection:
        try:
            return connection.from_arrow(records).filter(where).to_arrow_table()
        except duckdb.Error as error:
            raise RecordsError(f"--where {shown(where)}: {_told(str(error))}; {NAMED}") from error


def _told(message: str) -> str:
    """What DuckDB says of an expression: its first sentence, what it takes for likely, and the place."""
    first, *rest = message.split("\n")
    _, _, said = first.partition(": ")
    likely = [line for line in rest if line.startswith(("Candidate", "Did you mean"))]
    place = PLACE.search(message)
    at = [f"at character {len(place[3]) - len('LINE 1: SELECT ') + 1}"] if place else []
    return ", ".join([said.rstrip("!"), *likely, *at])
