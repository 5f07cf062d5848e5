"""Whatever breaks or starves a trial is recorded by name, stays out of the estimates, and spoils no later one."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.hostile.runners import KILLED
from harness.errors import Outcome
from harness.lab.testbed import Client
from harness.model.engine import Driver
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.records import Record
from harness.study.metrics import machine_reasons, unsound
from harness.system.processtree import family
from harness.trial.trial import browser_lab
from tests.facts import tells
from tests.system.conftest import (
    Coldload,
    command_line,
    condition,
    ended_well,
    inside,
    pause,
    small_site,
    struck,
    trial,
    wait_until,
)

pytestmark = pytest.mark.side_by_side

STOPPED_S = 6.0
HTTP_IS_THERE = re.compile(r":0050 01 ")  # of /proc/net/tcp: to port 80, established
STUDY = """
name = "tiny"
pages = ["small"]
protocols = ["http1"]
portraits = false
aa = false
trials = {least = 1, attempts = 3}
seed = 1
timeout_s = 60
[[links]]
down_mbps = 0.5
rtt_ms = 100
"""


def interrupted(
    tmp_path: Path,
    victim: str,
    driver: Driver = Driver.PLAYWRIGHT,
    strike: Callable[[int], None] = lambda pid: os.kill(pid, signal.SIGKILL),
    timeout_s: float = 30.0,
) -> list[Record]:
    """Kill a part of the testbed, or worse, while a slow page loads; then load the good page.

    After the first request the others take 1.5 s on this link.
    """
    archive = small_site(tmp_path)
    slow = condition("small", Protocol.HTTP1, driver, Link.of(0.2, 200))

    def strike_it() -> None:
        strike(next(pid for pid in family(os.getpid()) if victim in command_line(pid)))

    def run() -> list[Record]:
        with browser_lab({"small": archive}, [Protocol.HTTP1]) as opened:
            opened.browsers.prepare(condition("small", Protocol.HTTP1, driver))
            with struck(opened, slow, strike_it):
                bad = trial(opened, 1, slow, timeout_s=timeout_s)
            if bad.outcome is Outcome.TESTBED_FAILED:
                opened.renew()  # as the runner does
            return [bad, trial(opened, 2, condition("small", Protocol.HTTP1, driver))]

    return inside(run)


@pytest.mark.parametrize(
    "driver", [Driver.PLAYWRIGHT, pytest.param(Driver.SELENIUM, marks=pytest.mark.lengthy)]
)
def test_a_browser_that_is_killed_is_recorded_and_the_next_trial_is_clean(
    tmp_path: Path, driver: Driver
) -> None:
    bad, good = interrupted(tmp_path, "/chromium --", driver)
    assert bad.outcome is Outcome.TESTBED_FAILED, bad.reason
    assert tells([bad.reason or ""], "killed from outside", "no crash", "the browser died")
    assert good.outcome is Outcome.OK, good.reason


@pytest.mark.parametrize(
    ("driver", "victim", "named"),
    [
        (Driver.PLAYWRIGHT, "/chromium --", "the browser is stopped"),
        (Driver.SELENIUM, "chromedriver", "the browser's driver is stopped"),
        (Driver.PLAYWRIGHT, "playwright/driver/node", "the browser's driver is stopped"),
    ],
)
def test_a_stopped_browser_or_driver_holds_nothing_up_and_is_replaced(
    tmp_path: Path, driver: Driver, victim: str, named: str
) -> None:
    def stop(pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)

    bad, good = interrupted(tmp_path, victim, driver, stop, timeout_s=8)
    assert bad.outcome is Outcome.TESTBED_FAILED, bad.reason
    assert named in (bad.reason or "")
    assert good.outcome is Outcome.OK, good.reason


@pytest.mark.parametrize(
    ("driver", "victim"),
    [(Driver.SELENIUM, "chromedriver"), (Driver.PLAYWRIGHT, "playwright/driver/node")],
)
def test_a_driver_that_is_stopped_after_the_last_load_does_not_hold_up_the_end(
    tmp_path: Path, driver: Driver, victim: str
) -> None:
    archive, cell = small_site(tmp_path), condition("small", Protocol.HTTP1, driver)

    def run() -> Record:
        with browser_lab({"small": archive}, [Protocol.HTTP1]) as opened:
            record = trial(opened, 1, cell)
            (pid,) = (pid for pid in family(os.getpid()) if victim in command_line(pid))
            os.kill(pid, signal.SIGSTOP)
            return record

    assert inside(run).outcome is Outcome.OK


@pytest.mark.parametrize(
    ("driver", "victim"),
    [(Driver.SELENIUM, "chromedriver"), (Driver.PLAYWRIGHT, "playwright/driver/node")],
)
def test_a_driver_that_stood_still_for_a_while_is_named(tmp_path: Path, driver: Driver, victim: str) -> None:
    """The page loads meanwhile, but the runner hears late of its load event."""
    bad, good = interrupted(tmp_path, victim, driver, pause)
    assert bad.outcome is Outcome.TESTBED_FAILED, bad.reason
    assert tells([bad.reason or ""], "stopped while the page loaded", "the browser's driver for")
    assert good.outcome is Outcome.OK, good.reason


@pytest.mark.lengthy
def test_a_load_during_which_the_runner_stood_still_is_made_again(coldload: Coldload) -> None:
    """It is stopped in the middle of the navigation, and goes on when the page has long been loaded."""
    small_site(coldload.folder / "archives")
    (coldload.folder / "tiny.toml").write_text(STUDY)
    process = coldload.start("run", "tiny.toml", "--out", "out")
    wait_until(lambda: process.poll() is not None or is_navigating(process.pid), "a navigation")
    assert process.poll() is None, process.communicate()
    pause(family(process.pid)[KILLED["work"]], STOPPED_S)
    _, err = process.communicate()
    assert ended_well(process.returncode, err), err
    lines = (coldload.folder / "out" / "records.jsonl").read_text().splitlines()
    stopped, *others = [
        json.loads(line) | {"foreign_cpu_share": 0.0} for line in lines
    ]  # others may be at work
    assert stopped["outcome"] == "ok"
    assert stopped["runner_late_ms"] > STOPPED_S * 1000 - 500
    assert stopped["navigate_ms"] > stopped["plt_ms"] + 1000
    assert stopped["left_out"] in machine_reasons()
    assert unsound(stopped) == "late-runner"
    assert [(each["trial"], each["attempt"]) for each in others[:1]] == [(stopped["trial"], 2)]
    assert unsound(others[-1]) is None


def is_navigating(command: int) -> bool:
    """Whether a browser of a command has a connection to a server of http."""
    browsers = (pid for pid in family(command) if "/chromium --" in command_line(pid))
    return any(HTTP_IS_THERE.search(_connections(pid)) for pid in browsers)


def _connections(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/net/tcp").read_text()
    except OSError:
        return ""


def test_a_link_that_dies_is_recorded_and_the_next_trial_has_a_new_one(tmp_path: Path) -> None:
    bad, good = interrupted(tmp_path, "linkem", timeout_s=8)
    assert bad.outcome is Outcome.TESTBED_FAILED, bad.reason
    assert "linkem" in (bad.reason or "")
    assert good.outcome is Outcome.OK, good.reason


def test_a_starved_link_cannot_enter_an_estimate(tmp_path: Path) -> None:
    """The emulator gets no time for 100 ms, again and again, until the load is over and it ends."""

    def starve(pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            for _ in range(300):  # a minute, twice the time of a load
                os.kill(pid, signal.SIGSTOP)
                time.sleep(0.1)
                os.kill(pid, signal.SIGCONT)
                time.sleep(0.1)

    starved, good = interrupted(tmp_path, "linkem", strike=starve)
    assert unsound(starved.to_json()) in machine_reasons() | {"testbed-failed"}
    assert good.outcome is Outcome.OK, good.reason


def test_another_link_than_the_conditions_is_noticed(tmp_path: Path) -> None:
    """The condition says 100 ms, the link that is made has 10."""
    archive = small_site(tmp_path)

    def run() -> Record:
        with browser_lab({"small": archive}, [Protocol.HTTP1]) as opened:
            right = opened.testbed.client

            def wrong(_link: Link, **options: Any) -> AbstractContextManager[Client]:
                return right(Link.of(50, 10), **options)

            opened.testbed.client = wrong  # type: ignore[method-assign,assignment]  # the sabotage
            return trial(opened, 1, condition("small", Protocol.HTTP1, link=Link.of(50, 100)))

    record = inside(run)
    assert record.outcome is Outcome.TESTBED_FAILED, record.reason
    assert tells([record.reason or ""], "connections", "less than the round trip")
