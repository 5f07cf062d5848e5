"""Claims as JUnit XML: what CI systems read."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from analysis.claims.claimresult import ClaimRow, ClaimVerdict, Wording
from analysis.claims.junit import case_of, suite
from analysis.evaluation.results import evaluate
from analysis.runs.rundirectory import load
from harness.study.claim import Claim
from tests.unit.analysis.synthetic import Synthetic

# The JUnit schema that CI systems agree on (Jenkins' junit-10.xsd): attributes and children of each element.
SCHEMA = {
    "testsuites": ({"name", "time", "tests", "failures", "disabled", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id"},
        {"properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": (
        {"name", "assertions", "time", "classname", "status"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": ({"type", "message"}, set()),
    "error": ({"type", "message"}, set()),
    "skipped": ({"type", "message"}, set()),
    "system-out": (set(), set()),
}
NEEDED = {"testsuite": {"name", "tests"}, "testcase": {"name"}}


def row(
    verdict: ClaimVerdict, *, expects: bool = True, sentence: str = "told.", name: str = "h2 wins"
) -> ClaimRow:
    claim = Claim(
        name=name,
        subject={"protocol": "h2"},
        reference={"protocol": "http1"},
        ratio_below=0.95 if expects else None,
    )
    return ClaimRow(claim, {"link": "10mbps-50ms"}, verdict, sentence, ("one", "two"))


def parsed(*rows: ClaimRow) -> ElementTree.Element:
    """The one suite, once it has been held against the schema."""
    cases = (case_of(row, Wording()) for row in rows)
    root = ElementTree.fromstring(suite(cases, "A study"))  # noqa: S314  # we wrote it
    for element in root.iter():
        attributes, children = SCHEMA[element.tag]
        assert NEEDED.get(element.tag, set()) <= element.attrib.keys() <= attributes
        assert {child.tag for child in element} <= children
    (found,) = root
    return found


@pytest.mark.parametrize(
    ("verdict", "expects", "tag"),
    [
        (ClaimVerdict.HOLDS, True, "system-out"),
        (ClaimVerdict.FAILS, True, "failure"),
        (ClaimVerdict.NO_DATA, True, "error"),
        (ClaimVerdict.UNKNOWN, True, "skipped"),
        (ClaimVerdict.TOLD, False, "system-out"),
        (ClaimVerdict.UNKNOWN, False, "skipped"),
        (ClaimVerdict.NO_DATA, False, "skipped"),
    ],
)
def test_each_verdict_has_its_element(verdict: ClaimVerdict, expects: bool, tag: str) -> None:
    (case,) = parsed(row(verdict, expects=expects))
    (found,) = case
    assert found.tag == tag
    assert "told." in (found.text, found.get("message"))


def test_every_verdict_is_placed() -> None:
    found = parsed(*(row(verdict, expects=expects) for verdict in ClaimVerdict for expects in (True, False)))
    assert len(found) == 2 * len(ClaimVerdict)


def test_a_suite_counts_its_cases() -> None:
    verdicts = [
        ClaimVerdict.HOLDS,
        *[ClaimVerdict.FAILS] * 3,
        *[ClaimVerdict.NO_DATA] * 2,
        ClaimVerdict.UNKNOWN,
    ]
    found = parsed(*map(row, verdicts))
    assert [found.get(key) for key in ("name", "tests", "failures", "errors", "skipped")] == [
        "A study",
        "7",
        "3",
        "2",
        "1",
    ]
    assert [parsed().get(key) for key in ("tests", "failures")] == ["0", "0"]


def test_a_case_is_named_by_claim_and_setting() -> None:
    (case,) = parsed(row(ClaimVerdict.HOLDS))
    assert case.get("name") == "h2 wins, 2 pages, 10mbps-50ms"
    assert case.get("classname") == "A study"


def test_cases_of_different_settings_have_different_names(tmp_path: Path) -> None:
    """Also where a dimension tells them apart that most studies have one value of."""
    run = Synthetic(
        pages=("one",),
        protocols=("http1", "h2"),
        rates_mbps=(10.0,),
        rtts_ms=(50.0,),
        drivers=("playwright", "selenium"),
        claims=(row(ClaimVerdict.TOLD).claim,),
    ).write(tmp_path / "run")
    results = evaluate([load(run)])
    names = [case_of(each, results.wording).name for each in results.claims]
    assert [name.startswith("h2 wins, one, 10mbps-50ms, ") for name in names] == [True, True]
    assert [("playwright" in name, "selenium" in name) for name in names] == [(True, False), (False, True)]


def test_any_text_is_held() -> None:
    bad = "a<b>&\"'\x00\x07\x1b[31m\ud800\ufffe\u202e]]> \u00e9\U0001f600\n"
    (case,) = parsed(row(ClaimVerdict.FAILS, sentence=bad, name=bad))
    (failure,) = case
    assert (
        failure.text
        == failure.get("message")
        == "a<b>&\"'\\x00\\x07\\x1b[31m\\ud800\ufffd\\u202e]]> \u00e9\U0001f600\n"
    )


def test_the_file_is_utf8() -> None:
    text = suite([case_of(row(ClaimVerdict.TOLD, sentence="\u00e9"), Wording())], "A study").decode()
    assert text.startswith("<?xml version='1.0' encoding='utf-8'?>")
    assert "\u00e9" in text
