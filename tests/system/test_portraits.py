"""Portraits: after the measured loads one more of each condition, to look at; whatever becomes of it, the run ends."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.facts import tells
from tests.system.conftest import Coldload, ended_well, small_site, timed, wait_until

pytestmark = pytest.mark.side_by_side

STUDY = """
name = "looked-at"
pages = ["small"]
engines = {engines}
protocols = {protocols}
trials = {{least = 1, attempts = 1}}
aa = false
seed = 1
timeout_s = 30
[[links]]
down_mbps = 20
rtt_ms = 10
"""


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def write_study(coldload: Coldload, engines: list[str], protocols: list[str]) -> Path:
    """The folder of a run of a study with an archive."""
    small_site(coldload.folder / "archives")
    text = STUDY.format(engines=json.dumps(engines), protocols=json.dumps(protocols))
    (coldload.folder / "study.toml").write_text(text)
    return coldload.folder / "out"


@timed("a load that is starved may connect later than its engine tells, which is no proof of the link")
def test_every_engine_is_looked_at_after_the_measured_loads(coldload: Coldload) -> None:
    run = write_study(coldload, ["chromium", "firefox", "webkit", "qtwebkit"], ["http1"])
    code, out, err = coldload.run("run", "study.toml", "--out", "out")
    assert ended_well(code, err), (out, err)
    assert "4 portraits taken" in out
    measured, looked_at = lines(run / "records.jsonl"), lines(run / "portraits.jsonl")
    assert [each["trial"] for each in measured] == ["00001", "00002", "00003", "00004"]
    assert not any("portrait" in each for each in measured)
    assert [each["trial"] for each in looked_at] == [f"portrait-{each['trial']}" for each in measured]
    assert all(each["portrait"] and each["outcome"] == "ok" for each in looked_at)
    assert max(each["started_utc"] for each in measured) < min(each["started_utc"] for each in looked_at)
    for each in looked_at:
        kept = run / "trials" / each["trial"]
        assert len(json.loads((kept / "load.har").read_text())["log"]["entries"]) >= 11
        assert (kept / "screenshot.png").read_bytes()[:4] == b"\x89PNG"
        filmed = each["condition"]["engine"] == "chromium"
        assert (kept / "filmstrip" / "film.json").exists() is filmed
    page = (run / "report.html").read_text()
    assert page.count('class="shot"') == 4
    assert tells(page, "portrait of its condition")
    _, told, _ = coldload.run("records", "out")
    assert told.count("\n") == 1 + 4
    assert "portrait" not in told
    code, out, err = coldload.run("run", "study.toml", "--out", "out")
    assert ended_well(code, err), (out, err)
    assert "0 of 4 trials to do" in out
    assert lines(run / "portraits.jsonl") == looked_at


def test_a_driver_that_hangs_costs_one_portrait(coldload: Coldload) -> None:
    """It is stopped while it takes the first one; the second one has a new one."""
    run = write_study(coldload, ["chromium"], ["http1", "h2"])
    process = coldload.start("run", "study.toml", "--out", "out")
    looked_at = [run / "trials" / f"portrait-0000{number}" for number in (1, 2)]
    wait_until(lambda: process.poll() is not None or any(each.exists() for each in looked_at), "a portrait")
    (driver,) = [pid for pid, words in coldload.processes() if "run-driver" in words]
    os.kill(driver, signal.SIGSTOP)
    out, err = process.communicate()
    assert ended_well(process.returncode, err), (out, err)
    assert [each["outcome"] for each in lines(run / "portraits.jsonl")] == ["testbed-failed", "ok"]
    assert tells(out, "testbed-failed", "driver is stopped")
    assert "1 portrait taken" in out
    assert {each["outcome"] for each in lines(run / "records.jsonl")} == {"ok"}
