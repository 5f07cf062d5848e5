"""analysis.comparing.pair: two runs of a study, their claims, and the page that shows them."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.claims.claimresult import ClaimVerdict
from analysis.claims.claims import claims_of
from analysis.comparing.matching import Side
from analysis.comparing.page import page_of_pair, render
from analysis.comparing.pair import ClaimChanges, claim_changes, compare_runs, load_pair
from analysis.evaluation.results import evaluate
from analysis.labels import words
from analysis.runs.rundirectory import load
from analysis.statistics.compare import Certainty, Verdict
from harness.errors import RecordsError
from harness.study.claim import Claim
from tests.facts import tells
from tests.unit.analysis.runpairs import STUDY, claim_all, edit, measured_twice, slower, two_runs

SMALL = replace(STUDY, pages=("one",))
H2, HTTP1 = {"protocol": "h2"}, {"protocol": "http1"}  # made up: h2 takes some 0.9 of the time
EXPECTED = Claim(name="faster", subject=H2, reference=HTTP1, ratio_below=1.0)
TOLD = Claim(name="told", subject=H2, reference=HTTP1)
STEADY = Claim(name="steady", subject={"protocol": "http1-close"}, reference=HTTP1)


def asked(a: Path, b: Path) -> ClaimChanges:
    runs = load(a), load(b)
    sides = Side.of(runs[0]), Side.of(runs[1])
    return claim_changes(claims_of(runs, sides[0].dimensions), *sides, Certainty())


def test_a_claim_that_holds_no_more_and_a_direction_that_turned_are_named(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, slower(1.5, protocol="h2"), SMALL)
    for run in (a, b):
        claim_all(run, EXPECTED, TOLD, STEADY)
    found = asked(a, b)
    assert found.asked == 6  # two links each
    assert [each.a.claim.name for each in found.changed] == ["faster", "faster", "told", "told"]
    first, told = found.changed[0], found.changed[2]
    assert (first.a.verdict, first.b.verdict) == (ClaimVerdict.HOLDS, ClaimVerdict.FAILS)
    assert told.a.judgement is not None
    assert told.b.judgement is not None
    assert (told.a.judgement.verdict, told.b.judgement.verdict) == (Verdict.FASTER, Verdict.SLOWER)


def test_what_was_picked_out_of_several_claims_has_the_interval_of_that_choice(tmp_path: Path) -> None:
    def later(condition: Mapping[str, Any]) -> float:
        hit = condition["protocol"] == "h2" and condition["link"]["rtt_ms"] == 100
        return 1.5 if hit else 1.0

    a, b = two_runs(tmp_path, later, SMALL)
    for run in (a, b):
        claim_all(run, TOLD, STEADY)
    found = asked(a, b)
    assert (found.asked, len(found.changed)) == (4, 1)
    for row in (found.changed[0].a, found.changed[0].b):
        seen = row.comparison
        assert seen is not None
        assert seen.confidence == pytest.approx(1 - 0.05 / 4)
        assert seen.statistic is not None
        assert (math.log(seen.low), math.log(seen.high)) == pytest.approx(
            seen.statistic.interval(1 - 0.05 / 4)
        )
        assert words.ratio_span(seen.low, seen.high) in row.sentence


def test_runs_without_a_change_change_no_verdict(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    for run in (a, b):
        claim_all(run, EXPECTED, TOLD, STEADY)
    assert asked(a, b) == ClaimChanges(6, ())


def test_each_run_is_judged_by_its_own_floor_as_its_report_does(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    for run in (a, b):
        claim_all(run, EXPECTED)
    measured_twice(a, 1.2)
    found = asked(a, b)
    assert len(found.changed) == 2
    for change, told in zip(found.changed, evaluate([load(a)]).claims, strict=True):
        assert change.a.verdict is told.verdict is ClaimVerdict.UNKNOWN
        assert change.a.floor == pytest.approx(told.floor) == pytest.approx(1.2)
        assert tells([change.a.sentence], "no finding", "below the floor")
        assert (change.b.verdict, change.b.floor) == (ClaimVerdict.HOLDS, None)
    measured_twice(b, 1.2)
    assert asked(a, b) == ClaimChanges(2, ())


def test_an_older_run_answers_the_claims_of_the_other(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, slower(1.5, protocol="h2"), SMALL)
    claim_all(b, EXPECTED)
    assert len(asked(a, b).changed) == 2


def test_older_runs_are_asked_the_usual_claims(tmp_path: Path) -> None:
    assert (
        asked(*two_runs(tmp_path, study=SMALL)).asked == 8
    )  # three protocols against http1, h2 against https1, on two links


PAGES = replace(STUDY, pages=("one", "two", "three"), rtts_ms=(50.0,))


def hit(*pages: str, **change: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The loads of these pages by HTTP/2 are changed so."""
    return lambda record: (
        record
        | (change if record["condition"]["page"] in pages and record["condition"]["protocol"] == "h2" else {})
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (hit("three", outcome="page-timeout", plt_ms=None), ("no finite ratio", "timed out")),
        (hit("two", "three", foreign_cpu_share=1.0), ("1 of 3 pages can be compared", "busy-machine")),
    ],
)
def test_a_claim_over_pages_that_one_run_tells_page_by_page_is_not_known_there(
    change: Callable[[dict[str, Any]], dict[str, Any]], says: tuple[str, ...], tmp_path: Path
) -> None:
    a, b = two_runs(tmp_path, study=PAGES)
    for run in (a, b):
        claim_all(run, TOLD)
    edit(b, change)
    found = asked(a, b)
    assert (found.asked, len(found.changed)) == (1, 1)
    first, second = found.changed[0].a, found.changed[0].b
    assert (first.verdict, second.verdict) == (ClaimVerdict.TOLD, ClaimVerdict.UNKNOWN)
    assert tells([second.sentence], "3 pages: not known yet", *says)


