"""What the simulations gave, kept as one file: by part its tables, and what they are of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from benchmarks.simulation.shares import Table

FILE = "simulation.json"


@dataclass(frozen=True)
class KeptTable:
    """A table as it was printed; the first cell of a row is its name. `precision`: as of `Table`."""

    title: str
    precision: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, table: Table) -> KeptTable:
        rows = tuple((name, *cells) for name, cells in table.rows)
        return cls(table.title, table.precision, tuple(table.columns), rows)


@dataclass(frozen=True)
class KeptPart:
    """The tables of a part, and what they are of. `commit` and `code` (a digest) are empty where nobody kept them."""

    studies: int
    seed: int
    date: str
    commit: str
    code: str
    machine: str
    seconds: int
    tables: tuple[KeptTable, ...]
    failures: tuple[str, ...] = ()


KeptParts = Mapping[str, KeptPart]


def read(folder: Path) -> KeptParts:
    """What is kept in a folder; nothing where there is no file."""
    path = folder / FILE
    return msgspec.json.decode(path.read_bytes(), type=dict[str, KeptPart]) if path.is_file() else {}


def keep(folder: Path, name: str, part: KeptPart) -> None:
    """Keep a part in place of what is kept of it."""
    parts = {**read(folder), name: part}
    told = {part_name: asdict(parts[part_name]) for part_name in sorted(parts)}
    (folder / FILE).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
