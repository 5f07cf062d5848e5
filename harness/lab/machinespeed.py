"""How fast this machine is: a short piece of work that is the same everywhere, done on one core.

Brotli compresses a text made up of words. The library is a pinned binary, so that equal machines do it in equal time
whatever their Python and system are, and the work is like a browser's: integers, branches and tables in memory.
"""

from __future__ import annotations

import random
import time
from functools import cache

import brotli  # type: ignore[import-untyped, unused-ignore]  # has no types

RUNS = 5
QUALITY = 5
WORDS, LETTERS, TEXT_WORDS = 2_000, "etaoinshrdlu", 30_000


class MachineSpeed:
    """The speed of this machine, measured anew for each block of a run."""

    def __init__(self) -> None:
        self._block: int | None = None
        self._speed = 0.0

    def of_block(self, block: int) -> float:
        """That measured before the first trial of the block that was asked for."""
        if block != self._block:
            self._block, self._speed = block, machine_speed()
        return self._speed


def machine_speed() -> float:
    """How often the machine does the work in a second: by the quickest of some runs, which was disturbed the least."""
    text = _text()
    return round(1 / min(_seconds(text) for _ in range(RUNS)), 1)


def _seconds(text: bytes) -> float:
    before = time.perf_counter()
    brotli.compress(text, quality=QUALITY)
    return time.perf_counter() - before


@cache
def _text() -> bytes:
    source = random.Random(2012)  # noqa: S311  # the same text each time
    words = ["".join(source.choices(LETTERS, k=source.randint(2, 9))) for _ in range(WORDS)]
    return " ".join(source.choices(words, k=TEXT_WORDS)).encode()
