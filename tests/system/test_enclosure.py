"""Whatever ends a run, nothing of it remains: no process, no namespace, no file."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from harness.errors import TestbedFailed
from harness.system.enclosure import WORKSPACE, enclosed, folder_for_an_enclosure, hidden_by
from harness.system.netns import host
from harness.system.processtree import family
from harness.system.program import Command, run
from tests.facts import tells
from tests.system.conftest import Coldload, inside, wait_until

pytestmark = pytest.mark.side_by_side

SLEEPER = ("shell", "--rtt-ms", "10", "--", "sh", "-c", "echo up; sleep 600")


def test_the_exit_code_comes_out() -> None:
    assert enclosed(lambda: 7) == 7


@pytest.mark.parametrize(
    ("word", "code", "told"), [("no page is there", 1, "no page is there\n"), (4, 4, ""), (None, 0, "")]
)
def test_what_a_command_leaves_with_comes_out(
    word: str | int | None, code: int, told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert enclosed(lambda: sys.exit(word)) == code
    assert capfd.readouterr().err == told


def test_hosts_are_private_and_vanish() -> None:
    def names() -> tuple[str, bool, bool]:
        with host("client") as made:
            devices = run(Command.of("ip", "-brief", "link").on(made.path))
            there = made.path.exists()
        return devices, there, made.path.exists()

    devices, there, later = inside(names)
    assert [line.split()[0] for line in devices.splitlines()] == ["lo"]
    assert (there, later) == (True, False)
    assert not WORKSPACE.exists()


def test_a_taken_host_name_is_refused() -> None:
    def twice() -> str:
        with host("client"):
            try:
                with host("client"):
                    return "made twice"
            except TestbedFailed as error:
                return str(error)

    assert "a host named client exists already" in inside(twice)


def test_nothing_can_leave() -> None:
    def route() -> str:
        return run(Command.of("ip", "route", "show", "table", "all"))

    assert "default" not in inside(route)


def started_family(coldload: Coldload) -> tuple[list[int], subprocess.Popen[str]]:
    """A command under way: its processes from the outermost on, once the inner program runs."""
    process = coldload.start(*SLEEPER)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n", process.communicate()
    return family(process.pid), process


@pytest.mark.parametrize("position", [0, 1, 2, 3])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_remains_after_a_signal_to_any_of_its_processes(
    coldload: Coldload, position: int, number: signal.Signals
) -> None:
    """Outermost, supervisor, first process of the enclosure, the command itself."""
    pids, process = started_family(coldload)
    assert len(pids) >= 6
    os.kill(pids[position], number)
    _, err = process.communicate()
    wait_until(lambda: not any(map(exists, pids)), f"the end of {pids}")
    if position > 0 and number == signal.SIGKILL:
        assert process.returncode == 3
        assert err.count("\n") == 1
        assert tells([err], "was killed by SIGKILL", "want of memory")


def exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def listens(process: subprocess.Popen[str], number: signal.Signals) -> bool:
    """Whether the process has a handler of its own for the signal."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("processes", [1, 2, 3, 4, 5, 6])
def test_a_signal_ends_a_command_at_any_instant(
    coldload: Coldload, number: signal.Signals, processes: int
) -> None:
    """While Python imports, while the enclosure and the testbed are built, while the command runs."""
    process = coldload.start(*SLEEPER)
    wait_until(lambda: process.poll() is not None or listens(process, signal.SIGTERM), "a handler")
    wait_until(
        lambda: process.poll() is not None or len(family(process.pid)) >= processes, f"{processes} processes"
    )
    assert process.poll() is None, process.communicate()
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "interrupted" in err


def test_a_command_whose_standard_error_nobody_reads_hears_a_signal(coldload: Coldload) -> None:
    """Not even `interrupted` can be said then."""
    reading, writing = os.pipe()
    process = coldload.start(*SLEEPER, stderr=writing)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, bytes(4096))
    os.set_blocking(writing, True)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    os.close(reading)
    os.close(writing)
    assert process.returncode == 130


def test_a_command_that_cannot_unwind_is_ended_all_the_same(coldload: Coldload) -> None:
    pids, process = started_family(coldload)
    os.kill(pids[3], signal.SIGSTOP)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate()
    assert process.returncode == 130
    assert err.splitlines() == ["coldload shell: interrupted"]
    wait_until(lambda: not any(map(exists, pids)), f"the end of {pids}")


SLOW = """
import time
from harness.system.enclosure import enclosed
def command():
    try:
        print("up", flush=True)
        time.sleep(60)
    finally:
        time.sleep(60)
try:
    enclosed(command)
except KeyboardInterrupt:
    print("said outside", flush=True)
"""


def test_a_command_that_unwinds_too_slowly_is_told_of_once() -> None:
    """By the process outside the enclosure."""
    words = [sys.executable, "-c", SLOW]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        os.kill(family(process.pid)[3], signal.SIGINT)
        out, err = process.communicate()
    assert (out, err) == ("said outside\n", "")


HUNG_UP = """
import subprocess, sys
from harness.system.enclosure import enclosed
CHILD = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); print('up', flush=True); input()"
sys.exit(enclosed(lambda: subprocess.run([sys.executable, "-c", CHILD]).returncode))
"""


def test_a_command_that_was_started_with_nohup_survives_its_shell() -> None:
    """With its children, also those that make the signal deadly again, as Node does: a shell sends it to our group."""
    with subprocess.Popen(
        ["env", "--ignore-signal=HUP", sys.executable, "-c", HUNG_UP],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        os.killpg(process.pid, signal.SIGHUP)
        process.communicate("\n")
    assert process.returncode == 0


def test_a_place_that_it_hides_is_known_outside_and_temporary_files_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/shm")
    assert hidden_by(Path("/run/x/y")) == Path("/run")
    assert hidden_by(tmp_path / "link/x") == Path("/dev/shm")
    assert hidden_by(tmp_path / "x") is None
    outside = tempfile.gettempdir()  # Python keeps it

    def command() -> tuple[str, Path | None]:
        return tempfile.gettempdir(), hidden_by(Path("/run/x"))

    assert inside(command) == (str(WORKSPACE / "tmp"), None)
    assert tempfile.gettempdir() == outside


def test_a_folder_for_an_enclosure_is_seen_there_wherever_temporary_files_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with contextlib.ExitStack() as stack:
        with monkeypatch.context() as there:
            there.setattr(tempfile, "tempdir", "/dev/shm")
            folder = stack.enter_context(folder_for_an_enclosure())
        assert inside(folder.is_dir)
