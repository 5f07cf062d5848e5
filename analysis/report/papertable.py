"""A table as the paper shows it: as wide as a page, or, where that would make it too small to read, across pages."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from analysis.labels.latex import escape_latex
from analysis.tables.table import Table, caption, tabular

MOST_ROWS = 40  # of a table on one page; the CSV has all
MOST_LONG_ROWS = 200  # of a table across pages
WRAPPED = "5cm"
WRAPPED_CHARACTERS = 34  # as many go into one line of a wrapped column
# Characters side by side at \footnotesize: 115 fill a page, so a wider table would be less than three quarters of it.
WIDEST = 155
# Across pages, in cm, at \scriptsize: what columns share of a page's longer side, the gap beside each, a character, and
# what is added to the longest word.
ACROSS, GAP, CHARACTER, SLACK = 25.0, 0.29, 0.145, 0.15


def paper_table(table: Table) -> str:
    """The table with its caption; of a long one the beginning."""
    widths = _widths(table) if _characters(table) > WIDEST else None
    return _across_pages(table, widths) if widths else _on_a_page(table)


def _on_a_page(table: Table) -> str:
    return "\n".join(
        [
            r"\begin{table}[htbp]",
            r"\centering\footnotesize",
            rf"\caption{{{_caption(table, MOST_ROWS)}}}",
            rf"\label{{tab:{table.name}}}",
            rf"\fitted{{{tabular(table, wrapped=WRAPPED, rows=MOST_ROWS)}}}",
            r"\end{table}",
            "",
        ]
    )


def _across_pages(table: Table, widths: Sequence[float]) -> str:
    """Every column wrapped to its width in cm; the heads again on each page."""
    layout = "".join(
        rf">{{\ragged{'right' if table.is_text(column) else 'left'}\arraybackslash}}p{{{width:.2f}cm}}"
        for column, width in enumerate(widths)
    )
    head = " & ".join(map(escape_latex, table.head)) + r" \\"
    rows = [
        "{}" + " & ".join(escape_latex(str(cell)) for cell in row) + r" \\ \addlinespace[2pt]"
        for _, row in itertools.islice(table.grouped(), MOST_LONG_ROWS)
    ]
    return "\n".join(
        [
            r"\begin{landscape}",
            r"\scriptsize\setlength{\LTcapwidth}{\linewidth}",
            rf"\begin{{longtable}}{{{layout}}}",
            rf"\caption{{{_caption(table, MOST_LONG_ROWS)}}}\label{{tab:{table.name}}}\\",
            rf"\toprule {head} \midrule \endfirsthead",
            rf"\toprule {head} \midrule \endhead",
            r"\bottomrule \endfoot",
            *rows,
            r"\end{longtable}",
            r"\end{landscape}",
            "",
        ]
    )


def _caption(table: Table, most: int) -> str:
    cut = (
        f" The first {most} of {len(table.rows)} rows; {table.name}.csv of the report has all."
        if len(table.rows) > most
        else ""
    )
    return escape_latex(caption(table) + cut)


def _characters(table: Table) -> int:
    """How wide the table is by itself, its long texts wrapped."""
    return sum(min(longest, WRAPPED_CHARACTERS) for longest, _ in _columns(table))


def _columns(table: Table) -> list[tuple[int, int]]:
    """Of each column the characters of the longest cell, head included, and of the longest word."""
    found = []
    for column, head in enumerate(table.head):
        cells = [head, *(str(row[column]) for row in table.rows)]
        words = (len(word) for cell in cells for word in cell.split())
        found.append((max(map(len, cells)), max(words, default=0)))
    return found


def _widths(table: Table) -> list[float] | None:
    """In cm: what each column needs for its longest word, and of what is left a share by its longest cell.

    None where the longest words alone do not fit side by side.
    """
    columns = _columns(table)
    least = [CHARACTER * word + SLACK for _, word in columns]
    more = [CHARACTER * min(longest - word, 3 * WRAPPED_CHARACTERS) for longest, word in columns]
    left = ACROSS - GAP * len(columns) - sum(least)
    if left < 0:
        return None
    share = min(1.0, left / sum(more)) if sum(more) else 0.0
    return [needed + share * wanted for needed, wanted in zip(least, more, strict=True)]
