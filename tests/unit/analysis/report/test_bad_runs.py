"""Reports of runs that hold next to nothing: each says what happened."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.claims.claimresult import ClaimVerdict
from analysis.comparing.pair import compare_runs, load_pair
from analysis.evaluation.results import evaluate
from analysis.report.report import build
from analysis.runs.rundirectory import load
from analysis.tables.publishedtable import published_by_run
from harness.errors import RecordsError
from harness.study.claim import Claim, Publication, Published
from tests.facts import tells
from tests.unit.analysis.runpairs import edit
from tests.unit.analysis.synthetic import Synthetic, write_lines
from tests.unit.analysis.synthetic_capacity import SyntheticCrowd, SyntheticRate

pytestmark = pytest.mark.thorough
SMALL = Synthetic(
    pages=("one",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(50.0,), trials=6, aa=True
)
LOST = ("HTTP/2 (TLS): 6 of 6", "left out")
BUSY: Mapping[str, object] = {"foreign_cpu_share": 1.0, "client_thread_late_ms": None}
FAILED: Mapping[str, object] = {
    "outcome": "testbed-failed",
    "left_out": "testbed-failed",
    "reason": "made up",
}


def page_of(run: Path) -> str:
    build([run])
    text = re.sub(
        r"<(style|script).*?</\1>|<[^>]+>", " ", (run / "report.html").read_text("utf-8"), flags=re.DOTALL
    )
    return " ".join(html.unescape(text).split())


def changed_records(
    run: Path, chosen: Callable[[Mapping[str, Any]], bool], change: Mapping[str, object]
) -> Path:
    """The run with the records of these conditions changed."""
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    write_lines(
        run / "records.jsonl", [each | (change if chosen(each["condition"]) else {}) for each in lines]
    )
    return run


def disturbed(run: Path, *protocols: str) -> Path:
    """The machine was busy in every load by these protocols."""
    return changed_records(run, lambda condition: condition["protocol"] in protocols, BUSY)


def failed(run: Path, *protocols: str) -> Path:
    """The testbed failed in every trial by these protocols."""
    return changed_records(run, lambda condition: condition["protocol"] in protocols, FAILED)


def published(claim: Claim, **said: Any) -> Claim:
    return replace(claim, published=Published(text=claim.name, stands="text", **said))


def all_ending(outcome: str, *protocols: str) -> Synthetic:
    failed = {
        each["trial"]: outcome for each in SMALL.records() if each["condition"]["protocol"] in protocols
    }
    return replace(SMALL, outcomes=failed)


def test_a_condition_of_which_nothing_counts(tmp_path: Path) -> None:
    said = page_of(disturbed(SMALL.write(tmp_path / "run"), "h2"))
    assert tells(said, "HTTP/2 (TLS) against HTTP/1.1: no data", *LOST, "busy-machine")
    assert "was not observed in any trial" not in said


def test_nothing_counts_at_all(tmp_path: Path) -> None:
    said = page_of(disturbed(SMALL.write(tmp_path / "run"), "h2", "http1"))
    assert tells(said, *LOST, "busy-machine")
    assert tells(said, "HTTP/1.1: 6 of 6", "left out", "busy-machine")
    assert tells(said, "18 of 18", "left out", "100.0 %")
    assert "was not observed in any trial" not in said


def test_a_run_that_all_was_left_out_of_is_not_compared(tmp_path: Path) -> None:
    a, b = SMALL.write(tmp_path / "a"), replace(SMALL, seed=7).write(tmp_path / "b")
    disturbed(b, "h2", "http1")
    with pytest.raises(RecordsError, match=r"18 of 18 .*left out.* busy-machine"):
        compare_runs(load_pair((a, b)))


def test_what_was_published_of_a_condition_of_which_nothing_counts(tmp_path: Path) -> None:
    """Of a ratio, of a value, and of what a crowd does at a number of users."""
    h2, http1 = {"protocol": "h2"}, {"protocol": "http1"}
    paper = (
        published(Claim(name="ratio", subject=h2, reference=http1), low=0.1, high=1.0),
        published(Claim(name="bytes", subject=h2, metric="bytes_down", at_most=2e6), low=1e6, high=2e6),
    )
    run = replace(SMALL, published=Publication(title="A paper", source="2012", claims=paper)).write(
        tmp_path / "run"
    )
    rows = evaluate([load(disturbed(run, "h2"))]).published
    assert [row.verdict for row in rows] == [ClaimVerdict.NOT_COMPARABLE] * 2
    assert all(tells([row.reason], *LOST, "busy-machine") for row in rows)
    pages = Claim(name="pages", subject=h2, metric="page_ms", at_most=1.1e3)
    at_users = (published(pages, low=1e3, high=1.1e3, at_users=100),)
    crowd = SyntheticCrowd(
        protocols=("http1", "h2"),
        trials=2,
        aa=False,
        published=Publication(title="B", source="2013", claims=at_users),
    )
    (row,) = evaluate([load(failed(crowd.write(tmp_path / "crowd"), "h2"))]).published
    assert tells([row.reason], "HTTP/2 (TLS): 2 of 2", "left out", "testbed-failed")


def test_a_claim_that_lost_its_data_says_why_when_runs_are_compared(tmp_path: Path) -> None:
    a, b = SMALL.write(tmp_path / "a"), replace(SMALL, seed=7).write(tmp_path / "b")
    changed = compare_runs(load_pair((a, disturbed(b, "h2")))).claims.changed
    assert changed
    assert all(tells([each.b.sentence], "no data", *LOST, "busy-machine") for each in changed)


@pytest.mark.parametrize("lost", [("h2",), ("h2", "http1")])
def test_a_crowd_of_which_nothing_counts(lost: tuple[str, ...], tmp_path: Path) -> None:
    crowd = SyntheticCrowd(protocols=("http1", "h2"), trials=2, aa=False)
    said = page_of(failed(crowd.write(tmp_path / "run"), *lost))
    assert tells(said, "HTTP/2 (TLS): 2 of 2", "left out", "testbed-failed")
    assert "was not observed in any trial" not in said


def test_a_loop_of_which_nothing_counts(tmp_path: Path) -> None:
    loop = SyntheticRate(made_by={"wrk": ("http1",)}, connections=(16,), trials=2, aa=False)
    said = page_of(failed(loop.write(tmp_path / "run"), "http1"))
    assert tells(said, "4 of 4", "left out", "testbed-failed 4")
    assert "was not observed in any trial" not in said


def test_a_page_of_which_nothing_counts_beside_one_that_counts(tmp_path: Path) -> None:
    run = replace(SMALL, pages=("one", "two")).write(tmp_path / "run")
    said = page_of(changed_records(run, lambda condition: condition["page"] == "two", BUSY))
    assert tells(said, f"two, {LOST[0]}", *LOST[1:], "busy-machine")
    assert "was not observed in any trial" not in said


def test_of_three_pages_one_of_which_nothing_counts(tmp_path: Path) -> None:
    """What counts is told page by page, and so is the same with nothing left out, which would do for all three."""
    run = replace(SMALL, pages=("one", "two", "three")).write(tmp_path / "run")
    said = page_of(changed_records(run, lambda condition: condition["page"] == "three", BUSY))
    assert tells(said, f"three, {LOST[0]}", *LOST[1:], "busy-machine")
    assert "With nothing left out" in said


def test_of_two_runs_one_has_too_few_pages(tmp_path: Path) -> None:
    """Each run alone has the rows of both together."""
    faster = Claim(name="faster", subject={"protocol": "h2"}, reference={"protocol": "http1"})
    claim = published(faster, low=0.1, high=0.9)
    made = replace(
        SMALL,
        pages=("one", "two", "three"),
        published=Publication(title="Pages", source="2013", claims=(claim,)),
    )
    runs = [replace(made, seed=seed).write(tmp_path / str(seed)) for seed in (1, 2)]
    changed_records(runs[1], lambda condition: condition["page"] == "three", BUSY)
    results = evaluate([load(run) for run in runs])
    table = published_by_run(results)
    assert table is not None
    assert len(table.rows) == len(results.published) == 1


def test_a_condition_that_always_timed_out(tmp_path: Path) -> None:
    said = page_of(all_ending("page-timeout", "h2").write(tmp_path / "run"))
    assert tells(said, "HTTP/2 (TLS): 6 of 6", "timed out", "no median")
    assert said.index("timed out") < said.index("Every comparison in full")
    assert tells(said, "HTTP/2 (TLS) against HTTP/1.1: slower", "unknown amount", "timed out")


@pytest.mark.parametrize("ending", [("h2",), ("h2", "http1")])
def test_bytes_of_a_condition_that_always_timed_out(ending: tuple[str, ...], tmp_path: Path) -> None:
    asked = Claim(
        name="bytes", subject={"protocol": "h2"}, reference={"protocol": "http1"}, metric="bytes_down"
    )
    run = replace(all_ending("page-timeout", *ending), claims=(asked,)).write(tmp_path / "run")
    (row,) = evaluate([load(run)]).claims
    assert tells([row.sentence], "no data", "HTTP/2 (TLS): 6 of 6", "timed out")
    assert "was not observed" not in row.sentence


def test_a_run_of_time_outs_alone(tmp_path: Path) -> None:
    said = page_of(all_ending("page-timeout", "h2", "http1").write(tmp_path / "run"))
    assert tells(said, "both sides timed out", "every block")
    assert tells(said, "HTTP/1.1: 6 of 6", "timed out")


def test_half_of_a_condition_timed_out(tmp_path: Path) -> None:
    """Every second block: the median is a time-out, and what is known of the ratio has no upper end."""
    late = {
        each["trial"]: "page-timeout"
        for each in SMALL.records()
        if each["condition"]["protocol"] == "h2" and each["block"] % 2
    }
    said = page_of(replace(SMALL, outcomes=late).write(tmp_path / "run"))
    assert tells(said, "HTTP/2 (TLS): 3 of 6", "timed out")


@pytest.mark.parametrize("trials", [1, 2])
def test_one_block_or_two(trials: int, tmp_path: Path) -> None:
    said = page_of(replace(SMALL, trials=trials).write(tmp_path / "run"))
    assert tells(said, "not known yet", f"{trials} block{'s' * (trials > 1)} of at least 3")
    assert tells(said, "1 setting measured twice", "fewer than 3 blocks", "too few", "equal conditions")


def test_a_run_that_begins_with_the_second_load_of_its_baseline_has_a_report(tmp_path: Path) -> None:
    run = SMALL.write(tmp_path / "run")
    edit(run, lambda each: each if each["condition"]["again"] and each["block"] == 1 else None)
    assert tells(page_of(run), "1 of 18 trials", "recorded")
