"""Which cores each gets, and that real processes then have them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from harness.capacity.resources import Cores, allotted, pinned, starting_on
from harness.system.process import running
from harness.system.program import Command


@pytest.mark.parametrize(
    ("count", "generator", "server", "emulator"),
    [
        (1, (0,), (0,), (0,)),
        (2, (1,), (0,), (1,)),
        (3, (1,), (0,), (2,)),
        (4, (1, 2), (0,), (3,)),
        (8, (3, 4, 5, 6), (0, 1, 2), (7,)),
    ],
)
def test_the_rule(
    count: int, generator: tuple[int, ...], server: tuple[int, ...], emulator: tuple[int, ...]
) -> None:
    made = allotted(range(count))
    assert made == Cores(generator, server, emulator)
    assert made.shared == (count < 3)


@pytest.mark.parametrize("count", range(4, 70))
def test_with_four_or_more_every_core_has_one_user(count: int) -> None:
    made = allotted(range(count))
    assert sorted((*made.generator, *made.server, *made.emulator)) == list(range(count))
    assert 0 <= len(made.generator) - len(made.server) <= 1


def test_threads_and_children_are_pinned_and_put_back(tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    core = min(before)
    command = Command.of("sh", "-c", "sleep 60 & echo $!; wait")
    with running(command, tmp_path / "log") as process:
        process.wait_until(lambda: (tmp_path / "log").read_text().endswith("\n"))
        child = int((tmp_path / "log").read_text())
        with pinned(process.pid, [core]):
            assert os.sched_getaffinity(process.pid) == {core}
            assert os.sched_getaffinity(child) == {core}
        assert os.sched_getaffinity(process.pid) == before
        assert os.sched_getaffinity(child) == before


def test_threads_of_one_process_are_all_pinned() -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    before = os.sched_getaffinity(0)
    try:
        with pinned(os.getpid(), [min(before)]):
            assert os.sched_getaffinity(thread.native_id or 0) == {min(before)}
        assert os.sched_getaffinity(thread.native_id or 0) == before
    finally:
        over.set()
        thread.join()


def test_a_process_that_is_gone_is_no_error(tmp_path: Path) -> None:
    with running(Command.of("true"), tmp_path / "log") as process:
        process.ends_within(60)
    with pinned(process.pid, [0]):
        pass


def test_what_is_started_there_knows_its_cores(tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    with starting_on([max(before)]), running(Command.of("nproc"), tmp_path / "log") as process:
        process.ends_within(60)
    assert (tmp_path / "log").read_text() == "1\n"
    assert os.sched_getaffinity(0) == before
