"""Which changes of numbers that CHANGELOG.md tells of concern a run that is older.

An entry begins as one of these:

    - **number** 2026-11-22.                        it concerns every run that began on that day or before
    - **number** 2026-11-23 10:39 (QtWebKit).       those that began before that minute (UTC), in QtWebKit
    - **number** 2026-11-25 (reckoned).             none: it changes how records are read, which is done anew

In brackets stand names of engines and of studies, or words of `CONCERNS`, each with what of a run it asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from analysis.labels.conditions import ENGINES
from harness.study.studyfile import shipped_studies

Facts = Mapping[str, str]  # what a report's head says of a run: `study`, `measured`, `browser`, ...

_ENTRY = re.compile(
    r"^- \*\*number\*\* (?P<when>\d{4}-\d\d-\d\d(?: \d\d:\d\d)?)(?: \((?P<whom>[^)]*)\))?\.", re.MULTILINE
)
_BEGAN = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")

CONCERNS: Mapping[str, Callable[[Facts], bool]] = {
    "reckoned": lambda _: False,
    "studies that do not ship": lambda _: False,
    "verify": lambda _: False,
    "waits in WebKit": lambda _: False,  # no document quotes them
    "page loads": lambda run: "browser" in run,
    "variants": lambda run: "variants" in run.get("design", ""),
}


@dataclass(frozen=True)
class Change:
    """When a number changed, to the day or the minute, and whom it concerns: every run where `whom` is empty."""

    when: str
    whom: tuple[str, ...]

    def concerns(self, run: Facts) -> bool:
        """Whether a run was measured before the change, and another would give other numbers."""
        began = re.search(_BEGAN, run["measured"])
        if began is None:
            raise ValueError(f"{run['study']} does not say when it began: {run['measured']}")
        return began[0][: len(self.when)] <= self.when and (
            not self.whom or any(_is_of(word, run) for word in self.whom)
        )


def changes(changelog: str) -> Iterator[Change]:
    """All entries; ValueError for one that concerns what nobody knows."""
    for entry in _ENTRY.finditer(changelog):
        whom = tuple(word.strip(" `") for word in (entry["whom"] or "").split(",") if word.strip())
        known = {*CONCERNS, *ENGINES.values(), *shipped_studies()}
        for word in whom:
            if word not in known:
                raise ValueError(f"CHANGELOG.md, number of {entry['when']}: nothing is called {word}")
        yield Change(entry["when"], whom)


def _is_of(word: str, run: Facts) -> bool:
    if word in CONCERNS:
        return CONCERNS[word](run)
    return word == run["study"] or re.search(rf"(?<!\w){re.escape(word)}", _engines(run)) is not None


def _engines(run: Facts) -> str:
    return run.get("browser", run.get("generator", ""))
