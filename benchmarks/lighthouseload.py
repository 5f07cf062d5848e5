"""A load by Lighthouse, in the Chromium and over the link that a trial of the same condition has.

Lighthouse is a package of npm, in one version, fetched into a folder of the benchmarks when first needed. It steers a
browser of coldload's own policy on the client's host, which trusts the testbed's authority and asks its names.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.common import NODE, npm_modules
from harness.engines.chromium.engine import ChromiumMaker
from harness.lab.testbed import CLIENT
from harness.model.condition import Condition
from harness.model.engine import DESKTOP, Device, Engine
from harness.system.process import running
from harness.system.program import Command, run
from harness.trial.trial import BrowserLab
from harness.trial.venue import surroundings

VERSION = "13.5.0"
PACKAGE = f"lighthouse@{VERSION}"
LIGHTHOUSE_SECONDS = 180


def fetch(*packages: str) -> Path:
    """The modules of Lighthouse and of these packages. First outside an enclosure, which has no network."""
    return npm_modules("lighthouse", PACKAGE, *packages)


def observed() -> tuple[str, ...]:
    """Settings of Lighthouse: times as they were, nothing simulated."""
    return ("--throttling-method=provided",)


def simulated(rtt_ms: float, down_mbps: float) -> tuple[str, ...]:
    """Settings of Lighthouse: from what it has seen it simulates a load over such a link, which is its usual method.

    What it sees is to be a load that nothing slows (its docs/throttling.md): else the link counts twice.
    """
    return (
        "--throttling-method=simulate",
        f"--throttling.rttMs={rtt_ms:g}",
        f"--throttling.throughputKbps={down_mbps * 1000:g}",
        "--throttling.cpuSlowdownMultiplier=1",
    )


def _as_device(device: Device) -> tuple[str, ...]:
    screen = device.screen
    if screen is None:
        return ("--form-factor=desktop", "--screenEmulation.disabled", "--no-emulatedUserAgent")
    return (
        "--form-factor=mobile",
        "--screenEmulation.mobile",
        f"--screenEmulation.width={screen.width}",
        f"--screenEmulation.height={screen.height}",
        f"--screenEmulation.deviceScaleFactor={screen.scale_factor:g}",
        f"--emulatedUserAgent={device.user_agent}",
    )


def lighthouse_load(
    opened: BrowserLab, cell: Condition, number: int, settings: Sequence[str], audits: Sequence[str]
) -> dict[str, Any]:
    """Lighthouse's report of one load (its JSON), with the audits of these names."""
    endpoint = opened.testbed.endpoint(cell)
    maker = opened.browsers.of(Engine.CHROMIUM)
    assert isinstance(maker, ChromiumMaker)
    device = cell.device or DESKTOP
    around = surroundings(opened.testbed, endpoint)
    with (
        opened.testbed.client(cell.link, draw=number),
        maker.fresh_home(f"lighthouse-{cell.page}-{number}", around, device) as home,
    ):
        opened.testbed.resolver.use(endpoint.address)
        flags = (*home.launch().flags, f"--user-data-dir={home.profile}")
        browser = Command.of(maker.launcher.path, *flags, "--remote-debugging-port=0", "about:blank")
        port = home.profile / "DevToolsActivePort"
        with running(browser, home.folder / "browser.log", ready=partial(_written, port)):
            asked = Command.of(
                NODE,
                fetch() / "lighthouse" / "cli" / "index.js",
                endpoint.start_url,
                f"--port={port.read_text().split()[0]}",
                "--output=json",
                "--quiet",
                f"--only-audits={','.join(audits)}",
                *_as_device(device),
                *settings,
            ).on(CLIENT.path)
            told: dict[str, Any] = json.loads(run(asked, timeout_s=LIGHTHOUSE_SECONDS))
    return told


def _written(path: Path) -> bool:
    return path.exists() and path.read_text() != ""
