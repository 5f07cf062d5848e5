"""analysis.comparing.versus: two releases or variants within one run, as the claims of the run have them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.claims.claimresult import ClaimRow
from analysis.comparing.answers import lines
from analysis.comparing.between import Bounded
from analysis.comparing.page import FileRow, page_of_versus, write
from analysis.comparing.versus import read_versus
from analysis.evaluation.results import evaluate
from analysis.runs.rundirectory import load
from harness.errors import RecordsError
from harness.study.claim import Claim
from tests.unit.analysis.runpairs import edit
from tests.unit.analysis.synthetic import Synthetic

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
