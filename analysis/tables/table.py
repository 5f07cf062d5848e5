"""One table in three formats: CSV with the numbers as they are, Markdown and LaTeX as a reader wants them.

One that is too long for a page is folded there: rows that differ in one of their keys alone, as the page, become one.
The files hold every row. Nothing is estimated here: a folded row says how the rows that it stands for are spread.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import IO, Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from analysis.labels import words
from analysis.labels.markup import escape_latex, on_one_line
from harness.input.shown import ACTED_ON, printable

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - meant so

# A low line within a word is no stress, `<` before a digit no tag, and `&` without a semicolon no entity.
_MARKDOWN = re.compile(r"[\\`*|$~]|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<!\w)_|_(?!\w)|(?<=\])[(\[]")


FORMATS = ("csv", "md", "tex")  # of its files
MOST_SHOWN = 500  # rows in the page: of a longer table a summary, or its first rows
FIRST_SHOWN = 50
LONGEST_ON_ONE_LINE, WIDEST_HEAD = 40, 12  # characters of a cell and of a head, where columns can be wrapped
_LETTER = re.compile(r"[^\W\d_]")
MOST_VALUES = 4  # of a column of words


class Shown(NamedTuple):
    """What stands in a cell, and beside it in small. `link`: what of the page it leads to, as `#figure-claims`."""

    text: str
    aside: str = ""
    link: str = ""

    def __str__(self) -> str:
        return f"{self.text} {self.aside}".strip()


NOT_KNOWN = Shown(words.DASH)


def with_interval(value: float, low: float, high: float, digits: int) -> Shown:
    """An estimate, and in small its interval."""
    return Shown(words.number(value, digits), words.span(low, high, digits))


def ratio_with_interval(ratio: float, low: float, high: float) -> Shown:
    """A ratio, and in small its interval."""
    return Shown(words.ratio(ratio), words.ratio_span(low, high))


@dataclass(frozen=True)
class Table:
    """`data` goes to the CSV in full precision; `head` and `rows` are shown.

    The first `keys` columns say where a row belongs; they are not repeated below each other. `summary` is what the page
    shows instead of a table that is too long for it.
    """

    name: str
    title: str
    note: str
    data: pd.DataFrame
    head: tuple[str, ...]
    rows: tuple[tuple[Shown, ...], ...]
    keys: int
    summary: Table | None = None

    @cached_property
    def in_page(self) -> Table:
        """The table as the page shows it; the files hold every row."""
        if len(self.rows) <= MOST_SHOWN:
            return self
        return self.summary or replace(self, rows=self.rows[:FIRST_SHOWN])

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
    advises; what a terminal would act on is made visible; numbers stay as they are.
    """

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = printable(value)
        return f"'{text}" if text.startswith(FORMULA) else text

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
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape_latex(caption(table))}}}",
            rf"\label{{tab:{table.name}}}",
            tabular(table),
            r"\end{table}",
            "",
        ]
    )


def caption(table: Table) -> str:
    """Title and note as sentences."""
    return " ".join(f"{part.removesuffix('.')}." for part in (table.title, table.note) if part)


def tabular(table: Table, *, wrapped: str = "", rows: int | None = None) -> str:
    """The table alone, or its first rows. `wrapped`: the width of columns of long texts, as in `4cm`; heads are then
    wrapped, too.
    """
    numbers = range(len(table.head))
    heads = [
        _head(table, column) if wrapped else escape_latex(text) for column, text in enumerate(table.head)
    ]
    head = [
        rf"\multicolumn{{2}}{{r}}{{{text}}}" if _stands_apart(table, column) else text
        for column, text in enumerate(heads)
    ]
    body: list[str] = []
    for starts, row in itertools.islice(table.grouped(), rows):
        cells = [
            text
            for column, cell in enumerate(row)
            for text in ((cell.text, cell.aside) if _stands_apart(table, column) else (str(cell),))
        ]
        body += [r"\addlinespace"] if starts else []
        line = " & ".join(map(escape_latex, cells))
        # A bracket at the beginning would belong to the end of the row above: `\\[2mm]`.
        body.append((f"{{}}{line}" if line.startswith(("[", "*")) else line) + r" \\")
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{''.join(_layout(table, column, wrapped) for column in numbers)}}}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _head(table: Table, column: int) -> str:
    """A head on as many lines as it needs words."""
    lines = textwrap.wrap(table.head[column], WIDEST_HEAD, break_long_words=False, break_on_hyphens=False)
    told = r" \\ ".join(map(escape_latex, lines))
    return rf"\shortstack[{'l' if table.is_text(column) else 'r'}]{{{told}}}" if len(lines) > 1 else told


def _stands_apart(table: Table, column: int) -> bool:
    """Whether the small text beside a number has a column of its own; behind words it goes on with them."""
    return table.has_aside(column) and not table.is_text(column)


