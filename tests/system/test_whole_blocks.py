"""A run on a machine that is disturbed now and then waits, repeats, and ends with whole blocks, killed or not."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from harness.errors import Outcome
from harness.lab.machine import CALM_SHARE, glance
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.soundness import FOREIGN_CPU_LIMIT
from harness.probes.processor import FOREIGN_CPU_ALONE_LIMIT
from harness.records import Record
from harness.study.metrics import machine_reasons, unsound
from harness.trial.trial import browser_lab
from tests.system.conftest import (
    Coldload,
    condition,
    inside,
    page_of,
    small_site,
    timed,
    trial,
    wait_until,
)

ATTEMPTS = 2
THIEVES = 4  # for each core
STUDY = f"""
name = "tiny"
pages = ["small"]
protocols = ["http1", "h2"]
portraits = false
trials = {{least = 2, attempts = {ATTEMPTS}}}
seed = 1
timeout_s = 60
[[links]]
down_mbps = 20
rtt_ms = 10
"""
TRIALS = 2 * 3  # two protocols, and the baseline once more


BUSY = f"import os\nwhile os.getppid() == {os.getpid()}: pass"  # until who started it has gone


@contextlib.contextmanager
def thieves() -> Iterator[None]:
    """Programs outside the testbed that want every core."""
    with contextlib.ExitStack() as stack:
        for _ in range(THIEVES * (os.cpu_count() or 1)):
            busy = stack.enter_context(subprocess.Popen([sys.executable, "-c", BUSY]))
            stack.callback(busy.kill)
        yield


def records(run: Path) -> list[dict[str, Any]]:
    path = run / "records.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def until_disturbed(process: subprocess.Popen[str], run: Path) -> dict[str, Any]:
    """The next attempt that the machine disturbs; the run must be under way then."""
    before = len(records(run))

    def seen() -> bool:
        return process.poll() is not None or any(
            each["left_out"] in machine_reasons() for each in records(run)[before:]
        )

    wait_until(seen, "an attempt that thieves disturb")
    assert process.poll() is None, process.communicate()
    return next(each for each in records(run)[before:] if each["left_out"] in machine_reasons())


def next_after(record: dict[str, Any]) -> tuple[str, int]:
    """The attempt that follows one that does not count."""
    if record["attempt"] < ATTEMPTS:
        return record["trial"], record["attempt"] + 1
    return f"{int(record['trial']) + 1:05d}", 1


def test_a_disturbed_run_that_is_killed_ends_with_whole_blocks(coldload: Coldload) -> None:
    small_site(coldload.folder / "archives")
    (coldload.folder / "tiny.toml").write_text(STUDY)
    run, words = coldload.folder / "out", ("run", "tiny.toml", "--out", "out")

    process = coldload.start(*words)
    wait_until(lambda: process.poll() is not None or len(records(run)) >= 1, "a record")
    assert process.poll() is None, process.communicate()
    with thieves():
        killed_at = until_disturbed(process, run)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        wait_until(lambda: not coldload.left_behind(), "the end of what the run had started")

    stored = len(records(run))
    process = coldload.start(*words)
    wait_until(lambda: process.poll() is not None or len(records(run)) > stored, "a later record")
    assert process.poll() is None, process.communicate()
    with thieves():
        waited_after = until_disturbed(process, run)
        time.sleep(5)  # long enough for an attempt, if the run did not wait
    calm_from = datetime.now(UTC)
    out, err = process.communicate()
    assert (process.returncode, err) == (0, ""), out

    made = records(run)
    attempts: dict[str, list[dict[str, Any]]] = {}
    for each in made:
        attempts.setdefault(each["trial"], []).append(each)
    assert list(attempts) == [f"{number:05d}" for number in range(1, TRIALS + 1)]
    for made_of in attempts.values():
        assert [each["attempt"] for each in made_of] == list(range(1, len(made_of) + 1))
        assert all(each["left_out"] for each in made_of[:-1])
        spent = (
            len(made_of) == ATTEMPTS and made_of[-1]["left_out"] in machine_reasons()
        )  # others disturbed it all the time
        assert made_of[-1]["left_out"] is None or spent
    for disturbed in (killed_at, waited_after):
        following = made[made.index(disturbed) + 1]
        assert (following["trial"], following["attempt"]) == next_after(disturbed)
    started = datetime.fromisoformat(following["started_utc"])
    assert "the machine is busy: waiting" in out
    assert started > calm_from or "the machine stays busy" in out, (
        "the next attempt was made while it was busy"
    )


def test_a_busy_machine_cannot_enter_an_estimate(tmp_path: Path) -> None:
    archive, cell = small_site(tmp_path), condition("small", Protocol.HTTP1)

    def run() -> Record:
        with browser_lab({"small": archive}, [cell.protocol]) as opened:
            return trial(opened, 1, cell, timeout_s=60)

    with thieves():
        record = inside(run)
    assert (record.observation.foreign_cpu_share or 0) > FOREIGN_CPU_LIMIT
    assert unsound(record.to_json()) in machine_reasons()


def test_a_time_out_of_a_busy_machine_does_not_count_as_one_of_the_page(tmp_path: Path) -> None:
    """Its link needs 20 s for the page."""
    archive, cell = small_site(tmp_path), condition("small", Protocol.HTTP1, link=Link.of(0.05, 50))

    def run() -> Record:
        with browser_lab({"small": archive}, [cell.protocol]) as opened:
            return trial(opened, 1, cell, timeout_s=6)

    with thieves():
        record = inside(run)
    assert record.outcome is Outcome.PAGE_TIMEOUT, record.reason
    assert (record.observation.foreign_cpu_share or 0) > FOREIGN_CPU_ALONE_LIMIT
    assert unsound(record.to_json()) == "busy-machine"


@timed("others that have a quarter of the cores meanwhile are told of, as they should be")
def test_what_a_page_works_until_it_times_out_is_not_of_others(tmp_path: Path) -> None:
    """It keeps a core busy until its browser is killed: what its process had is the testbed's own after that, too."""
    archive = page_of(tmp_path, "busy", "<script>for (;;);</script>")
    cell = condition("busy", Protocol.HTTP1)

    def run() -> tuple[Record, float]:
        with browser_lab({"busy": archive}, [cell.protocol]) as opened:
            before = psutil.cpu_times()
            record = trial(opened, 1, cell, timeout_s=4)
            after = psutil.cpu_times()
            return record, after.user + after.system - before.user - before.system

    record, worked_s = inside(run)
    assert record.outcome is Outcome.PAGE_TIMEOUT, record.reason
    assert worked_s > 4  # somebody kept a core busy until then, and it was not others
    assert record.observation.foreign_cpu_share is not None
    assert record.observation.foreign_cpu_share < FOREIGN_CPU_ALONE_LIMIT


def test_thieves_are_seen_from_inside() -> None:
    with thieves():
        busy = inside(glance)
    assert busy.foreign_share > CALM_SHARE
    assert not busy.calm
