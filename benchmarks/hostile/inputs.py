"""Commands that are given hostile input: mutated studies, mutated recordings, and paths that lead to no file.

Each takes its input, or refuses it in one line, at once, and leaves nothing. The command line is called many times in a
forked process with bounds: faster than a process each.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import random
import resource
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.hostile.cases import HUNG, LEFT, TRACEBACK, Case, one_line
from benchmarks.hostile.recordingfiles import KINDS, mutated_text, write
from benchmarks.hostile.worker import Begin, End, Work, carried_out
from harness.cli.commands import main
from harness.study.studyfile import shipped_studies
from sites.archive import archives_root

MEMORY_BYTES = 4_000_000_000
WRONG_INPUT = 2
COUNT = 500  # of mutated studies, and of mutated recordings
NAME = "taken"
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
Answer = dict[str, Any]


@dataclass(frozen=True)
class Called:
    """How a call ended. `code` is None when it raised, and `error` then holds the traceback."""

    code: int | None
    out: str
    error: str
    seconds: float

    def to_json(self) -> Answer:
        return {
            "code": self.code,
            "out": self.out[:500],
            "error": self.error[:1500] + self.error[1500:][-1500:],
            "seconds": self.seconds,
        }


def bounded() -> None:
    """No more memory than this from now on, for this process."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def called(words: Sequence[str], folder: Path) -> Called:
    """`coldload` with these words, in a folder with its archives."""
    os.chdir(folder)
    out, error = io.StringIO(), io.StringIO()
    began, code = time.monotonic(), None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            code = main(words)
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else 1
        except BaseException:
            error.write(traceback.format_exc())
    return Called(code, out.getvalue(), error.getvalue(), time.monotonic() - began)


def faults_of(answer: Answer) -> dict[str, str]:
    """A call is right when it ends with 0, or with 2 and one line that says why."""
    code, error = answer["code"], answer["error"]
    if code is None:
        return {TRACEBACK: one_line(error.strip().splitlines()[-1])}
    if code not in (0, WRONG_INPUT):
        return {TRACEBACK: f"exit code {code}: {one_line(error)}"}
    lines = error.strip("\n").split("\n") if error else []
    if code == WRONG_INPUT and len(lines) != 1:
        return {TRACEBACK: f"exit code 2 with {len(lines)} lines: {one_line(error)}"}
    if code == WRONG_INPUT and any(not character.isprintable() for character in lines[0]):
        return {TRACEBACK: f"a line that the terminal would obey: {lines[0][:200]!r}"}
    return {}


def _cases(
    row: str,
    wanted: Sequence[str],
    work: Work,
    limit_s: float,
    log: Path,
    faulty: Callable[[Answer], dict[str, str]] = faults_of,
) -> Iterator[Case]:
    for told in carried_out(wanted, work, limit_s, log):
        faults = faulty(told.answer) if told.answer else {}
        if told.hung:
            faults[HUNG] = f"no end within {limit_s:g} s"
        elif told.answer is None:
            faults[TRACEBACK] = f"the process died: {told.died}: {one_line(told.written)}"
        said = f"exit code {told.answer['code']}: {told.answer['error']}" if told.answer else told.died
        yield Case(row, told.name, one_line(said), told.seconds, faults)


def studies(only: Callable[[str], bool], share: float) -> list[str]:
    """The names of mutated studies: which of the shipped ones each comes from, and a number that draws the rest."""
    shipped = sorted(shipped_studies())
    names = [f"study/{shipped[number % len(shipped)]}/{number}" for number in range(round(COUNT * share))]
    return [name for name in names if only(name)]


def plan_all(wanted: Sequence[str], folder: Path, seed: int) -> Iterator[Case]:
    """`coldload plan` of each; it makes the variants that a plan names, of many pages, which takes long."""
    work = partial(_plan, folder=folder, root=archives_root().absolute(), seed=seed)
    return _cases("studies, mutated", wanted, work, 120.0, folder / "studies.log")


