"""Mutated studies: `coldload plan` takes each, or refuses it in one line."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.hostile.cases import HUNG, TRACEBACK, Case, one_line
from benchmarks.hostile.inprocess import bounded, called, faults_of
from benchmarks.hostile.mutation import mutated_text
from benchmarks.hostile.worker import Begin, End, carried_out
from harness.study.studyfile import shipped_studies
from sites.archive import archives_root

COUNT = 500
LIMIT_S = 120.0  # a plan makes the variants that it names, of many pages
ROW = "studies, mutated"


def names(only: Callable[[str], bool], share: float) -> list[str]:
    shipped = sorted(shipped_studies())
    found = [f"study/{shipped[number % len(shipped)]}/{number}" for number in range(round(COUNT * share))]
    return [name for name in found if only(name)]


def plan_all(wanted: Sequence[str], folder: Path, seed: int) -> Iterator[Case]:
    root = archives_root().absolute()
    for told in carried_out(
        wanted, partial(_plan, folder=folder, root=root, seed=seed), LIMIT_S, folder / "studies.log"
    ):
        faults = faults_of(told.answer) if told.answer else {}
        if told.hung:
            faults[HUNG] = f"no end within {LIMIT_S:g} s"
        elif told.answer is None:
            faults[TRACEBACK] = f"the process died: {told.died}: {one_line(told.written)}"
        said = f"exit code {told.answer['code']}: {told.answer['error']}" if told.answer else told.died
        yield Case(ROW, told.name, one_line(said), told.seconds, faults)


def mutated(name: str, seed: int) -> str:
    """The text of a study: which of the shipped ones it comes from and what was done to it follow from its name."""
    _, study, _ = name.split("/")
    chance = random.Random(f"{seed} {name}")  # noqa: S311
    return mutated_text(shipped_studies()[study].read_text(encoding="utf-8"), chance)


def _plan(wanted: Sequence[str], begin: Begin, end: End, *, folder: Path, root: Path, seed: int) -> None:
    bounded()
    os.environ["COLDLOAD_ARCHIVES"] = str(root)
    path = folder / "study.toml"
    for name in wanted:
        path.write_text(mutated(name, seed), encoding="utf-8", errors="surrogateescape", newline="")
        begin(name)
        end(called(["plan", "study.toml"], folder).to_json())
