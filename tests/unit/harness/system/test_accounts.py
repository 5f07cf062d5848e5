"""What processes have used, held against what is known of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from harness.system import accounts
from harness.system.accounts import TreeAccount

SPEND = "import time\nwhile time.process_time() < {seconds}: pass\n"
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {child!r}])
child.wait()
print("done", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    """A process whose child has spent 0.3 s, and which has waited for it."""
    words = [sys.executable, "-c", PARENT.format(child=SPEND.format(seconds=0.3))]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process
        process.kill()


def test_the_cpu_of_a_child_that_has_ended_is_counted(parent: subprocess.Popen[str]) -> None:
    account = TreeAccount(parent.pid)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "done\n"
    used = accounts.usage(account.pids())
    assert used is not None
    spent = account.cpu_seconds(used)
    assert spent is not None
    assert 0.28 <= spent < 3  # /proc tells user and system time in whole ticks of 10 ms each
    assert account.kind == "processes"


def test_memory_and_threads_are_those_of_proc() -> None:
    used = accounts.usage([os.getpid()])
    assert used is not None
    this = psutil.Process()
    assert used.threads == this.num_threads()
    assert used.rss_bytes == pytest.approx(this.memory_info().rss, rel=0.1)
    assert used.cpu_s == pytest.approx(sum(this.cpu_times()[:4]), abs=0.1)
    proportional = accounts.proportional_bytes([os.getpid()])
    assert proportional is not None
    assert proportional <= used.rss_bytes * 1.1


def test_of_a_process_that_has_gone_nothing_is_known() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    assert accounts.usage([gone.pid]) is None
    assert accounts.proportional_bytes([gone.pid]) is None
    assert TreeAccount(gone.pid).cpu_seconds(None) is None
