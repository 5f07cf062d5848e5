"""What simulations gave is kept with what it is of, shown by one page, and told when the code has changed since."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.publish.editions import RESULTS
from benchmarks.simulation import keeping, properties, showing
from benchmarks.simulation.keeping import KeptPart, KeptTable
from benchmarks.simulation.parts import PARTS, SEED, without_words
from benchmarks.simulation.properties import EVERY_PROPERTY, Property, largest_distances, largest_rise
from benchmarks.simulation.showing import HasChanged
from tests.facts import tells

PAGE = RESULTS.pages / "statistics.md"
TABLE = KeptTable(
    "Coverage",
    "10 simulations of a figure.",
    ("n", "5", "6"),
    (("calm", "95.1", "94.9"), ("wild", "80.0", "")),
)
FRESH = KeptPart(
    PARTS["told"].studies, SEED, "2026-11-27", "abcd1234", PARTS["told"].code, "here", 1, (TABLE,)
)
CALM = Property("calm", "sizes", "calm ones", "94 to 97", "told", ("calm",))


def always(changed: bool) -> HasChanged:
    return lambda _name, _part: changed


def test_the_page_shows_every_part_and_no_other() -> None:
    shown = re.findall(r"<!-- simulated ([\w-]+) -->", PAGE.read_text())
    assert sorted(shown) == sorted([*PARTS, showing.PROPERTIES, showing.CHANGES])


def test_every_property_has_its_figures_in_its_part() -> None:
    kept = keeping.read(RESULTS.data)
    assert kept
    assert {each.part for each in EVERY_PROPERTY} <= PARTS.keys()
    assert len({each.name for each in EVERY_PROPERTY}) == len(EVERY_PROPERTY)
    for each in EVERY_PROPERTY:
        assert each.part not in kept or len(each.figures(kept[each.part])) >= len(each.rows)


def test_the_figures_that_documents_quote_are_those_of_the_parts() -> None:
    text = (RESULTS.data / properties.FILE).read_text()
    assert text == properties.quoted(keeping.read(RESULTS.data))


def test_what_is_kept_is_read_again_and_stands_in_place_of_what_was(tmp_path: Path) -> None:
    assert keeping.read(tmp_path) == {}
    keeping.keep(tmp_path, "told", FRESH)
    keeping.keep(tmp_path, "floor", replace(FRESH, failures=("FAILED",)))
    keeping.keep(tmp_path, "told", replace(FRESH, date="2026-11-28"))
    found = keeping.read(tmp_path)
    assert found == {"told": replace(FRESH, date="2026-11-28"), "floor": replace(FRESH, failures=("FAILED",))}


@pytest.mark.parametrize(
    ("kept", "changed"),
    [
        (FRESH, False),
        (replace(FRESH, date="2026-12-01", commit="other"), False),
        (replace(FRESH, code="0" * 16), True),
        (replace(FRESH, code=""), True),
        (replace(FRESH, studies=1), True),
        (replace(FRESH, seed=7), True),
    ],
)
def test_other_code_and_other_studies_are_a_change(kept: KeptPart, *, changed: bool) -> None:
    assert PARTS["told"].has_changed(kept) is changed


def test_words_are_no_change_of_the_code() -> None:
    source = (
        '"""A module."""\n\nLEVEL = 0.05  # it\n\n\ndef of(n):\n    """Of\n    n."""\n    return n * LEVEL\n'
    )
    other = '"""Another text."""\nLEVEL = 0.05\ndef of(n):\n    # why\n    return n * LEVEL\n'
    assert without_words(source) == without_words(other) == "LEVEL = 0.05\ndef of(n):\n    return n * LEVEL"
    assert without_words(source.replace("0.05", "0.06")) != without_words(source)


def test_a_string_that_is_no_docstring_stays() -> None:
    assert without_words('NAME = "# told"\n') == 'NAME = "# told"'


def test_the_table_of_properties_tells_what_each_is_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(showing, "EVERY_PROPERTY", (CALM,))
    for part, changed, said in (
        (FRESH, False, ("| 4,000 | 2012 | 2026-11-27 | `abcd1234` | the same |", "| 94.9 to 95.1 |")),
        (FRESH, True, ("| changed |",)),
        (replace(FRESH, commit="", code=""), True, ("| not kept | not kept |",)),
        (replace(FRESH, failures=("FAILED",)), False, ("| 94.9 to 95.1 ! |",)),
    ):
        text = showing.simulated(showing.PROPERTIES, {"told": part}, PARTS, always(changed))
        (row,) = text.splitlines()[2:]
        assert tells([row], "| sizes | calm ones | 94 to 97 |", *said)
    missing = showing.simulated(showing.PROPERTIES, {}, PARTS, always(True))
    assert tells([missing.splitlines()[2]], "| Not simulated yet |")


def test_parts_that_are_missing_or_changed_are_named() -> None:
    names = ("told", "floor", "pages")
    parts = {"told": FRESH, "floor": FRESH}
    text = showing.simulated(showing.CHANGES, parts, names, lambda name, _part: name == "floor")
    missing, changed = text.splitlines()
    assert tells([missing], "Not simulated yet", "`pages`")
    assert tells([changed], "other code", "`floor`")
    assert "`told`" not in text
    assert tells([showing.simulated(showing.CHANGES, parts, ("told",), always(False))], "present code")


def test_the_tables_of_a_part_say_what_they_are_of() -> None:
    text = showing.simulated("told", {"told": FRESH}, PARTS, always(False))
    head, _, *table = text.splitlines()
    assert head == "**Coverage.** 10 simulations of a figure. Seed 2012, 2026-11-27, commit `abcd1234`, 1 s."
    assert table == ["| n | 5 | 6 |", "| --- | ---: | ---: |", "| calm | 95.1 | 94.9 |", "| wild | 80.0 |  |"]
    assert showing.simulated("floor", {}, PARTS, always(False)) == f"{showing.NOT_YET}\n"


def test_rises_and_distances() -> None:
    falling, rising = [(97.5, "97.5"), (3.0, "3.0")], [(1.0, "1.0"), (0.0, "0.0"), (0.5, "0.5")]
    assert largest_rise([falling]) == "0.0"
    assert largest_rise([falling, rising]) == "0.5"
    assert largest_distances([[(-0.15, "-0.15"), (0.02, "+0.02")]]) == "0.02 to 0.15"
