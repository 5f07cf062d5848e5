"""What the probe of the processor reads, and when."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from harness.probes.probe import Load, OpenPage, TrialOptions
from harness.probes.processor import ProcessorProbe
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study
from tests.unit.harness.probes.goodload import evidence

if TYPE_CHECKING:
    from harness.engines.browser import Browser
    from harness.engines.browsers import FreshBrowser
    from harness.probes.probe import MeasuredClient, ServedPage
    from harness.probes.watchdog import Watchdog

STUDY = """
name = "mine"
pages = ["one"]
protocols = ["h2"]
trials = 1
links = ["dsl"]
"""
WORKED_S = 0.5
# Works whenever it is told to, as a browser does when it starts, and a page before and after its load event.
WORKS = f"""
import sys, time
for line in sys.stdin:
    begun = time.process_time()
    while time.process_time() - begun < {WORKED_S}: pass
    print("done", flush=True)
"""


@dataclass(frozen=True)
class Running:
    """All that is asked of a browser and of what serves here; the process is the browser."""

    process: subprocess.Popen[str]
    driver_pid: None = None
    programs: Mapping[str, int] = field(default_factory=dict)

    @property
    def pid(self) -> int:
        return self.process.pid

    @staticmethod
    def holds_pages(*_: bytes) -> bool:
        return False

    def works(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(file=self.process.stdin, flush=True)
        self.process.stdout.readline()


@contextmanager
def opened(folder: Path) -> Iterator[tuple[Running, ProcessorProbe, OpenPage]]:
    trial = make_plan(parse_study(STUDY, "mine.toml"), 1).trials[0]
    words = [sys.executable, "-c", WORKS]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        running = Running(process)
        load = Load(trial, TrialOptions(), folder, cast("ServedPage", running), evidence().setup)
        page = OpenPage(
            load,
            cast("Browser", None),
            cast("FreshBrowser", running),
            cast("MeasuredClient", None),
            cast("Watchdog", None),
        )
        yield running, ProcessorProbe(load), page
        process.communicate()


def test_work_before_the_load_and_after_its_event_is_no_part_of_it(tmp_path: Path) -> None:
    """The browser has started before; the page is asked for its times some frames later."""
    with opened(tmp_path) as (browser, probe, page):
        browser.works()
        with probe.during(page):
            probe.at_load_event(page, 500.0)
        browser.works()
        probe.ask(page)
    used_s = probe.seen().client_s
    assert used_s is not None
    assert used_s < WORKED_S / 2


def test_work_until_the_load_event_is_all_counted(tmp_path: Path) -> None:
    with opened(tmp_path) as (browser, probe, page), probe.during(page):
        browser.works()
        probe.at_load_event(page, 500.0)
    assert WORKED_S * 0.9 < (probe.seen().client_s or 0) < WORKED_S * 1.5


def test_without_a_reading_before_nothing_is_known_of_the_load(tmp_path: Path) -> None:
    with opened(tmp_path) as (_, probe, page):
        probe.at_load_event(page, 500.0)
    assert probe.seen().client_s is None
