"""Vitals of frames: those of other sites count where the driver reads them, and where not, that is told."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from harness.errors import Outcome
from harness.model.engine import Driver
from harness.model.protocol import Protocol
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.trial.trial import browser_lab, run_trial
from sites.archive import write_archive
from sites.warc import About
from tests.system.conftest import OTHER_HOST, START_URL, condition, html, inside, planned

FRAME = f"https://{OTHER_HOST}/frame"
FRAMED = f'<iframe src="{FRAME}" width="800" height="400"></iframe>'
OF_THE_FRAME = """<style>* { margin: 0 } #big { font-size: 80px }</style><div id="room"></div>
<p id="big">A frame's text</p><script>onload = () =>
setTimeout(() => { document.getElementById("room").style.height = "150px"; }, 900);</script>"""


def loaded(driver: Driver, folder: Path) -> Record:
    answers = [html(START_URL, f"<p>small{FRAMED}"), html(FRAME, OF_THE_FRAME)]
    made = {"framed": write_archive(folder, "framed", About(START_URL, "test", "test", ()), answers)}
    with browser_lab(made, [Protocol.H2]) as opened:
        return run_trial(
            opened.testbed,
            opened.browsers,
            planned(1, condition("framed", Protocol.H2, driver)),
            TrialOptions(timeout_s=20, vitals=True),
            folder / "kept",
        )


@pytest.mark.parametrize(
    "driver", [Driver.PLAYWRIGHT, pytest.param(Driver.SELENIUM, marks=pytest.mark.lengthy)]
)
def test_frames_of_other_sites_count_where_the_driver_reads_them(driver: Driver, tmp_path: Path) -> None:
    record = inside(partial(loaded, driver, tmp_path))
    seen = record.observation
    assert record.outcome is Outcome.OK, record.reason
    if driver is Driver.PLAYWRIGHT:
        # Chromium takes what a frame paints before it is told its place for nothing: a matter of milliseconds
        assert (seen.unread_frames, seen.lcp_element) in ((0, "p#big"), (1, "p"))
        assert (seen.cls or 0) > 0.01
    else:
        assert (seen.unread_frames, seen.lcp_element) == (1, "p")
