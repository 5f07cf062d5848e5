"""A report in a few lines of Markdown, for the page of a CI job or a comment.

Its answers, its first figure as a table, and the gravest of what counts against it.

All of it is what the head of the report says (`analysis.report.answers`, `analysis.charts.headchart`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from analysis.charts.headchart import Marks, marks
from analysis.charts.lines import label_of
from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.report import facts
from analysis.report.answers import MOST_QUESTIONS, answers, cautions
from analysis.statistics.plainly import value_text
from analysis.tables.table import escape_markdown

MOST_CAUTIONS = 2


def to_markdown(results: Results) -> str:
    """Heading, a line per answer, the table, and what counts against it. Ends with a line break."""
    said = answers(results)
    lines = [f"### {_text(facts.title(results))}", ""]
    provisional = facts.progress(results)
    if provisional:
        lines += [f"**Provisional.** {_text(provisional)}", ""]
    lines += [f"- {_text(each.text)}" for each in said[:MOST_QUESTIONS]]
    if len(said) > MOST_QUESTIONS:
        lines.append(f"- {words.count(len(said) - MOST_QUESTIONS, 'further answer')} in the report")
    drawn = marks(results)
    if drawn is not None:
        lines += ["", *_table(results, drawn)]
    lines += ["", *(_text(each) for each in cautions(results)[:MOST_CAUTIONS])]
    return "\n".join(lines) + "\n"


def _table(results: Results, drawn: Marks) -> Iterator[str]:
    """A row per place of the figure, a column per mark: the median and its interval."""
    cells, rows = drawn.cells, drawn.rows
    names = list(map(str, cells[drawn.column].unique()))
    yield _line([results.metric_label, *(label_of(name, drawn.column) for name in names)])
    yield _line(["---", *("---:" for _ in names)], as_it_is=True)
    by_place = {(cell["row"], str(cell[drawn.column])): cell for cell in cells.to_dict("records")}
    for row in rows:
        found = [by_place.get((row, name)) for name in names]
        yield _line([row, *("" if cell is None else _value(cell, results.metric) for cell in found)])


def _value(cell: Mapping[Any, Any], metric: str) -> str:
    """`1.17 s (1.15 to 1.20 s)`; the median alone of one trial."""
    median, low, high = (value_text(float(cell[name]), metric) for name in ("median", "low", "high"))
    if math.isnan(cell["low"]):
        return median
    number, _, unit = low.rpartition(" ")
    return f"{median} ({number if number and high.endswith(f' {unit}') else low} to {high})"


def _line(cells: list[str], *, as_it_is: bool = False) -> str:
    return f"| {' | '.join(cells if as_it_is else map(_text, cells))} |"


def _text(text: str) -> str:
    """As it is read, also where a name after an `@` would call somebody of that name."""
    return re.sub(r"@(?=\w)", "@\u200b", escape_markdown(text))
