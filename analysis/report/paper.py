"""A report as a LaTeX document to hand in: `paper.tex` with figures as PDF, tables, methods and a bibliography.

It needs article, geometry, graphicx and booktabs alone: Debian's texlive-latex-base and texlive-latex-recommended.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.labels.markup import escape_latex
from analysis.report import facts, summary
from analysis.report.methodtexts import TEXTS, method_texts
from analysis.tables.medians import starts
from analysis.tables.table import Table, caption, tabular
from analysis.tables.tables import PREFIX
from harness.input.jsontext import part

STATISTICS = r"""@article{hettmansperger1986,
  author = {Hettmansperger, Thomas P. and Sheather, Simon J.},
  title = {Confidence intervals based on interpolated order statistics},
  journal = {Statistics \& Probability Letters},
  volume = {4},
  number = {2},
  pages = {75-79},
  year = {1986},
}

@article{benjamini1995,
  author = {Benjamini, Yoav and Hochberg, Yosef},
  title = {Controlling the false discovery rate: a practical and powerful approach to multiple testing},
  journal = {Journal of the Royal Statistical Society, Series B},
  volume = {57},
  number = {1},
  pages = {289-300},
  year = {1995},
}
"""
MOST_ROWS = 40  # of a table on one page; the CSV has all
MOST_LONG_ROWS = 200  # of a table across pages
WRAPPED = "5cm"
WRAPPED_CHARACTERS = 34  # as many go into one line of a wrapped column
# Characters side by side at \footnotesize: 115 fill a page, so a wider table would be less than three quarters of it.
WIDEST = 155
# Across pages, in cm, at \scriptsize: what columns share of a page's longer side, the gap beside each, a character, and
# what is added to the longest word.
ACROSS, GAP, CHARACTER, SLACK = 25.0, 0.29, 0.145, 0.15
TEMPLATE = "paper.tex.j2"
PAPER, REFERENCES = "paper.tex", "references.bib"
# By the section of the paper; all others stand among the results.
ANSWERS = ("published", "claims", "equal-baselines", "published-by-page", "published-by-run", "claims-by-run")
OF_METHODS = ("calibration", "attempts", "exclusions", "claims-of-all", "loads-that-differ")


class Reference(NamedTuple):
    """A BibTeX entry; `fields` are plain text."""

    key: str
    kind: str
    fields: tuple[tuple[str, str], ...]


def bibliography(results: Results) -> str:
    """references.bib."""
    return "\n".join([*map(_entry, (ourselves(results), *originals(results))), STATISTICS])


def ourselves(results: Results) -> Reference:
    """The program itself in the version, or versions, that measured."""
    versions = dict.fromkeys(
        str(environment["coldload"])
        for run in results.runs
        for environment in run.environments
        if environment.get("coldload")
    )
    fields = [
        ("title", "coldload: a page-load laboratory on one machine"),
        ("author", "The coldload authors"),
    ]
    if versions:
        fields.append(("note", f"Version {', '.join(versions)}"))
    started = starts(results.records)
    if not started.empty:
        fields.append(("year", f"{started.max():%Y}"))
    return Reference("coldload", "misc", tuple(fields))


def originals(results: Results) -> Iterator[Reference]:
    """The studies that the runs repeat, where they say so."""
    for number, each in enumerate(results.publications, start=1):
        key = f"original{number}"  # by which BibTeX sorts what has no author
        yield Reference(key, "misc", (("key", key), ("title", each.title), ("howpublished", each.source)))


def _entry(reference: Reference) -> str:
    lines = "".join(f"  {name} = {{{_braced(text)}}},\n" for name, text in reference.fields)
    return f"@{reference.kind}{{{reference.key},\n{lines}}}\n"


def _braced(text: str) -> str:
    """For a field: BibTeX counts braces also where TeX does not, so none stands alone."""
    return escape_latex(text).replace(r"\{", r"\textbraceleft{}").replace(r"\}", r"\textbraceright{}")


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
    widths = []
    for column, head in enumerate(table.head):
        cells = [head, *(str(row[column]) for row in table.rows)]
        words = (len(word) for cell in cells for word in cell.split())
        widths.append((max(map(len, cells)), max(words, default=0)))
    return widths


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


@dataclass(frozen=True)
class Figure:
    """`first`: it opens the report. `files` are paths relative to the report, by suffix.

    `asked`: the name of the study's own figure that it is, `title` that figure's.
    """

    name: str
    caption: str
    wide: bool
    first: bool
    of_data: bool
    data_uri: str
    files: Mapping[str, str]
    asked: str = ""
    title: str = ""


class PaperArchive(NamedTuple):
    """A page as it was measured."""

    name: str
    start_url: str
    digest: str


class Tex(str):
    """What is TeX already: names of our own, and what the template made itself."""

    __slots__ = ()


def write(
    results: Results, tables: Sequence[Table], figures: Sequence[Figure], report: Path, directory: Path
) -> Path:
    """Write the document into `directory`; `report` is the folder that holds the figures as files."""
    for folder in ("figures", "tables"):
        (directory / folder).mkdir(parents=True, exist_ok=True)
    for figure in figures:
        shutil.copyfile(report / figure.files["pdf"], directory / "figures" / f"{figure.name}.pdf")
    for table in _shown(tables, figures):
        (directory / "tables" / f"{table.name}.tex").write_text(paper_table(table), encoding="utf-8")
    (directory / REFERENCES).write_text(bibliography(results), encoding="utf-8")
    path = directory / PAPER
    path.write_text(render(results, tables, figures), encoding="utf-8")
    return path


def render(results: Results, tables: Sequence[Table], figures: Sequence[Figure]) -> str:
    """The document as text. Every value that the template names is escaped."""
    source = (resources.files("analysis.report") / TEMPLATE).read_text(encoding="utf-8")
    # Nothing of it is HTML: `finalize` escapes for TeX instead.
    environment = jinja2.Environment(  # noqa: S701
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_escaped,
    )
    environment.filters["tex"] = Tex
    names = [table.name for table in _shown(tables, figures)]
    return environment.from_string(source).render(
        title=facts.title(results),
        progress=facts.progress(results),
        notes=facts.notes(results),
        named=results.named,
        claims=[said.text for said in summary.claims(results)],
        interactions=summary.interactions(results),
        floor=summary.floor(results) if results.claims else "",
        of_all=summary.of_all(results),
        methods=tuple(method_texts(results)),
        archives=list(_archives(results)),
        answers=[name for name in ANSWERS if name in names],
        asked_tables=[name for name in names if name.startswith(PREFIX)],
        other_tables=[
            name for name in names if name not in (*ANSWERS, *OF_METHODS) and not name.startswith(PREFIX)
        ],
        tables_of_methods=[name for name in OF_METHODS if name in names],
        first=[figure for figure in figures if figure.first],
        asked=[figure for figure in figures if figure.asked],
        estimates=[
            figure for figure in figures if not figure.first and not figure.of_data and not figure.asked
        ],
        publications=results.publications,
        pictures=[figure for figure in figures if figure.of_data],
        pictures_say=TEXTS[results.kind].pictures,
        originals=[original.key for original in originals(results)],
        runs=words.listed(list(results.by_name)),
    )


def _shown(tables: Sequence[Table], figures: Sequence[Figure]) -> list[Table]:
    """Those of the paper: all but the data of the study's own figures that are drawn."""
    drawn = {f"{PREFIX}{figure.asked}" for figure in figures if figure.asked}
    return [table for table in tables if table.name not in drawn]


def _escaped(value: Any) -> str:
    return value if isinstance(value, Tex) else escape_latex(str(value))


def _archives(results: Results) -> Iterator[PaperArchive]:
    """The archives of all runs, once each."""
    told = (item for run in results.runs for item in part(run.environment, "archives").items())
    archives = (
        PaperArchive(str(name), str(each.get("start_url") or ""), str(each.get("digest") or "")[:16])
        for name, each in told
        if isinstance(each, dict)
    )
    yield from dict.fromkeys(archives)
