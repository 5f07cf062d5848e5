"""The plan is reproducible, blocked and complete."""

from __future__ import annotations

from collections import Counter

import pytest

from harness.errors import RecordsError
from harness.study.plan import Plan, make_plan
from harness.study.study import Study
from harness.study.studyfile import parse_study

STUDY = """
name = "mine"
pages = ["one"]
protocols = ["http1", "h2", "https1"]
trials = 4
[[links]]
down_mbps = 10
rtt_ms = [20, 50, 100]
"""


@pytest.fixture
def study() -> Study:
    return parse_study(STUDY, "mine.toml")


def test_every_block_holds_every_condition_once(study: Study) -> None:
    plan = make_plan(study, 1)
    for block in range(1, 5):
        conditions = [trial.condition for trial in plan.trials if trial.block == block]
        assert Counter(conditions) == Counter(study.conditions)


def test_same_seed_same_plan_other_seed_other_order(study: Study) -> None:
    assert make_plan(study, 7) == make_plan(study, 7)
    assert make_plan(study, 7) != make_plan(study, 8)


def test_blocks_are_ordered_differently(study: Study) -> None:
    plan = make_plan(study, 7)
    orders = {
        tuple(trial.condition for trial in plan.trials if trial.block == block) for block in range(1, 5)
    }
    assert len(orders) > 1


def test_plan_survives_its_file(study: Study) -> None:
    plan = make_plan(study, 7)
    assert Plan.from_lines(plan.to_lines(), "plan.jsonl") == plan


def test_cut_plan_is_refused(study: Study) -> None:
    text = make_plan(study, 7).to_lines()
    lines = text.splitlines(keepends=True)
    with pytest.raises(RecordsError, match="not a complete plan"):
        Plan.from_lines("".join(lines[:-1]), "plan.jsonl")
    with pytest.raises(RecordsError, match="not a plan"):
        Plan.from_lines(text[:-20], "plan.jsonl")
    with pytest.raises(RecordsError, match="not a plan"):
        Plan.from_lines("", "plan.jsonl")
