"""`coldload records`: the data of a run, for other programs."""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from harness.cli.paths import given_path, given_run
from harness.cli.telling import reading_s, say, telling
from harness.errors import StorageFailed, UsageError
from harness.system.folders import records_cache

if TYPE_CHECKING:
    import pyarrow as pa

BYTES_PER_S = 5e6  # of records, about what a core of a small machine reads


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Give out the records of a run as one flat table, a row per attempt at a trial: as CSV, or as Parquet for "
        "pandas, DuckDB, R and others. docs/records.md lists the columns."
    )
    parser.add_argument(
        "run",
        type=given_run,
        metavar="RUN",
        help="a run directory, or a pack of one; its name, or `latest`, will do",
    )
    parser.add_argument(
        "--where",
        metavar="EXPRESSION",
        help="only the records for which this is true, in DuckDB's SQL, as in \"protocol == 'h2' and plt_ms > 1000\"",
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--csv", action="store_true", help="as CSV (default)")
    kinds.add_argument("--parquet", action="store_true", help="as Parquet")
    parser.add_argument(
        "--out", type=given_path, metavar="FILE", help="where they go (default: standard output)"
    )


def run(arguments: argparse.Namespace) -> int:
    from analysis.runs.rundirectory import load
    from analysis.runs.selection import as_table, selected
    from harness.cli.paths import run_folders
    from harness.records import RECORDS

    out: Path | None = arguments.out
    if arguments.parquet and out is None and sys.stdout.isatty():
        raise UsageError("Parquet is nothing to read on a terminal; give --out FILE, or --csv")
    with (
        run_folders([arguments.run]) as (folder,),
        telling("reading the records", reading_s([folder / RECORDS], BYTES_PER_S)),
    ):
        every = as_table(load(folder, records_cache()))
    table = every if arguments.where is None else selected(every, arguments.where)
    with _output(out) as file:
        _write(table, file, parquet=arguments.parquet)
    if out is not None:
        say(f"{out}: {table.num_rows:,} of {every.num_rows:,} records")
    return 0


def _write(table: pa.Table, file: IO[bytes], *, parquet: bool) -> None:
    import pyarrow.parquet as pq

    from analysis.tables.table import write_csv

    if parquet:
        whole = io.BytesIO()  # what it has begun to write it ends, also where nobody reads and a signal came
        pq.write_table(table, whole, compression="zstd")
        file.write(whole.getbuffer())
    else:
        write_csv(table, file)


@contextlib.contextmanager
def _output(path: Path | None) -> Iterator[IO[bytes]]:
    """Where the data goes: a file, which is whole or not there, or standard output."""
    from harness.system.files import whole_file

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
