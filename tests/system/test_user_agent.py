"""What a browser says it is: a page that looks at it is served as Chrome's users are, whatever drives the browser."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from urllib.parse import unquote

import pytest

from harness.model.engine import DEVICES, Device, Driver
from harness.model.protocol import Protocol
from harness.probes.evidence import Evidence, ServerAnswers
from harness.probes.probe import TrialOptions
from harness.probes.timeline import page_requests
from harness.trial.trial import browser_lab, run_observed
from sites.archive import write_archive
from sites.warc import About
from tests.system.conftest import CHROMIUMS, OTHER_HOST, START_URL, condition, html, inside, planned

pytestmark = pytest.mark.side_by_side

FRAME = f"https://{OTHER_HOST}/frame"
SAID = "navigator.userAgent + JSON.stringify(navigator.userAgentData?.brands ?? null)"
ECHO = f"const echo = (who, said) => fetch('{START_URL}said/' + who + '/' + encodeURIComponent(said));"
# The load event waits for the frame, and for what the frame and the worker said.
PAGE = f"""<script>{ECHO}
echo("page", {SAID});
const source = URL.createObjectURL(new Blob([`postMessage({SAID})`]));
new Worker(source).onmessage = (event) => echo("worker", event.data);</script><iframe src="{FRAME}"></iframe>"""
IN_THE_FRAME = f"<script>{ECHO} echo('frame', {SAID});</script>"
WHO = ("page", "worker", "frame")


def loads(root: Path) -> list[tuple[Driver, Device, Evidence]]:
    about = About(START_URL, "test", "", ())
    made = write_archive(root, "asking", about, [html(START_URL, PAGE), html(FRAME, IN_THE_FRAME)])
    cells = [(driver, device) for driver in CHROMIUMS for device in DEVICES.values()]
    found = []
    with browser_lab({"asking": made}, [Protocol.H2]) as opened:
        for number, (driver, device) in enumerate(cells, start=1):
            trial = planned(number, condition("asking", Protocol.H2, driver, device=device))
            options = TrialOptions(linger_s=3.0)
            _, evidence = run_observed(opened.testbed, opened.browsers, trial, options, root / "kept")
            assert evidence is not None
            found.append((driver, device, evidence))
    return found


def test_nobody_is_told_of_a_headless_browser(tmp_path: Path) -> None:
    """Page, worker and a frame of another site echo what they see; the server's log and the headers hold it."""
    for driver, device, evidence in inside(partial(loads, tmp_path)):
        targets = [unquote(each.target) for each in evidence.of(ServerAnswers).requests or ()]
        for who in WHO:
            (said,) = (each for each in targets if each.startswith(f"/said/{who}/"))
            assert said.startswith(f"/said/{who}/{device.user_agent}"), (driver, device)
        assert "Headless" not in "".join(targets)
        sent = [dict(each.sent) for each in page_requests(evidence)]
        assert {each["user-agent"] for each in sent} == {device.user_agent}
        brands = {each["sec-ch-ua"] for each in sent if "sec-ch-ua" in each}
        assert brands
        # An upgraded Chromium wants the user agents of harness/model/engine.py upgraded, too.
        version = str(device.user_agent).partition("Chrome/")[2].partition(".")[0]
        assert all(f'"Chromium";v="{version}"' in each and "Headless" not in each for each in brands)
