"""Paths and runs on the command line: a path that no file can have is refused before anything is done.

A run is a run directory, or a pack, which is unpacked as long as it is read.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from harness.errors import EnvironmentLacks, UsageError
from harness.input.shown import clipped, printable
from harness.system.folders import OUTSIDE, RUNS, kept_folder

LATEST = "latest"  # run
ARCHIVES_HERE = "the folder of archives"  # for `refuse_hidden`
SHOWN_CHARACTERS = 100
# What is wrong with the path itself. That a file is missing, or may not be read, the command says better.
_IMPOSSIBLE = (errno.ELOOP, errno.ENAMETOOLONG)


def given_path(text: str) -> Path:
    """A path as it was given; argparse reports what is raised."""
    path = Path(text)
    try:
        path.stat()
    except ValueError as error:  # a NUL, which only a program can give
        raise argparse.ArgumentTypeError(f"{_shown(text)}: no file can be called so") from error
    except OSError as error:
        if error.errno in _IMPOSSIBLE:
            raise argparse.ArgumentTypeError(
                f"{_shown(text)}: {error.strerror}; give another path"
            ) from error
    if OUTSIDE in os.environ:
        _refuse_shadowed(path)
    return path


def _refuse_shadowed(path: Path) -> None:
    """In the root of the lab."""
    from harness.system.roots import shadowed_by

    if folder := shadowed_by(path):
        raise argparse.ArgumentTypeError(
            f"{_shown(str(path))} lies in {folder}, and the root of the lab has its own {folder}: files of the machine "
            "are not seen there, and what is written there is lost; choose a place elsewhere"
        )


def given_run(text: str) -> Path:
    """A run, or a pack of one: by its path, by its name in the folder of runs, or `latest`, the run begun last."""
    path = given_path(text)
    if path.exists() or path.name != text:
        return path
    try:
        runs = kept_folder(RUNS)
    except EnvironmentLacks as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if text != LATEST:
        return runs / text if (runs / text).exists() else path
    plans = list(runs.glob("*/plan.jsonl"))
    if not plans:
        raise argparse.ArgumentTypeError(f"there is no run in {runs}; `coldload run` makes one")
    return max(plans, key=lambda plan: (_begun_s(plan), -plan.stat().st_mtime)).parent  # of copies the first


def _begun_s(plan: Path) -> float:
    """When a run was begun, by its environment or its first record. A plan has its time anew in a copy, so that it
    counts only where neither tells.
    """
    from harness.input import jsontext

    def environment() -> object:
        return jsontext.read(plan.with_name("environment.json"))["taken_utc"]

    def first_record() -> object:
        _, line, _ = next(jsontext.lines(plan.with_name("records.jsonl")))
        return jsontext.parse(line)["started_utc"]

    for told in (environment, first_record):
        with contextlib.suppress(OSError, ValueError, LookupError, OverflowError, StopIteration):
            return datetime.fromisoformat(str(told())).timestamp()
    return plan.stat().st_mtime


def new_file(text: str) -> Path:
    """The path of a file to write, in a folder that is there."""
    path = given_path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{_shown(text)} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(
            f"{_shown(str(path.parent))} is no folder; make it, or choose another place"
        )
    return path


def given_folder(text: str) -> Path:
    """The path of a folder to write into: one that is there, or nothing is."""
    path = given_path(text)
    there = next(place for place in (path, *path.parents) if os.path.lexists(place))
    if not os.path.isdir(there):  # noqa: PTH112  # Path.is_dir raises where somebody may not look
        raise argparse.ArgumentTypeError(f"{_shown(str(there))} is no folder; choose another place")
    return path


def refuse_hidden(paths: Mapping[str, Path | None]) -> None:
    """UsageError for the first path that is used in an enclosure and not seen there. Each has what it is called."""
    from harness.system.enclosure import hidden_by

    for what, path in paths.items():
        folder = None if path is None else hidden_by(path)
        if folder is not None:
            raise UsageError(
                f"{what} {_shown(str(path))} lies in {folder}, in whose place a measurement has an empty one: files "
                "there are not seen, and what it writes there is lost; choose a place elsewhere"
            )


def add_archives(parser: argparse.ArgumentParser) -> None:
    """--archives."""
    parser.add_argument(
        "--archives",
        type=given_folder,
        metavar="DIR",
        help="where archives are kept (default: $COLDLOAD_ARCHIVES, or archives/ in the current folder; of a wheel "
        "archives/ in $XDG_DATA_HOME/coldload)",
    )


def use_archives(folder: Path) -> None:
    """Keep archives there, in every process that this one starts."""
    os.environ["COLDLOAD_ARCHIVES"] = str(folder.absolute())


def study_or_path(text: str) -> str:
    """The name of a study that ships, or the path of one."""
    return str(given_path(text))


@contextlib.contextmanager
def run_folders(runs: Sequence[Path]) -> Iterator[list[Path]]:
    """The directory of each run."""
    from harness.pack.packfile import is_pack
    from harness.system.files import private_folder

    if not any(map(is_pack, runs)):
        yield list(runs)
        return
    with private_folder() as folder:
        yield [
            _unpacked(path, folder / str(number)) if is_pack(path) else path
            for number, path in enumerate(runs, start=1)
        ]


def _unpacked(path: Path, folder: Path) -> Path:
    from harness.pack.packfile import RUN, open_pack

    with open_pack(path) as pack:
        return pack.unpack(RUN, folder / pack.manifest.run)


def folder_of_report(run: Path) -> Path | None:
    """Where the report of a pack goes unless said otherwise: beside it. None for a run directory: into it."""
    from harness.pack.packfile import is_pack

    return run.with_name(f"{run.stem}-report") if is_pack(run) else None


def _shown(text: str) -> str:
    return printable(clipped(text, SHOWN_CHARACTERS))
