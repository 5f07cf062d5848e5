"""What a person is told: text, tables, what a command does while it works in silence, and that a machine was busy.

The last two are told on standard error, what is being done on a terminal alone: output stays what programs read.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, TypeVar

from harness.input.shown import printable

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from harness.records import Record

Thing = TypeVar("Thing")

BUSY_WARNING = "warning: the machine was busy, and the figures are too slow"
EVERY_S = 1.0
CLEAR = "\r\x1b[K"


def say(text: str = "", file: IO[str] | None = None) -> None:
    """Print a text as it is written, also where it would mean something to a terminal."""
    print(printable(text), file=file, flush=True)


def console() -> Console:
    """What draws tables and progress on standard output. Their texts are shown as `say` shows its own.

    It is rich, which takes longer to import than quick commands take to run.
    """
    from rich.console import Console
    from rich.text import Text

    class PlainConsole(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            """All texts, also those of tables, come through here."""
            return super().render_str(printable(text), **options)

    return PlainConsole(highlight=False, soft_wrap=True, markup=False, emoji=False)


def percent(value: float | None) -> str:
    """As in `97.4 %`."""
    return "-" if value is None else f"{value:.1f} %"


def aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """A line per row, the cells of a column below each other; nothing is shortened."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


@dataclass
class Doing:
    """What is being done; called with a part of it, as `figure 3 of 26`, which goes on until the next one."""

    what: str
    part: str = ""

    def __call__(self, part: str) -> None:
        self.part = part

    def __str__(self) -> str:
        return f"{self.what}, {self.part}" if self.part else self.what


def reading_s(files: Iterable[Path], bytes_per_s: float) -> float:
    """How long it takes to read files, by their size and a measured rate; one that is not there takes no time."""
    return sum(file.stat().st_size for file in files if file.is_file()) / bytes_per_s


@contextlib.contextmanager
def telling(what: str, usual_s: float | None = None) -> Iterator[Doing]:
    """Say what is being done, for how long, and how long it usually takes, while the block lasts and prints nothing.

    What is over within a second is not told of. It starts a thread: where there is an enclosure, inside of it.
    """
    doing = Doing(what)
    if not sys.stderr.isatty():
        yield doing
        return
    over = threading.Event()
    teller = threading.Thread(target=_tell, args=(doing, usual_s, over), daemon=True)
    teller.start()
    try:
        yield doing
    finally:
        over.set()
        teller.join()


def told_each(what: str, made: Iterable[Thing], usual_s: float | None = None) -> Iterator[Thing]:
    """What is made one by one; each is told of while it is made."""
    coming = iter(made)
    while True:
        with telling(what, usual_s):
            batch = list(itertools.islice(coming, 1))
        if not batch:
            return
        yield from batch


def _tell(doing: Doing, usual_s: float | None, over: threading.Event) -> None:
    began_s = time.monotonic()
    end = ""
    while not over.wait(EVERY_S):
        took_s = time.monotonic() - began_s
        usual = f" (usually {usual_s:.0f} s)" if usual_s and usual_s >= EVERY_S else ""
        said = printable(f"{doing}: {took_s:.0f} s{usual}")
        _say(f"{CLEAR}{said[: shutil.get_terminal_size().columns - 1]}")
        end = CLEAR
    _say(end)


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def warn_if_disturbed(record: Record) -> None:
    """Say that the machine disturbed a trial so much that a run would leave it out and repeat it."""
    from harness.study.metrics import disturbance

    reason = disturbance(record.to_json())
    if reason is not None:
        print(
            f"{BUSY_WARNING}: a run leaves it out ({reason.name}: "
            f"{reason.meaning}); end what else runs here, and repeat it",
            file=sys.stderr,
        )
