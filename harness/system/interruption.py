"""How a command is interrupted: at any instant, within two seconds, without a traceback.

A signal unwinds the command like Ctrl-C. What takes longer than `PATIENCE_S` to unwind is ended as it is: nothing that
must be kept is left to be done then (records are on disk before the next trial starts, files are whole or not there).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Callable
from typing import NoReturn

from harness.errors import EnvironmentLacks

# What was ignored when this process was started stays ignored, as `nohup` wants; SIGTERM always ends it.
SIGNALS = tuple(
    number
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    if number is signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN
)
PATIENCE_S = 1.5
EXIT_CODE = 130

Handler = Callable[[int, object], None]


class CommandKilled(EnvironmentLacks):
    """A process that a command runs in was ended by a signal that it cannot hear: by somebody, or by the kernel."""


def leave_at_once() -> None:
    """From now on a signal ends the process: while Python still imports there is nothing to unwind."""
    _handle(lambda _number, _frame: _leave())


def unwind(*, inside: bool = False) -> None:
    """From now on the first signal raises KeyboardInterrupt, and later ones do not disturb what that unwinds.

    `inside` an enclosure nothing is said, as the command outside does that.
    """
    _handle(lambda _number, _frame: unwound(inside=inside))


def unwound(*, inside: bool = False) -> NoReturn:
    """Unwind now: this process, or the one that does its work, got a signal."""
    _handle(signal.SIG_IGN)
    after_patience(
        _leave_silently if inside else _leave
    )  # Python loses what is raised in a finaliser, for one
    raise KeyboardInterrupt


def after_patience(end: Callable[[], None]) -> None:
    """Call `end` when `PATIENCE_S` have passed, unless `calm` comes first."""
    signal.signal(signal.SIGALRM, lambda _number, _frame: end())
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)


def calm() -> None:
    """It has ended by itself."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def hear_nothing() -> None:
    """From now on no signal disturbs: the command has ended, and Python would let it be killed while it tidies up."""
    _handle(signal.SIG_IGN)


def forked() -> int:
    """fork(2). No signal comes meanwhile: Python would lose what its handler raises there."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        return os.fork()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def has_room(descriptor: int) -> bool:
    """Whether what is written there does not wait: a pipe that is full, and that nobody reads, would take for ever."""
    ready = select.poll()
    ready.register(descriptor, select.POLLOUT)
    return bool(ready.poll(0))


def _leave() -> None:
    with contextlib.suppress(OSError):
        if has_room(2):
            os.write(2, b"coldload: interrupted\n")
    _leave_silently()


def _leave_silently() -> NoReturn:
    os._exit(EXIT_CODE)


def _handle(handler: Handler | signal.Handlers) -> None:
    for number in SIGNALS:
        signal.signal(number, handler)