def _layout(table: Table, column: int, wrapped: str) -> str:
    if not table.is_text(column):
        return "r@{~}l" if table.has_aside(column) else "r"
    long = max((len(str(row[column])) for row in table.rows), default=0) > LONGEST_ON_ONE_LINE
    return f"p{{{wrapped}}}" if wrapped and long else "l"


def escape_markdown(text: str) -> str:
    """What would be code, stress, a link, a formula, HTML or the end of a cell; brackets of intervals are none."""
    return _MARKDOWN.sub(r"\\\g<0>", printable(on_one_line(text)))


def write(table: Table, directory: Path) -> None:
    """name.csv, name.md and name.tex in `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    for suffix, text in zip(FORMATS, (to_csv(table), to_markdown(table), to_latex(table)), strict=True):
        (directory / f"{table.name}.{suffix}").write_text(text, encoding="utf-8")


class FoldedColumn(NamedTuple):
    """A column of a folded table: what it shows of a column of the data, over the rows that are taken together."""

    head: str
    name: str
    shows: Callable[[pd.Series[Any]], Shown]


def spread(text: Callable[[float], str]) -> Callable[[pd.Series[Any]], Shown]:
    """The median of the rows, and in brackets the least and the most; `text` writes a value."""

    def shows(values: pd.Series[Any]) -> Shown:
        known = values.dropna()
        if known.empty:
            return NOT_KNOWN
        return Shown(
            text(float(known.median())), f"[{text(float(known.min()))}{words.DASH}{text(float(known.max()))}]"
        )

    return shows


def total(values: pd.Series[Any]) -> Shown:
    """The sum over the rows."""
    return Shown(words.number(values.sum()))


def counts(values: pd.Series[Any]) -> Shown:
    """How many rows have which value, the most frequent first."""
    frequencies = values.dropna().value_counts()
    shown = [f"{value} {count:,}" for value, count in frequencies.head(MOST_VALUES).items()]
    left = int(frequencies.iloc[MOST_VALUES:].sum())
    return Shown(", ".join([*shown, *([f"others {left:,}"] if left else [])]) or words.DASH)


def folded(table: Table, columns: Sequence[FoldedColumn], leading: int) -> Table:
    """The table, with a summary for the page where it is too long for one.

    Its rows must go with its data, one for one. Of the `leading` columns, which say what a row is about, the one with
    the most values is folded away, and further ones until the page can hold the rest.
    """
    if len(table.rows) <= MOST_SHOWN:
        return table
    keys = pd.DataFrame([[str(cell) for cell in row[:leading]] for row in table.rows])
    left: list[int] = list(range(leading))
    gone: list[int] = []
    while len(left) > 1 and (not gone or len(keys[left].drop_duplicates()) > MOST_SHOWN):
        most = max(left, key=lambda column: keys[column].nunique())
        left.remove(most)
        gone.append(most)
    data = table.data.reset_index(drop=True)
    rows = [
        (
            *(table.rows[group.index[0]][column] for column in left),
            Shown(words.number(len(group))),
            *(column.shows(data.loc[group.index, column.name]) for column in columns),
        )
        for _, group in keys.groupby(left, sort=False)
    ]
    names = words.listed([f"{keys[column].nunique():,} of {table.head[column]}" for column in gone])
    summary = replace(
        table,
        head=(*(table.head[column] for column in left), "Rows", *(column.head for column in columns)),
        rows=tuple(rows[:MOST_SHOWN]),
        keys=len(left),
        note=f"{table.note} Folded over {names}: a row stands for several; figures are their median, in brackets the "
        "least and the most, counts their sum.",
    )
    return replace(table, summary=summary)


def write_csv(table: pa.Table, file: IO[bytes]) -> None:
    """A line per record below the names of the columns.

    Texts that a spreadsheet takes for formulas are defused, and what a terminal would act on is made visible.
    """
    names = [f"'{name}" if name.startswith(FORMULA) else name for name in table.column_names]
    columns = [
        _defused(_visible(column)) if pa.types.is_string(column.type) else column for column in table.columns
    ]
    csv.write_csv(pa.table(columns, names=names), file, csv.WriteOptions(quoting_style="needed"))


def _visible(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Without what a terminal would act on; few columns have any, and the others are only searched."""
    if not pc.any(pc.match_substring_regex(column, f"[{ACTED_ON}]")).as_py():
        return column
    texts = [None if text is None else printable(text) for text in column.to_pylist()]
    return pa.chunked_array([texts], type=column.type)


def _defused(column: pa.ChunkedArray) -> pa.ChunkedArray:
    begins = reduce(pc.or_, (pc.starts_with(column, character) for character in FORMULA))
    return pc.if_else(begins, pc.binary_join_element_wise("'", column, ""), column)
