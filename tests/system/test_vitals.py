"""Pages observed beyond their load event: what they become is seen, and whatever they do, their load counts."""

from __future__ import annotations

import gzip
import json
import os
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
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About
from tests.system.conftest import START_URL, condition, html, inside, picture, planned

pytestmark = pytest.mark.side_by_side

PICTURE = f"{START_URL}hero.png"
FILM_BYTES = 24_000_000  # 4 s over the link
# After its load: a task of 300 ms, a shift, and the picture that is the largest paint.
LATE = """const now = performance.now.bind(performance);
const after = (ms, what) => addEventListener("load", () => setTimeout(what, ms));
after(300, () => { const begun = now(); while (now() - begun < 300); });
after(800, () => { document.getElementById("room").style.height = "200px"; });
after(1200, () => { const hero = new Image(500, 300); hero.id = "hero"; hero.className = "wide top";
  hero.src = "/hero.png"; document.body.append(hero); });"""
# A page's attempt to reach what observes it.
FORGING = """const lie = () => 1;
for (const kind of [PerformanceEntry, Performance, PerformanceObserver, IntersectionObserver])
  for (const name of Object.getOwnPropertyNames(kind.prototype))
    try { Object.defineProperty(kind.prototype, name, {get: lie}); } catch {}
for (const name of ["PerformanceObserver", "IntersectionObserver", "requestAnimationFrame", "Promise"])
  window[name] = undefined;
Array.prototype.map = Array.prototype.push = Array.prototype.filter = () => [];
Element.prototype.getAttribute = lie;
addEventListener("load", () => setTimeout(() => {
  performance.clearResourceTimings();
  dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true}));
  dispatchEvent(new KeyboardEvent("keydown", {key: "a"})); document.dispatchEvent(new Event("visibilitychange"));
}, 100));"""
NAMED = '<form name="documentElement"><input name="getAttribute"><input name="id"></form>'
RESTLESS = 'setInterval(() => fetch("/again"), 200);'
SCRIPTS = {
    "late": LATE,
    "forging": f"{LATE}{FORGING}",
    "restless": f"onload = () => {{ {RESTLESS} }};",
    # Late enough for what is asked at the load event, on a busy machine.
    "hanging": f"onload = () => {{ {RESTLESS} setTimeout(() => {{ for (;;); }}, 5000); }};",
    "leaving": f'onload = () => {{ {RESTLESS} setTimeout(() => {{ location = "/other"; }}, 5000); }};',
}


def archives(root: Path) -> dict[str, Archive]:
    png = (("Content-Type", "image/png"),)
    hero = Response(url=PICTURE, status=200, headers=png, body=picture(256))
    others = [hero, html(f"{START_URL}other", "<p>another"), html(f"{START_URL}again", "")]
    bodies = {
        name: f'{NAMED}<p>text<div id="room"></div><p>below<script>{script}</script>'
        for name, script in SCRIPTS.items()
    }
    # The picture is asked for after the film, and the load event waits for it.
    film_first = '<script>fetch("/film").then((answer) => answer.arrayBuffer())</script>'
    bodies["filming"] = f'<p>text{film_first}<img src="{PICTURE}">'
    film = Response(f"{START_URL}film", 200, (("Content-Type", "video/mp4"),), os.urandom(FILM_BYTES))
    about = About(START_URL, "test", "test", ())
    return {
        name: write_archive(root, name, about, [html(START_URL, body), film, *others])
        for name, body in bodies.items()
    }


def loaded(driver: Driver, root: Path, kept: Path) -> dict[str, Record]:
    made = archives(root)
    with browser_lab(made, [Protocol.H2]) as opened:
        options = TrialOptions(timeout_s=20, keep=(TRACE,), answer_s=5, vitals=True)
        return {
            name: run_trial(
                opened.testbed,
                opened.browsers,
                planned(number, condition(name, Protocol.H2, driver)),
                options,
                kept / name,
            )
            for number, name in enumerate(made, start=1)
        }


@pytest.fixture(
    scope="module", params=[Driver.PLAYWRIGHT, pytest.param(Driver.SELENIUM, marks=pytest.mark.lengthy)]
)
def driver(request: pytest.FixtureRequest) -> Driver:
    found: Driver = request.param
    return found


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, driver: Driver) -> Path:
    return tmp_path_factory.mktemp(f"kept-{driver}")


@pytest.fixture(scope="module")
def records(driver: Driver, kept: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    """One load of each page, observed on."""
    return inside(partial(loaded, driver, tmp_path_factory.mktemp("archives"), kept))


def test_whatever_a_page_does_after_its_load_the_load_counts(records: dict[str, Record]) -> None:
    found = {name: (record.outcome, record.reason) for name, record in records.items()}
    assert found == dict.fromkeys(records, (Outcome.OK, None))


@pytest.mark.parametrize("name", ["late", "forging"])
def test_a_page_that_builds_itself_later_is_seen_whole(records: dict[str, Record], name: str) -> None:
    seen = records[name].observation
    assert seen.settled is True
    assert (seen.lcp_element, seen.lcp_url) == ("img#hero.wide.top", PICTURE)
    assert seen.plt_ms is not None
    assert (seen.lcp_ms or 0) > seen.plt_ms + 1200
    assert (seen.observed_ms or 0) > (seen.lcp_ms or 0) + 1900
    assert (seen.tbt_ms or 0) > 240
    assert 0 < (seen.cls or 0) < 1
    assert (seen.dropped_entries, seen.unread_frames) == (0, 0)
    icon = sum("favicon.ico" in url for url in seen.failed)  # asked for about when the load ends
    assert seen.requests == 1 + icon


def test_of_a_film_that_goes_on_what_has_come_with_the_load_counts(records: dict[str, Record]) -> None:
    seen = records["filming"].observation
    assert (seen.requests, seen.failed_requests) == (3, 0)
    assert 0 < (seen.bytes_body or 0) < FILM_BYTES / 2


@pytest.mark.parametrize("name", ["restless", "hanging", "leaving"])
def test_a_page_that_does_not_come_to_rest_says_so(records: dict[str, Record], name: str) -> None:
    seen = records[name].observation
    assert seen.settled is False
    assert (seen.lcp_ms is not None) == (name == "restless")
    assert seen.fcp_ms is not None or seen.painted is False


@pytest.mark.parametrize("name", ["late", "restless"])
def test_the_trace_is_kept_and_tells_of_the_main_thread(
    records: dict[str, Record], kept: Path, name: str
) -> None:
    seen = records[name].observation
    assert seen.traced is True
    with gzip.open(kept / name / "trace.json.gz") as file:
        assert len(json.load(file)["traceEvents"]) > 100
    parts = [seen.script_ms, seen.style_layout_ms, seen.paint_ms, seen.parse_ms, seen.gc_ms]
    assert None not in parts
    assert 0 < sum(part or 0 for part in parts) <= (seen.main_thread_ms or 0) <= (seen.plt_ms or 0)
    if name == "late":
        assert any(text.endswith(f"ms: {START_URL}") for text in seen.longest_tasks or ())
