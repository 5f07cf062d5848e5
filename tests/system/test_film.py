"""Films of real loads: what was painted, and when, whatever the page does with its own clocks."""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path

import pytest

from analysis.runs.filmfile import read_film
from benchmarks.knownpaints import FOR_S, KNOWN, painted_ms
from harness.model.engine import Driver
from harness.model.protocol import Protocol
from harness.outcome import Outcome
from harness.records import Record
from harness.study.observing import FILM, TRACE
from harness.trial.bench import bench
from harness.trial.trial import TrialOptions, run_trial
from sites.archive import Archive, write_archive
from sites.warc import About
from tests.system.conftest import CHROMIUMS, START_URL, condition, html, inside, planned

LYING = """<script>Date.now = performance.now = () => 1; performance.mark("Screenshot");
performance.clearMarks = requestAnimationFrame = undefined;
</script><h1>A page that paints once</h1>"""


def archives(root: Path) -> dict[str, Archive]:
    about = About(START_URL, "test", "test", ())
    bodies = {"known": KNOWN, "lying": LYING, "blank": ""}
    return {name: write_archive(root, name, about, [html(START_URL, body)]) for name, body in bodies.items()}


def filmed(driver: Driver, root: Path, kept: Path) -> dict[str, Record]:
    made = archives(root)
    keep = {"known": (FILM, "screenshot"), "lying": (FILM, TRACE), "blank": (FILM,)}
    with bench(made, [Protocol.H2]) as opened:
        return {
            name: run_trial(
                opened.testbed,
                opened.drivers,
                planned(number, condition(name, Protocol.H2, driver)),
                # The known page goes on after its load; its console is read when it has painted all.
                TrialOptions(20, keep[name], linger_s=FOR_S * (name == "known")),
                kept / name,
            )
            for number, name in enumerate(made, start=1)
        }


@pytest.fixture(scope="module", params=CHROMIUMS)
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
    assert {(each.outcome, each.observation.filmed) for each in records.values()} == {(Outcome.OK, True)}


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


def test_a_page_cannot_reach_the_clock_of_its_film(records: dict[str, Record]) -> None:
    seen = records["lying"].observation
    assert seen.first_visual_change_ms == pytest.approx(seen.fcp_ms, abs=40)
    assert (seen.traced, seen.film_frames) == (True, 2)
    assert seen.main_thread_ms


def test_a_page_that_shows_nothing_has_no_speed_index(records: dict[str, Record]) -> None:
    seen = records["blank"].observation
    assert (seen.film_frames, seen.speed_index_ms, seen.last_visual_change_ms) == (1, None, None)
