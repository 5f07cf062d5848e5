"""The plan of each study that ships, for one seed, is what it has been: a run that was begun goes on."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from harness.study.plan import Plan, make_plan
from harness.study.studyfile import read_study, shipped_studies

PLANS = Path(__file__).parents[3] / "data" / "plans"
SEED = 2012


@pytest.mark.parametrize("name", sorted(shipped_studies()))
def test_the_plan_is_what_it_has_been(name: str) -> None:
    planned = make_plan(read_study(shipped_studies()[name]), SEED).to_lines()
    assert planned.encode() == gzip.decompress((PLANS / f"{name}.jsonl.gz").read_bytes())


@pytest.mark.parametrize("name", sorted(shipped_studies()))
def test_a_stored_plan_is_read_as_what_it_says(name: str) -> None:
    text = gzip.decompress((PLANS / f"{name}.jsonl.gz").read_bytes()).decode()
    stored = Plan.from_lines(text, name)
    assert stored.to_lines() == text
    assert {trial.condition for trial in stored.trials} == set(read_study(shipped_studies()[name]).conditions)
