"""Lists and texts, as short as a reader needs."""

from __future__ import annotations

from harness.input.shown import clipped, shortened


def test_a_list_is_shortened() -> None:
    assert shortened([], 3) == ""
    assert shortened(["a", "b", "c"], 3) == "a, b, c"
    assert shortened(["a", "b", "c"], 2) == "a, b and 1 more"
    assert shortened(["a"] * 2000, 2, separator=" ") == "a a and 1998 more"
    assert shortened(["a", "b", "c"], 1, separator="; ", noun="reason") == "a; and 2 more reasons"
    assert shortened(["a", "b", "c"], 2, separator="; ", noun="reason") == "a; b; and 1 more reason"


def test_a_text_is_clipped() -> None:
    assert (clipped("abc", 3), clipped("abcd", 3)) == ("abc", "abc…")
