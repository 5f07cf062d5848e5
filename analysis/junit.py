"""The claims of a report as a JUnit XML file, which CI systems show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from analysis.claimresult import ClaimRow, ClaimVerdict
from analysis.claimtext import setting_text

# What XML 1.0 can hold in no way, not even escaped.
_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(rows: Sequence[ClaimRow], title: str, path: Path) -> None:
    """Write the file; `title` is the name of its one suite."""
    path.write_bytes(to_xml(rows, title))


def to_xml(rows: Sequence[ClaimRow], title: str) -> bytes:
    """One suite with one case per row. A row that fails its command is a failure or, without data, an error.

    One of which nothing is known yet is skipped; what nobody expects anything of passes, with its sentence as output.
    """
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", name=_possible(title))
    for row in rows:
        _add_case(suite, row)
    for what, tag in (
        ("tests", "testcase"),
        ("failures", "failure"),
        ("errors", "error"),
        ("skipped", "skipped"),
    ):
        suite.set(what, str(sum(1 for _ in suite.iter(tag))))
    ElementTree.indent(suites)
    text: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _add_case(suite: ElementTree.Element, row: ClaimRow) -> None:
    name = f"{row.claim.name}, {setting_text(row.setting, row.pages)}" if row.pages else row.claim.name
    case = ElementTree.SubElement(
        suite, "testcase", classname=suite.get("name", ""), name=_possible(name), time="0"
    )
    sentence = _possible(row.sentence)
    if row.went_wrong:
        tag = "error" if row.verdict is ClaimVerdict.NO_DATA else "failure"
        ElementTree.SubElement(case, tag, message=sentence, type=row.verdict.value).text = sentence
    elif row.verdict in (ClaimVerdict.UNKNOWN, ClaimVerdict.NO_DATA):
        ElementTree.SubElement(case, "skipped", message=sentence)
    else:
        ElementTree.SubElement(case, "system-out").text = sentence


def _possible(text: str) -> str:
    return _IMPOSSIBLE.sub("\ufffd", text)
