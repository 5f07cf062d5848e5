"""In what two runs differ beside their conditions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.comparing.pair import compare_runs, load_pair
from analysis.evaluation.results import evaluate
from analysis.labels.words import DASH
from analysis.runs.alike import (
    Difference,
    differences,
    environment_differences,
    refuse_some_observed_at_a_cost,
)
from analysis.runs.rundirectory import load
from harness.errors import RecordsError
from tests.unit.analysis.runpairs import made_with, two_runs
from tests.unit.analysis.synthetic import Synthetic, write_lines

SMALL = Synthetic(("one",), protocols=("http1",), rates_mbps=(10.0,), rtts_ms=(50.0,), trials=1)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return two_runs(tmp_path, study=SMALL)


def said(pair: tuple[Path, Path]) -> list[str]:
    return [str(each) for each in differences(load(pair[0]), load(pair[1]))]


def calibrated(run: Path, **changed: Any) -> None:
    path = run / "calibration.jsonl"
    write_lines(path, [json.loads(line) | changed for line in path.read_text().splitlines()])


def test_runs_of_one_study_with_the_same_programs_do_not_differ(pair: tuple[Path, Path]) -> None:
    made_with(pair[0], machine={"load_average": [0.5], "cores": 2})
    made_with(pair[1], taken_utc="later", machine={"load_average": [3.0], "cores": 2})
    assert said(pair) == []


def test_versions_archives_and_the_machine_are_told(pair: tuple[Path, Path]) -> None:
    for run, number in zip(pair, "12", strict=True):
        made_with(
            run,
            programs={"chromium": f"Chromium {number}"},
            archives={"one": {"digest": number * 64}},
            machine={"cores": int(number)},
        )
    assert said(pair) == [
        "programs.chromium: Chromium 1 | Chromium 2",
        f"archives.one.digest: {'1' * 64} | {'2' * 64}",
        "machine.cores: 1 | 2",
    ]


def test_what_a_run_went_on_with_is_told_beside_what_it_was_begun_with(pair: tuple[Path, Path]) -> None:
    begun, later = {"programs": {"nginx": "nginx/1.22"}}, {"programs": {"nginx": "nginx/1.24"}}
    made_with(pair[0], **begun, continued=[begun, later])
    made_with(pair[1], **begun, continued=[begun])
    assert said(pair) == ["programs.nginx: nginx/1.22 or nginx/1.24 | nginx/1.22"]
    made_with(pair[1], **begun, continued=[later])
    assert said(pair) == []


def test_the_length_of_a_signature_is_no_difference_and_the_chain_is_one(pair: tuple[Path, Path]) -> None:
    for run, number in zip(pair, "12", strict=True):
        settings = {"certificate_bytes": f"41{number}", "certificate_chain": number}
        made_with(run, servers={"apache": {"settings": {"one": settings}}})
    shared = "servers.apache.settings.one.certificate_chain"
    assert said(pair) == [f"{shared}: 1 | 2"]
    assert environment_differences([load(run) for run in pair]) == {shared: ["1", "2"]}


def test_the_keys_of_the_study_and_its_options_are_told(pair: tuple[Path, Path]) -> None:
    text = (pair[1] / "study.toml").read_text()
    (pair[1] / "study.toml").write_text(f"{text}server = 'nginx'\n")
    plan = pair[1] / "plan.jsonl"
    plan.write_text(plan.read_text().replace('"study": ', '"options": [["--trials", "3"]], "study": ', 1))
    assert said(pair) == [f"study.toml server: {DASH} | nginx", f"study.toml --trials: {DASH} | 3"]


def test_a_part_that_only_one_run_tells_is_one_line(pair: tuple[Path, Path]) -> None:
    made_with(pair[0], browser=None)
    made_with(pair[1], fonts={"digest": "abc", "fonts": 78}, browser={"flags": ["--one"], "unresolved": []})
    assert said(pair) == [f"browser: {DASH} | --one", f"fonts: {DASH} | 2 values"]


def test_a_link_that_was_measured_more_than_a_hundredth_apart_is_told(pair: tuple[Path, Path]) -> None:
    calibrated(pair[0], rtt_ms={"measured": 50.05}, down_mbps={"measured": 10.0}, scheduling="fifo")
    calibrated(pair[1], rtt_ms={"measured": 50.7}, down_mbps={"measured": 9.95}, scheduling="other")
    assert said(pair) == [
        "link 10mbps-50ms scheduling: fifo | other",
        "link 10mbps-50ms rtt_ms measured: 50.050 | 50.700",
    ]


def test_a_tenth_of_a_millisecond_is_no_difference(pair: tuple[Path, Path]) -> None:
    calibrated(pair[0], rtt_ms={"measured": 1.05})
    calibrated(pair[1], rtt_ms={"measured": 1.1})
    assert said(pair) == []


def test_a_link_that_was_configured_differently_is_told(pair: tuple[Path, Path]) -> None:
    path = pair[1] / "calibration.jsonl"
    (reading,) = map(json.loads, path.read_text().splitlines())
    write_lines(path, [reading | {"link": reading["link"] | {"queue_down_bytes": 7, "later_key": 1}}])
    assert said(pair) == ["link 10mbps-50ms queue_down_bytes: 1500000 | 7"]


@pytest.mark.parametrize(
    ("a", "b", "shown"),
    [
        ("a" * 100, "a" * 90 + "b" * 10, "x: …" + "a" * 12 + "a" * 10 + " | …" + "a" * 12 + "b" * 10),
        ("word " * 30, "word " * 29 + "other", "x: …word  | …other"),
        ("1" * 100, "2" * 100, f"x: {'1' * 70}… | {'2' * 70}…"),
        (None, "there", f"x: {DASH} | there"),
    ],
)
def test_long_values_are_shown_from_where_they_differ(a: str | None, b: str, shown: str) -> None:
    assert str(Difference("x", a, b)) == shown


def marked(run: Path, mark: str) -> None:
    path = run / "records.jsonl"
    write_lines(path, [json.loads(line) | {mark: True} for line in path.read_text().splitlines()])


@pytest.mark.parametrize("mark", ["traced", "filmed"])
def test_loads_that_were_observed_at_a_cost_and_others_are_refused(
    pair: tuple[Path, Path], mark: str
) -> None:
    marked(pair[1], mark)
    says = rf"trials of chromium were {mark} in .* report these runs apart"
    with pytest.raises(RecordsError, match=says):
        evaluate([load(each) for each in pair])
    with pytest.raises(RecordsError, match=says):
        compare_runs(load_pair(pair))
    marked(pair[0], mark)
    refuse_some_observed_at_a_cost([load(each) for each in pair])
