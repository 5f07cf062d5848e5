"""Two runs, and two releases within one: their claims and figures, and the page that shows them."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.claims.claimresult import ClaimRow, ClaimVerdict
from analysis.claims.claims import claims_of
from analysis.comparing.answers import lines
from analysis.comparing.between import Bounded
from analysis.comparing.matching import Side
from analysis.comparing.page import FileRow, page_of_pair, page_of_versus, render, write
from analysis.comparing.pair import ClaimChanges, claim_changes, compare_runs, load_pair, read_versus
from analysis.evaluation.results import evaluate
from analysis.labels import words
from analysis.runs.rundirectory import load
from analysis.statistics.compare import Certainty, Verdict
from harness.errors import RecordsError
from harness.study.claim import Claim
from tests.facts import tells
from tests.unit.analysis.runpairs import STUDY, claim_all, edit, measured_twice, slower, two_runs
from tests.unit.analysis.synthetic import Synthetic

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


METRICS = ("fcp_ms", "plt_ms", "tbt_ms", "requests")
CLAIMS = tuple(
    Claim(name=metric, subject={"page": "two"}, reference={"page": "one"}, metric=metric)
    for metric in METRICS
)
RUN = Synthetic(
    pages=("one", "two"),
    protocols=("h2",),
    rates_mbps=(10.0,),
    rtts_ms=(50.0, 100.0),
    trials=12,
    aa=True,
    claims=CLAIMS,
    factors={"two": 1.1},
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = RUN.write(tmp_path_factory.mktemp("versus") / "run")
    edit(made, lambda record: record | {"tbt_ms": 0.0})
    return made


def row_of(rows: tuple[ClaimRow, ...], metric: str, where: str) -> ClaimRow:
    (row,) = (each for each in rows if (each.claim.metric, each.where) == (metric, where))
    return row


@pytest.mark.thorough
def test_the_figures_are_those_of_the_claims(run: Path) -> None:
    answers = read_versus(run).answers
    assert answers.names == ("one", "two")
    assert [place.text for place in answers.places] == ["50 ms RTT", "100 ms RTT"]
    assert answers.metrics == METRICS
    rows = evaluate([load(run)]).claims
    for place in answers.places:
        for each in place.changes:
            row = row_of(rows, each.metric, place.text)
            assert each.floor == row.floor
            if each.metric != "tbt_ms":
                assert (each.comparison, each.judgement) == (row.comparison, row.judgement)
    load_time = answers.places[0].changes[1]
    assert load_time.comparison.ratio == pytest.approx(1.1, abs=0.02)
    assert load_time.against(3) is Bounded.ABOVE
    assert answers.outcome(3) is Bounded.ABOVE


@pytest.mark.thorough
def test_a_difference_of_values_without_a_ratio_pays_for_the_claims(run: Path, tmp_path: Path) -> None:
    made = Path(shutil.copytree(run, tmp_path / "run"))
    edit(
        made,
        lambda record: (
            record | {"tbt_ms": 200.0 + 10 * record["block"] if record["condition"]["page"] == "two" else 0.0}
        ),
    )
    for place in read_versus(made).answers.places:
        (blocked,) = (each for each in place.changes if each.metric == "tbt_ms")
        assert blocked.judgement.q < 0.001
        assert blocked.against(3) is Bounded.ABOVE
        alike = next(each for each in read_versus(run).answers.changes if each.metric == "tbt_ms")
        assert (alike.judgement.q, alike.against(3)) == (1.0, Bounded.WITHIN)


@pytest.mark.thorough
def test_a_metric_that_was_not_claimed_and_a_run_of_something_else_are_refused(
    run: Path, tmp_path: Path
) -> None:
    assert read_versus(run, ["plt_ms"]).answers.metrics == ("plt_ms",)
    with pytest.raises(RecordsError, match=r"not ask for lcp_ms; .*: fcp_ms, plt_ms"):
        read_versus(run, ["lcp_ms"])
    other = replace(RUN, claims=None, protocols=("http1", "h2")).write(tmp_path / "other")
    with pytest.raises(RecordsError, match=r"no run of two releases or variants"):
        read_versus(other)


@pytest.mark.thorough
def test_the_page_says_what_the_terminal_says(run: Path, tmp_path: Path) -> None:
    versus = read_versus(run)
    files = [FileRow("https://a.example/<x>.js", "5 to 9 bytes")]
    write(page_of_versus(versus, 3.0, files, "1 file differs"), tmp_path / "versus.html")
    text = (tmp_path / "versus.html").read_text(encoding="utf-8")
    for head, told in lines(versus.answers.places, 0.03, None):
        assert head in text
        assert told in text
    assert 'class="verdict above"' in text
    assert "https://a.example/&lt;x&gt;.js" in text
    assert "http" not in text.replace("https://a.example", "").replace("http-equiv", "")  # nothing is fetched


@pytest.mark.thorough
def test_two_runs_have_a_page_too(tmp_path: Path) -> None:
    study = replace(RUN, claims=None, protocols=("http1", "h2"), seed=1)
    parts: list[str] = []
    pair = compare_runs(load_pair(two_runs(tmp_path, slower(1.2, protocol="h2"), study)), tell=parts.append)
    count = len(pair.answers.metrics)
    assert parts == [f"metric {number} of {count}" for number in range(1, count + 1)] + ["claims"]
    text = render(page_of_pair(pair, 3.0))
    assert text.count('<div class="row worse"><b>Load</b>') == 4
    assert "one, h2, 10mbps-50ms" in text
    assert "exit code 1" in text


@pytest.mark.thorough
def test_a_side_without_a_trial_that_counts_is_none_of_each_that_count(run: Path, tmp_path: Path) -> None:
    assert read_versus(run).text.endswith(", 12 trials of each that count")
    made = Path(shutil.copytree(run, tmp_path / "run"))
    edit(made, lambda each: each | ({"outcome": "page-error"} if each["condition"]["page"] == "two" else {}))
    assert read_versus(made).text.endswith(", 0 to 12 trials of each that count")
    once = replace(RUN, trials=1).write(tmp_path / "once")
    assert read_versus(once).text.endswith(", 1 trial of each that counts")


@pytest.mark.thorough
def test_a_run_that_has_loaded_one_side_alone_says_so(run: Path, tmp_path: Path) -> None:
    made = Path(shutil.copytree(run, tmp_path / "run"))
    edit(made, lambda each: each if each["condition"]["page"] == "one" else None)
    with pytest.raises(RecordsError, match=r"holds no loads yet of both sides"):
        read_versus(made)
