"""Standard streams that are closed, full, left by their reader or never read."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.hostile.cases import HUNG, LEFT, Case, one_line
from benchmarks.hostile.commands import Place, badly_ended
from benchmarks.hostile.measured import AGAIN, PAGE, RUN, STUDY, measured
from benchmarks.hostile.runners import ENDS_WITHIN_S, INTERRUPTED, SLACK_S

LIMIT_S = 60.0
BLOCKED_S = 4.0  # by then a command that is not read has written all that a pipe holds
ROW = "standard streams that are none"

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "nothing": (),
    "help": ("--help",),
    "version": ("--version",),
    "command-help": ("run", "--help"),
    "mistake": ("plan", "no-such-study"),
    "doctor": ("doctor",),
    "pages": ("pages",),
    "pages-one": ("pages", PAGE),
    "plan": ("plan", STUDY),
    "records": ("records", RUN),
    "parquet": ("records", RUN, "--parquet"),
    "report": ("report", RUN),
    "compare": ("compare", RUN, AGAIN),
    "compare-json": ("compare", RUN, AGAIN, "--json"),
    "pack": ("pack", RUN, "--no-report", "--out", "streamed.zip"),
    "optimize": ("optimize", PAGE, "--variant", "minify"),
    "load": ("load", PAGE),
    "shell": ("shell", "--", "seq", "100000"),
}
# How each command ends with all streams as they should be; what is said in vain changes nothing of that.
ENDS = {
    "shell": {0, 1, 128 + signal.SIGPIPE},  # what runs in it could not write
    "nothing": {2},
    "mistake": {2},
    "compare": {0, 2},
    "compare-json": {0, 2},
}  # 2: all trials were disturbed


def names(only: Callable[[str], bool]) -> list[str]:
    found = (f"stream/{command}/{how}" for command, how in itertools.product(COMMANDS, HOW))
    return [name for name in found if only(name)]


def try_all(wanted: Sequence[str], folder: Path) -> Iterator[Case]:
    for name in wanted:
        yield _tried(name, measured(folder))


def _closed(descriptors: Sequence[int], _around: ExitStack) -> dict[str, Any]:
    def close() -> None:
        for each in descriptors:
            os.close(each)

    return {"preexec_fn": close}


def _full(stream: str, around: ExitStack) -> dict[str, Any]:
    return {stream: around.enter_context(Path("/dev/full").open("wb"))}


def _left(stream: str, around: ExitStack) -> dict[str, Any]:
    """A pipe whose reader has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    around.callback(os.close, writing)
    return {stream: writing}


def _unread(stream: str, around: ExitStack) -> dict[str, Any]:
    """A pipe that is full already and that nobody reads."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writing, True)
    for each in (reading, writing):
        around.callback(os.close, each)
    return {stream: writing}


HOW: Mapping[str, Callable[[ExitStack], dict[str, Any]]] = {
    "no-stdin": partial(_closed, (0,)),
    "no-stdout": partial(_closed, (1,)),
    "no-stderr": partial(_closed, (2,)),
    "none": partial(_closed, (0, 1, 2)),
    "full-stdout": partial(_full, "stdout"),
    "full-stderr": partial(_full, "stderr"),
    "left-stdout": partial(_left, "stdout"),
    "left-stderr": partial(_left, "stderr"),
    "unread-stdout": partial(_unread, "stdout"),
    "unread-stderr": partial(_unread, "stderr"),
}


def _tried(name: str, place: Place) -> Case:
    _, command, how = name.split("/")
    began, faults = time.monotonic(), {}
    blocked = how.startswith("unread")
    with ExitStack() as around:
        options = HOW[how](around)
        with place.started(*COMMANDS[command], **options) as running:
            ended = running.ends_within(BLOCKED_S if blocked else LIMIT_S)
            if blocked and not ended:
                running.popen.send_signal(signal.SIGTERM)
                if not running.ends_within(ENDS_WITHIN_S + SLACK_S):
                    faults[HUNG] = "it writes to a full pipe and does not hear the signal"
            code, said = running.popen.poll(), running.written()
    usual = ENDS.get(command, {0})
    codes = usual | ({INTERRUPTED} if blocked else {3} if how == "full-stdout" else set())
    if not faults:
        silent = how in ("no-stderr", "none") or how.endswith("-stderr") or command == "shell"
        faults |= badly_ended(code, "\n" if silent and code else said, codes) if command != "nothing" else {}
    if left := place.left_behind():
        faults[LEFT] = "; ".join(left)
    (place.folder / "streamed.zip").unlink(missing_ok=True)
    return Case(ROW, name, f"exit code {code}: {one_line(said)}", time.monotonic() - began, faults)
