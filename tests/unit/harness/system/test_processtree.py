"""Process trees of real processes: stopped, ended and waited for, in a namespace of their own, short-lived."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.system.processtree import (
    TICKS_PER_S,
    CpuTime,
    ForeignCpu,
    children,
    cpu_seconds,
    family,
    is_stopped,
    kill_family,
    living,
    own_cpus,
    parent_of,
    stopped,
    time_of,
)
from tests.unit.harness.system.tracing import traced

STAT = """\
cpu  1100 40 220 90000 10 5 6 77 0 0
cpu0 100 10 20 40000 5 3 3 7 0 0
cpu2 1000 30 200 50000 5 2 3 70 0 0
intr 1234
"""


def test_only_the_cpus_that_are_asked_for_count() -> None:
    assert time_of({2}, STAT) == CpuTime(1230 / TICKS_PER_S, 70 / TICKS_PER_S)
    assert time_of({0, 1}, STAT) == CpuTime(130 / TICKS_PER_S, 7 / TICKS_PER_S)
    assert time_of({0, 2}, STAT).busy_s == pytest.approx((1100 + 40 + 220 + 77) / TICKS_PER_S)


def test_work_on_a_cpu_is_seen_there() -> None:
    before = os.sched_getaffinity(0)
    cpu = max(before)
    os.sched_setaffinity(0, {cpu})
    try:
        was = time_of({cpu})
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass
        assert time_of({cpu}).programs_s - was.programs_s >= 0.08  # in ticks of 10 ms
    finally:
        os.sched_setaffinity(0, before)


def test_our_cpus_are_those_of_the_first_process() -> None:
    assert own_cpus() == os.sched_getaffinity(1)


# A child and a grandchild that sleep; the child's number and the grandchild's are said.
THREE = "sh -c 'sleep 600 & echo $$ $!; wait' & wait"


@pytest.fixture
def tree() -> Iterator[tuple[int, int, int]]:
    with subprocess.Popen(["/bin/sh", "-c", THREE], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child, grandchild = map(int, process.stdout.readline().split())
        yield process.pid, child, grandchild
        kill_family(process.pid)


def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # a test that hangs here says that it never is
        time.sleep(0.005)


def test_parents_come_before_their_children(tree: tuple[int, int, int]) -> None:
    root, child, grandchild = tree
    assert family(root) == living(root) == [root, child, grandchild]
    assert children(root) == [child]
    assert [parent_of(pid) for pid in tree] == [os.getpid(), root, child]
    assert set(tree) < set(family(os.getpid()))


def test_a_stopped_descendant_is_told_and_still_runs(tree: tuple[int, int, int]) -> None:
    root, child, grandchild = tree
    assert stopped(root) == []
    os.kill(grandchild, signal.SIGSTOP)
    until(lambda: is_stopped(grandchild))
    assert stopped(root) == stopped(child) == [grandchild]
    assert living(root) == [root, child, grandchild]
    assert not is_stopped(root)
    os.kill(grandchild, signal.SIGCONT)
    until(lambda: stopped(root) == [])


@pytest.mark.parametrize(("tracer", "held"), [("child", []), ("orphan", [0])])
def test_what_a_process_of_our_own_traces_nobody_has_stopped(tracer: str, held: list[int]) -> None:
    """Chromium's crash handler holds a process so while it writes a report."""
    with traced(tracer) as pid:
        assert [pid - each for each in stopped(pid)] == held
        assert is_stopped(pid) is bool(held)
        assert living(pid) == [pid]


def test_an_ended_process_is_of_the_family_until_it_is_waited_for() -> None:
    process = subprocess.Popen(["/bin/true"])
    until(lambda: living(process.pid) == [])
    assert family(process.pid) == [process.pid]
    assert not is_stopped(process.pid)
    assert cpu_seconds(process.pid) is not None
    kill_family(process.pid)
    process.wait()
    assert family(process.pid) == living(process.pid) == stopped(process.pid) == children(process.pid) == []
    assert (cpu_seconds(process.pid), parent_of(process.pid), is_stopped(process.pid)) == (None, None, False)
    kill_family(process.pid)


def test_stopped_ones_are_killed_as_well(tree: tuple[int, int, int]) -> None:
    root, child, grandchild = tree
    os.kill(child, signal.SIGSTOP)
    kill_family(root)
    until(lambda: not living(child) and not living(grandchild))


def test_children_waited_for_count() -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}]); print(flush=True); input()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        used = cpu_seconds(process.pid)
        process.communicate("\n")
    assert used is not None
    assert used >= 0.28  # in ticks of 10 ms


@pytest.mark.thorough
def test_another_process_namespace_is_seen_from_outside() -> None:
    command = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "/bin/sh", "-c", THREE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if not (said := process.stdout.readline()):
            pytest.skip("this user may make no process namespace")
        inside = [int(pid) for pid in said.split()]
        found = family(process.pid)
        assert len(found) == 4
        assert not set(inside) & set(found[2:])  # our numbers, not theirs
        os.kill(found[-1], signal.SIGSTOP)
        until(lambda: stopped(process.pid) == found[-1:])
        kill_family(process.pid)
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in found[1:]))


@pytest.mark.thorough
def test_processes_that_vanish_do_no_harm() -> None:
    code = "while :; do /bin/true; done"
    with subprocess.Popen(["/bin/sh", "-c", code]) as process:
        for _ in range(40):
            assert family(process.pid)[0] == process.pid
            assert process.pid in living(process.pid)
            assert cpu_seconds(process.pid) is not None
            stopped(process.pid)
        kill_family(process.pid)


def test_the_share_of_others_is_a_share() -> None:
    foreign = ForeignCpu()
    time.sleep(0.05)
    assert 0 <= foreign.share() <= 1
