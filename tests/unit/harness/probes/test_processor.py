"""What the probe of the processor reads, and when."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
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
# Works when it is told to, as a page does once its load event has ended.
WORKS = f"""
import time
input()
while time.process_time() < {WORKED_S}: pass
print("done", flush=True)
input()
"""


@dataclass(frozen=True)
class Running:
    """All that is asked of a browser here."""

    pid: int


def test_work_that_follows_the_load_event_is_no_part_of_the_load(tmp_path: Path) -> None:
    """The page is asked for its times some frames later."""
    trial = make_plan(parse_study(STUDY, "mine.toml"), 1).trials[0]
    load = Load(trial, TrialOptions(), tmp_path, cast("ServedPage", None), evidence().setup)
    words = [sys.executable, "-c", WORKS]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        page = OpenPage(
            load,
            cast("Browser", None),
            cast("FreshBrowser", Running(process.pid)),
            cast("MeasuredClient", None),
            cast("Watchdog", None),
        )
        probe = ProcessorProbe(load)
        probe.at_load_event(page, 500.0)
        print(file=process.stdin, flush=True)
        process.stdout.readline()
        probe.ask(page)
        process.communicate("\n")
    used_s = probe.seen().client_s
    assert used_s is not None
    assert used_s < WORKED_S / 2
