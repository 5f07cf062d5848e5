"""The minifier's process: it survives what is given to it, and forks of the process that asks it."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from harness.errors import EnvironmentLacks
from sites.optimise import minifier


def worker_of(asker: minifier._Minifier) -> subprocess.Popen[str]:
    assert asker._worker is not None
    return asker._worker


def test_text_comes_back_shorter_or_not_at_all() -> None:
    assert minifier.shortened("css", "a { b : 'é\u2028' }") == "a{b:'é\u2028'}"
    assert minifier.shortened("javascript", "f ( 1 )\n\n") == "f(1)"
    for rejected in ("if (", "a\0b", "'\ud800'"):
        assert minifier.shortened("javascript", rejected) is None


def test_a_forked_child_asks_a_worker_of_its_own() -> None:
    assert minifier.shortened("css", "a { before : fork }") == "a{before:fork}"
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, (minifier.shortened("css", "a { in : child }") or "").encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b"a{in:child}"
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert minifier.shortened("css", "a { after : fork }") == "a{after:fork}"


def test_a_worker_that_died_rejected_the_text_and_is_replaced() -> None:
    asker = minifier._Minifier()
    assert asker.ask("css", "a { }") is not None
    os.kill(worker_of(asker).pid, signal.SIGKILL)
    os.waitid(os.P_PID, worker_of(asker).pid, os.WEXITED | os.WNOWAIT)
    assert asker.ask("css", "b { c : d }") is None
    assert asker.ask("css", "b { c : d }") == "b{c:d}"
    asker.end()


def test_a_minifier_that_does_not_start_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minifier, "_WORKER", ("false",))
    with pytest.raises(EnvironmentLacks, match=r"does not start \(exit code 1"):
        minifier._Minifier().ask("css", "a { }")
