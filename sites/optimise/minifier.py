"""What tells whether two texts are the same sheet or script: tdewolff/minify, in a process of its own.

Its parsers reject what they do not understand. It is a Go library, and a Go runtime does not survive fork(2), which the
enclosure does: a child that called it would wait for ever. A text on which it dies is a text that it rejects.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from functools import lru_cache

from harness.errors import EnvironmentLacks

_WORKER = (sys.executable, "-P", "-m", "sites.optimise.minifierworker")


@lru_cache(maxsize=512)
def shortened(kind: str, text: str) -> str | None:
    """A style sheet (`css`) or script (`javascript`) in its shortest form, names kept; None when it is rejected.

    It is for comparing and for the verdict of the parser. No page gets it: it is wrong in places, and may be in
    newer syntax than an engine reads.
    """
    return _minifier.ask(kind, text)


class _Minifier:
    """The worker process, started when first needed. A forked child has one of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: subprocess.Popen[str] | None = None

    def ask(self, kind: str, text: str) -> str | None:
        with self._lock:
            worker = self._worker = self._worker or _started()
            try:
                answer: str | None = _answer(worker, [kind, text])
            except (BrokenPipeError, EOFError):
                self._end()
                return None
            return answer

    def end(self) -> None:
        with self._lock:
            self._end()

    def leave_to_parent(self) -> None:
        """In a forked child: the worker is the parent's, and ends when the parent's pipe is the last one closed."""
        worker, self._worker, self._lock = self._worker, None, threading.Lock()
        if worker is not None:
            _close(worker)
            worker.returncode = 0  # no child of this process: nothing to wait for

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            _close(worker)
            worker.wait()


def _started() -> subprocess.Popen[str]:
    """In a session of its own, so that Ctrl-C reaches coldload alone."""
    worker = subprocess.Popen(
        _WORKER,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="ascii",  # JSON escapes everything else
        start_new_session=True,
    )
    try:
        _answer(worker)
    except EOFError as error:
        _close(worker)
        raise EnvironmentLacks(
            f"the minifier does not start (exit code {worker.wait()}, see above); `make setup` installs it again"
        ) from error
    return worker


def _answer(worker: subprocess.Popen[str], question: object = None) -> str | None:
    """The worker's next answer; EOFError when it is gone."""
    assert worker.stdin is not None  # noqa: S101  # both are pipes
    assert worker.stdout is not None  # noqa: S101
    if question is not None:
        worker.stdin.write(json.dumps(question) + "\n")
        worker.stdin.flush()
    line = worker.stdout.readline()
    if not line:
        raise EOFError
    answer: str | None = json.loads(line)
    return answer


def _close(worker: subprocess.Popen[str]) -> None:
    for pipe in (worker.stdin, worker.stdout):
        with contextlib.suppress(BrokenPipeError):  # what was not sent to a dead worker is of no use
            if pipe is not None:
                pipe.close()


_minifier = _Minifier()
atexit.register(_minifier.end)
os.register_at_fork(after_in_child=_minifier.leave_to_parent)
