"""Films of real loads: what was painted, and when, whatever the page does with its own clocks."""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path

import pytest

from analysis.runs.filmfile import read_film
from benchmarks.film import FOR_S, KNOWN, painted_ms
from harness.errors import Outcome
from harness.model.engine import Driver
from harness.model.kind import FILM, TRACE
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.trial.trial import browser_lab, run_trial
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About
from tests.system.conftest import START_URL, condition, html, inside, picture, planned, timed

LYING = """<script>Date.now = performance.now = () => 1; performance.mark("Screenshot");
performance.clearMarks = requestAnimationFrame = undefined;
</script><h1>A page that paints once</h1>"""

# Its main thread is nearly always busy, it asks to be stayed on, and it sends something when it is left.
RESTLESS = """<script>
addEventListener("beforeunload", event => { event.preventDefault(); event.returnValue = "stay"; });
addEventListener("pagehide", () => navigator.sendBeacon("https://elsewhere.example/", "left"));
setInterval(() => { const begun = performance.now(); while (performance.now() - begun < 80) ; }, 120);
</script><h1>A page that never rests</h1>"""

# The picture of the page that fails takes twelve seconds, of which it has three.
LATE_LINK, LATE_S = Link.of(0.7, 10), 3.0


def archives(root: Path) -> dict[str, Archive]:
    about = About(START_URL, "test", "test", ())
    bodies = {
        "known": KNOWN,
        "lying": LYING,
        "blank": "",
        "slow": "<h1>Text</h1><img src='/large.png'>",
        "restless": RESTLESS,
    }
    large = Response(f"{START_URL}large.png", 200, (("Content-Type", "image/png"),), picture(600))
    return {
        name: write_archive(root, name, about, [html(START_URL, body), *([large] if name == "slow" else [])])
        for name, body in bodies.items()
    }


def filmed(driver: Driver, root: Path, kept: Path) -> dict[str, Record]:
    made = archives(root)
    keep = {
        "known": (FILM, "screenshot"),
        "lying": (FILM, TRACE),
        "blank": (FILM,),
        "slow": (FILM,),
        "restless": (TRACE,),
    }
    with browser_lab(made, [Protocol.H2]) as opened:
        return {
            name: run_trial(
                opened.testbed,
                opened.browsers,
                planned(number, condition(name, Protocol.H2, driver, LATE_LINK if name == "slow" else None)),
                # The known page goes on after its load; its console is read when it has painted all.
                TrialOptions(
                    LATE_S if name == "slow" else 20,
                    keep[name],
                    linger_s=FOR_S * (name == "known"),
                    vitals=FILM in keep[name],
                ),
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
    """One filmed load of each page."""
    return inside(partial(filmed, driver, tmp_path_factory.mktemp("archives"), kept))


def test_filmed_loads_count_and_say_that_they_were_filmed(records: dict[str, Record]) -> None:
    found = {name: (each.outcome, each.observation.filmed) for name, each in records.items()}
    assert found == dict.fromkeys(records, (Outcome.OK, True)) | {
        "slow": (Outcome.PAGE_TIMEOUT, True),
        "restless": (Outcome.OK, None),
    }


@timed("a paint waits for a core")
def test_the_speed_index_of_a_page_whose_paints_are_known(records: dict[str, Record]) -> None:
    seen = records["known"].observation
    painted = painted_ms(seen.console_errors or ())
    assert seen.speed_index_ms == pytest.approx(statistics.mean(painted), rel=0.05)  # boxes of one size
    assert seen.first_visual_change_ms == pytest.approx(painted[0], abs=40)
    assert seen.last_visual_change_ms == pytest.approx(painted[-1], abs=40)
    assert seen.visually_complete_85_ms == pytest.approx(painted[8], abs=40)
    assert seen.film_frames == len(set(painted)) + 1
    assert seen.film_cut is False


def test_the_film_lies_beside_the_trial(records: dict[str, Record], kept: Path) -> None:
    film = read_film(kept / "known" / "filmstrip" / "film.json")
    assert len(film.frames) == records["known"].observation.film_frames
    assert all(each.path.read_bytes().startswith(b"\xff\xd8") for each in film.frames)
    assert film.until_ms > film.last_change_ms + 1900  # until the page had come to rest
    assert sorted(each.name for each in (kept / "known").iterdir()) == ["filmstrip", "screenshot.png"]
    assert (kept / "lying" / "trace.json.gz").exists()


@timed("a paint waits for a core")
def test_a_page_cannot_reach_the_clock_of_its_film(records: dict[str, Record]) -> None:
    seen = records["lying"].observation
    assert seen.first_visual_change_ms == pytest.approx(seen.fcp_ms, abs=40)
    assert (seen.traced, seen.film_frames) == (True, 2)
    assert seen.main_thread_ms


def test_a_page_that_shows_nothing_has_no_speed_index(records: dict[str, Record]) -> None:
    seen = records["blank"].observation
    assert (seen.film_frames, seen.speed_index_ms, seen.last_visual_change_ms) == (1, None, None)


def test_a_load_that_failed_has_its_film_until_then_and_no_figures(
    records: dict[str, Record], kept: Path
) -> None:
    film = read_film(kept / "slow" / "filmstrip" / "film.json")
    assert film.outcome == "page-timeout"
    assert film.until_ms == pytest.approx(1000 * LATE_S, abs=1000)
    assert len(film.frames) >= 2  # the tab was blank, and then there was text
    seen = records["slow"].observation
    assert (seen.film_frames, seen.speed_index_ms, seen.last_visual_change_ms) == (None, None, None)
    assert read_film(kept / "known" / "filmstrip" / "film.json").outcome == ""


def test_a_page_that_never_rests_keeps_its_trace_and_what_it_does_then_is_not_of_its_load(
    records: dict[str, Record], kept: Path
) -> None:
    seen = records["restless"].observation
    assert (kept / "restless" / "trace.json.gz").exists()
    assert seen.main_thread_ms
    assert (seen.requests, seen.missed_requests) == (1, 0)
