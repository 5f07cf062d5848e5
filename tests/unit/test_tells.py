"""What the tests of texts ask with."""

from __future__ import annotations

import pytest

from tests.facts import tells


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (("3 of 10", "left out"), True),
        (("left out", "3 of 10"), True),
        (("3 of 10", "1.5 s"), False),  # of two sentences
        (("3 of 1",), False),
        ((" 1.5",), True),
        (("5 s",), False),
        (("13",), False),
        (("2",), True),
    ],
)
def test_a_sentence_holds_all_of_the_facts_and_numbers_whole(facts: tuple[str, ...], told: bool) -> None:
    assert tells("3 of 10 trials were left out. The others took 1.5 s.\nRun 2, 4,137 loads.", *facts) is told


def test_what_stands_apart_on_a_page_is_apart() -> None:
    page = "<dl><dt>Seed</dt><dd>2012</dd><dt>Trials</dt><dd>10 of 10</dd></dl>"
    assert tells(page, "10 of 10")
    assert not tells(page, "Seed", "2012")


def test_lines_are_taken_as_they_are() -> None:
    assert tells(["a. b", "c"], "a", "b")
    assert not tells(["a. b", "c"], "b", "c")
