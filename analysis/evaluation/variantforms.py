"""What variants of a run were beside their names: what they went without, their limits, and which were the original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.labels import engines
from analysis.labels.conditions import BESIDE_VARIANTS
from analysis.runs.rundirectory import Run
from harness.errors import StudyError
from harness.input.shown import clipped, one_line
from harness.model.condition import OF_VARIANTS, value, variant_of

LONGEST_WHY = 300  # characters
FORM = ("page", "variant", *OF_VARIANTS)


def forms(runs: Sequence[Run]) -> list[str]:
    """`agency: core without inline_css`, `core with shard.hosts=4`, `article: inline is its original (...)`."""
    return list(dict.fromkeys(text for run in runs for text in (*_beside(run), *_originals(run))))


def form_of(row: Mapping[str, Any]) -> str:
    """A variant with what is beside its name: `core without inline_css`."""
    told = [BESIDE_VARIANTS[name](row[name]) for name in OF_VARIANTS if value(row, name) is not None]
    return " ".join([str(row["variant"]), *told])


def variants_of(run: Run) -> list[dict[str, Any]]:
    """Each variant of each page as its records have it."""
    there = run.records.reindex(columns=[*FORM]).drop_duplicates().dropna(subset=["page", "variant"])
    return [{str(name): each for name, each in row.items()} for row in there.to_dict("records")]


def _beside(run: Run) -> Iterator[str]:
    for row in variants_of(run):
        if value(row, "without") is not None:
            yield f"{row['page']}: {form_of(row)}"
        elif value(row, "filter_settings") is not None:
            yield form_of(row)


def _originals(run: Run) -> Iterator[str]:
    """The variants of which the digest is that of the page, with the reason where the run tells it."""
    archives = run.environment.get("archives")
    known = archives if isinstance(archives, dict) else {}
    for row in variants_of(run):
        try:
            variant = variant_of({name: each for name, each in row.items() if value(row, name) is not None})
        except (StudyError, ValueError):  # of another version
            continue
        served = variant.served_name(str(row["page"]))
        for name, made in known.items():  # engines that get different archives have one each
            why = made.get("unchanged") if isinstance(made, dict) else None
            place, _, engine = str(name).partition(", ")
            if place == served and isinstance(why, list):
                reasons = clipped(one_line("; ".join(map(str, why)) or "it has no filter"), LONGEST_WHY)
                where = f" in {engines.label(engine)}" if engine else ""
                yield f"{row['page']}: {form_of(row)} is its original{where} ({reasons})"
