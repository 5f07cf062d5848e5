"""Mutated recordings: `coldload import` makes an archive that opens, or refuses in one line and leaves nothing."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.hostile.cases import HUNG, LEFT, TRACEBACK, Case, one_line
from benchmarks.hostile.inprocess import bounded, called, faults_of
from benchmarks.hostile.recordingfiles import KINDS, write
from benchmarks.hostile.worker import Begin, End, carried_out

COUNT = 500
LIMIT_S = 30.0
ROW = "recordings, mutated"
NAME = "taken"


def names(only: Callable[[str], bool], share: float) -> list[str]:
    count = round(COUNT * share)
    found = ["recording/bomb/0", *(f"recording/{KINDS[n % len(KINDS)]}/{n}" for n in range(1, count))]
    return [name for name in found if only(name)]


def import_all(wanted: Sequence[str], folder: Path, seed: int) -> Iterator[Case]:
    work = partial(_import, folder=folder, seed=seed)
    for told in carried_out(wanted, work, LIMIT_S, folder / "recordings.log"):
        faults: dict[str, str] = {}
        if told.hung:
            faults[HUNG] = f"no end within {LIMIT_S:g} s"
        elif told.answer is None:
            faults[TRACEBACK] = f"the process died: {told.died}: {one_line(told.written)}"
        else:
            faults |= faults_of(told.answer["import"])
            if told.answer["pages"] and told.answer["pages"]["code"] != 0:
                faults[TRACEBACK] = (
                    f"what was imported does not open: {one_line(told.answer['pages']['error'])}"
                )
            if told.answer["left"]:
                faults[LEFT] = ", ".join(told.answer["left"])
        came = told.answer["import"] if told.answer else {"code": None, "error": told.died}
        yield Case(
            ROW, told.name, one_line(f"exit code {came['code']}: {came['error']}"), told.seconds, faults
        )


def _import(wanted: Sequence[str], begin: Begin, end: End, *, folder: Path, seed: int) -> None:
    bounded()
    for name in wanted:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            end(_imported(name, Path(place), seed, begin))


def _imported(name: str, place: Path, seed: int, begin: Begin) -> dict[str, object]:
    kind, chance = name.split("/")[1], random.Random(f"{seed} {name}")  # noqa: S311
    source, archives, temporary = place / "source" / f"it.{kind}", place / "archives", place / "tmp"
    for made in (source.parent, archives, temporary):
        made.mkdir()
    write(kind, source, chance)
    os.environ["COLDLOAD_ARCHIVES"], os.environ["TMPDIR"] = str(archives), str(temporary)
    tempfile.tempdir = str(temporary)
    begin(name)
    taken = called(["import", str(source), "--name", NAME], place)
    tempfile.tempdir = None
    opened = called(["pages", NAME], place) if taken.code == 0 else None
    expected = {NAME} if taken.code == 0 else set()
    left = [each.name for each in archives.iterdir() if each.name not in expected]
    left += [each.name for each in temporary.iterdir()]
    left += [each.name for each in place.iterdir() if each.name not in ("source", "archives", "tmp")]
    return {"import": taken.to_json(), "pages": opened.to_json() if opened else None, "left": left}
