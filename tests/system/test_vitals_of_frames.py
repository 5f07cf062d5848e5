"""Vitals of frames: those of other sites count where the driver reads them, and where not, that is told."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from harness.errors import Outcome
from harness.model.engine import Driver
from harness.model.kind import TRACE
from harness.model.protocol import Protocol
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.trial.trial import browser_lab, run_trial
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About
from tests.system.conftest import OTHER_HOST, START_URL, condition, html, inside, planned

FRAME = f"https://{OTHER_HOST}/frame"
FRAMED = f'<iframe src="{FRAME}" width="800" height="400"></iframe>'
OF_THE_FRAME = """<style>* { margin: 0 } #big { font-size: 80px }</style><div id="room"></div>
<p id="big">A frame's text</p><script>onload = () =>
setTimeout(() => { document.getElementById("room").style.height = "150px"; }, 900);</script>"""
HIDDEN = 20  # frames, of which one takes a second or two to answer
OUT_OF_VIEW = ('style="display: none"', 'style="position: absolute; top: 9000px"')
HANGS = "<p>framed<script>onload = () => setTimeout(() => { for (;;); }, 1000);</script>"


def loaded(driver: Driver, folder: Path, page: str, *frames: Response, answer_s: float = 10) -> Record:
    answers = [html(START_URL, f"<p>small{page}"), *frames]
    made = {"framed": write_archive(folder, "framed", About(START_URL, "test", "test", ()), answers)}
    with browser_lab(made, [Protocol.H2]) as opened:
        return run_trial(
            opened.testbed,
            opened.browsers,
            planned(1, condition("framed", Protocol.H2, driver)),
            TrialOptions(timeout_s=20, keep=(TRACE,), answer_s=answer_s, vitals=True),
            folder / "kept",
        )


@pytest.mark.parametrize(
    "driver", [Driver.PLAYWRIGHT, pytest.param(Driver.SELENIUM, marks=pytest.mark.lengthy)]
)
def test_frames_of_other_sites_count_where_the_driver_reads_them(driver: Driver, tmp_path: Path) -> None:
    record = inside(partial(loaded, driver, tmp_path, FRAMED, html(FRAME, OF_THE_FRAME)))
    seen = record.observation
    assert record.outcome is Outcome.OK, record.reason
    if driver is Driver.PLAYWRIGHT:
        # Chromium takes what a frame paints before it is told its place for nothing: a matter of milliseconds
        assert (seen.unread_frames, seen.lcp_element) in ((0, "p#big"), (1, "p"))
        assert (seen.cls or 0) > 0.01
    else:
        assert (seen.unread_frames, seen.lcp_element) == (1, "p")


def test_many_frames_out_of_view_keep_a_page_from_nothing(tmp_path: Path) -> None:
    """Those of other sites are slow to answer, as nothing is drawn in them, and are asked all at once."""
    urls = [f"{FRAME}-{number}" for number in range(HIDDEN)]
    page = "".join(
        f'<iframe src="{url}" {OUT_OF_VIEW[number % 2]}></iframe>' for number, url in enumerate(urls)
    )
    frames = [html(url, OF_THE_FRAME) for url in urls]
    record = inside(partial(loaded, Driver.PLAYWRIGHT, tmp_path, page, *frames))
    seen = record.observation
    assert record.outcome is Outcome.OK, record.reason
    assert (seen.settled, seen.lcp_element, seen.cls, seen.unread_frames) == (True, "p", 0, 0)
    assert seen.script_ms is not None  # the trace is there, too


def test_of_a_page_whose_frame_hangs_the_tab_s_own_document_is_known(tmp_path: Path) -> None:
    frame = f'<iframe src="{FRAME}"></iframe>'
    record = inside(partial(loaded, Driver.PLAYWRIGHT, tmp_path, frame, html(FRAME, HANGS), answer_s=5))
    seen = record.observation
    assert record.outcome is Outcome.OK, record.reason
    assert (seen.settled, seen.lcp_element, seen.unread_frames) == (True, "p", 1)
