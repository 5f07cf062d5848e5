"""What is told of a trial whose browser does not end in order: what failed first; what is waited for at its end."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.engines.browser import Browser, BrowserTrace
from harness.engines.browserlog import BrowserLog
from harness.errors import Outcome, TestbedFailed, TrialFailed
from harness.model.protocol import Protocol
from harness.probes.evidence import LoadSetup
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


class Holding:
    """A link that holds packets up for a while."""

    def __init__(self, held_s: float) -> None:
        self._until = time.monotonic() + held_s

    def check(self) -> None: ...

    def reading(self) -> dict[str, Any]:
        return {"down": {"held_packets": 5}, "up": {"held_packets": int(time.monotonic() < self._until)}}


FAR_UP = LoadSetup(
    Protocol.H2, "https://a/", frozenset(), rtt_ms=1, way_up_ms=50, distances_ms={"10.0.0.2": 100.0}
)


@pytest.mark.parametrize("failure", [None, TrialFailed(Outcome.PAGE_ERROR, "first")])
@pytest.mark.parametrize(("held_s", "least_s"), [(0, 0.1), (0.3, 0.3)])
def test_what_a_browser_sent_last_comes_to_the_servers(
    failure: TrialFailed | None, held_s: float, least_s: float
) -> None:
    anything: Any = SimpleNamespace(examine=lambda _: None)
    load: Any = SimpleNamespace(setup=FAR_UP)
    client: Any = SimpleNamespace(link=Holding(held_s))
    fresh: Any = Lingering()
    began = time.monotonic()
    with contextlib.suppress(TrialFailed):
        watch = Watchdog(lambda: None, lambda: None)
        with trial._Attempt(anything, anything, load, [])._examined(fresh, client, watch):
            if failure is not None:
                raise failure
    assert least_s <= time.monotonic() - began < least_s + 1


def test_a_link_that_always_holds_packets_up_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trial, "HELD_S", 0.2)
    client: Any = SimpleNamespace(link=Holding(60))
    began = time.monotonic()
    trial.let_arrive(FAR_UP, client)
    assert 0.3 <= time.monotonic() - began < 2