def _plan(wanted: Sequence[str], begin: Begin, end: End, *, folder: Path, root: Path, seed: int) -> None:
    bounded()
    os.environ["COLDLOAD_ARCHIVES"] = str(root)
    path = folder / "study.toml"
    for name in wanted:
        text = shipped_studies()[name.split("/")[1]].read_text(encoding="utf-8")
        mutated = mutated_text(text, random.Random(f"{seed} {name}"))  # noqa: S311
        path.write_text(mutated, encoding="utf-8", errors="surrogateescape", newline="")
        begin(name)
        end(called(["plan", "study.toml"], folder).to_json())


def recordings(only: Callable[[str], bool], share: float) -> list[str]:
    """The names of mutated recordings, one of them a bomb."""
    count = round(COUNT * share)
    names = ["recording/bomb/0", *(f"recording/{KINDS[n % len(KINDS)]}/{n}" for n in range(1, count))]
    return [name for name in names if only(name)]


def import_all(wanted: Sequence[str], folder: Path, seed: int) -> Iterator[Case]:
    """`coldload import` of each; what it takes must open as an archive."""
    work = partial(_import, folder=folder, seed=seed)
    return _cases("recordings, mutated", wanted, work, 30.0, folder / "recordings.log", _faults_of_import)


def _faults_of_import(answer: Answer) -> dict[str, str]:
    faults = faults_of(answer)
    if answer["pages"] and answer["pages"]["code"] != 0:
        faults[TRACEBACK] = f"what was imported does not open: {one_line(answer['pages']['error'])}"
    if answer["left"]:
        faults[LEFT] = ", ".join(answer["left"])
    return faults


def _import(wanted: Sequence[str], begin: Begin, end: End, *, folder: Path, seed: int) -> None:
    bounded()
    for name in wanted:
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            end(_imported(name, Path(scratch), seed, begin))


def _imported(name: str, scratch: Path, seed: int, begin: Begin) -> Answer:
    kind, chance = name.split("/")[1], random.Random(f"{seed} {name}")  # noqa: S311
    source, archives, temporary = scratch / "source" / f"it.{kind}", scratch / "archives", scratch / "tmp"
    for made in (source.parent, archives, temporary):
        made.mkdir()
    write(kind, source, chance)
    os.environ["COLDLOAD_ARCHIVES"], os.environ["TMPDIR"] = str(archives), str(temporary)
    tempfile.tempdir = str(temporary)
    begin(name)
    taken = called(["import", str(source), "--name", NAME], scratch)
    tempfile.tempdir = None
    opened = called(["pages", NAME], scratch) if taken.code == 0 else None
    expected = {NAME} if taken.code == 0 else set()
    left = [path.name for path in archives.iterdir() if path.name not in expected]
    left += [path.name for path in temporary.iterdir()]
    left += [path.name for path in scratch.iterdir() if path.name not in ("source", "archives", "tmp")]
    return {**taken.to_json(), "pages": opened.to_json() if opened else None, "left": left}


def no_files(only: Callable[[str], bool]) -> list[str]:
    """The names of paths that lead to no file, one of each for every command."""
    names = (f"nofile/{command}/{path}" for command, path in itertools.product(COMMANDS, PATHS))
    return [name for name in names if only(name)]


def refuse_all(wanted: Sequence[str], folder: Path) -> Iterator[Case]:
    """Each path given to its command, which must refuse it."""
    scratch = folder / "nofiles"
    (scratch / "folder").mkdir(parents=True)
    (scratch / "loop").symlink_to("loop")
    os.mkfifo(scratch / "pipe")
    work = partial(_refuse, scratch=scratch)
    yield from _cases(
        "paths that are no files", wanted, work, 15.0, folder / "nofiles.log", _faults_of_refusal
    )


def _faults_of_refusal(answer: Answer) -> dict[str, str]:
    faults = faults_of(answer)
    if answer["code"] != WRONG_INPUT:
        faults[TRACEBACK] = f"exit code {answer['code']} for what is no file"
    return faults


def _refuse(wanted: Sequence[str], begin: Begin, end: End, *, scratch: Path) -> None:
    bounded()
    os.environ["COLDLOAD_ARCHIVES"] = str(scratch / "archives")
    for name in wanted:
        _, command, path = name.split("/")
        begin(name)
        end(called([*COMMANDS[command], PATHS[path]], scratch).to_json())
