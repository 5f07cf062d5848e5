"""Two processes that do the same at once."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence


def codes_of_both(one: Sequence[str], other: Sequence[str]) -> list[int]:
    """The exit codes of two programs. A program says that it is ready, and begins when its input ends."""
    with (
        subprocess.Popen(one, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first,
        subprocess.Popen(other, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as second,
    ):
        for process in (first, second):
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        for process in (first, second):
            assert process.stdin is not None
            process.stdin.close()
        return [first.wait(), second.wait()]
