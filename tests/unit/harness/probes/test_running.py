"""How long a real process ran is read from the kernel while it runs."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from harness.probes.lateness import watching
from harness.system.process import running
from harness.system.program import Command

SPINS_S = 0.25
PROGRAM = f"""
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
    command = Command.of(sys.executable, "-c", PROGRAM, tmp_path)
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
