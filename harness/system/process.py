"""Programs that run beside ours: `running` in the background, `conversing` by lines, a `Worker` that answers in JSON.

Every process gets its own session, so that Ctrl-C reaches coldload alone, which then ends its children in
order. Standard output and error of a background process go to a log file whose last lines stand in the error.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.errors import EnvironmentLacks, TestbedFailed
from harness.system.folders import set_up_again
from harness.system.processtree import is_stopped
from harness.system.program import Command, words_and_environment

POLL_SECONDS = 0.002
LAST_LINES = 3  # of a log, in an error


class Process:
    """A background process of ours. Made by `running`; ended there too.

    Its number, which is also that of its group, stays ours until somebody waits for the process. Only `kill` does,
    after the last signal: from then on the number may be that of a foreign process, and nothing is sent any more.
    """

    def __init__(self, command: Command, popen: subprocess.Popen[bytes], log: Path) -> None:
        self.command = command
        self.log = log
        self._popen = popen
        # One thread may look at it, or send a signal, while another one ends it.
        self._lock = threading.Lock()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        return self._code() is None

    def _code(self) -> int | None:
        """Its exit code, of one that a signal ended the negative number of that; None while it runs."""
        with self._lock:
            return self._seen()

    def _seen(self) -> int | None:
        """`_code`, for who holds the lock. It does not wait for the process."""
        if self._popen.returncode is not None:
            return self._popen.returncode
        try:
            ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # where SIGCHLD is ignored the kernel waits, and keeps no code
            return self._popen.poll()
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def last_lines(self) -> str:
        """The end of the log, on one line."""
        try:
            lines = self.log.read_text(errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return " | ".join(lines[-LAST_LINES:]) or "it printed nothing"

    @property
    def name(self) -> str:
        """What the command is called; else its program, without the folder."""
        return self.command.called or Path(self.command.program).name

    @property
    def ending(self) -> str:
        """How it ended: `exit code 3`, `killed by SIGKILL`."""
        code = self._code()
        if code is None:
            return "it still runs"
        return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"

    @property
    def was_killed(self) -> bool:
        """Whether a signal ended it that comes from other programs alone, or from the kernel for want of memory."""
        return self._code() in (-signal.SIGKILL, -signal.SIGTERM)

    def check(self) -> None:
        """Raise TestbedFailed when the process has died."""
        code = self._code()
        if code is not None:
            raise TestbedFailed(f"{self.name} died (exit code {code}): {self.last_lines()}")

    def check_ended_well(self) -> None:
        """Raise TestbedFailed unless the process has ended by itself, with exit code 0."""
        code = self._code()
        if code is None:
            raise TestbedFailed(f"{self.name} goes on though its time is over: {self.last_lines()}")
        if code != 0:
            self.check()

    def check_running(self) -> None:
        """Raise TestbedFailed when the process has died or is stopped."""
        self.check()
        self.check_not_stopped()

    def check_not_stopped(self) -> None:
        """Raise TestbedFailed when the process is stopped; it may have ended."""
        if is_stopped(self.pid):
            raise TestbedFailed(f"{self.name} is stopped: somebody sent it SIGSTOP, or debugs it")

    def wait_until(
        self, ready: Callable[[], bool], timeout_s: float = 20.0, missing: str = "was not ready"
    ) -> None:
        """Wait until `ready()` is true, which must be a real probe of the service, never a guess.

        `missing` says in the error what did not come.
        """
        deadline = time.monotonic() + timeout_s
        while not ready():
            self.check()
            if time.monotonic() > deadline:
                self.check_running()
                raise TestbedFailed(f"{self.name} {missing} after {timeout_s:g} s: {self.last_lines()}")
            time.sleep(POLL_SECONDS)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process itself, unless it has ended."""
        with self._lock:
            if self._seen() is None:
                with contextlib.suppress(ProcessLookupError):  # as `_seen` has it of SIGCHLD
                    os.kill(self.pid, number)

    def end(self, grace_s: float = 3.0) -> int:
        """TERM to the process, KILL to its whole group after `grace_s`; returns the exit code.

        What is stopped goes on first: it could not hear the signal.
        """
        if self.alive:
            self.signal(signal.SIGTERM)
            with self._lock:
                self._signal_group(signal.SIGCONT)
            self.ends_within(grace_s)
        self.kill()
        return self._popen.returncode

    def ends_within(self, seconds: float) -> bool:
        """Wait for its end, at most so long; whether it has come."""
        with self._lock:  # the descriptor tells the end at once; Popen.wait looks every 50 ms
            descriptor = os.pidfd_open(self.pid) if self._seen() is None else None
        if descriptor is not None:
            try:
                select.select([descriptor], [], [], seconds)
            finally:
                os.close(descriptor)
        return not self.alive

    def kill(self) -> None:
        """KILL to the whole group, at once, and wait for the process. A second time does nothing."""
        with self._lock:
            self._signal_group(signal.SIGKILL)
            self._popen.wait()

    def _signal_group(self, number: int) -> None:
        """For who holds the lock. Nothing is sent once somebody has waited for the process."""
        self._seen()  # which finds out where the kernel has waited
        if self._popen.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)


