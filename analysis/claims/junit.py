"""The claims of a report as a JUnit XML file, which CI systems show."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from xml.etree import ElementTree

from analysis.claims.claimresult import ClaimRow, ClaimVerdict, Wording, setting_text
from harness.input.shown import printable

# What XML 1.0 can hold in no way, not even escaped.
_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Ending(StrEnum):
    """How a case ended, as the element that says so; one that passed only says what was seen."""

    PASSED = "system-out"
    FAILED = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Case:
    """One case of a suite. `kind` is the short word for what was found."""

    name: str
    ending: Ending
    sentence: str
    kind: str


def suite(cases: Iterable[Case], title: str) -> bytes:
    """One suite of that name."""
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", name=_possible(title))
    for case in cases:
        _add(suite, case)
    for what, tag in (
        ("tests", "testcase"),
        ("failures", Ending.FAILED),
        ("errors", Ending.ERROR),
        ("skipped", Ending.SKIPPED),
    ):
        suite.set(what, str(sum(1 for _ in suite.iter(tag))))
    ElementTree.indent(suites)
    text: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _add(suite: ElementTree.Element, case: Case) -> None:
    element = ElementTree.SubElement(
        suite, "testcase", classname=suite.get("name", ""), name=_possible(case.name), time="0"
    )
    sentence = _possible(case.sentence)
    if case.ending is Ending.PASSED:
        ElementTree.SubElement(element, case.ending.value).text = sentence
    elif case.ending is Ending.SKIPPED:
        ElementTree.SubElement(element, case.ending.value, message=sentence)
    else:
        ElementTree.SubElement(
            element, case.ending.value, message=sentence, type=_possible(case.kind)
        ).text = sentence


def _possible(text: str) -> str:
    return _IMPOSSIBLE.sub("\ufffd", printable(text))


def case_of(row: ClaimRow, of_study: Wording) -> Case:
    """A claim that fails its command is a failure or, without data, an error.

    One of which nothing is known yet is skipped; what nobody expects anything of passes, with its sentence as output.
    `of_study`: the wording of the results, so that the name holds all that tells settings apart.
    """
    telling = Wording(Wording().telling | of_study.telling)
    where = setting_text(row.setting, row.pages, telling)
    name = f"{row.claim.name}, {where}" if row.pages else row.claim.name
    return Case(name, _ending(row), row.sentence, row.verdict.value)


def _ending(row: ClaimRow) -> Ending:
    if row.went_wrong:
        return Ending.ERROR if row.verdict is ClaimVerdict.NO_DATA else Ending.FAILED
    if row.verdict in (ClaimVerdict.UNKNOWN, ClaimVerdict.NO_DATA):
        return Ending.SKIPPED
    return Ending.PASSED
