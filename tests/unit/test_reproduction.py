"""docs/reproduction.md says what its data files hold, and no other figure.

`python tests/unit/test_reproduction.py` writes its figures and tables anew from docs/reproduction/*.csv.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.reproduction.document import (
    NOT_YET,
    NotInTheDataError,
    files_named,
    loose_figures,
    renewed,
    sections,
)
from benchmarks.reproduction.studies import STUDIES
from harness.study.studyfile import shipped_studies

DOCS = Path(__file__).resolve().parents[2] / "docs"
DOCUMENT, DATA = DOCS / "reproduction.md", DOCS / "reproduction"
OF_SETTINGS = ("Set-up", "Deviations", "Limits")  # what was chosen, not what was measured

CSV = "row,claim,here,low\nfig-1-100-ms,SPDY | HTTP,0.713,0.70\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of documents with one data file."""
    (tmp_path / "reproduction").mkdir()
    (tmp_path / "reproduction" / "spdy.published.csv").write_text(CSV)
    return tmp_path


def test_the_document_says_what_the_data_say() -> None:
    text = DOCUMENT.read_text()
    assert renewed(text, DOCS) == text, "renew it: python tests/unit/test_reproduction.py"


def test_every_figure_of_the_results_names_its_cell() -> None:
    found = {head: loose_figures(part) for head, part in sections(DOCUMENT.read_text())}
    assert {head for head in found if head not in OF_SETTINGS} == {"Results"}
    assert found["Results"] == []


def test_every_data_file_is_quoted_and_every_picture_shown_is_there() -> None:
    named = files_named(DOCUMENT.read_text())
    kept = {f"reproduction/{path.name}" for path in DATA.glob("*.*")}
    assert {name for name in named if name.endswith(".svg")} - kept == set()
    tables = {name for name in kept if name.endswith(".csv")}
    studies = {name.partition(".")[0].removeprefix("reproduction/") for name in tables}
    assert studies <= {each.name(quick=quick) for each in STUDIES for quick in (True, False)}


def test_every_study_of_the_document_ships_and_has_its_place() -> None:
    shipped, text = shipped_studies(), DOCUMENT.read_text()
    for each in STUDIES:
        assert {each.study, each.quick} <= shipped.keys()
        assert re.search(rf"^### {re.escape(each.study)}$", text, re.MULTILINE)


def test_a_number_is_written_as_its_cell_has_it(folder: Path) -> None:
    cell = "(reproduction/spdy.published.csv#fig-1-100-ms.here)"
    assert renewed(f"It took [9.99]{cell} of the time.", folder) == f"It took [0.713]{cell} of the time."


def test_a_table_is_written_from_its_file(folder: Path) -> None:
    head = "<!-- table reproduction/spdy.published.csv: claim, here -->\n"
    made = renewed(f"{head}| old |\n<!-- end -->\n", folder)
    assert made == f"{head}| claim | here |\n| --- | --- |\n| SPDY \\| HTTP | 0.713 |\n<!-- end -->\n"
    assert renewed(made, folder) == made


def test_a_table_without_data_says_so(folder: Path) -> None:
    head = "<!-- table reproduction/users.published.csv: claim -->\n"
    assert renewed(f"{head}| 1.5 |\n<!-- end -->\n", folder) == f"{head}{NOT_YET}\n<!-- end -->\n"


@pytest.mark.parametrize(
    "text",
    [
        "[1](reproduction/none.csv#a.here)",
        "[1](reproduction/spdy.published.csv#other.here)",
        "[1](reproduction/spdy.published.csv#fig-1-100-ms.there)",
        "<!-- table reproduction/spdy.published.csv: there -->\n<!-- end -->",
    ],
)
def test_a_cell_that_no_file_has_is_named(text: str, folder: Path) -> None:
    with pytest.raises(NotInTheDataError, match=r"none\.csv|other\.here|there"):
        renewed(text, folder)


def test_numbers_without_a_cell_are_found() -> None:
    text = (
        "## Results\nIt took 0.71 of the time, in 1,234 ms, 5 % less, n = 10.\n"
        "[0.71](reproduction/x.csv#a.here) of HTTP/1.1 over h2 in 2012, as `coldload run 5` says.\n"
        "<!-- table reproduction/x.csv: claim -->\n| 9 |\n<!-- end -->\n"
    )
    ((_, part),) = sections(text)
    assert loose_figures(part) == ["0.71", "1,234", "5", "10"]


if __name__ == "__main__":
    DOCUMENT.write_text(renewed(DOCUMENT.read_text(), DOCS))
