"""Records that were read once, kept as Parquet: for runs that take long to read.

An entry is known by the digest of the files that it was read from and of the code that read them. So it is never that
of other records. It lies in the user's own folder: what a run directory holds, somebody else may have made.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

MOST_ENTRIES = 20
READERS = ("analysis.runs", "harness", "harness.input", "harness.model")  # the code that rows depend on
NAMES, FACTS = b"names", b"facts"


class KeptRecords(NamedTuple):
    """A table of records, and what else was found out as they were read, as JSON can hold it."""

    rows: pa.Table
    facts: Mapping[str, Any]


def key_of(paths: Iterable[Path]) -> str:
    """The digest of files, of those that are there, and of the code that reads them."""
    digest = hashlib.sha256(_code().encode())
    for path in paths:
        digest.update(f"\n{path.name} ".encode())
        if path.is_file():
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


@cache
def _code() -> str:
    digest = hashlib.sha256(pa.__version__.encode())
    for package in READERS:
        for file in sorted(resources.files(package).iterdir(), key=lambda each: each.name):
            if file.name.endswith(".py"):
                digest.update(file.read_bytes())
    return digest.hexdigest()


def fetch(folder: Path, key: str) -> KeptRecords | None:
    """The entry of a key; None without one, or when it is damaged."""
    path = _path(folder, key)
    try:
        stored = pq.read_table(path)
        path.touch()  # the least used entries go first
    except (OSError, pa.ArrowInvalid):
        return None
    told = stored.schema.metadata
    names = json.loads(told[NAMES])
    return KeptRecords(stored.rename_columns(names).replace_schema_metadata(), json.loads(told[FACTS]))


def store(folder: Path, key: str, entry: KeptRecords) -> None:
    """Keep an entry, whole or not at all; without room or rights there it is not kept."""
    # Parquet wants names of its own: those of a record may be empty, or hold anything.
    numbered = entry.rows.rename_columns([str(number) for number in range(entry.rows.num_columns)])
    told = {NAMES: json.dumps(entry.rows.column_names), FACTS: json.dumps(entry.facts)}
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            path = Path(temporary) / "new"
            pq.write_table(numbered.replace_schema_metadata(told), path, compression="zstd")
            path.replace(_path(folder, key))
        _drop_least_used(folder)


def _drop_least_used(folder: Path) -> None:
    entries = sorted(folder.glob("*.parquet"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in entries[MOST_ENTRIES:]:
        path.unlink(missing_ok=True)


def _path(folder: Path, key: str) -> Path:
    return folder / f"{key}.parquet"