def test_pages_are_told_one_by_one_of_b_where_they_are_of_a(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, study=PAGES)
    for run in (a, b):
        claim_all(run, TOLD)
    edit(a, hit("three", outcome="page-timeout", plt_ms=None))
    found = asked(a, b)
    assert (found.asked, [each.b.pages for each in found.changed]) == (3, [("three",)])
    edit(b, lambda record: record if record["condition"]["page"] == "one" else None)
    assert asked(a, b).asked == 1


def test_packs_are_named_as_they_were_given(tmp_path: Path) -> None:
    a = SMALL.write(tmp_path / "unpacked" / "1")
    b = Path(shutil.copytree(a, tmp_path / "unpacked" / "2"))
    pack, copy = tmp_path / "run.zip", tmp_path / "copy.zip"
    for given, said in (
        ((pack, pack), f"the same run is given twice: {pack} and {pack}; name two runs"),
        (
            (pack, copy),
            f"{copy} holds 64 records of {pack}: one is a copy of the other, or of a part of it; name each run once",
        ),
    ):
        with pytest.raises(RecordsError) as refused:
            load_pair((a, b), given=given)
        assert str(refused.value) == said


@pytest.mark.thorough
def test_two_runs_have_a_page_too(tmp_path: Path) -> None:
    study = replace(STUDY, protocols=("http1", "h2"), trials=12, seed=1)
    parts: list[str] = []
    pair = compare_runs(load_pair(two_runs(tmp_path, slower(1.2, protocol="h2"), study)), tell=parts.append)
    count = len(pair.answers.metrics)
    assert parts == [f"metric {number} of {count}" for number in range(1, count + 1)] + ["claims"]
    text = render(page_of_pair(pair, 3.0))
    assert text.count('<div class="row worse"><b>Load</b>') == 4
    assert "one, h2, 10mbps-50ms" in text
    assert "exit code 1" in text
