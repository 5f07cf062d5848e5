"""A report as a LaTeX document to hand in: `paper.tex` with figures as PDF, tables, methods and a bibliography.

It needs article, geometry, graphicx and booktabs alone: Debian's texlive-latex-base and texlive-latex-recommended.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from analysis.evaluation.results import Results, run_names
from analysis.labels import words
from analysis.labels.latex import escape_latex
from analysis.report import facts, summary
from analysis.report.kindtexts import TEXTS
from analysis.report.methodtexts import method_texts
from analysis.report.papertable import paper_table
from analysis.report.references import bibliography, originals
from analysis.report.reportfigure import Figure
from analysis.tables.figuretables import PREFIX
from analysis.tables.table import Table

TEMPLATE = "paper.tex.j2"
PAPER, REFERENCES = "paper.tex", "references.bib"
# By the section of the paper; all others stand among the results.
ANSWERS = ("published", "claims", "equal-baselines", "published-by-page", "published-by-run", "claims-by-run")
OF_METHODS = ("calibration", "attempts", "exclusions", "claims-of-all", "loads-that-differ")


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
        originals=[each.key for each in originals(results)],
        runs=words.listed(run_names(results.runs)),
    )


def _shown(tables: Sequence[Table], figures: Sequence[Figure]) -> list[Table]:
    """Those of the paper: all but the data of the study's own figures that are drawn."""
    drawn = {f"{PREFIX}{figure.asked}" for figure in figures if figure.asked}
    return [table for table in tables if table.name not in drawn]


def _escaped(value: Any) -> str:
    return value if isinstance(value, Tex) else escape_latex(str(value))


def _archives(results: Results) -> Iterator[PaperArchive]:
    """The archives of all runs, once each."""
    seen = set()
    for run in results.runs:
        archives = run.environment.get("archives")
        for name, told in archives.items() if isinstance(archives, dict) else ():
            if isinstance(told, dict):
                digest = str(told.get("digest") or "")[:16]
                found = PaperArchive(str(name), str(told.get("start_url") or ""), digest)
                if found not in seen:
                    seen.add(found)
                    yield found
