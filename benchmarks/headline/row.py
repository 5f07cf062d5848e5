"""A row of the headline as values: what was measured of both sides by turns, and how it is kept in the JSON file.

A row is kept raw, turn by turn. Ratios and intervals are derived where the page is written.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from harness.errors import EnvironmentLacks
from harness.system.enclosure import enclosed

Side = TypeVar("Side")


class NotThereError(Exception):
    """A peer that is not installed; the text says what is missing and how to get it."""


@dataclass(frozen=True)
class Figure:
    """One figure of both sides, in one unit.

    `pairs` are (here, there), one of each turn. `here` are values without a peer, and `why` says why there is none.
    `in_turns`: the two of a pair are of one time, so that their ratio has an interval; else they are of one thing.
    `front`: it stands in the table that all rows share.
    """

    what: str
    unit: str
    peer: str
    pairs: Sequence[tuple[float, float]] = ()
    here: Sequence[float] = ()
    why: str = ""
    in_turns: bool = True
    front: bool = False


@dataclass(frozen=True)
class Found:
    """What the measurement of a row gave. `versions` are by program, `left_out` says what was measured and not used."""

    figures: Sequence[Figure]
    versions: Mapping[str, str] = field(default_factory=dict)
    left_out: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Size:
    """How much is measured: so many turns, or as few as show that the row can be measured."""

    turns: int
    quick: bool = False


@dataclass(frozen=True)
class Row:
    """A row: its title, how it is measured in words for the page, in how many turns, about how long, and by what.

    `measure` returns a `Found` as JSON has it; NotThereError when a peer is missing.
    """

    title: str
    how: str
    turns: int
    minutes: int
    measure: Callable[[Size], Mapping[str, object]]


def in_order(sides: Mapping[str, Side], turn: int) -> Iterator[tuple[str, Side]]:
    """The sides of a turn: forwards, and backwards in the next one, so that none is always the first."""
    yield from list(sides.items())[:: -1 if turn % 2 else 1]


def in_enclosure(measure: Callable[[], Found]) -> dict[str, Any]:
    """Measure in an enclosure, which hands nothing back but files. SystemExit when it ends badly."""
    handle, name = tempfile.mkstemp(suffix=".json", dir="/var/tmp")
    os.close(handle)
    file = Path(name)

    def command() -> int:
        file.write_text(json.dumps(measure().to_json()))
        return 0

    try:
        if code := enclosed(command):
            raise SystemExit(code)
        told: dict[str, Any] = json.loads(file.read_text())
    finally:
        file.unlink()
    return told


def needed(program: Callable[[], object]) -> None:
    """NotThereError, with the same text, where the machine lacks what makes it."""
    try:
        program()
    except EnvironmentLacks as lacking:
        raise NotThereError(str(lacking)) from lacking
