"""What the interactive waterfalls are made from: nothing of a page is markup or script, and it stays small."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from analysis.charts.waterfall import COLOURS, MARK_COLOURS
from analysis.charts.waterfallview import (
    HEIGHT,
    LONGEST_URL,
    MOST_BYTES,
    MOST_FILM_BYTES,
    MOST_PICTURES,
    MOST_REQUESTS,
    PICTURE_PIXELS,
    WIDTH,
    WaterfallView,
    film_data,
    thumbnail,
    view,
)
from analysis.evaluation.loads import MedianFilm, MedianFilms, MedianLoad, MedianLoads
from analysis.evaluation.results import evaluate
from analysis.report.report import render
from analysis.runs.filmfile import KeptFilm, read_film
from analysis.runs.harfile import load_of
from analysis.runs.rundirectory import load as load_run
from analysis.tables.tables import tables_of
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic
from tests.unit.analysis.synthetic_film import keep_film
from tests.unit.analysis.synthetic_har import HOSTILE_URLS, entry, har_of, keep_hars, load

pytestmark = pytest.mark.thorough

ONE = Synthetic(pages=("p",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=1)

SVG = "{http://www.w3.org/2000/svg}"


def viewed(*hars: dict[str, object], label: str = "x") -> WaterfallView:
    medians = tuple(MedianLoad(label, "run", "00001", 500.0, 500.0, 5, load_of(each)) for each in hars)
    found = view(MedianLoads(medians, len(medians), ()))
    assert found is not None
    return found


def test_a_load_comes_out_as_it_was() -> None:
    data = json.loads(viewed(load(3, 400.0)).data)
    (made,) = data["loads"]
    assert made["label"] == "x (500 ms, trial 00001)"
    assert made["requests"][0][:9] == ["https://site.example/", 0, 1, 20, 20, 20, 30, 5, "document"]
    assert made["requests"][1][9:] == [200, 1000, "4000", "", "h2", "GET", 0]
    assert (made["connections"], made["marks"]["load event"]) == (2, 400)
    assert len(data["phases"]) == len(data["colours"]) == 6


def test_hostile_names_are_text_and_clipped() -> None:
    found = viewed(
        har_of([entry(url, number) for number, url in enumerate(HOSTILE_URLS)]), label="</script><script>"
    )
    assert not set("<>&") & set(found.data)
    data = json.loads(found.data)
    assert data["loads"][0]["label"].startswith("</script><script>")
    urls = [row[0] for row in data["loads"][0]["requests"]]
    assert max(map(len, urls)) <= LONGEST_URL + 1
    assert "\u202e" not in "".join(urls)
    assert "\x1b" not in "".join(urls)


def test_many_requests_and_many_loads_are_cut_and_it_says_so() -> None:
    found = viewed(*[load(MOST_REQUESTS + 10)] * 20)
    assert len(found.data) <= MOST_BYTES + 10_000
    kept = len(json.loads(found.data)["loads"])
    assert 1 < kept < 20
    assert tells(found.note, "20 conditions", f"{kept} are here")
    assert tells(found.note, "first 5,000 requests", f"{kept * 10:,} later ones are not")


def test_without_a_load_there_is_nothing_to_see() -> None:
    assert view(MedianLoads((), 0, ())) is None


@pytest.mark.parametrize("kept", [True, False])
def test_the_page_runs_our_script_alone_or_none(tmp_path: Path, kept: bool) -> None:
    run = ONE.write(tmp_path / "run")
    results = evaluate([load_run(keep_hars(run) if kept else run)])
    page = render(results, tables_of(results), [])
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == kept
    digests = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'unsafe-inline'")
    assert re.findall(r"script-src '(.*?)'", policy) == [f"sha256-{each}" for each in digests]
    assert ('id="waterfalls"' in page) is kept


def noisy(folder: Path, frames: int) -> KeptFilm:
    """A film whose pictures can hardly be compressed."""
    index = keep_film(folder, [10.0 * number for number in range(1, frames)])
    source = np.random.default_rng(1)
    for path in index.parent.glob("*.jpg"):
        noise = source.integers(0, 256, (164, 320, 3), dtype=np.uint8)
        Image.fromarray(noise).save(path, "JPEG", quality=95)
    return read_film(index)


def size_of(data: object) -> int:
    return len(json.dumps(data))


def test_pictures_are_small_and_in_the_order_of_time(tmp_path: Path) -> None:
    data = film_data(read_film(keep_film(tmp_path, [100.0, 250.0])), 1)
    assert data["size"] == (PICTURE_PIXELS, 102)
    assert [frame[:2] for frame in data["frames"]] == [[0, 0], [100, 0.5], [250, 1]]
    shown = Image.open(io.BytesIO(base64.b64decode(data["frames"][0][2])))
    assert (shown.format, shown.size) == ("WEBP", (PICTURE_PIXELS, 102))
    assert size_of(data) < 3000


def test_many_pictures_and_many_films_share_the_room(tmp_path: Path) -> None:
    film = noisy(tmp_path, 100)
    alone, shared = film_data(film, 1), film_data(film, 60)
    assert len(alone["frames"]) == MOST_PICTURES
    assert 2 <= len(shared["frames"]) < 10
    for data in (alone, shared):
        assert (data["frames"][0][0], data["frames"][-1][0]) == (0, 990)
    assert 60 * size_of(shared) < 1.2 * MOST_FILM_BYTES


def test_a_load_that_was_filmed_alone_has_a_film_and_no_rows(tmp_path: Path) -> None:
    film = MedianFilm("x", "run", "00001", 500.0, 500.0, 5, read_film(keep_film(tmp_path, [100.0])))
    found = view(MedianLoads((), 0, ()), MedianFilms((film,), 1, ()))
    assert found is not None
    assert found.filmed
    (load,) = json.loads(found.data)["loads"]
    assert (load["requests"], len(load["film"]["frames"])) == ([], 2)
    assert view(MedianLoads((), 0, ())) is None


def paths(text: str) -> dict[str, str]:
    found = ET.fromstring(text).findall(f"{SVG}path")  # noqa: S314 - our own
    return {each.get("fill") or each.get("stroke") or "": each.get("d") or "" for each in found}


def test_phases_stand_where_they_were() -> None:
    made = paths(thumbnail(load_of(har_of([entry("https://a.example/", 100)], onLoad=300.0)), 400))
    scale = WIDTH / 400
    assert made[COLOURS["wait"]].startswith(f"M{105 * scale:.1f} 0.00h{20 * scale:.2f}v")
    assert made[COLOURS["download"]].startswith(f"M{125 * scale:.1f} 0.00h{10 * scale:.2f}v")
    assert COLOURS["DNS"] not in made
    assert made[MARK_COLOURS["load event"]] == f"M{300 * scale:.1f} 0V{HEIGHT}"


def test_what_is_later_is_cut_off_and_every_request_has_a_row() -> None:
    made = paths(thumbnail(load_of(load(100, 1000.0)), 500))
    tops = [float(each) for each in re.findall(r"M[\d.]+ ([\d.]+)h", made[COLOURS["wait"]])]
    assert tops == sorted(tops)
    assert 40 < len(tops) < 60
    assert max(float(each) for each in re.findall(r"M([\d.]+) ", made[COLOURS["wait"]])) < WIDTH
    assert MARK_COLOURS["load event"] not in made


def test_nothing_of_a_page_is_in_it() -> None:
    made = thumbnail(load_of(har_of([entry(url, number) for number, url in enumerate(HOSTILE_URLS)])), 100)
    assert re.fullmatch(r'[-\w\s.,#/:="<>]*', made)
    assert not re.search("script|onerror|site", made)
