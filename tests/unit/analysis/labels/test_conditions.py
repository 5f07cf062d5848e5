"""The order in which conditions are read."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis.labels.conditions import STYLES, in_reading_order, told_apart


@pytest.mark.parametrize(
    ("column", "ordered"),
    [
        ("compression", ["none", "brotli-5", "brotli-11", "gzip-6"]),
        ("factor", ["usual", "initial window 3", "initial window 10"]),
        ("variant", ["plain", "core", "level-9", "level-10"]),
    ],
)
def test_the_usual_stands_first_and_the_others_by_their_numbers(column: str, ordered: list[str]) -> None:
    frame = pd.DataFrame({"protocol": "h2", column: sorted(ordered)})
    assert list(in_reading_order(frame, [column])[column]) == ordered


def test_looks_that_are_taken_get_another_marker_and_dash() -> None:
    looks = told_apart([STYLES["h2"], STYLES["h3"], *[STYLES["h2"]] * 40])
    assert looks[:2] == [STYLES["h2"], STYLES["h3"]]
    for what in ("marker", "dash"):
        assert len({(look.colour, getattr(look, what)) for look in looks}) == 42


def test_looks_need_not_differ_in_what_is_not_drawn() -> None:
    one, two = told_apart([STYLES["h2"]] * 2, by=("marker",))
    assert (one.colour, one.dash) == (two.colour, two.dash)
    assert one.marker != two.marker