class Conversation(Process):
    """A background process that answers a line on its standard input with one on its standard output."""

    def __init__(self, command: Command, popen: subprocess.Popen[bytes], log: Path) -> None:
        super().__init__(command, popen, log)
        self._unread = b""

    def ask(self, line: str, timeout_s: float) -> str:
        """Say a line and hear the answer; TimeoutError, or EOFError when the process has gone."""
        self.say(line)
        return self.hear(timeout_s)

    def say(self, line: str) -> None:
        """Say a line, however long; EOFError when the process has gone."""
        data = line.encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor(self._popen.stdin), data) :]
        except BrokenPipeError as error:
            raise EOFError(self.last_lines()) from error

    def hear(self, timeout_s: float) -> str:
        """The next line it says; raises like `ask`."""
        deadline = time.monotonic() + timeout_s
        source = self._descriptor(self._popen.stdout)
        while b"\n" not in self._unread:
            ready, _, _ = select.select([source], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(f"{self.command.program} said nothing for {timeout_s:g} s")
            data = os.read(source, 65536)
            if not data:
                raise EOFError(self.last_lines())
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode()

    def fileno(self) -> int:
        """Where it speaks, to wait for several at once; see `has_line`."""
        return self._descriptor(self._popen.stdout)

    @property
    def has_line(self) -> bool:
        """Whether a whole line was heard already that nobody took."""
        return b"\n" in self._unread

    def close(self) -> None:
        """Say no more: a process that reads its input to the end then ends by itself."""
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                pipe.close()

    @staticmethod
    def _descriptor(pipe: IO[bytes] | None) -> int:
        if pipe is None:
            raise AssertionError("a conversation is started with pipes")
        return pipe.fileno()


@dataclass(frozen=True)
class Inherited:
    """The descriptors that a process gets: its standard input, such as the socket that inetd gives a server, and others
    under the same numbers.
    """

    stdin: int = subprocess.DEVNULL
    descriptors: Sequence[int] = ()


@contextlib.contextmanager
def running(
    command: Command,
    log: Path,
    *,
    ready: Callable[[], bool] | None = None,
    ready_timeout_s: float = 20.0,
    cwd: Path | None = None,
    inherits: Inherited | None = None,
) -> Iterator[Process]:
    """A background process for the length of the block, ready when the block starts, gone when it ends."""
    got = inherits or Inherited()
    process = Process(command, _started(command, log, cwd, stdin=got.stdin, descriptors=got.descriptors), log)
    try:
        if ready is not None:
            process.wait_until(ready, ready_timeout_s)
        yield process
    finally:
        process.end()


@contextlib.contextmanager
def conversing(command: Command, log: Path, cwd: Path | None = None) -> Iterator[Conversation]:
    """A background process to talk to for the length of the block; its standard error goes to the log."""
    started = _started(command, log, cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process = Conversation(command, started, log)
    try:
        yield process
    finally:
        process.close()
        process.end()


def _started(
    command: Command,
    log: Path,
    cwd: Path | None = None,
    *,
    stdin: int,
    stdout: int | None = None,
    descriptors: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """A session of its own; standard error goes to the log, and standard output unless there is a place for it."""
    words, environment = words_and_environment(command)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        try:
            return subprocess.Popen(
                words,
                env=environment,
                stdin=stdin,
                stdout=output if stdout is None else stdout,
                stderr=output,
                bufsize=0,
                cwd=cwd,
                start_new_session=True,
                pass_fds=descriptors,
            )
        except OSError as error:
            raise TestbedFailed(f"cannot start {command.program}: {error}") from error


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
