"""A helper process that answers one JSON line with another, for libraries that do not survive fork(2) in ours."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading

from harness.errors import EnvironmentLacks
from harness.system.folders import set_up_again


class Worker:
    """A module of ours as a process, started when first needed. A forked child has one of its own.

    It says a line when it is ready, and then answers each question.
    """

    def __init__(self, called: str, module: str) -> None:
        self._called = called
        self._command = (sys.executable, "-P", "-m", module)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        atexit.register(self.end)
        os.register_at_fork(after_in_child=self._leave_to_parent)

    def ask(self, question: object) -> object:
        """Its answer; EOFError when it dies of the question, EnvironmentLacks when it does not start."""
        with self._lock:
            process = self._process = self._process or self._started()
            try:
                return _answer(process, question)
            except (BrokenPipeError, EOFError) as error:
                self._end()
                raise EOFError from error

    def end(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            self._end()

    def _started(self) -> subprocess.Popen[str]:
        """In a session of its own, so that Ctrl-C reaches coldload alone."""
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="ascii",  # JSON escapes everything else
            start_new_session=True,
        )
        try:
            _answer(process)
        except EOFError as error:
            _close(process)
            raise EnvironmentLacks(
                f"{self._called} does not start (exit code {process.wait()}, see above); "
                f"to install it again: {set_up_again()}"
            ) from error
        return process

    def _leave_to_parent(self) -> None:
        """In a forked child: the process is the parent's, and ends when the parent's pipe is the last one closed."""
        process, self._process, self._lock = self._process, None, threading.Lock()
        if process is not None:
            _close(process)
            process.returncode = 0  # no child of this process: nothing to wait for

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            _close(process)
            process.wait()


def _answer(process: subprocess.Popen[str], question: object = None) -> object:
    """The next answer; EOFError when the process is gone."""
    assert process.stdin is not None  # noqa: S101  # both are pipes
    assert process.stdout is not None  # noqa: S101
    if question is not None:
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise EOFError
    answer: object = json.loads(line)
    return answer


def _close(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(BrokenPipeError):  # what was not sent to a dead process is of no use
            if pipe is not None:
                pipe.close()
