"""The minifier survives what is given to it, and forks of the process that asks it."""

from __future__ import annotations

import os
import signal

from sites.optimise import outside


def test_text_comes_back_shorter_or_not_at_all() -> None:
    assert outside.shortened("css", "a { b : 'é\u2028' }") == "a{b:'é\u2028'}"
    assert outside.shortened("javascript", "f ( 1 )\n\n") == "f(1)"
    for rejected in ("if (", "a\0b", "'\ud800'"):
        assert outside.shortened("javascript", rejected) is None


def test_a_forked_child_asks_a_worker_of_its_own() -> None:
    assert outside.shortened("css", "a { before : fork }") == "a{before:fork}"
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, (outside.shortened("css", "a { in : child }") or "").encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b"a{in:child}"
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert outside.shortened("css", "a { after : fork }") == "a{after:fork}"


def test_a_text_on_which_it_dies_is_rejected() -> None:
    assert outside.shortened("css", "a { before : death }") == "a{before:death}"
    worker = outside._minifier._process
    assert worker is not None
    os.kill(worker.pid, signal.SIGKILL)
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    assert outside.shortened("css", "b { c : d }") is None
    assert outside.shortened("css", "b { c : e }") == "b{c:e}"
