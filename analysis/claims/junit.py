"""The claims of a report as a JUnit XML file, which CI systems show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analysis.claims import junitxml
from analysis.claims.claimresult import ClaimRow, ClaimVerdict
from analysis.claims.claimtext import setting_text
from analysis.claims.junitxml import Case, Ending


def write(rows: Sequence[ClaimRow], title: str, path: Path) -> None:
    """Write the file; `title` is the name of its one suite."""
    path.write_bytes(to_xml(rows, title))


def to_xml(rows: Sequence[ClaimRow], title: str) -> bytes:
    """One suite with one case per row. A row that fails its command is a failure or, without data, an error.

    One of which nothing is known yet is skipped; what nobody expects anything of passes, with its sentence as output.
    """
    return junitxml.to_xml(map(_case, rows), title)


def _case(row: ClaimRow) -> Case:
    name = f"{row.claim.name}, {setting_text(row.setting, row.pages)}" if row.pages else row.claim.name
    return Case(name, _ending(row), row.sentence, row.verdict.value)


def _ending(row: ClaimRow) -> Ending:
    if row.went_wrong:
        return Ending.ERROR if row.verdict is ClaimVerdict.NO_DATA else Ending.FAILED
    if row.verdict in (ClaimVerdict.UNKNOWN, ClaimVerdict.NO_DATA):
        return Ending.SKIPPED
    return Ending.PASSED
