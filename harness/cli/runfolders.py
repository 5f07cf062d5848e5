"""Runs as the command line names them: run directories, and packs, which are unpacked as long as they are read."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.pack.packedrun import unpack_run
from harness.pack.packfile import is_pack, open_pack
from sites.wholefolder import temporary_folder


@contextlib.contextmanager
def run_folders(runs: Sequence[Path]) -> Iterator[list[Path]]:
    """The directory of each run."""
    if not any(map(is_pack, runs)):
        yield list(runs)
        return
    with temporary_folder(Path(tempfile.gettempdir()), "coldload", 0o700) as folder:
        yield [
            _unpacked(path, folder / str(number)) if is_pack(path) else path
            for number, path in enumerate(runs, start=1)
        ]


def _unpacked(path: Path, folder: Path) -> Path:
    with open_pack(path) as pack:
        return unpack_run(pack, folder / pack.manifest.run)


def place_of_report(run: Path) -> Path | None:
    """Where the report of a pack goes unless said otherwise: beside it. None for a run directory: into it."""
    return run.with_name(f"{run.stem}-report") if is_pack(run) else None
