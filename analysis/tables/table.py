"""One table in three formats: CSV with the numbers as they are, Markdown and LaTeX as a reader wants them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from analysis.labels.words import DASH, MINUS

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - meant so
LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    DASH: "--",
    MINUS: "$-$",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


# A low line within a word is no stress, `<` before a digit no tag, and `&` without a semicolon no entity.
_MARKDOWN = re.compile(r"[\\`*|$~]|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<!\w)_|_(?!\w)|(?<=\])[(\[]")


_LETTER = re.compile(r"[^\W\d_]")


class Shown(NamedTuple):
    """What stands in a cell, and beside it in small."""

    text: str
    aside: str = ""

    def __str__(self) -> str:
        return f"{self.text} {self.aside}".strip()


@dataclass(frozen=True)
class Table:
    """`data` goes to the CSV in full precision; `head` and `rows` are shown.

    The first `keys` columns say where a row belongs; they are not repeated below each other.
    """

    name: str
    title: str
    note: str
    data: pd.DataFrame
    head: tuple[str, ...]
    rows: tuple[tuple[Shown, ...], ...]
    keys: int

    def is_text(self, column: int) -> bool:
        """Words are aligned left, numbers right."""
        return self._texts[column]

    def has_aside(self, column: int) -> bool:
        """Whether the column needs a second one beside it, so that its numbers stay aligned."""
        return self._asides[column]

    @cached_property
    def _texts(self) -> list[bool]:
        return [
            any(_LETTER.search(row[column].text) is not None for row in self.rows)
            for column in range(len(self.head))
        ]

    @cached_property
    def _asides(self) -> list[bool]:
        return [any(row[column].aside for row in self.rows) for column in range(len(self.head))]

    def grouped(self) -> Iterator[tuple[bool, tuple[Shown, ...]]]:
        """(whether a group starts here, the row with the keys it shares with the row above left blank).

        A group is all but the last key.
        """
        above: tuple[Shown, ...] = ()
        for row in self.rows:
            same = 0
            while above and same < self.keys and row[same] == above[same]:
                same += 1
            starts = bool(above) and self.keys > 1 and same < self.keys - 1
            yield starts, (Shown(""),) * min(same, self.keys - 1) + row[min(same, self.keys - 1) :]
            above = row


def to_csv(table: Table) -> str:
    return defused(table.data).to_csv(index=False, lineterminator="\n")


def defused(frame: pd.DataFrame) -> pd.DataFrame:
    """Texts that a spreadsheet would take for a formula get an apostrophe before them, as OWASP's page "CSV Injection"
    advises; numbers stay as they are.
    """

    def cell(value: Any) -> Any:
        return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value

    columns = {
        name: frame[name] if pd.api.types.is_numeric_dtype(frame[name]) else frame[name].map(cell)
        for name in frame
    }
    return pd.DataFrame(columns, index=frame.index).rename(columns=cell)


def to_markdown(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(map(escape_markdown, cells)) + " |"

    rule = ["---" if table.is_text(column) else "---:" for column in range(len(table.head))]
    body = [line([str(cell) for cell in row]) for row in table.rows]
    note = [escape_markdown(table.note), ""] if table.note else []
    return "\n".join(
        [f"**{escape_markdown(table.title)}**", "", *note, line(table.head), line(rule), *body, ""]
    )


def to_latex(table: Table) -> str:
    """A `table` environment in the style of booktabs (it needs that package)."""
    numbers = range(len(table.head))
    layout = "".join(
        "l" if table.is_text(column) else "r@{~}l" if table.has_aside(column) else "r" for column in numbers
    )
    head = [
        rf"\multicolumn{{2}}{{r}}{{{escape_latex(text)}}}" if table.has_aside(column) else escape_latex(text)
        for column, text in enumerate(table.head)
    ]
    body: list[str] = []
    for starts, row in table.grouped():
        cells = [
            text
            for column, cell in enumerate(row)
            for text in ((cell.text, cell.aside) if table.has_aside(column) else (cell.text,))
        ]
        body += [r"\addlinespace"] if starts else []
        line = " & ".join(map(escape_latex, cells))
        # A bracket at the beginning would belong to the end of the row above: `\\[2mm]`.
        body.append((f"{{}}{line}" if line.startswith(("[", "*")) else line) + r" \\")
    caption = " ".join(f"{part.removesuffix('.')}." for part in (table.title, table.note) if part)
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape_latex(caption)}}}",
            rf"\label{{tab:{table.name}}}",
            rf"\begin{{tabular}}{{{layout}}}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def escape_latex(text: str) -> str:
    special = rf"[\\~^{DASH}{MINUS}<>|&%$#_{{}}]"
    return re.sub(special, lambda found: LATEX_SPECIAL[found[0]], _on_one_line(text))


def escape_markdown(text: str) -> str:
    """What would be code, stress, a link, a formula, HTML or the end of a cell; brackets of intervals are none."""
    return _MARKDOWN.sub(r"\\\g<0>", _on_one_line(text))


def _on_one_line(text: str) -> str:
    """Without control characters and ends of lines, which no format of tables has room for."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text)


def write(table: Table, directory: Path) -> None:
    """name.csv, name.md and name.tex in `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    for suffix, text in (("csv", to_csv(table)), ("md", to_markdown(table)), ("tex", to_latex(table))):
        (directory / f"{table.name}.{suffix}").write_text(text, encoding="utf-8")
