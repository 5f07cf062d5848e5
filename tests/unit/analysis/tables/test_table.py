"""A table that is too long for a page is folded there, and nothing of it is lost."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from itertools import product

import pandas as pd
import pytest

from analysis.labels.words import DASH, number
from analysis.tables.table import (
    MOST_SHOWN,
    FoldedColumn,
    Shown,
    Table,
    counts,
    folded,
    spread,
    to_csv,
    total,
)
from tests.facts import tells

COLUMNS = (
    FoldedColumn("Time", "ms", spread(number)),
    FoldedColumn("Loads", "loads", total),
    FoldedColumn("Verdict", "verdict", counts),
)
HEAD = ("Page", "Protocol", "RTT", "Time", "Loads", "Verdict")


def table(pages: int, protocols: Sequence[str] = ("http1", "h2"), rtts: Sequence[int] = (20, 50)) -> Table:
    """Page n has a time of n ms, and n loads."""
    data = pd.DataFrame(
        [(f"page-{page}", *at, page, page, "slower") for page, *at in product(range(pages), protocols, rtts)],
        columns=["page", "protocol", "rtt_ms", "ms", "loads", "verdict"],
    )
    rows = tuple(tuple(Shown(str(value)) for value in row) for row in data.itertuples(index=False))
    return Table("times", "Times", "A note.", data, HEAD, rows, keys=3)


@pytest.mark.parametrize(("rows", "whole"), [(MOST_SHOWN, True), (MOST_SHOWN + 4, False)])
def test_a_table_that_the_page_can_hold_stays_as_it_is(rows: int, whole: bool) -> None:
    made = table(rows // 4)
    shown = folded(made, COLUMNS, 3).in_page
    assert (shown is made) is whole


def test_the_key_with_most_values_goes_and_a_row_stands_for_several() -> None:
    shown = folded(table(201), COLUMNS, 3).in_page
    assert shown.head == ("Protocol", "RTT", "Rows", "Time", "Loads", "Verdict")
    assert [str(cell) for cell in shown.rows[0]] == [
        *("http1", "20", "201"),
        f"100 [0{DASH}200]",
        "20,100",
        "slower 201",
    ]
    assert [(row[0].text, row[1].text) for row in shown.rows] == [
        *(("http1", "20"), ("http1", "50")),
        *(("h2", "20"), ("h2", "50")),
    ]
    assert shown.keys == 2
    assert shown.note.startswith("A note. ")
    assert tells(shown.note, "Folded over 201 of Page", "a row stands for several")


def test_the_files_hold_every_row() -> None:
    made = table(201)
    stored = pd.read_csv(io.StringIO(to_csv(folded(made, COLUMNS, 3))))
    pd.testing.assert_frame_equal(stored, made.data, check_dtype=False)


@pytest.mark.thorough
def test_further_keys_go_until_the_page_can_hold_the_rest() -> None:
    shown = folded(table(24, [f"p{n}" for n in range(23)], range(23)), COLUMNS, 3).in_page
    assert (shown.head[:2], len(shown.rows)) == (("RTT", "Rows"), 23)
    assert "Folded over 24 of Page and 23 of Protocol" in shown.note


def test_columns_that_are_no_keys_are_never_a_reason_to_fold() -> None:
    shown = folded(table(201), COLUMNS, leading=2).in_page
    assert shown.head == ("Protocol", "Rows", "Time", "Loads", "Verdict")
    assert [row[1].text for row in shown.rows] == ["402", "402"]


def test_what_is_not_known_is_left_out_and_a_dash_where_nothing_is() -> None:
    shows = spread(number)
    assert shows(pd.Series([math.nan, 3.0, 1.0])) == Shown("2", f"[1{DASH}3]")
    assert shows(pd.Series([math.nan])) == Shown(DASH)
    assert total(pd.Series([math.nan, 3.0])) == Shown("3")


def test_counts_tell_the_most_frequent_values_and_how_many_others() -> None:
    values = pd.Series([word for times, word in enumerate("abcdef", start=1) for _ in range(times)])
    assert counts(values) == Shown("f 6, e 5, d 4, c 3, others 3")
    assert counts(pd.Series(["a", None])) == Shown("a 1")
    assert counts(pd.Series([None, None], dtype="object")) == Shown(DASH)
