"""What counts against the answers of a report is told, and nothing that is not so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from analysis.evaluation.results import evaluate
from analysis.report.cautions import APACHE, cautions
from analysis.runs.rundirectory import load
from tests.unit.analysis.synthetic import Synthetic

ONE = Synthetic(
    pages=("dummy-2012",), protocols=("https1", "h2"), rates_mbps=(10.0,), rtts_ms=(100.0,), trials=10
)


def said_of(made: Synthetic, tmp_path: Path) -> str:
    return " ".join(cautions(evaluate([load(made.write(tmp_path / "run"))])))


def test_a_whole_run_says_that_nothing_was_left_out(tmp_path: Path) -> None:
    said = said_of(ONE, tmp_path)
    assert "Nothing was left out: all 20 attempts count." in said
    assert "Few trials" not in said
    assert "No condition was measured twice" in said


def test_how_far_equal_conditions_lie_apart(tmp_path: Path) -> None:
    said = said_of(replace(ONE, aa=True), tmp_path)
    assert "One condition measured twice, as if it were two, can differ by " in said


def test_few_trials_and_many_left_out_are_a_warning(tmp_path: Path) -> None:
    lost = {f"{number:05d}": "page-error" for number in range(1, 7)}
    said = said_of(replace(ONE, trials=5, outcomes=lost), tmp_path)
    assert "6 of 10 attempts were left out (page-error 6). So many are gone" in said
    assert "Few trials: 2 for each condition." in said


def test_a_condition_without_trials_is_told(tmp_path: Path) -> None:
    every = {f"{number:05d}": "testbed-failed" for number in range(1, 21)}
    assert "2 conditions of 2 have no trial that counts." in said_of(replace(ONE, outcomes=every), tmp_path)


def test_the_round_trip_of_apache_is_told_where_it_plays_a_part(tmp_path: Path) -> None:
    results = evaluate([load(ONE.write(tmp_path / "run"))])
    for server, protocol, told in (
        ("apache", "h2", True),
        ("caddy", "h2", False),
        ("apache", "https1", False),
    ):
        kept = results.sifted.kept.assign(server=server, protocol=protocol)
        sifted = replace(results.sifted, kept=kept)
        assert (APACHE in cautions(replace(results, sifted=sifted))) is told
