"""Variants that are their original: which, and why."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from harness.input.shown import clipped, one_line, shortened
from harness.model.variant import Variant
from harness.study.study import Study
from sites.archive import archives_root, open_archive
from sites.optimise.derive import derive, derived_before

MOST_MADE = 40  # variants that a plan makes: about a second each
MOST_TOLD = 6
LONGEST = 400  # characters of a line


def original_text(page: str, variant: Variant, why: Iterable[str]) -> str:
    """That a variant is its original, and why."""
    return f"{variant} of {page} IS ITS ORIGINAL, not one byte is changed: {'; '.join(why) or 'it has no filter'}"


def originals(study: Study) -> Iterator[str]:
    """A line for each variant of a study that is its original. Variants are made to know it, unless they are many."""
    root = archives_root()
    archives = {page: open_archive(root, page) for page in study.every_page}
    asked = dict.fromkeys(
        (each.page, each.variant, each.engine) for each in study.conditions if not each.variant.is_plain
    )
    reports = {
        (page, variant, engine): derived_before(archives[page], variant, engine)
        for page, variant, engine in asked
    }
    missing = [cell for cell, report in reports.items() if report is None]
    for number, (page, variant, engine) in enumerate(missing if len(missing) <= MOST_MADE else (), start=1):
        print(f"making {variant} of {page} ({number} of {len(missing)})", file=sys.stderr)
        reports[page, variant, engine] = derive(archives[page], variant, engine).report
    found = {  # engines that get the same share a line
        f"{page} {variant}": original_text(page, variant, report.why_unchanged)
        for (page, variant, _), report in reports.items()
        if report is not None and report.unchanged
    }
    for text in list(found.values())[:MOST_TOLD]:
        yield clipped(one_line(text), LONGEST)
    if len(found) > MOST_TOLD:
        yield f"also their originals: {shortened(list(found)[MOST_TOLD:], MOST_TOLD)}"
    if len(missing) > MOST_MADE:
        yield (
            f"{len(missing)} variants are not made yet: which of them are their originals is known once the study has "
            "run, or by `coldload optimize`"
        )
