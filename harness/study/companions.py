"""The files that a study names beside itself: traces and step lists, sets of pages, claims that others published.

A run keeps them all, also those that `--only` leaves out: the study's text names them, and is read again elsewhere.
"""

from __future__ import annotations

from harness.model.rate import RecordedRate
from harness.study.pageset import FOLDER as SETS
from harness.study.pageset import set_text
from harness.study.study import Study

RATES, PUBLISHED = "rates", "published.toml"
KEPT = (RATES, SETS, PUBLISHED)  # in a run directory
DIGITS = 12  # of the digest of a trace, by which two of one name are told apart


def companions_of(study: Study) -> dict[str, str]:
    """The texts of the files, by their places in a run directory."""
    found: dict[str, str] = {}
    for part in study.parts:
        for rate in (direction.rate for link in part.links for direction in link.directions):
            if isinstance(rate, RecordedRate):
                found[f"{RATES}/{rate.sha256[:DIGITS]}-{rate.file}"] = rate.text
        for name, pages in part.sets.items():
            found[f"{SETS}/{name}.toml"] = set_text(name, pages)
    if study.published is not None and study.published.text:
        found[PUBLISHED] = study.published.text
    return found
