"""Claims whose verdict is another one in the second run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.claims.claimresult import ClaimVerdict
from analysis.claims.claims import claims_of
from analysis.comparing.matching import Side
from analysis.comparing.runpair import ClaimChanges, claim_changes, load_pair
from analysis.runs.rundirectory import load
from analysis.statistics.compare import Certainty, Verdict
from harness.errors import RecordsError
from harness.study.claim import Claim
from tests.unit.analysis.runpairs import STUDY, claim_all, slower, two_runs

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


def test_runs_without_a_change_change_no_verdict(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    for run in (a, b):
        claim_all(run, EXPECTED, TOLD, STEADY)
    assert asked(a, b) == ClaimChanges(6, ())


def test_an_older_run_answers_the_claims_of_the_other(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, slower(1.5, protocol="h2"), SMALL)
    claim_all(b, EXPECTED)
    assert len(asked(a, b).changed) == 2


def test_older_runs_are_asked_the_usual_claims(tmp_path: Path) -> None:
    assert (
        asked(*two_runs(tmp_path, study=SMALL)).asked == 8
    )  # three protocols against http1, h2 against https1, on two links


def test_packs_are_named_as_they_were_given(tmp_path: Path) -> None:
    a, b = (SMALL.write(tmp_path / "unpacked" / name) for name in ("1", "2"))
    pack, copy = tmp_path / "run.zip", tmp_path / "copy.zip"
    for given, said in (
        ((pack, pack), f"the same run is given twice: {pack} and {pack}; name two runs"),
        ((pack, copy), f"{copy} holds the very records of {pack}: it is a copy; name two runs"),
    ):
        with pytest.raises(RecordsError) as refused:
            load_pair((a, b), given=given)
        assert str(refused.value) == said
