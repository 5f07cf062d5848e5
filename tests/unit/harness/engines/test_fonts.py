"""Which characters the fonts of every load have, and how text without a glyph is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.engines.chromium.devtools import text_without_glyph
from harness.engines.fonts import Characters, by_script, covered, described

HA, LA = "\u1200", "\u1208"  # Ethiopic
SCRIPTS = (
    *(
        "Aé",
        "Ωжא",
        "漢字汉あア한글",
        "العربية",
        "ไทย",
        "ລາວ",
        "ខ្មែរ",
        "မြန်မာ",
        "सि",
        "বাং",
        "தமி",
        "తెలు",
        "ಕನ್ನ",
    ),
    *("മല", "ગુજ", "ਪੰ", "ଓଡ଼ି", "සිං", "\U0001f600\U0001f1e9\U0001f469\u200d\U0001f680"),
)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 20))), st.integers(0, 340))
def test_ranges_hold_what_they_were_made_of(ranges: list[tuple[int, int]], point: int) -> None:
    found = Characters((first, first + length) for first, length in ranges)
    assert (chr(point) in found) == any(first <= point <= first + length for first, length in ranges)


def test_spaces_and_signs_that_only_change_others_need_no_glyph() -> None:
    latin = Characters.parse("41-5a 61\n62-63")
    assert latin.lacking("Aab\n\t \u200d\ufe0f\u00a0\u200b\x00") == Counter()
    assert latin.lacking("dad") == Counter({"d": 2})


def test_the_fonts_of_set_up_have_the_scripts_of_most_pages() -> None:
    fonts = covered()
    for text in SCRIPTS:
        assert fonts.lacking(text) == Counter(), text
    assert fonts.lacking(HA)
    assert described()["fonts"] > 40


def test_a_web_font_of_the_page_takes_text_off_the_list() -> None:
    layout = {
        "nodeIndex": [0, 1, 2, 3, 4],
        "text": [-1, 0, 1, -1, 2],
        "styles": [[3], [], [], [4], []],  # of the elements that the texts are in
    }
    document = {"nodes": {"parentIndex": [-1, 0, 0, 0, 3]}, "layout": layout}
    strings = ["latin", f"{HA}{HA}{LA}", f"{HA}{LA}", "serif", '"My Face", serif']
    answers: dict[str, Mapping[str, Any]] = {
        "DOMSnapshot.captureSnapshot": {"strings": strings, "documents": [document]},
        "Page.getFrameTree": {"frameTree": {"frame": {"id": "F"}}},
        "Page.createIsolatedWorld": {"executionContextId": 1},
        "Runtime.evaluate": {"result": {"value": [["my face", "U+61-7a, U+120?"], ["other", "U+0-10FFFF"]]}},
    }

    def send(name: str, _: dict[str, Any]) -> Mapping[str, Any]:
        return answers[name]

    assert text_without_glyph(send, Characters.parse("61-7a")) == Counter({HA: 2, LA: 1})
    del answers["Runtime.evaluate"]  # not asked where every text has its glyphs
    assert text_without_glyph(send, Characters.parse("61-ffff")) == Counter()


def test_it_is_told_by_script() -> None:
    assert by_script({HA: 2, LA: 1, "☃": 1, "\ue001": 9}) == [
        "private use (an icon font's): 9 characters, U+E001",
        "Ethiopic: 3 characters, U+1200 and 1 more",
        "symbols: 1 character, U+2603",
    ]
