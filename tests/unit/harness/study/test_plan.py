"""A plan survives its file, and looks tell what of it is still needed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.errors import Outcome, RecordsError, StudyError
from harness.model.condition import Condition
from harness.model.kind import Kind, main_metric
from harness.model.trials import PlannedTrial, Trials
from harness.probes.registry import Observation
from harness.records import Record
from harness.run.attempts import Attempts, Standing
from harness.run.coordinator import take_looks
from harness.run.directory import RunDirectory, open_run
from harness.study.plan import ConditionReader, Found, Looks, Plan, key_of, of_trials, read_looks
from harness.study.planning import make_plan
from harness.study.study import Study
from harness.study.studyfile import parse_study, read_study, shipped_studies
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


def test_two_runs_of_a_plan_draw_other_losses_in_the_same_order(study: Study) -> None:
    """All conditions of a block alike, no block as another one, nor as that of another run."""
    one, other = make_plan(study, 7, draw=1000), make_plan(study, 7, draw=2000)
    assert [trial.condition for trial in one.trials] == [trial.condition for trial in other.trials]
    assert {trial.block: trial.draw for trial in one.trials} == {block: 1000 + block for block in range(1, 5)}
    assert not {trial.draw for trial in one.trials} & {trial.draw for trial in other.trials}
    assert Plan.from_lines(one.to_lines(), "plan.jsonl") == one
    undrawn = make_plan(study, 7)
    assert all(trial.draw == trial.block for trial in undrawn.trials)
    assert "own_draw" not in undrawn.to_lines()


def test_pages_draw_each_by_itself_unless_a_claim_compares_them() -> None:
    """A mean over pages is no surer than so many draws."""
    claim = """
