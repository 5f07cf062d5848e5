"""Events that did not happen: a crowd without an error says something of a published first error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.claims.claimresult import ClaimRow, ClaimVerdict
from analysis.evaluation.results import Results, evaluate
from analysis.runs.rundirectory import load
from harness.study.claim import Claim, Publication, Published
from tests.facts import tells
from tests.unit.analysis.runpairs import edit
from tests.unit.analysis.synthetic import Synthetic
from tests.unit.analysis.synthetic_capacity import SyntheticCrowd

H2, HTTP1 = {"protocol": "h2"}, {"protocol": "http1"}
ERROR = "first_error_users"
ALONE = Claim(name="error", metric=ERROR, subject=HTTP1, reference={}, at_most=400.0)
RATIO = Claim(name="errors", metric=ERROR, subject=H2, reference=HTTP1)


def published(claim: Claim, value: float) -> Claim:
    return replace(claim, published=Published(text="So", stands="results", low=value, high=value))


MADE = SyntheticCrowd(
    protocols=("http1", "h2"),
    trials=4,
    aa=False,
    claims=(RATIO,),
    published=Publication(
        title="A paper",
        source="Somebody, 2013",
        differs=(),
        claims=(published(ALONE, 400.0), published(RATIO, 2.0)),
    ),
)


def results(folder: Path, *, errors_in: int, **changed: Any) -> Results:
    """Pages fail in the first trials of each protocol, and in no later one, which is changed so."""
    run = MADE.write(folder / "run")

    def change(record: dict[str, Any]) -> dict[str, Any]:
        return record | ({ERROR: 380} if record["block"] <= errors_in else {ERROR: None, **changed})

    edit(run, change)
    return evaluate([load(run)])


NEVER = ("did not happen", "any of")


def judged(found: Results) -> tuple[ClaimRow, ClaimRow]:
    alone, ratio = found.published
    return alone, ratio


def test_an_error_that_no_crowd_saw_is_not_reproduced(tmp_path: Path) -> None:
    found = results(tmp_path, errors_in=0)
    alone, ratio = judged(found)
    assert alone.verdict is ClaimVerdict.NOT_REPRODUCED
    assert tells([alone.reason], *NEVER, "4 trials")
    assert alone.interval is None
    assert ratio.verdict is ClaimVerdict.NOT_COMPARABLE
    assert tells([ratio.reason], *NEVER, "8 trials")
    (claim,) = found.claims
    assert claim.verdict is ClaimVerdict.NO_DATA
    assert tells([claim.sentence], "no data", *NEVER, "8 trials")


@pytest.mark.thorough
def test_an_error_that_some_crowds_saw_says_in_how_many_it_did_not_happen(tmp_path: Path) -> None:
    alone, ratio = judged(results(tmp_path, errors_in=3))
    assert alone.comparison is not None
    assert alone.comparison.n == 3
    assert (alone.verdict, ratio.verdict) == (ClaimVerdict.UNKNOWN, ClaimVerdict.UNKNOWN)
    assert tells([alone.reason], "did not happen", "1 of 4 trials")
    assert tells([ratio.reason], "did not happen", "2 of 8 trials")


def test_an_error_that_all_crowds_saw_says_nothing_of_it(tmp_path: Path) -> None:
    assert [each.reason for each in judged(results(tmp_path, errors_in=4))] == ["", ""]


def test_a_first_paint_that_some_loads_did_not_come_to_is_not_known(tmp_path: Path) -> None:
    """Without vitals a page is not observed beyond its load event: those that painted by then are the slow ones."""
    claim = Claim(name="paint", metric="fcp_ms", subject=H2, reference=HTTP1, ratio_below=2.0)
    made = Synthetic(pages=("p",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(50.0,), trials=6)
    run = replace(
        made, claims=(claim, replace(claim, name="budget", reference={}, ratio_below=None, at_most=9e9))
    )
    path = run.write(tmp_path / "run")
    edit(path, lambda record: record | {"painted": True})
    assert {row.verdict for row in evaluate([load(path)]).claims} == {ClaimVerdict.HOLDS}
    edit(path, lambda record: record | ({"painted": False, "fcp_ms": None} if record["block"] > 4 else {}))
    ratio, budget = evaluate([load(path)]).claims
    assert (ratio.verdict, budget.verdict) == (ClaimVerdict.UNKNOWN, ClaimVerdict.UNKNOWN)
    assert tells([ratio.sentence], "nothing was painted by the end of the load in 4 of 12 trials")


@pytest.mark.thorough
@pytest.mark.parametrize("disturbed", [{"foreign_cpu_share": 0.3, "limited_by": "server-cpu"}])
def test_a_trial_that_does_not_count_says_nothing_of_an_event(
    tmp_path: Path, disturbed: dict[str, Any]
) -> None:
    alone, _ = judged(results(tmp_path, errors_in=3, **disturbed))
    assert alone.reason == ""
    never, _ = judged(results(tmp_path / "none", errors_in=0, **disturbed))
    assert never.verdict is ClaimVerdict.NOT_COMPARABLE


@pytest.mark.thorough
def test_what_counts_of_no_trial_is_told_beside_what_did_not_happen(tmp_path: Path) -> None:
    run = MADE.write(tmp_path / "run")

    def change(record: dict[str, Any]) -> dict[str, Any]:
        disturbed = {"foreign_cpu_share": 0.3, "limited_by": "server-cpu"}
        return record | {ERROR: None} | (disturbed if record["condition"]["protocol"] == "h2" else {})

    edit(run, change)
    (claim,) = evaluate([load(run)]).claims
    assert tells(claim.notes[:1], *NEVER, "4 trials")
    assert tells(claim.notes[1:2], "4 of 4", "left out", "busy-machine")
