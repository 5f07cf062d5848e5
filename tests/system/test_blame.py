"""What fails or stands still is named, not the page; what follows it is as if nothing had been."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from harness.errors import Outcome, TestbedFailed
from harness.lab.calibrate import calibrate
from harness.lab.lab import opened, parts_of
from harness.lab.testbed import testbed
from harness.model.engine import Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.records import Record
from harness.study.studyfile import parse_study
from harness.system.netns import Host
from harness.system.processtree import family
from harness.system.program import find_program
from harness.trial.trial import BrowserLab, browser_lab
from tests.facts import tells
from tests.system.conftest import (
    OTHER_HOST,
    PAUSE_S,
    command_line,
    condition,
    inside,
    pause,
    small_site,
    struck,
    trial,
    wait_until,
)

pytestmark = pytest.mark.side_by_side

SLOW = Link.of(0.5, 50)  # the small site takes two seconds


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


def kill_renderers(pid: int) -> None:
    for each in family(pid):
        if "--type=renderer" in command_line(each):
            kill(each)


@dataclass(frozen=True)
class Fault:
    """What happens to a program, or to a worker of it, in the middle of a load, and how the record tells it."""

    program: str
    strike: Callable[[int], None]
    said: str
    worker: bool = False

    def happen(self, programs: dict[str, int]) -> None:
        self.strike(self._victim(programs))

    def _victim(self, programs: dict[str, int]) -> int:
        if self.program in programs:
            return family(programs[self.program])[1 if self.worker else 0]
        named = (pid for pid in family(os.getpid()) if self.program in command_line(pid))
        return next(named)


def records_of(tmp_path: Path, server: str, faults: Sequence[Fault]) -> tuple[list[Record], Record]:
    """One load with each of the faults, the testbed renewed after it as the runner does, and a load without any.

    After the first request the others take two seconds on the link.
    """
    archive = small_site(tmp_path)
    slow = condition("small", Protocol.HTTP1, link=SLOW, server=server)

    def run() -> tuple[list[Record], Record]:
        bad = []
        with browser_lab({"small": archive}, [Protocol.HTTP1], server=server) as opened:
            for number, fault in enumerate(faults):
                opened.browsers.prepare(slow)
                programs = opened.testbed.endpoint(slow).programs
                with struck(opened, slow, partial(fault.happen, programs)):
                    bad.append(trial(opened, number, slow, timeout_s=6))
                if fault.strike is not pause:
                    opened.renew()
            return bad, trial(opened, len(faults), condition("small", Protocol.HTTP1, server=server))

    return inside(run)


@pytest.mark.parametrize(
    ("server", "faults"),
    [
        (
            "caddy",
            [
                Fault("caddy", kill, "caddy died (exit code -9)"),
                Fault("caddy", stop, "caddy is stopped"),
                Fault("caddy", pause, "stopped while the page loaded: caddy for"),
                Fault("dnsmasq", kill, "dnsmasq died (exit code -9)"),
                Fault("dnsmasq", stop, "dnsmasq is stopped"),
                Fault("linkem", stop, "the link emulator linkem is stopped"),
                Fault("/chromium --", pause, "stopped while the page loaded: the browser for"),
                Fault("/chromium --", kill_renderers, "killed from outside, it reports no crash"),
            ],
        ),
        (
            "nginx",
            [
                Fault("nginx", kill, "nginx died"),
                Fault("nginx", kill, "lost a process while the page loaded: nginx", worker=True),
            ],
        ),
        ("apache", [Fault("apache2", stop, "a worker of apache2 is stopped", worker=True)]),
        (
            "spdy-gateway",
            [Fault("node", kill, "node died"), Fault("nginx", pause, "nginx for", worker=True)],
        ),
    ],
)
def test_what_stands_still_or_dies_is_named_and_replaced(
    tmp_path: Path, server: str, faults: Sequence[Fault]
) -> None:
    bad, good = records_of(tmp_path, server, faults)
    for record, fault in zip(bad, faults, strict=True):
        assert record.outcome is Outcome.TESTBED_FAILED, (fault, record.reason)
        assert fault.said in (record.reason or ""), fault
    for record in (record for record, fault in zip(bad, faults, strict=True) if fault.strike is pause):
        seen = record.observation
        stopped_ms = max(seen.server_stopped_ms or 0, seen.client_stopped_ms or 0)
        unseen_ms = seen.runner_late_ms or 0  # the last look at it may have come so much late
        assert stopped_ms + unseen_ms > PAUSE_S * 1000 - 50, seen  # longer on a busy machine
    assert good.outcome is Outcome.OK, good.reason
    assert (good.observation.server_stopped_ms, good.observation.client_stopped_ms) == (0, 0)


TWO_ENGINES = """
name = "two"
pages = ["small"]
engines = ["chromium", "firefox"]
protocols = ["http1"]
trials = {least = 1}
[[links]]
down_mbps = 10
rtt_ms = 20
"""
DYING = """#!/bin/sh
echo >> {count}
test $(wc -l < {count}) -eq {number} && kill -9 $$
exec {program} "$@"
"""


def test_an_engine_is_not_lacking_because_a_server_was_killed_as_it_started(tmp_path: Path) -> None:
    """When the testbed comes up, and when it is made anew; each engine has a name server of its own."""
    archive = small_site(tmp_path)
    study = parse_study(TWO_ENGINES, "two.toml")
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])

    def dies(number: int) -> None:
        """The name server that is started as that one from now on."""
        count, wrapper = tmp_path / f"started-{number}", tmp_path / "dnsmasq"
        program = shutil.which("dnsmasq", path=f"{os.environ['PATH']}:/usr/sbin")
        wrapper.write_text(DYING.format(count=count, number=number, program=program))
        wrapper.chmod(0o755)

    def run() -> tuple[list[dict[Engine, str]], list[int]]:
        lacking, started = [], []
        dies(1)
        os.environ["PATH"] = path
        archives = {engine: {"small": archive} for engine in (Engine.CHROMIUM, Engine.FIREFOX)}
        with opened(BrowserLab(archives, parts_of(study), study.tcp)) as lab:
            lacking.append(dict(lab.lacking))
            started.append(len(lab.testbed.endpoints))
            os.environ["PATH"] = path.partition(os.pathsep)[2]
            dies(2)
            os.environ["PATH"] = path
            lab.renew()
            lacking.append(dict(lab.lacking))
            started.append(len(lab.testbed.endpoints))
        return lacking, started

    lacking, started = inside(run)
    assert lacking == [{}, {}]
    assert started == [2, 2]
    assert [len((tmp_path / f"started-{number}").read_text()) for number in (1, 2)] == [3, 4]


def test_a_service_of_the_browser_that_uses_the_link_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chromium as another distribution starts it: with a service of its own, here on a host of the page."""
    wrapper = tmp_path / "chromium"
    real = find_program("chromium")
    wrapper.write_text(f'#!/bin/sh\nexec {real} "$@" --gaia-url=https://{OTHER_HOST}/\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    archive = small_site(tmp_path)

    def run() -> Record:
        with browser_lab({"small": archive}, [Protocol.H2]) as opened:
            return trial(opened, 1, condition("small", Protocol.H2))

    record = inside(run)
    assert record.outcome is Outcome.TESTBED_FAILED, record.reason
    assert tells(
        [record.reason or ""], "browser used the link for itself", f" https://{OTHER_HOST}/ListAccounts"
    )


@pytest.mark.parametrize(
    ("strike", "said"),
    [(kill, "the link emulator linkem died"), (stop, "the link emulator linkem is stopped")],
)
def test_an_emulator_that_fails_while_it_is_measured_is_named(
    strike: Callable[[int], None], said: str
) -> None:
    """It is struck once the first packets have crossed the link."""

    def happen(server: Host) -> None:
        with server.entered():
            wait_until(lambda: _packets("link0") >= 3, "packets on the link")
        strike(next(pid for pid in family(os.getpid()) if "linkem" in command_line(pid)))

    def run() -> str:
        with testbed() as made:
            happening = threading.Thread(target=happen, args=(made.server,))
            happening.start()
            try:
                calibrate(made, Link.of(10, 50))
            except TestbedFailed as failure:
                return str(failure)
            finally:
                happening.join()
        return "it was measured"

    assert inside(run).startswith(f"while a link was measured: {said}")


def _packets(device: str) -> int:
    """How many the device has received, on the host of the calling thread."""
    lines = Path("/proc/thread-self/net/dev").read_text().splitlines()
    counts = [line.partition(":")[2].split() for line in lines if line.strip().startswith(f"{device}:")]
    return int(counts[0][1]) if counts else 0
