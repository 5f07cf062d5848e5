"""`coldload records`: the data of a run, for other programs."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.runs.rundirectory import load
from analysis.runs.selection import as_table, selected
from analysis.tables.table import write_csv
from harness.cli.plaintext import say
from harness.cli.runfolders import run_folders
from harness.errors import StorageFailed, UsageError
from harness.system.files import whole_file
from harness.system.folders import records_cache


def run(arguments: argparse.Namespace) -> int:
    out: Path | None = arguments.out
    if arguments.parquet and out is None and sys.stdout.isatty():
        raise UsageError("Parquet is nothing to read on a terminal; give --out FILE, or --csv")
    with run_folders([arguments.run]) as (folder,):
        every = as_table(load(folder, records_cache()))
    table = every if arguments.where is None else selected(every, arguments.where)
    with _output(out) as file:
        _write(table, file, parquet=arguments.parquet)
    if out is not None:
        say(f"{out}: {table.num_rows:,} of {every.num_rows:,} records")
    return 0


def _write(table: pa.Table, file: IO[bytes], *, parquet: bool) -> None:
    if parquet:
        pq.write_table(table, file, compression="zstd")
    else:
        write_csv(table, file)


@contextlib.contextmanager
def _output(path: Path | None) -> Iterator[IO[bytes]]:
    """Where the data goes: a file, which is whole or not there, or standard output."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        with whole_file(path) as file:
            yield file
    except OSError as error:
        raise StorageFailed(
            f"cannot write {path}: {error.strerror}; make room or choose another --out"
        ) from error
