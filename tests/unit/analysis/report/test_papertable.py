"""Tables of the paper: on one page as long as they can be read there, else across pages."""

from __future__ import annotations

import re

import pandas as pd

from analysis.report.papertable import ACROSS, GAP, MOST_LONG_ROWS, MOST_ROWS, paper_table
from analysis.tables.table import Shown, Table

NARROW = Table(
    name="narrow",
    title="Narrow",
    note="",
    data=pd.DataFrame(),
    head=("Claim", "n"),
    rows=tuple((Shown(f"claim {number}"), Shown(str(number))) for number in range(300)),
    keys=1,
)
LONG_TEXT = Shown("a text of many words that goes on and on, at 10 % & more")


def wide(columns: int) -> Table:
    return Table(
        name="wide",
        title="Wide",
        note="",
        data=pd.DataFrame(),
        head=tuple(f"Head {number}" for number in range(columns)),
        rows=((LONG_TEXT,) * columns,) * 300,
        keys=0,
    )


def test_a_narrow_table_is_a_float_of_its_first_rows() -> None:
    made = paper_table(NARROW)
    assert r"\begin{table}[htbp]" in made
    assert "longtable" not in made
    assert f"claim {MOST_ROWS - 1} &" in made
    assert f"claim {MOST_ROWS} &" not in made
    assert f"The first {MOST_ROWS} of 300 rows; narrow.csv of the report has all." in made


def test_a_wide_table_goes_across_pages_and_repeats_its_head() -> None:
    made = paper_table(wide(6))
    assert r"\begin{landscape}" in made
    assert r"\label{tab:wide}" in made
    assert made.count("Head 0 &") == 2
    assert made.count(r"at 10 \% \& more \\") == MOST_LONG_ROWS
    assert f"The first {MOST_LONG_ROWS} of 300 rows" in made


def test_columns_share_the_longer_side_of_a_page() -> None:
    for columns in (6, 9, 12):
        widths = [float(each) for each in re.findall(r"p\{([\d.]+)cm\}", paper_table(wide(columns)))]
        assert len(widths) == columns
        assert sum(widths) <= ACROSS - GAP * columns + 0.01 * columns
        assert min(widths) > 1


def test_what_does_not_fit_side_by_side_stays_on_one_page_and_is_made_smaller() -> None:
    made = paper_table(wide(25))
    assert r"\fitted{" in made
    assert "longtable" not in made
