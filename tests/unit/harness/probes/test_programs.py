"""What keeps real processes from running is seen while it lasts, and how long they ran."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from harness.probes.programs import SAMPLE_S, SAMPLES_PER_SEARCH, Lateness, watching
from harness.system.process import running
from harness.system.processtree import own_cpus
from harness.system.program import Command
from tests.unit.harness.system.tracing import traced

PARENT = (
    "import subprocess, sys, time, pathlib\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "pathlib.Path(sys.argv[1]).write_text(str(child.pid))\n"
    "child.wait(); time.sleep(600)"
)


def _family(folder: Path) -> tuple[Command, Path]:
    file = folder / "child"
    return Command.of(sys.executable, "-c", PARENT, file), file


def _seen(tmp_path: Path, strike: str) -> Lateness:
    command, file = _family(tmp_path)
    with running(
        command, tmp_path / "log", ready=lambda: file.exists() and bool(file.read_text())
    ) as process:
        child = int(file.read_text())
        with watching({"program": process.pid}) as watch:
            if strike == "stop":
                os.kill(child, signal.SIGSTOP)
                time.sleep(0.3)
                os.kill(child, signal.SIGCONT)
                time.sleep(0.1)
            elif strike == "kill":
                os.kill(child, signal.SIGKILL)
                while Path(f"/proc/{child}").exists():
                    time.sleep(0.01)
                time.sleep(0.1)
            return watch.lateness()["program"]


def test_a_stop_of_a_child_is_timed(tmp_path: Path) -> None:
    seen = _seen(tmp_path, "stop")
    assert 200 < seen.stopped_ms < 2000
    assert not seen.ended


def test_the_end_of_a_child_is_seen(tmp_path: Path) -> None:
    seen = _seen(tmp_path, "kill")
    assert seen.ended
    assert seen.stopped_ms == 0


@pytest.mark.parametrize(("tracer", "held"), [("child", False), ("orphan", True)])
def test_a_process_that_the_testbed_itself_traces_is_not_stopped(tracer: str, held: bool) -> None:
    with traced(tracer) as pid, watching({"program": pid}) as watch:
        time.sleep(0.3)
        assert (watch.lateness()["program"].stopped_ms > 100) is held


def test_undisturbed_programs_are_on_time(tmp_path: Path) -> None:
    seen = _seen(tmp_path, "nothing")
    assert (seen.stopped_ms, seen.ended) == (0, False)


def test_children_that_start_later_are_watched_too(tmp_path: Path) -> None:
    command, file = _family(tmp_path)
    with running(command, tmp_path / "log") as process, watching({"program": process.pid}) as watch:
        while not file.exists() or not file.read_text():
            time.sleep(0.01)
        time.sleep(2 * SAMPLES_PER_SEARCH * SAMPLE_S)
        os.kill(int(file.read_text()), signal.SIGSTOP)
        time.sleep(0.3)
        assert watch.lateness()["program"].stopped_ms > 100


def test_waiting_for_a_core_is_told_by_the_kernel() -> None:
    """More programs than cores, each busy: they wait for one another."""
    busy = Command.of(sys.executable, "-c", "while True: pass")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        started = [stack.enter_context(running(busy, folder / f"{n}")) for n in range(2 * len(own_cpus()))]
        with watching({str(each.pid): each.pid for each in started}) as watch:
            time.sleep(0.5)
            seen = watch.lateness()
            waited = [each.waiting_ms for each in seen.values()]
            longest = [each.thread_waiting_ms for each in seen.values()]
    if Path("/proc/self/schedstat").exists():
        assert sum(each or 0 for each in waited) > 200
        assert longest == waited  # the programs have one thread each
    else:
        assert set(waited) == set(longest) == {None}


RUNNER = """
import sys, time
from harness.probes.programs import watching
at_s, ran_s = time.monotonic(), time.process_time()
with watching({}) as watch:
    print("up", flush=True)
    {does}
    late_ms = watch.runner_late_ms()
worked_s = time.process_time() - ran_s
print(late_ms, worked_s * 1000, (time.monotonic() - at_s - worked_s) * 1000)
"""


def _late_ms(does: str, *, stopped_s: float = 0.0) -> tuple[float, float, float]:
    """How late a process was that watches while it did something, and how long it worked and did not."""
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER.replace("{does}", does)], stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        program.stdout.readline()
        if stopped_s:
            program.send_signal(signal.SIGSTOP)
            time.sleep(stopped_s)
            program.send_signal(signal.SIGCONT)
        late_ms, worked_ms, rest_ms = map(float, program.communicate()[0].split())
    return late_ms, worked_ms, rest_ms


@pytest.mark.parametrize("left_s", [0.0, 0.2])
def test_a_stop_of_the_watching_process_itself_is_timed(left_s: float) -> None:
    """Also when the watch is over as soon as the process goes on."""
    late_ms, _, _ = _late_ms(f"time.sleep(0.5); time.sleep({left_s})", stopped_s=0.8)
    assert late_ms > 700


def test_what_the_watching_process_works_itself_is_no_lateness() -> None:
    """A single operation of half a second, which no other thread of Python interrupts."""
    late_ms, worked_ms, rest_ms = _late_ms("3 ** (3 * 10**6)")
    assert worked_ms > 100
    assert late_ms < rest_ms + 20  # what it worked is not in it, however busy the machine is


SPINS_S = 0.25
SPINNING = f"""
import pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
(folder / "ready").touch()
while not (folder / "begin").exists():
    time.sleep(0.005)
while time.process_time() < {SPINS_S}:
    pass
(folder / "end").touch()
time.sleep(600)
"""


def test_a_main_thread_that_spins_is_counted_while_it_does(tmp_path: Path) -> None:
    command = Command.of(sys.executable, "-c", SPINNING, tmp_path)
    with (
        running(command, tmp_path / "log", ready=(tmp_path / "ready").exists) as process,
        watching({"page": process.pid, "other": process.pid}, "page") as watch,
    ):
        begun = time.monotonic_ns() // 1000
        (tmp_path / "begin").touch()
        while not (tmp_path / "end").exists():
            time.sleep(0.005)
        ended = time.monotonic_ns() // 1000
        runs = watch.runs()
    ran_s = sum(each.ran_us for each in runs) / 1e6
    assert ran_s >= SPINS_S - 0.1  # what it took to start is none of it
    assert ran_s <= (ended - begun) / 1e6 + 0.05
    assert all(each.began_us < each.ended_us for each in runs)
    assert [each.began_us for each in runs] == sorted(each.began_us for each in runs)


def test_a_program_that_is_not_there_ran_at_no_time() -> None:
    with watching({}, "page") as watch:
        assert watch.runs() == ()
