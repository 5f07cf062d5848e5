"""The buckets of trials: read with limits, by the run and attempt they belong to."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from analysis.evaluation import curves
from analysis.evaluation.curves import buckets_of
from analysis.evaluation.results import evaluate
from analysis.runs.rundirectory import load
from harness.capacity.series import Bucket
from harness.errors import RecordsError
from tests.unit.analysis.synthetic_capacity import SyntheticCrowd

SMALL = SyntheticCrowd(protocols=("http1",), users=100, seconds=120.0, trials=2, aa=False)


def buckets_file(run: Path, folder: str = "00001") -> Path:
    return run / "trials" / folder / "buckets.jsonl"


def test_a_series_has_a_row_per_line_and_numbers_alone(tmp_path: Path) -> None:
    run = load(SMALL.write(tmp_path / "run"))
    found = buckets_of(run, "00001", 1)
    lines = [json.loads(line) for line in buckets_file(run.directory).read_text().splitlines()]
    assert list(found["users"]) == [line["users"] for line in lines]
    assert set(found.dtypes) == {np.dtype(float)}
    assert "errors" not in found


def test_what_is_read_is_what_trials_write() -> None:
    assert set(curves.BUCKET) <= {each.name for each in fields(Bucket)}


def test_a_second_attempt_has_a_folder_of_its_own(tmp_path: Path) -> None:
    run = load(SMALL.write(tmp_path / "run"))
    other = buckets_file(run.directory, "00001-2")
    other.parent.mkdir()
    other.write_text(json.dumps({"t_s": 0, "users": 7}) + "\n")
    (found,) = buckets_of(run, "00001", 2).to_dict("records")
    assert found["users"] == 7
    assert np.isnan(found["page_ms"])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"users": "many"}', r"buckets.jsonl:1 is damaged \(users is 'many'"),
        ('{"users": 1e300}', r"buckets.jsonl:1 is damaged \(users is 1e\+300"),
        ("[]", r"buckets.jsonl:1 is damaged \(not a JSON object\)"),
    ],
)
def test_what_is_no_bucket_is_refused_in_one_line(tmp_path: Path, line: str, said: str) -> None:
    run = load(SMALL.write(tmp_path / "run"))
    buckets_file(run.directory).write_text(line + "\n")
    with pytest.raises(RecordsError, match=said):
        buckets_of(run, "00001", 1)


def test_a_torn_last_line_and_a_missing_file_are_no_series(tmp_path: Path) -> None:
    run = load(SMALL.write(tmp_path / "run"))
    buckets_file(run.directory).write_text('{"t_s": 0}\n{"t_s": 3')
    assert len(buckets_of(run, "00001", 1)) == 1
    buckets_file(run.directory).unlink()
    assert buckets_of(run, "00001", 1).empty


def test_a_file_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = load(SMALL.write(tmp_path / "run"))
    monkeypatch.setattr(curves, "MOST_LINES", 3)
    with pytest.raises(RecordsError, match="more than 3 lines"):
        buckets_of(run, "00001", 1)


@pytest.mark.parametrize("trial", ["../00001", "/etc", "..", "a/b", ""])
def test_a_trial_names_a_folder_of_its_run(tmp_path: Path, trial: str) -> None:
    run = load(SMALL.write(tmp_path / "run"))
    with pytest.raises(RecordsError, match="is no name of a trial's folder"):
        buckets_of(run, trial, 1)


@pytest.mark.parametrize("long_s", [31.0, 44.0])
def test_what_ended_when_no_user_began_a_page_is_none_of_the_crowd(tmp_path: Path, long_s: float) -> None:
    """It has a bucket of its own; of a run before 2026-11-26 it made the last bucket longer, or had several."""
    made = SMALL.write(tmp_path / "run")
    lines = [json.loads(line) for line in buckets_file(made).read_text().splitlines()]
    assert [line["t_s"] for line in lines] == [0, 30, 60, 90]
    rest = {**lines[-1], "t_s": 120.0, "seconds": 7.0, "pages_per_s": 99.0}
    longer = {**lines[-1], "seconds": long_s, "pages_per_s": 99.0}
    for last, kept in (([lines[-1], rest], 4), ([lines[-1], rest, {**rest, "t_s": 127.0}], 4), ([longer], 3)):
        buckets_file(made).write_text("".join(json.dumps(line) + "\n" for line in [*lines[:-1], *last]))
        found = evaluate([load(made)]).buckets
        assert list(found[found["trial"] == "00001"]["t_s"]) == [0, 30, 60, 90][:kept]


def test_two_runs_of_the_same_name_keep_their_series_apart(tmp_path: Path) -> None:
    one, two = (
        replace(SMALL, users=users).write(tmp_path / name / "run") for name, users in (("a", 100), ("b", 300))
    )
    results = evaluate([load(one), load(two)])
    most = results.buckets.groupby("run")["users"].max()
    assert set(most.index) == {"run (1)", "run (2)"}
    assert most["run (2)"] > 2 * most["run (1)"]
    assert set(results.buckets["cell"]) == set(results.cells["cell"])
