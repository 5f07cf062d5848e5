"""What keeps real processes from running is seen while it lasts."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from harness.probes.lateness import SAMPLE_S, SAMPLES_PER_SEARCH, Lateness, watching
from harness.system.process import running
from harness.system.processtree import own_cpus
from harness.system.program import Command

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
