"""A document whose figures come from small CSV files. Pure but for the reading of these files.

In the text a number is a link to its cell: `[1.02](reproduction/spdy-2012.published.csv#ROW.COLUMN)`. A table stands
between `<!-- table reproduction/FILE.csv: COLUMN, COLUMN -->` and `<!-- end -->`; of a file that is not there yet it
says so. `renewed` writes both anew.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROW = "row"
NOT_YET = "Not measured yet."
_CELL = re.compile(
    r"\[(?P<shown>[^\[\]]*)\]\((?P<file>reproduction/[\w.-]+\.csv)#(?P<row>[^)\s]+)\.(?P<column>\w+)\)"
)
_TABLE = re.compile(
    r"(?P<head><!-- table (?P<file>reproduction/[\w.-]+\.csv): (?P<columns>[\w, ]+) -->\n)"
    r"(?P<body>.*?)(?=<!-- end -->)",
    re.DOTALL,
)
# What holds no figure: code, comments, links and pictures, headings, years, and digits within a name (HTTP/1.1, h2).
_NO_FIGURES = re.compile(
    r"^```.*?^```|`[^`]*`|<!--.*?-->|!?\[[^\]]*\]\([^)]*\)|^#.*?$|\b(?:19|20)\d\d\b", re.DOTALL | re.MULTILINE
)
_FIGURE = re.compile(r"(?<![\w/.-])\d[\d.,]*(?:\b|(?=\s))")

Cells = Mapping[str, Mapping[str, str]]  # by row, by column


class NotInTheDataError(ValueError):
    """A document names a cell that no file holds."""


def renewed(text: str, folder: Path) -> str:
    """The document with every cell and table as the files below `folder` have it; NotInTheDataError for others."""

    def cell(found: re.Match[str]) -> str:
        value = _value(folder / found["file"], found["row"], found["column"])
        return f"[{value}]({found['file']}#{found['row']}.{found['column']})"

    def table(found: re.Match[str]) -> str:
        if not (folder / found["file"]).is_file():
            return f"{found['head']}{NOT_YET}\n"
        columns = [name.strip() for name in found["columns"].split(",")]
        return found["head"] + _table(folder / found["file"], columns)

    return _TABLE.sub(table, _CELL.sub(cell, text))


def loose_figures(text: str) -> list[str]:
    """Numbers of the text that name no cell: outside of tables made of data, code, names and links."""
    bare = _NO_FIGURES.sub(" ", _TABLE.sub("", text))
    return [found.rstrip(".,") for found in _FIGURE.findall(bare)]


def sections(text: str) -> Iterator[tuple[str, str]]:
    """(heading, text below it) of each section of the second level, those within it included."""
    _, *parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    yield from zip(parts[::2], parts[1::2], strict=True)


def files_named(text: str) -> set[str]:
    """The data files and pictures that the document shows."""
    return set(re.findall(r"reproduction/[\w.-]+\.(?:csv|svg)", text))


def _value(path: Path, row: str, column: str) -> str:
    cells = read(path)
    if row not in cells or column not in cells[row]:
        raise NotInTheDataError(f"{path.name} has no cell {row}.{column}")
    return cells[row][column]


def _table(path: Path, columns: list[str]) -> str:
    rows = list(read(path).values())
    for column in columns:
        if rows and column not in rows[0]:
            raise NotInTheDataError(f"{path.name} has no column {column}")
    lines = [[row[column].replace("|", "\\|") for column in columns] for row in rows]
    told = [[column.replace("_", " ") for column in columns], ["---"] * len(columns), *lines]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in told)


def read(path: Path) -> Cells:
    """A data file, row by row; NotInTheDataError when it is not there."""
    if not path.is_file():
        raise NotInTheDataError(f"there is no {path.name}; `make reproduction` writes it")
    with path.open(encoding="utf-8", newline="") as file:
        return {row[ROW]: row for row in csv.DictReader(file)}
