"""The answers that a report opens with: one per question, true to the figures; and what counts against them.

The report in a few lines says what its head says.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.charts.headchart import MOST_MARKS
from analysis.claims.claimresult import ClaimVerdict
from analysis.evaluation.results import Results, evaluate
from analysis.report.answers import APACHE, answers, cautions, to_markdown
from analysis.report.summary import BAD, NOTHING
from analysis.runs.rundirectory import load
from analysis.statistics.compare import MARGIN, Certainty, described
from analysis.statistics.compare import told as told_of
from analysis.statistics.contrast import contrast
from analysis.statistics.estimate import size
from harness.study.claim import Claim
from tests.facts import tells
from tests.unit.analysis.runpairs import edit
from tests.unit.analysis.synthetic import Synthetic, entitled

ONE = Synthetic(
    pages=("dummy-2012",), protocols=("https1", "h2"), rates_mbps=(10.0,), rtts_ms=(100.0,), trials=10
)


def results_of(made: Synthetic, tmp_path: Path) -> Results:
    return evaluate([load(made.write(tmp_path / "run"))])


def said_of(made: Synthetic, tmp_path: Path) -> list[str]:
    return [said.text for said in answers(results_of(made, tmp_path))]


def test_a_question_in_one_setting_is_seconds_per_cent_and_bounds(tmp_path: Path) -> None:
    results = results_of(ONE, tmp_path)
    (said,) = answers(results)
    (row,) = results.claims
    assert row.comparison is not None
    reference = results.cells.loc[results.cells["protocol"] == "https1", "median"].item()
    saved, percent = reference * (1 - row.comparison.ratio) / 1e3, 100 * (1 - row.comparison.ratio)
    low, high = (100 * (1 - end) for end in (row.comparison.high, row.comparison.low))
    of_reference = f"{saved:.2f} s of the {reference / 1e3:.2f} s with HTTP/1.1 + TLS"
    assert tells(
        [said.text], "HTTP/2 (TLS) saves", of_reference, f"{percent:.0f} %", f"{low:.0f} and {high:.0f}"
    )


def test_an_amount_is_that_of_the_pages_that_the_ratio_holds(tmp_path: Path) -> None:
    """Of a page on which the subject never counts there is no ratio, and no time that it saves of."""
    made = replace(ONE, pages=("a", "b", "c", "slow"), factors={"slow": 10.0}, trials=6)
    gone = {
        record["trial"]: "page-error"
        for record in made.records()
        if (record["condition"]["page"], record["condition"]["protocol"]) == ("slow", "h2")
    }
    made = replace(made, outcomes=gone)
    results = results_of(made, tmp_path)
    (said,) = answers(results)
    there = results.cells[(results.cells["protocol"] == "https1") & (results.cells["page"] != "slow")]
    reference = math.exp(np.log(there["median"]).mean())
    assert tells([said.text], "ver 3 pages", f"of the {reference / 1e3:.2f} s")


@pytest.mark.thorough
def test_settings_of_a_question_share_a_sentence(tmp_path: Path) -> None:
    two, eight = replace(ONE, rtts_ms=(50.0, 200.0)), replace(ONE, rtts_ms=(20.0, 50.0, 100.0, 200.0))
    (few,) = said_of(two, tmp_path / "two")
    assert tells([few], "HTTP/2 (TLS) against HTTP/1.1 + TLS: saves")
    assert few.count("between") == 2
    assert few.endswith("at 200 ms RTT.")
    (many,) = said_of(eight, tmp_path / "many")
    assert tells([many], "all 4 settings", "intervals between")
    assert " at 20 ms RTT to " in many


def test_what_is_over_several_pages_says_so(tmp_path: Path) -> None:
    made = replace(ONE, pages=("one", "two", "three"))
    (said,) = said_of(made, tmp_path / "one")
    assert tells([said], "3 pages", "HTTP/2 (TLS) saves")
    (several,) = said_of(replace(made, rtts_ms=(50.0, 200.0)), tmp_path / "two")
    assert several.endswith(", over 3 pages, 200 ms RTT.")


def test_a_protocol_over_tls_is_asked_against_tls_first(tmp_path: Path) -> None:
    said = said_of(replace(ONE, protocols=("http1", "https1", "h2")), tmp_path)
    assert [text.split(" ")[0] for text in said] == ["HTTP/1.1", "HTTP/2", "HTTP/2"]
    assert "with HTTP/1.1 + TLS" in said[1]
    assert said[2].count("+ TLS") == 0


@pytest.mark.thorough
def test_what_is_not_decided_says_so(tmp_path: Path) -> None:
    (said,) = said_of(replace(ONE, trials=2), tmp_path)
    assert tells([said], "HTTP/2 (TLS)", "not known yet", "2 blocks of at least 3")
    (noisy,) = said_of(replace(ONE, protocols=("https1", "h2"), noise=1.5, trials=6), tmp_path / "noisy")
    assert "not known yet, between " in noisy


def test_what_was_expected_stands_behind_the_answer(tmp_path: Path) -> None:
    claim = Claim(name="h2", subject={"protocol": "h2"}, reference={"protocol": "https1"}, ratio_below=0.1)
    (said,) = answers(results_of(replace(ONE, claims=(claim,)), tmp_path))
    assert said.text.endswith(" Expected below 0.1: fails.")
    assert said.tone == BAD


def test_one_condition_alone_asks_nothing(tmp_path: Path) -> None:
    assert said_of(replace(ONE, protocols=("h2",)), tmp_path) == [NOTHING]


def test_without_a_trial_that_counts_there_is_no_data(tmp_path: Path) -> None:
    every = {f"{number:05d}": "testbed-failed" for number in range(1, 21)}
    (said,) = said_of(replace(ONE, outcomes=every), tmp_path)
    assert tells([said], "HTTP/2 (TLS) could not be compared", "10 of 10", "left out", "testbed-failed")


BLOCKED = Claim(name="blocked", subject={"protocol": "h2"}, reference={"protocol": "https1"}, metric="tbt_ms")


@pytest.mark.parametrize(
    ("rtts", "facts"),
    [
        ((100.0,), ("HTTP/2 (TLS) could not be compared", "1 of 10 blocks")),
        ((20.0, 50.0, 100.0), ("HTTP/2 (TLS) against", "no ratio in all 3 settings", "1 of 10 blocks")),
    ],
)
def test_what_has_no_ratio_for_a_value_of_0_says_so(
    rtts: tuple[float, ...], facts: tuple[str, ...], tmp_path: Path
) -> None:
    run = replace(ONE, rtts_ms=rtts, claims=(BLOCKED,)).write(tmp_path / "run")
    edit(run, lambda record: record | {"tbt_ms": 0.0 if is_h2(record) and record["block"] == 1 else 80.0})
    (said,) = answers(evaluate([load(run)]))
    assert tells([said.text], *facts, "a value of 0 has no ratio")
    assert "no block" not in said.text
    assert "no data" not in said.text


def is_h2(record: dict[str, Any]) -> bool:
    return bool(record["condition"]["protocol"] == "h2")


def cautions_of(made: Synthetic, tmp_path: Path) -> str:
    return " ".join(cautions(results_of(made, tmp_path)))


def test_a_whole_run_says_that_nothing_was_left_out(tmp_path: Path) -> None:
    said = cautions_of(ONE, tmp_path)
    assert tells(said, "Nothing was left out", "all 20")
    assert "Few trials" not in said
    assert tells(said, "No condition", "measured twice")


def test_how_far_equal_conditions_lie_apart(tmp_path: Path) -> None:
    said = cautions_of(replace(ONE, aa=True), tmp_path)
    assert tells(said, "One condition measured twice", "differ by")


def test_few_trials_and_many_left_out_are_a_warning(tmp_path: Path) -> None:
    lost = {f"{number:05d}": "page-error" for number in range(1, 7)}
    said = cautions_of(replace(ONE, trials=5, outcomes=lost), tmp_path)
    assert tells(said, "6 of 10", "left out", "page-error 6")
    assert tells(said, "So many")
    assert tells(said, "Few trials", "2 for each condition")


@pytest.mark.thorough
def test_a_condition_without_trials_is_told(tmp_path: Path) -> None:
    every = {f"{number:05d}": "testbed-failed" for number in range(1, 21)}
    assert tells(cautions_of(replace(ONE, outcomes=every), tmp_path), "2 conditions of 2", "no trial")


def test_the_round_trip_of_apache_is_told_where_it_plays_a_part(tmp_path: Path) -> None:
    results = results_of(ONE, tmp_path)
    for server, protocol, told in (
        ("apache", "h2", True),
        ("caddy", "h2", False),
        ("apache", "https1", False),
    ):
        kept = results.sifted.kept.assign(server=server, protocol=protocol)
        sifted = replace(results.sifted, kept=kept)
        assert (APACHE in cautions(replace(results, sifted=sifted))) is told


TWO_RTTS = Synthetic(
    pages=("dummy-2012",), protocols=("https1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0, 100.0), trials=6
)


def titled(made: Synthetic, tmp_path: Path, title: str = "A study") -> Results:
    run = made.write(tmp_path / "run")
    entitled(run, title)
    return evaluate([load(run)])


def test_it_has_the_answers_a_table_of_medians_and_what_counts_against_them(tmp_path: Path) -> None:
    results = titled(TWO_RTTS, tmp_path)
    lines = to_markdown(results).splitlines()
    assert lines[0] == "### A study"
    plain = [line.replace("\\", "") for line in lines]
    assert [f"- {each.text}" for each in answers(results)] == [
        each for each in plain if each.startswith("- ")
    ]
    assert plain[-2:] == cautions(results)[:2]
    table = [line for line in lines if line.startswith("| ")]
    assert table[0] == "| Page-load time | HTTP/1.1 + TLS | HTTP/2 (TLS) |"
    assert [line.split(" | ")[0] for line in table[2:]] == ["| 20 ms RTT", "| 100 ms RTT"]
    medians = [float(each) for each in re.findall(r"(\d+\.\d\d) s \(", "\n".join(table))]
    assert sorted(medians) == sorted(round(each / 1e3, 2) for each in results.cells["median"])
    assert len(lines) < 20


@pytest.mark.thorough
def test_of_more_conditions_than_a_screen_holds_there_is_no_table(tmp_path: Path) -> None:
    rtts = tuple(float(rtt) for rtt in range(10, 10 + MOST_MARKS))
    assert "\n| " not in to_markdown(titled(replace(TWO_RTTS, rtts_ms=rtts, trials=1), tmp_path))


def test_nothing_that_counts_is_said(tmp_path: Path) -> None:
    made = replace(TWO_RTTS, trials=1, outcomes={f"{n:05d}": "testbed-failed" for n in range(1, 5)})
    text = to_markdown(titled(made, tmp_path))
    assert tells(text, "4 of 4", "left out")
    assert "\n| " not in text


def test_a_run_that_is_not_complete_says_so_first(tmp_path: Path) -> None:
    run = TWO_RTTS.write(tmp_path / "run")
    records = (run / "records.jsonl").read_text().splitlines(keepends=True)
    (run / "records.jsonl").write_text("".join(records[:-3]))
    third = to_markdown(evaluate([load(run)])).splitlines()[2]
    assert third.startswith("**Provisional.**")
    assert "not complete" in third


def test_a_set_calls_nobody(tmp_path: Path) -> None:
    assert "of @\u200bdesktop" in to_markdown(titled(TWO_RTTS, tmp_path, "4 pages of @desktop"))


def test_a_title_stays_a_title(tmp_path: Path) -> None:
    text = to_markdown(titled(TWO_RTTS, tmp_path, "<img src=x> | a | *b*"))
    assert text.splitlines()[0] == r"### \<img src=x> \| a \| \*b\*"


THREE = replace(ONE, rtts_ms=(20.0, 50.0, 100.0))


def with_ratios(results: Results, *ratios: float, spread: float = 0.001, margin: float = MARGIN) -> Results:
    """The results with other ratios of their claims, known beforehand."""
    logs = [math.log(ratio) + spread * np.linspace(-1, 1, 10) for ratio in ratios]
    seen = [described(contrast(sample), 10, 1, Certainty(margin)) for sample in logs]
    rows = [
        replace(row, comparison=comparison, judgement=judgement, floor=None)
        for row, (comparison, judgement) in zip(
            results.claims, told_of(seen, margin, beforehand=True), strict=True
        )
    ]
    return replace(results, claims=tuple(rows), margin=margin)


def test_the_ends_that_hold_all_intervals_hold_them_as_they_are_told(tmp_path: Path) -> None:
    results = results_of(THREE, tmp_path)
    near = with_ratios(results, 0.951, 0.95, 0.949)
    sizes = [
        size(end)
        for row in near.claims
        if row.comparison
        for end in (row.comparison.low, row.comparison.high)
    ]
    (said,) = answers(near)
    ends = re.search(
        r"saves 4\.9 to 5\.1 % in all 3 settings \(all intervals between (\d\.\d) and (\d\.\d) %\)", said.text
    )
    assert ends is not None
    assert float(ends[1]) <= min(sizes) < float(ends[1]) + 0.1
    assert float(ends[2]) - 0.1 < max(sizes) <= float(ends[2])
    (wide,) = answers(with_ratios(results, 0.706, 0.8, 0.894))
    assert tells([wide.text], "saves 11 to 29 %", "all intervals between 10 and 30 %")
    (equal,) = answers(with_ratios(results, 0.95, 0.95, 0.95, spread=0.0))
    assert tells([equal.text], "saves 5.0 % in all 3 settings: from")


def test_what_is_small_is_so_by_the_margin_that_was_asked_for(tmp_path: Path) -> None:
    (said,) = answers(with_ratios(results_of(THREE, tmp_path), 0.951, 0.95, 0.949, margin=0.1))
    assert tells([said.text], "within the margin of 10 % in all 3 settings")


def test_verdicts_of_several_settings_are_counted(tmp_path: Path) -> None:
    claim = Claim(name="h2", subject={"protocol": "h2"}, reference={"protocol": "https1"}, ratio_below=0.95)
    results = results_of(replace(THREE, claims=(claim,)), tmp_path)
    verdicts = ClaimVerdict.HOLDS, ClaimVerdict.HOLDS, ClaimVerdict.FAILS
    rows = [replace(row, verdict=verdict) for row, verdict in zip(results.claims, verdicts, strict=True)]
    (said,) = answers(replace(results, claims=tuple(rows)))
    assert said.text.endswith(" Expected below 0.95: holds in 2 and fails in 1.")


def test_one_of_a_kind_is_no_plural(tmp_path: Path) -> None:
    results = results_of(replace(ONE, outcomes={"00001": "testbed-failed"}), tmp_path / "one")
    (row,) = results.claims
    said = " ".join(cautions(replace(results, claims_of_all=(replace(row, comparison=None),))))
    assert tells(said, "1 of 20 attempts was left out")
    assert tells(said, "1 of 1 answer would come out otherwise")
    lost = {each["trial"]: "testbed-failed" for each in ONE.records() if is_h2(each)}
    said = cautions_of(replace(ONE, outcomes=lost), tmp_path / "other")
    assert tells(said, "1 condition of 2 has no trial")
