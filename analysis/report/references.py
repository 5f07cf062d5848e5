"""The bibliography of a paper: coldload in its version, the statistics, and the study that was repeated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from analysis.evaluation.results import Results
from analysis.labels.latex import escape_latex


class Reference(NamedTuple):
    """A BibTeX entry; `fields` are plain text."""

    key: str
    kind: str
    fields: tuple[tuple[str, str], ...]


STATISTICS = (
    Reference(
        "hettmansperger1986",
        "article",
        (
            ("author", "Hettmansperger, Thomas P. and Sheather, Simon J."),
            ("title", "Confidence intervals based on interpolated order statistics"),
            ("journal", "Statistics & Probability Letters"),
            ("volume", "4"),
            ("number", "2"),
            ("pages", "75-79"),
            ("year", "1986"),
        ),
    ),
    Reference(
        "benjamini1995",
        "article",
        (
            ("author", "Benjamini, Yoav and Hochberg, Yosef"),
            (
                "title",
                "Controlling the false discovery rate: a practical and powerful approach to multiple testing",
            ),
            ("journal", "Journal of the Royal Statistical Society, Series B"),
            ("volume", "57"),
            ("number", "1"),
            ("pages", "289-300"),
            ("year", "1995"),
        ),
    ),
)


def bibliography(results: Results) -> str:
    """references.bib."""
    return "\n".join(map(_entry, (ourselves(results), *originals(results), *STATISTICS)))


def ourselves(results: Results) -> Reference:
    """The program itself in the version, or versions, that measured."""
    versions = dict.fromkeys(
        str(run.environment["coldload"]) for run in results.runs if run.environment.get("coldload")
    )
    fields = [
        ("title", "coldload: a page-load laboratory on one machine"),
        ("author", "The coldload authors"),
    ]
    if versions:
        fields.append(("note", f"Version {', '.join(versions)}"))
    if year := _year(results):
        fields.append(("year", year))
    return Reference("coldload", "misc", tuple(fields))


def originals(results: Results) -> Iterator[Reference]:
    """The studies that the runs repeat, where they say so."""
    for number, each in enumerate(results.publications, start=1):
        key = f"original{number}"  # by which BibTeX sorts what has no author
        yield Reference(key, "misc", (("key", key), ("title", each.title), ("howpublished", each.source)))


def _year(results: Results) -> str:
    """The last one in which something was measured; empty when no record tells."""
    if "started_utc" not in results.records:
        return ""
    started = pd.to_datetime(
        results.records["started_utc"], errors="coerce", utc=True, format="ISO8601"
    ).dropna()
    return "" if started.empty else f"{started.max():%Y}"


def _entry(reference: Reference) -> str:
    lines = "".join(f"  {name} = {{{_braced(text)}}},\n" for name, text in reference.fields)
    return f"@{reference.kind}{{{reference.key},\n{lines}}}\n"


def _braced(text: str) -> str:
    """For a field: BibTeX counts braces also where TeX does not, so none stands alone."""
    return escape_latex(text).replace(r"\{", r"\textbraceleft{}").replace(r"\}", r"\textbraceright{}")
