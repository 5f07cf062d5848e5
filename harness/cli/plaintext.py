"""Plain text for people, for commands that answer at once: rich takes longer to import than they take to run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.input.shown import printable


def say(text: str) -> None:
    """Print a text as it is written, also where it would mean something to a terminal."""
    print(printable(text))


def aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """A line per row, the cells of a column below each other; nothing is shortened."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
