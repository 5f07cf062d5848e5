"""The plan is reproducible, blocked and complete."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from harness.errors import RecordsError, StudyError
from harness.model.condition import Condition
from harness.model.kind import Kind
from harness.model.metrics import main_metric
from harness.model.plan import ConditionReader, Plan
from harness.model.trials import Trials
from harness.study.planning import make_plan
from harness.study.study import Study
from harness.study.studyfile import parse_study
from tests.unit.harness.study.kindstudies import REQUESTS, USERS

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
        twins = [condition for condition in conditions if condition.again]
        assert Counter(conditions) == Counter([*study.conditions, *twins])
        assert len(twins) == 3  # one per link


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
    assert plan.per_condition == Trials.of(4)
    looking = make_plan(replace(study, trials=Trials(5, 20, 0.02, 2)), 7)
    assert Plan.from_lines(looking.to_lines(), "plan.jsonl") == looking
    assert looking.blocks == 20
    assert looking.looks == (5, 6, 7, 9, 11, 13, 16, 20)


def test_a_plan_of_an_older_version_is_read(study: Study) -> None:
    """It has neither `again` nor what the header says of a condition's trials."""
    plan = make_plan(replace(study, aa=False), 7)
    header, *rows = map(json.loads, plan.to_lines().splitlines())
    del header["per_condition"]
    for row in rows:
        del row["condition"]["again"]
    older = Plan.from_lines("".join(json.dumps(row) + "\n" for row in (header, *rows)), "plan.jsonl")
    assert older == replace(plan, per_condition=None)
    assert older.looks == ()
    assert older.cells == make_plan(study, 7).cells


def test_a_plan_names_the_claims_of_the_study_or_the_default_ones(study: Study) -> None:
    assert [claim.name for claim in make_plan(study, 7).claims] == [
        "https1 against http1",
        "h2 against http1",
    ]
    budget = '[[claims]]\nname = "fast"\nat_most = 2500\nwhere = {rtt_ms = [20, 50]}\n'
    plan = make_plan(parse_study(STUDY + budget, "mine.toml"), 7)
    assert [claim.name for claim in plan.claims] == ["fast"]
    assert Plan.from_lines(plan.to_lines(), "plan.jsonl") == plan
    damaged = plan.to_lines().replace('"at_most": 2500.0', '"at_most": "2500"')
    with pytest.raises(RecordsError, match=r"plan\.jsonl is not a plan \(not a claim"):
        Plan.from_lines(damaged, "plan.jsonl")


def test_a_plan_of_an_older_version_has_no_claims(study: Study) -> None:
    older = replace(make_plan(study, 7), claims=())
    assert '"claims"' not in older.to_lines()
    assert Plan.from_lines(older.to_lines(), "plan.jsonl") == older


@pytest.mark.parametrize("value", [["one"], {}, 7, None, ""])
@pytest.mark.parametrize("place", ["trial", "page", "server", "link", "name", "seed"])
def test_a_plan_with_an_odd_value_is_refused(study: Study, place: str, value: Any) -> None:
    """What is no text may not even be fit to be looked up."""
    header, first, *rows = map(json.loads, make_plan(study, 7).to_lines().splitlines())
    condition = first["condition"]
    holder = {"trial": first, "name": condition["link"], "seed": condition["link"]}.get(place, condition)
    holder[place] = value if (place, value) != ("seed", 7) else -1
    with pytest.raises(RecordsError, match=r"plan\.jsonl is not a plan \("):
        Plan.from_lines("".join(json.dumps(row) + "\n" for row in (header, first, *rows)), "plan.jsonl")


def test_cut_plan_is_refused(study: Study) -> None:
    text = make_plan(study, 7).to_lines()
    lines = text.splitlines(keepends=True)
    with pytest.raises(RecordsError, match="not a complete plan"):
        Plan.from_lines("".join(lines[:-1]), "plan.jsonl")
    with pytest.raises(RecordsError, match="not a plan"):
        Plan.from_lines(text[:-20], "plan.jsonl")
    with pytest.raises(RecordsError, match="not a plan"):
        Plan.from_lines("", "plan.jsonl")


@pytest.mark.parametrize(("text", "kind"), [(USERS, Kind.USERS), (REQUESTS, Kind.REQUESTS)])
def test_a_plan_of_another_kind_survives_its_file(text: str, kind: Kind) -> None:
    plan = make_plan(parse_study(text, "mine.toml"), 7)
    assert plan.kind is kind
    again = Plan.from_lines(plan.to_lines(), "plan.jsonl")
    assert again == plan
    assert {claim.metric for claim in again.claims} == {main_metric(kind)}
    assert len({str(trial.condition) for trial in plan.trials}) == plan.conditions


def test_a_plan_of_loads_says_nothing_of_kinds(study: Study) -> None:
    plan = make_plan(study, 7)
    assert plan.kind is Kind.LOAD
    assert "workload" not in plan.to_lines()
    foreign = plan.to_lines().replace('"plt_ms"', '"pages_per_s"')
    with pytest.raises(RecordsError, match="unknown 'pages_per_s'"):
        Plan.from_lines(foreign, "plan.jsonl")


class TestConditionReader:
    """Conditions of records and plans are few, and each is one object."""

    def test_equal_ones_are_one_object_in_whatever_form(self, study: Study) -> None:
        (condition, other, *_), read = study.conditions, ConditionReader()
        data = condition.to_json()
        first = read(data)
        assert first == condition
        turned = dict(reversed(data.items()))
        texts = (json.dumps(data), json.dumps(turned), json.dumps(data, indent=1))
        assert all(read(msgspec.Raw(text.encode())) is first for text in texts)
        assert read(turned) is first
        assert read(other.to_json()) == other

    def test_those_that_are_known_are_given_back(self, study: Study) -> None:
        read = ConditionReader(study.conditions)
        assert all(read(condition.to_json()) is condition for condition in study.conditions)

    def test_each_is_read_once(self, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
        data, careful = study.conditions[0].to_json(), Condition.from_json
        calls: list[Any] = []

        def counted(found: Any) -> Condition:
            calls.append(found)
            return careful(found)

        monkeypatch.setattr(Condition, "from_json", counted)
        read = ConditionReader()
        for _ in range(3):
            read(msgspec.Raw(json.dumps(data).encode()))
        assert calls == [data]

    def test_a_damaged_one_is_refused_each_time(self, study: Study) -> None:
        read, data = ConditionReader(study.conditions), study.conditions[0].to_json()
        for _ in range(2):
            with pytest.raises(StudyError, match="not a condition"):
                read({**data, "protocol": "http9"})
