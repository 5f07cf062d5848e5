"""The plan of each study that ships, for one seed, is what it has been: a run that was begun goes on."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from harness.model.plan import Plan
from harness.run.directory import open_run
from harness.study.planning import make_plan
from harness.study.studyfile import read_study, shipped_studies

PLANS = Path(__file__).parents[3] / "data" / "plans"
SEED = 2012


@pytest.mark.parametrize("name", sorted(shipped_studies()))
def test_the_plan_is_what_it_has_been(name: str) -> None:
    plan = make_plan(read_study(shipped_studies()[name]), SEED)
    planned = replace(plan, claims=(), figures=(), published=None).to_lines()  # the stored plans are older
    assert planned.encode() == gzip.decompress((PLANS / f"{name}.jsonl.gz").read_bytes())


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(shipped_studies()))
def test_a_stored_plan_is_read_as_what_it_says(name: str) -> None:
    text = gzip.decompress((PLANS / f"{name}.jsonl.gz").read_bytes()).decode()
    stored = Plan.from_lines(text, name)
    assert stored.to_lines() == text
    assert stored.cells == set(read_study(shipped_studies()[name]).conditions)


def test_a_run_that_an_older_version_began_goes_on_with_its_plan(tmp_path: Path) -> None:
    """Its plan has no condition twice, and another order."""
    path = PLANS / "older-demo-quick.toml"
    text = path.read_text()
    older = gzip.decompress((PLANS / "older-demo-quick.jsonl.gz").read_bytes()).decode()
    (tmp_path / "study.toml").write_text(text)
    (tmp_path / "plan.jsonl").write_text(older)
    with open_run(tmp_path, text, make_plan(read_study(path), 1)) as run:
        assert run.plan == Plan.from_lines(older, "plan.jsonl")
        assert not any(trial.condition.again for trial in run.plan.trials)
    assert (tmp_path / "plan.jsonl").read_text() == older
