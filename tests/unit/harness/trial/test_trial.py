"""What is told of a trial whose browser does not end in order: what failed first."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from harness.engines.browser import Browser, BrowserTrace
from harness.engines.browserlog import BrowserLog
from harness.errors import Outcome, TestbedFailed, TrialFailed
from harness.probes.probe import Probe
from harness.probes.watchdog import Watchdog
from harness.trial import trial

END_S = 0.1
FIRST = (
    TrialFailed(Outcome.PAGE_TIMEOUT, "first"),
    TrialFailed(Outcome.PAGE_ERROR, "first"),
    TestbedFailed("first"),
    KeyboardInterrupt("first"),
)


@dataclass
class Lingering:
    """A browser whose end takes longer than a trial waits; with a driver, as long as that lives."""

    driver: subprocess.Popen[bytes] | None = None
    pid: int | None = None
    log: Path = Path("none")
    crashes: tuple[str, ...] = ()

    @property
    def driver_pid(self) -> int | None:
        return None if self.driver is None else self.driver.pid

    @property
    def programs(self) -> Mapping[str, int]:
        return {}

    def holds_pages(self, _command_line: bytes, _name: bytes, /) -> bool:
        return False

    @contextlib.contextmanager
    def start(self) -> Iterator[Browser]:
        with subprocess.Popen(["sleep", "60"]) as process:
            self.pid = process.pid
            try:
                yield cast("Browser", process)
            finally:
                process.kill()
                if self.driver is None:
                    time.sleep(5 * END_S)
                else:
                    self.driver.wait()

    def end(self) -> None: ...

    def start_over(self) -> None: ...

    def read_log(self) -> BrowserLog:
        return BrowserLog((), ())

    def read_trace(self, path: Path) -> BrowserTrace:
        raise NotImplementedError(path)


@pytest.fixture(autouse=True)
def no_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "END_S", END_S)


def loaded(fresh: Lingering, failure: BaseException | None) -> None:
    """A load in that browser which fails so, or does not."""
    with trial.started(fresh, Watchdog(lambda: fresh.pid, lambda: fresh.driver_pid)):
        if failure is not None:
            raise failure


@pytest.mark.parametrize("first", FIRST, ids=lambda each: type(each).__name__)
def test_an_end_that_hangs_replaces_no_failure(first: BaseException) -> None:
    with pytest.raises(type(first)) as caught:
        loaded(Lingering(), first)
    assert caught.value is first


def test_an_end_that_hangs_is_no_time_out_of_the_load() -> None:
    with pytest.raises(TrialFailed, match=r"no end of the browser within 0\.1 s$") as caught:
        loaded(Lingering(), None)
    assert caught.value.outcome is Outcome.PAGE_ERROR


class Reading(Probe):
    """Its file has gone."""

    def begin(self) -> None:
        Path("/proc/gone").read_bytes()


class Writing(Probe):
    """Its disk is full."""

    def begin(self) -> None:
        Path("/dev/full").write_text("much")


def attempt(probe: type[Probe]) -> trial._Attempt:
    nothing: Any = None
    return trial._Attempt(nothing, nothing, nothing, [probe(nothing)])


def test_what_the_system_refuses_a_probe_fails_the_testbed_of_one_trial() -> None:
    failure = attempt(Reading).failure()
    assert isinstance(failure, TestbedFailed)
    assert str(failure) == "the trial broke off: /proc/gone: No such file or directory"


def test_a_full_disk_ends_the_run() -> None:
    with pytest.raises(OSError, match="No space left on device"):
        attempt(Writing).failure()


@pytest.mark.thorough
@pytest.mark.parametrize("first", FIRST, ids=lambda each: type(each).__name__)
def test_a_driver_that_hangs_is_to_blame_before_a_page_and_nothing_else(first: BaseException) -> None:
    with subprocess.Popen(["sleep", "60"]) as driver, pytest.raises(BaseException) as caught:  # noqa: PT011
        loaded(Lingering(driver), first)
    if isinstance(first, TrialFailed):
        assert isinstance(caught.value, TestbedFailed)
        assert "driver hangs" in str(caught.value)
    else:
        assert caught.value is first
