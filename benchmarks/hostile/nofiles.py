"""Paths that lead to no file: every command refuses each of them in one line, at once."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks.hostile.cases import HUNG, TRACEBACK, Case, one_line
from benchmarks.hostile.inprocess import WRONG_INPUT, bounded, called, faults_of
from benchmarks.hostile.worker import Begin, End, carried_out

LIMIT_S = 15.0
ROW = "paths that are no files"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "plan": ("plan",),
    "run": ("run",),
    "report": ("report",),
    "records": ("records",),
    "pack": ("pack",),
    "compare": ("compare", "."),
    "import": ("import", "--name", "x"),
    "list": ("archive", "--list"),
}
PATHS: Mapping[str, str] = {
    "endless": "/dev/zero",
    "pipe": "pipe",
    "folder": "folder",
    "loop": "loop",
    "long": "a/" * 2500,
    "name": "n" * 300,
    "nul": "a\0b",
}


def names(only: Callable[[str], bool]) -> list[str]:
    found = (f"nofile/{command}/{path}" for command, path in itertools.product(COMMANDS, PATHS))
    return [name for name in found if only(name)]


def try_all(wanted: Sequence[str], folder: Path) -> Iterator[Case]:
    place = folder / "nofiles"
    (place / "folder").mkdir(parents=True)
    (place / "loop").symlink_to("loop")
    os.mkfifo(place / "pipe")
    for told in carried_out(wanted, partial(_try, place=place), LIMIT_S, folder / "nofiles.log"):
        faults = faults_of(told.answer) if told.answer else {}
        if told.hung:
            faults[HUNG] = f"no end within {LIMIT_S:g} s"
        elif told.answer is None:
            faults[TRACEBACK] = f"the process died: {told.died}: {one_line(told.written)}"
        elif told.answer["code"] != WRONG_INPUT:
            faults[TRACEBACK] = f"exit code {told.answer['code']} for what is no file"
        said = f"exit code {told.answer['code']}: {told.answer['error']}" if told.answer else told.died
        yield Case(ROW, told.name, one_line(said), told.seconds, faults)


def _try(wanted: Sequence[str], begin: Begin, end: End, *, place: Path) -> None:
    bounded()
    os.environ["COLDLOAD_ARCHIVES"] = str(place / "archives")
    for name in wanted:
        _, command, path = name.split("/")
        begin(name)
        end(called([*COMMANDS[command], PATHS[path]], place).to_json())
