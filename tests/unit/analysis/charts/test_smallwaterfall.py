"""A load as a small picture: numbers alone, each request on its row, nothing beyond the edge."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from analysis.charts.smallwaterfall import HEIGHT, WIDTH, thumbnail
from analysis.charts.waterfall import COLOURS, MARK_COLOURS
from analysis.runs.harfile import load_of
from tests.unit.analysis.synthetic_har import HOSTILE_URLS, entry, har_of, load

SVG = "{http://www.w3.org/2000/svg}"


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
