"""Cases carried out in a forked process that may hang, die or leave its mind: the one that watches outlives it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.system import syscalls

Begin = Callable[[str], None]
End = Callable[[dict[str, Any]], None]
Work = Callable[[Sequence[str], Begin, End], None]


@dataclass(frozen=True)
class Told:
    """What came of one case: its answer, or None with how it ended instead. `written` is what it put on stderr."""

    name: str
    answer: dict[str, Any] | None
    seconds: float
    written: str
    hung: bool = False
    died: str = ""


def carried_out(names: Sequence[str], work: Work, limit_s: float, log: Path) -> Iterator[Told]:
    """Let a process `work` on the cases, one after the other; a new one takes over behind a case that ended it.

    `limit_s` is what a case may take before it counts as hung and its process is killed.
    """
    left = list(names)
    while left:
        for told in _until_it_ends(tuple(left), work, limit_s, log):
            left.remove(told.name)
            yield told


def _until_it_ends(names: Sequence[str], work: Work, limit_s: float, log: Path) -> Iterator[Told]:
    with _forked(names, work, log) as (pid, pipe):
        told, current, began, offset = b"", names[0], time.monotonic(), _size(log)
        while True:
            remaining = began + limit_s - time.monotonic()
            ready, _, _ = select.select([pipe], [], [], max(0.0, remaining))
            data = os.read(pipe, 1 << 16) if ready else None
            seconds = time.monotonic() - began
            if data is None:
                yield Told(current, None, seconds, _since(log, offset), hung=True)
                return
            if not data:
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                if current:
                    yield Told(current, None, seconds, _since(log, offset), died=f"exit code {code}")
                return
            *lines, told = (told + data).split(b"\n")
            for message in map(json.loads, lines):
                if "begin" in message:
                    current, began, offset = message["begin"], time.monotonic(), _size(log)
                else:
                    yield Told(current, message["end"], time.monotonic() - began, _since(log, offset))
                    began, current = time.monotonic(), _after(current, names)


def _after(name: str, names: Sequence[str]) -> str:
    """What is under way once a case has ended: the next one, or nothing behind the last."""
    following = names[names.index(name) + 1 :]
    return following[0] if following else ""


@contextlib.contextmanager
def _forked(names: Sequence[str], work: Work, log: Path) -> Iterator[tuple[int, int]]:
    """The working process and the pipe it tells through; both are gone behind the block."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _work(names, work, log, write)
    os.close(write)
    try:
        yield pid, read
    finally:
        os.close(read)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _work(names: Sequence[str], work: Work, log: Path, write: int) -> None:
    syscalls.die_with_parent(signal.SIGKILL)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)

    def say(message: dict[str, Any]) -> None:
        os.write(write, json.dumps(message).encode() + b"\n")

    try:
        work(names, lambda name: say({"begin": name}), lambda answer: say({"end": answer}))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def _since(log: Path, offset: int) -> str:
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(offset)
        return file.read(1 << 20).decode(errors="replace")
