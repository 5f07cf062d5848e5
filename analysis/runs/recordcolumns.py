"""Rows of a records.jsonl as columns, batch by batch, so that a hundred thousand of them fit into little memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa

BATCH_ROWS = 5_000
NOTHING = type(None)
NUMBERS = frozenset({int, float})
TYPES: Mapping[frozenset[type], pa.DataType] = {
    frozenset(): pa.null(),
    frozenset({bool}): pa.bool_(),
    frozenset({int}): pa.int64(),
    frozenset({float}): pa.float64(),
    NUMBERS: pa.float64(),
    frozenset({str}): pa.string(),
}


class RecordColumns:
    """Takes rows of truths, numbers and texts. Columns stand in the order in which the rows first name them.

    Those in `as_text` hold every value as text.
    """

    def __init__(self, as_text: Collection[str] = ()) -> None:
        self._as_text = as_text
        self._rows: list[Mapping[str, Any]] = []
        self._batches: list[tuple[int, dict[str, pa.Array]]] = []
        self._seen: dict[str, set[type]] = {}

    def add(self, row: Mapping[str, Any]) -> None:
        self._rows.append(row)
        if len(self._rows) >= BATCH_ROWS:
            self._end_batch()

    @property
    def mixed(self) -> frozenset[str]:
        """Columns of which no type holds all values: they have to be read as text."""
        self._end_batch()
        return frozenset(name for name, kinds in self._seen.items() if frozenset(kinds) not in TYPES)

    def table(self) -> pa.Table:
        """All rows; there must be no `mixed` column."""
        self._end_batch()
        types = {name: TYPES[frozenset(kinds)] for name, kinds in self._seen.items()}
        return pa.table(
            {
                name: pa.chunked_array(
                    [
                        columns[name].cast(kind, safe=False) if name in columns else pa.nulls(rows, kind)
                        for rows, columns in self._batches
                    ],
                    kind,
                )
                for name, kind in types.items()
            }
        )

    def _end_batch(self) -> None:
        if not self._rows:
            return
        columns = {}
        names: dict[str, None] = {}
        for alike in dict.fromkeys(map(tuple, self._rows)):  # most rows name the same
            names.update(dict.fromkeys(alike))
        for name in names:
            values = [row.get(name) for row in self._rows]
            kinds = set(map(type, values)) - {NOTHING}
            if name in self._as_text:
                values = [None if value is None else str(value) for value in values]
                kinds = kinds and {str}
            self._seen.setdefault(name, set()).update(kinds)
            if kinds == NUMBERS:
                values = [None if value is None else float(value) for value in values]
            if (kind := TYPES.get(frozenset(kinds))) is not None:
                columns[name] = pa.array(values, kind)
        self._batches.append((len(self._rows), columns))
        self._rows = []
