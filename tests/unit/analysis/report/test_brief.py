"""A report in a few lines says what its head says."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from analysis.charts.headchart import MOST_MARKS
from analysis.evaluation.results import Results, evaluate
from analysis.report.answers import answers, cautions
from analysis.report.brief import to_markdown
from analysis.runs.rundirectory import load
from tests.unit.analysis.synthetic import Synthetic, entitled

ONE = Synthetic(
    pages=("dummy-2012",), protocols=("https1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0, 100.0), trials=6
)


def results_of(made: Synthetic, tmp_path: Path, title: str = "A study") -> Results:
    run = made.write(tmp_path / "run")
    entitled(run, title)
    return evaluate([load(run)])


def test_it_has_the_answers_a_table_of_medians_and_what_counts_against_them(tmp_path: Path) -> None:
    results = results_of(ONE, tmp_path)
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


def test_of_more_conditions_than_a_screen_holds_there_is_no_table(tmp_path: Path) -> None:
    rtts = tuple(float(rtt) for rtt in range(10, 10 + MOST_MARKS))
    assert "\n| " not in to_markdown(results_of(replace(ONE, rtts_ms=rtts, trials=1), tmp_path))


def test_nothing_that_counts_is_said(tmp_path: Path) -> None:
    made = replace(ONE, trials=1, outcomes={f"{n:05d}": "testbed-failed" for n in range(1, 5)})
    text = to_markdown(results_of(made, tmp_path))
    assert "4 of 4 attempts were left out" in text
    assert "\n| " not in text


def test_a_run_that_is_not_complete_says_so_first(tmp_path: Path) -> None:
    run = ONE.write(tmp_path / "run")
    records = (run / "records.jsonl").read_text().splitlines(keepends=True)
    (run / "records.jsonl").write_text("".join(records[:-3]))
    assert (
        to_markdown(evaluate([load(run)]))
        .splitlines()[2]
        .startswith("**Provisional.** The run is not complete")
    )


def test_a_set_calls_nobody(tmp_path: Path) -> None:
    assert "of @\u200bdesktop" in to_markdown(results_of(ONE, tmp_path, "4 pages of @desktop"))


def test_a_title_stays_a_title(tmp_path: Path) -> None:
    text = to_markdown(results_of(ONE, tmp_path, "<img src=x> | a | *b*"))
    assert text.splitlines()[0] == r"### \<img src=x> \| a \| \*b\*"
