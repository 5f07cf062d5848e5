"""What somebody is told who gave a word that is none of those known."""

from __future__ import annotations

from harness.input.keys import TOLD, VERY_LIKE, listed, nearest

WORDS = [f"word{number}" for number in range(TOLD + 3)]


def test_a_list_is_shortened_where_the_word_that_is_meant_is_told() -> None:
    assert nearest("wrod3", WORDS) == " (did you mean word3?)"
    assert listed("wrod3", WORDS).endswith(f"word{TOLD - 1} and 3 more")
    assert nearest("zzz", WORDS) == ""
    assert listed("zzz", WORDS) == ", ".join(WORDS)
    assert listed(3, WORDS) == ", ".join(WORDS)


def test_a_word_must_be_more_like_another_where_it_is_seldom_meant() -> None:
    assert nearest("mine", ["engines"]) == " (did you mean engines?)"
    assert nearest("mine", ["engines"], VERY_LIKE) == ""