[[claims]]
name = "one against two"
subject = {page = "two"}
reference = {page = "one"}
[[links]]"""
    text = STUDY.replace('["one"]', '["one", "two", "three"]')
    for study, alike in ((text, 0), (text.replace("\n[[links]]", claim, 1), 1)):
        plan = make_plan(parse_study(study, "mine.toml"), 7, draw=1000)
        draws = {
            page: {t.draw for t in plan.trials if t.condition.page == page}
            for page in ("one", "two", "three")
        }
        assert len(draws["one"] | draws["two"]) == (4 if alike else 8)
        assert not draws["three"] & (draws["one"] | draws["two"])


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


def test_a_plan_names_the_claims_of_the_study_or_the_default_ones(study: Study) -> None:
    assert [claim.name for claim in make_plan(study, 7).claims] == [
        "https1 against http1",
        "h2 against https1",
        "h2 against http1",
    ]
    budget = '[[claims]]\nname = "fast"\nat_most = 2500\nwhere = {rtt_ms = [20, 50]}\n'
    plan = make_plan(parse_study(STUDY + budget, "mine.toml"), 7)
    assert [claim.name for claim in plan.claims] == ["fast"]
    assert Plan.from_lines(plan.to_lines(), "plan.jsonl") == plan
    damaged = plan.to_lines().replace('"at_most": 2500.0', '"at_most": "2500"')
    with pytest.raises(RecordsError, match=r"plan\.jsonl is damaged .*not a claim"):
        Plan.from_lines(damaged, "plan.jsonl")


def test_what_a_plan_does_not_have_its_header_does_not_name(study: Study) -> None:
    plan = replace(make_plan(study, 7), claims=())
    assert not {"claims", "options", "sets"} & json.loads(plan.to_lines().splitlines()[0]).keys()
    assert Plan.from_lines(plan.to_lines(), "plan.jsonl") == plan


def test_options_of_the_command_line_stand_in_the_plan(study: Study) -> None:
    plan = make_plan(replace(study, options=(("--trials", "4"), ("--only", "page=one"))), 7)
    again = Plan.from_lines(plan.to_lines(), "plan.jsonl")
    assert again == plan
    assert again.options == (("--trials", "4"), ("--only", "page=one"))


@pytest.mark.parametrize("place", ["condition", "link"])
def test_a_condition_that_says_more_than_this_version_knows_is_refused(study: Study, place: str) -> None:
    header, first, *rows = map(json.loads, make_plan(study, 7).to_lines().splitlines())
    (first["condition"]["link"] if place == "link" else first["condition"])["new"] = None
    with pytest.raises(RecordsError, match="'new', which this version does not know"):
        Plan.from_lines("".join(json.dumps(row) + "\n" for row in (header, first, *rows)), "plan.jsonl")


@pytest.mark.parametrize("value", [["one"], {}, 7, None, ""])
@pytest.mark.parametrize("place", ["trial", "page", "server", "link", "name", "seed"])
def test_a_plan_with_an_odd_value_is_refused(study: Study, place: str, value: Any) -> None:
    """What is no text may not even be fit to be looked up."""
    header, first, *rows = map(json.loads, make_plan(study, 7).to_lines().splitlines())
    condition = first["condition"]
    holder = {"trial": first, "name": condition["link"], "seed": condition["link"]}.get(place, condition)
    holder[place] = value if (place, value) != ("seed", 7) else -1
    with pytest.raises(RecordsError, match=r"plan\.jsonl is damaged"):
        Plan.from_lines("".join(json.dumps(row) + "\n" for row in (header, first, *rows)), "plan.jsonl")


def test_cut_plan_is_refused(study: Study) -> None:
    text = make_plan(study, 7).to_lines()
    lines = text.splitlines(keepends=True)
    with pytest.raises(RecordsError, match="not a whole plan"):
        Plan.from_lines("".join(lines[:-1]), "plan.jsonl")
    with pytest.raises(RecordsError, match="damaged or not a plan"):
        Plan.from_lines(text[:-20], "plan.jsonl")
    with pytest.raises(RecordsError, match="damaged or not a plan"):
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


def raw(data: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(data).encode())


class TestConditionReader:
    """Conditions of records and plans are few, and each is one object."""

    def test_equal_ones_are_one_object_in_whatever_form(self, study: Study) -> None:
        (condition, other, *_), read = study.conditions, ConditionReader()
        data = condition.to_json()
        first = read(raw(data))
        assert first == condition
        turned = dict(reversed(data.items()))
        texts = (json.dumps(data), json.dumps(turned), json.dumps(data, indent=1))
        assert all(read(msgspec.Raw(text.encode())) is first for text in texts)
        assert read(raw(other.to_json())) == other

    def test_those_that_are_known_are_given_back(self, study: Study) -> None:
        read = ConditionReader(study.conditions)
        assert all(read(raw(condition.to_json())) is condition for condition in study.conditions)

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
                read(raw({**data, "protocol": "http9"}))


STUDY_OF_LOOKS = """
name = "mine"
pages = ["one"]
protocols = ["http1", "h2"]
trials = {least = 3, most = 12, until = "2 %"}
[[links]]
down_mbps = 10
rtt_ms = 20
"""
PLAN = make_plan(parse_study(STUDY_OF_LOOKS, "mine.toml"), 1)
CONDITIONS = {key_of(trial.condition): trial.condition for trial in PLAN.trials}


def narrow(folder: Path, block: int) -> Found:
    """A simple rule: a condition was measured enough when its largest time is within 5 % of its smallest."""
    times: dict[str, list[float]] = {}
    trials: dict[str, str] = {}
    for line in (folder / "records.jsonl").read_text().splitlines():
        record = json.loads(line)
        name = json.dumps(record["condition"])
        if record["block"] <= block and record["left_out"] is None:
            times.setdefault(name, []).append(record["plt_ms"])
            trials[name] = record["trial"]
    spread = {trials[name]: max(each) / min(each) - 1 for name, each in times.items()}
    return Found(of_trials(PLAN, (trial for trial, share in spread.items() if share < 0.05)), spread)


def counting(planned: PlannedTrial) -> Record:
    """An attempt that counts; h2 is steady, http1 is not."""
    noise = 0.0 if planned.condition.protocol == "h2" else planned.block * 10.0
    observation = Observation(plt_ms=100.0 + noise)
    return Record(planned, Outcome.OK, None, "2026-01-01T00:00:00.000Z", observation, 1.0)


def recorded(run: RunDirectory, planned: PlannedTrial) -> None:
    """Such an attempt is made."""
    run.append(counting(planned))


def carried_out(run: RunDirectory, until: int | None = None) -> list[PlannedTrial]:
    """The trials that are run from here on, up to a number of them, with the looks between."""
    done: list[PlannedTrial] = []
    standing = run.standing()
    for planned in standing.left:
        take_looks(run, standing, planned.block, narrow)
        if standing.looks.needs(planned):
            if len(done) == until:
                break
            recorded(run, planned)
            done.append(planned)
    return done


def test_the_looks_of_the_plan() -> None:
    assert PLAN.looks == (3, 4, 5, 7, 8, 10, 12)
    assert Looks(PLAN).due(3) == ()
    assert Looks(PLAN).due(4) == (3,)
    assert Looks(PLAN).due(6) == (3, 4, 5)


def test_a_stopped_condition_gets_no_more_trials(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", PLAN) as run:
        done = carried_out(run)
        assert run.standing().left == []
    per_protocol = {
        protocol: sum(t.condition.protocol == protocol for t in done) for protocol in ("h2", "http1")
    }
    assert per_protocol == {"h2": 3, "http1": 24}  # http1 is there twice
    lines = [json.loads(line) for line in (tmp_path / "run" / "looks.jsonl").read_text().splitlines()]
    assert [line["block"] for line in lines] == [3, 4, 5, 7, 8, 10]
    assert lines[0]["stopped"] == [name for name in CONDITIONS if " h2 " in name]
    assert all(line["stopped"] == [] for line in lines[1:])
    assert all(line["facts"] for line in lines)


@pytest.mark.thorough
@pytest.mark.parametrize("until", range(0, 27))
def test_a_killed_run_makes_the_same_trials(tmp_path: Path, until: int) -> None:
    with open_run(tmp_path / "whole", PLAN) as run:
        whole = carried_out(run)
    with open_run(tmp_path / "run", PLAN) as run:
        first = carried_out(run, until)
    with open_run(tmp_path / "run", PLAN) as run:
        assert [*first, *carried_out(run)] == whole
    both = [(tmp_path / name / "looks.jsonl").read_text() for name in ("run", "whole")]
    assert both[0] == both[1]


def test_a_look_that_a_kill_prevented_is_taken_later_and_a_cut_one_again(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", PLAN) as run:
        carried_out(run, 12)
        whole = run.looks_path.read_bytes()
        run.looks_path.write_bytes(whole[: whole.rindex(b"\n", 0, -1) + 20])
        carried_out(run, 1)
        assert run.looks_path.read_bytes().startswith(whole)


@pytest.mark.parametrize(
    "line",
    [
        '{"block": 3, "stopped": ["nothing of the plan"]}',
        '{"block": 2, "stopped": []}',  # no look of the plan
        '{"block": 0, "stopped": []}',
        '{"block": 3, "stopped": ""}',
        "{}",
        "x",
    ],
)
def test_damage_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "looks.jsonl").write_text(f"{line}\n")
    with pytest.raises(RecordsError, match=r"looks\.jsonl:1 is damaged"):
        read_looks(tmp_path / "looks.jsonl", PLAN)


def test_a_plan_without_until_has_no_looks() -> None:
    plan = make_plan(
        parse_study(STUDY_OF_LOOKS.replace('{least = 3, most = 12, until = "2 %"}', "12"), "x"), 1
    )
    assert Looks(plan).due(12) == ()
    assert len(Standing(plan, Attempts(plan), Looks(plan)).left) == 36


@pytest.mark.parametrize("name", sorted(shipped_studies()))
def test_the_key_of_a_condition_is_its_own(name: str) -> None:
    plan = make_plan(read_study(shipped_studies()[name]), 1)
    conditions = {trial.condition for trial in plan.trials}
    assert len({key_of(each) for each in conditions}) == len(conditions)


def test_each_condition_has_one_portrait_unless_the_study_says_no(study: Study) -> None:
    plan = make_plan(study, 7)
    shown = [each.condition for each in plan.portraits.values()]
    assert Counter(shown) == Counter(study.conditions)  # the baseline that is measured twice has one
    assert all(each.portrait and each.block > plan.blocks for each in plan.portraits.values())
    assert not plan.portraits.keys() & {trial.trial for trial in plan.trials}
    assert Plan.from_lines(plan.to_lines(), "plan.jsonl").portraits == plan.portraits
    off = make_plan(parse_study("portraits = false\n" + STUDY, "mine.toml"), 7)
    assert off.portraits == {}
    assert "portraits" not in json.loads(off.to_lines().splitlines()[0])
    with pytest.raises(StudyError, match=r"portraits .*true or false"):
        parse_study('portraits = "no"\n' + STUDY, "mine.toml")
