"""Hostile pages loaded in a testbed, some to an enclosure."""

from __future__ import annotations

import os
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.hostile.cases import Case
from benchmarks.hostile.leftovers import left_behind, surroundings
from benchmarks.hostile.site import LINK, Page
from benchmarks.hostile.truth import ANSWER_S, HONEST, SLACK_S, TIMEOUT_S, catalogue, judged, record_in
from benchmarks.hostile.worker import Begin, End, carried_out
from harness.errors import ArchiveError, Outcome
from harness.lab.lab import opened
from harness.model.condition import Condition
from harness.model.engine import Driver, Engine
from harness.model.settings import Replay, TcpSettings
from harness.model.trials import PlannedTrial
from harness.probes.probe import TrialOptions
from harness.records import RecordLine
from harness.system.enclosure import WORKSPACE, enclosed
from harness.system.program import find_program
from harness.trial.trial import BrowserLab, run_trial
from sites.archive import write_archive
from sites.warc import About

BATCH = 36  # loads to a testbed


def load_all(wanted: Sequence[str], folder: Path) -> Iterator[Case]:
    """Load the pages, some to a testbed."""
    for start in range(0, len(wanted), BATCH):
        batch = wanted[start : start + BATCH]
        honest: dict[str, float] = {}
        controls = [
            f"control/{HONEST}/{driver}" for driver in Driver if any(n.endswith(f"/{driver}") for n in batch)
        ]
        for told in carried_out(
            [*controls, *batch], _in_enclosure, TIMEOUT_S + SLACK_S, folder / "pages.log"
        ):
            case = judged(told, honest)
            if told.name not in controls:
                yield case
                continue
            driver = told.name.rpartition("/")[2]
            if case.faults:
                yield replace(case, name=f"page/{HONEST}/{driver}")
            elif told.answer and (record := record_in(told.answer)):
                honest[driver] = record.facts["plt_ms"]


def _in_enclosure(batch: Sequence[str], begin: Begin, end: End) -> None:
    if enclosed(partial(_load_batch, batch, begin, end)):
        raise AssertionError("the enclosure of the pages ended by itself")


def _load_batch(batch: Sequence[str], begin: Begin, end: End) -> int:
    with tempfile.TemporaryDirectory() as folder, opened(BrowserLab({}, [], TcpSettings())) as lab:
        loader = _Loader(lab, Path(folder))
        loader.wrap_chromium()
        for number, name in enumerate(batch, start=1):
            begin(name)
            _, page, driver = name.split("/")
            end(loader.load(catalogue()[page], Driver(driver), number))
    return 0


@dataclass
class _Loader:
    lab: BrowserLab
    archives: Path

    def wrap_chromium(self) -> None:
        """Have Chromium started with the flag of the page, behind all others."""
        wrapper = self.archives / "chromium"
        wrapper.write_text(f'#!/bin/sh\nexec {find_program("chromium")} "$@" $(cat "{self._flag}")\n')
        wrapper.chmod(0o755)
        os.environ["PATH"] = f"{self.archives}:{os.environ['PATH']}"

    @property
    def _flag(self) -> Path:
        return self.archives / "flag"

    def load(self, page: Page, driver: Driver, number: int) -> dict[str, Any]:
        """One trial as JSON: its record, the time it took, an exception and what it left behind."""
        engine = driver.engines[0]
        try:
            self._serve(page, engine)
        except ArchiveError as error:
            return {"refused": str(error)}
        except Exception:
            return {"exception": traceback.format_exc()}
        usual = Condition.usual(page.name, page.protocol, LINK, engine)
        condition = replace(usual, driver=driver, server=page.server or usual.server)
        planned = PlannedTrial(f"{number:05d}", number, number, condition)
        self._flag.write_text(page.flag)
        self.lab.browsers.prepare(condition)
        before, began = surroundings(Path.cwd()), time.perf_counter()
        try:
            record = run_trial(
                self.lab.testbed,
                self.lab.browsers,
                planned,
                TrialOptions(TIMEOUT_S, answer_s=ANSWER_S, vitals=True),
                WORKSPACE / "kept",
            )
        except Exception:
            self.lab.renew()
            return {"exception": traceback.format_exc()}
        wall_ms = (time.perf_counter() - began) * 1000
        answer = {
            "record": RecordLine.of(record).text,
            "wall_ms": wall_ms,
            "left": left_behind(before, Path.cwd()),
        }
        if record.outcome is Outcome.TESTBED_FAILED:
            self.lab.renew()
        return answer

    def _serve(self, page: Page, engine: Engine) -> None:
        testbed = self.lab.testbed
        if any((endpoint.archive, endpoint.engine) == (page.name, engine) for endpoint in testbed.endpoints):
            return
        archive = write_archive(
            self.archives, page.name, About(page.start, "bench", "bench", ()), page.responses
        )
        replay = replace(Replay.usual(engine), determinism=False)
        testbed.serve(archive, [page.protocol], replay, page.server or engine.traits.server, engine)
