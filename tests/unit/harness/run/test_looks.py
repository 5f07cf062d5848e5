"""What a look stopped stays stopped, and no look is taken twice or too early."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.errors import RecordsError
from harness.model.observation import Observation
from harness.model.plan import PlannedTrial
from harness.outcome import Outcome
from harness.records import Record
from harness.run.attempts import Attempts
from harness.run.coordinator import take_looks
from harness.run.directory import RunDirectory, open_run
from harness.run.looks import Found, Looks, key_of, of_trials, read_looks
from harness.run.standing import Standing
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study, read_study, shipped_studies

STUDY = """
name = "mine"
pages = ["one"]
protocols = ["http1", "h2"]
trials = {least = 3, most = 12, until = "2 %"}
[[links]]
down_mbps = 10
rtt_ms = 20
"""
PLAN = make_plan(parse_study(STUDY, "mine.toml"), 1)
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


def recorded(run: RunDirectory, planned: PlannedTrial) -> None:
    """A trial that counts; h2 is steady, http1 is not."""
    noise = 0.0 if planned.condition.protocol == "h2" else planned.block * 10.0
    observation = Observation(plt_ms=100.0 + noise)
    run.append(Record(planned, Outcome.OK, None, "2026-01-01T00:00:00.000Z", observation, 1.0))


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
    with open_run(tmp_path / "run", STUDY, PLAN) as run:
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
    with open_run(tmp_path / "whole", STUDY, PLAN) as run:
        whole = carried_out(run)
    with open_run(tmp_path / "run", STUDY, PLAN) as run:
        first = carried_out(run, until)
    with open_run(tmp_path / "run", STUDY, PLAN) as run:
        assert [*first, *carried_out(run)] == whole
    both = [(tmp_path / name / "looks.jsonl").read_text() for name in ("run", "whole")]
    assert both[0] == both[1]


def test_a_look_that_a_kill_prevented_is_taken_later_and_a_cut_one_again(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", STUDY, PLAN) as run:
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
    with pytest.raises(RecordsError, match=r"looks\.jsonl line 1 is damaged"):
        read_looks(tmp_path / "looks.jsonl", PLAN)


def test_a_plan_without_until_has_no_looks() -> None:
    plan = make_plan(parse_study(STUDY.replace('{least = 3, most = 12, until = "2 %"}', "12"), "x"), 1)
    assert Looks(plan).due(12) == ()
    assert len(Standing(plan, Attempts(plan), Looks(plan)).left) == 36


@pytest.mark.parametrize("name", sorted(shipped_studies()))
def test_the_key_of_a_condition_is_its_own(name: str) -> None:
    plan = make_plan(read_study(shipped_studies()[name]), 1)
    conditions = {trial.condition for trial in plan.trials}
    assert len({key_of(each) for each in conditions}) == len(conditions)
