"""The command line called many times in a forked process with bounds: faster than a process each."""

from __future__ import annotations

import contextlib
import io
import os
import resource
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.hostile.cases import TRACEBACK, one_line
from harness.cli.commands import main

MEMORY_BYTES = 4_000_000_000
WRONG_INPUT = 2


@dataclass(frozen=True)
class Called:
    """How a call ended. `code` is None when it raised, and `error` then holds the traceback."""

    code: int | None
    out: str
    error: str
    seconds: float

    def to_json(self) -> dict[str, Any]:
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


def faults_of(answer: dict[str, Any]) -> dict[str, str]:
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
