"""Waits that end, with the reason, whatever hangs: real processes, stopped or deaf."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from harness.errors import Outcome, TestbedFailed, TrialFailed
from harness.probes import watchdog
from harness.probes.watchdog import LOOK_EVERY_S, RELEASE_S, STAYS_S, Watchdog
from harness.system.processtree import kill_family


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            yield process
        finally:
            process.kill()


def watch(browser: subprocess.Popen[bytes] | None, driver: subprocess.Popen[bytes] | None = None) -> Watchdog:
    return Watchdog(lambda: browser.pid if browser else None, lambda: driver.pid if driver else None)


def stop(process: subprocess.Popen[Any]) -> None:
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


def test_what_ends_in_time_is_left_alone(sleeper: subprocess.Popen[bytes]) -> None:
    with watch(sleeper).limit(30, "load event"):
        pass
    with pytest.raises(KeyError), watch(sleeper).limit(30, "load event"):
        raise KeyError
    assert sleeper.poll() is None
    assert not [each for each in threading.enumerate() if each.name.startswith("watchdog")]


def test_a_page_that_hangs_is_at_fault_and_its_browser_is_gone(
    sleeper: subprocess.Popen[bytes],
) -> None:
    def load() -> None:
        with watch(sleeper).limit(0.1, "load event"):
            sleeper.wait()
            raise ConnectionError("the browser went away")

    with pytest.raises(TrialFailed, match=r"no load event within 0\.1 s") as caught:
        load()
    assert caught.value.outcome is Outcome.PAGE_ERROR  # whether it had loaded nobody knows
    assert isinstance(caught.value.__cause__, ConnectionError)


@pytest.mark.thorough
def test_a_stopped_browser_is_not_the_pages_fault(sleeper: subprocess.Popen[bytes]) -> None:
    stop(sleeper)
    with (
        pytest.raises(TestbedFailed, match="the browser is stopped"),
        watch(sleeper).limit(0.1, "load event"),
    ):
        sleeper.wait()


@pytest.mark.thorough
def test_a_stop_counts_when_the_same_process_stays_stopped(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that are stopped one after the other the first look sees one, the second the other."""
    monkeypatch.setattr(watchdog, "LOOK_EVERY_S", 0.2)
    monkeypatch.setattr(watchdog, "STAYS_S", 2.0)
    two = "sleep 60 & echo $!; sleep 60 & echo $!; wait"
    with subprocess.Popen(["/bin/sh", "-c", two], stdout=subprocess.PIPE, text=True) as browser:
        assert browser.stdout is not None
        first, second = (int(browser.stdout.readline()) for _ in range(2))
        os.kill(first, signal.SIGSTOP)
        with Watchdog(lambda: browser.pid, lambda: sleeper.pid).limit(30, "load event"):
            time.sleep(1)
            os.kill(second, signal.SIGSTOP)
            os.kill(first, signal.SIGCONT)
            time.sleep(2)
        kill_family(browser.pid)


@pytest.mark.thorough
def test_a_driver_that_does_not_notice_is_killed_too(sleeper: subprocess.Popen[bytes]) -> None:
    began = time.monotonic()
    with pytest.raises(TestbedFailed, match="driver hangs"), watch(None, sleeper).limit(0.1, "load event"):
        sleeper.wait()
    assert time.monotonic() - began > 2


@pytest.mark.thorough
def test_a_driver_that_works_off_what_the_page_gave_it_is_waited_for(
    sleeper: subprocess.Popen[bytes],
) -> None:
    working = f"import time; end = time.monotonic() + {RELEASE_S + 2}\nwhile time.monotonic() < end: pass"
    with (
        subprocess.Popen([sys.executable, "-c", working]) as driver,
        pytest.raises(TrialFailed, match=r"no rest of the page within 0\.1 s$") as caught,
        watch(sleeper, driver).limit(0.1, "rest of the page"),
    ):
        driver.wait()
    assert caught.value.outcome is Outcome.PAGE_ERROR
    assert driver.returncode == 0


@pytest.mark.thorough
def test_a_stopped_driver_is_named(sleeper: subprocess.Popen[bytes]) -> None:
    stop(sleeper)
    with (
        pytest.raises(TestbedFailed, match="driver is stopped"),
        watch(None, sleeper).limit(0.1, "load event"),
    ):
        sleeper.wait()


def test_a_driver_that_died_is_named(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(TestbedFailed, match="the browser's driver died: refused"):
        refused(watch(None, sleeper))


@pytest.mark.thorough
def test_a_browser_that_dies_as_it_starts_is_not_waited_for(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    said = "the browser died while the trial waited for the browser"
    with (
        subprocess.Popen(["sleep", "60"]) as driver,
        pytest.raises(TestbedFailed, match=said),
        watch(sleeper, driver).limit(60, "browser", starts=True),
    ):
        driver.wait()


def test_a_browser_that_does_not_start_is_not_the_pages_fault(sleeper: subprocess.Popen[bytes]) -> None:
    with (
        pytest.raises(TestbedFailed, match=r"no browser within 0\.1 s: it did not start"),
        watch(sleeper).limit(0.1, "browser", starts=True),
    ):
        sleeper.wait()


def test_a_page_that_has_not_been_asked_for_has_no_part_in_it(sleeper: subprocess.Popen[bytes]) -> None:
    with (
        pytest.raises(TestbedFailed, match=r"no start of the trace within 0\.1 s$"),
        watch(sleeper).limit(0.1, "start of the trace", before_page=True),
    ):
        sleeper.wait()


@pytest.mark.thorough
def test_a_browser_that_has_ended_may_take_its_driver_a_while(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    with (
        subprocess.Popen(["sleep", str(LOOK_EVERY_S + STAYS_S + 1)]) as driver,
        watch(sleeper, driver).limit(60, "end of the browser"),
    ):
        driver.wait()
    assert driver.returncode == 0


def refused(watching: Watchdog) -> None:
    with watching.limit(5, "browser"):
        raise TestbedFailed("refused")


WAITER = """
import sys
from harness.probes.watchdog import Watchdog
with Watchdog(lambda: None, lambda: None).limit(1.5, "answer"):
    print("up", flush=True)
    sys.stdin.readline()
print("in time", flush=True)
"""


def test_time_for_which_the_runner_itself_stood_still_is_no_time_of_the_wait() -> None:
    """The answer came within the limit, while the process that waits for it was stopped."""
    with subprocess.Popen(
        [sys.executable, "-c", WAITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as waiter:
        assert waiter.stdout is not None
        waiter.stdout.readline()
        stop(waiter)
        time.sleep(3)
        waiter.send_signal(signal.SIGCONT)
        time.sleep(0.5)  # the watchdog has looked by now
        out, _ = waiter.communicate("\n")
    assert out == "in time\n"
