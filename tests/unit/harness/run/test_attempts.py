"""A killed run goes on with the right attempt, whatever it was at."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import Outcome, RecordsError
from harness.model.trials import PlannedTrial
from harness.probes.registry import Observation
from harness.records import Record
from harness.run.attempts import ENGINE_MISSING, PROBATION_BLOCKS, Attempts, read_attempts
from harness.run.directory import open_run
from harness.study.plan import Plan
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study
from tests.unit.harness.study.kindstudies import REQUESTS, USERS

STUDY = """
name = "mine"
pages = ["one"]
protocols = ["http1", "h2"]
trials = {least = 6, attempts = 3}
aa = false
[[links]]
down_mbps = 10
rtt_ms = 20
"""
PLAN = make_plan(parse_study(STUDY, "mine.toml"), 1)
FIRST, SECOND = PLAN.trials[:2]
BUSY = "busy-machine"


def after(*told: tuple[str, int, str | None], plan: Plan = PLAN) -> Attempts:
    attempts = Attempts(plan)
    for trial, attempt, left_out in told:
        attempts.note(trial, attempt, left_out)
    return attempts


def of_condition(planned: PlannedTrial) -> list[PlannedTrial]:
    """The trials of its condition, a block each."""
    return [trial for trial in PLAN.trials if trial.condition == planned.condition]


def record(planned: PlannedTrial, attempt: int, left_out: str | None) -> Record:
    return Record(
        planned=planned,
        outcome=Outcome.OK,
        reason=None,
        started_utc="2026-01-01T00:00:00.000Z",
        observation=Observation(plt_ms=100.0),
        overhead_ms=1.0,
        attempt=attempt,
        left_out=left_out,
    )


def test_a_trial_is_repeated_until_it_counts() -> None:
    assert after().next_of(FIRST) == 1
    assert after(("00001", 1, BUSY)).next_of(FIRST) == 2
    assert after(("00001", 1, BUSY), ("00001", 2, BUSY)).next_of(FIRST) == 3
    assert after(("00001", 1, BUSY), ("00001", 2, None)).next_of(FIRST) is None


def test_its_attempts_are_spent_at_last() -> None:
    assert after(*(("00001", attempt, BUSY) for attempt in (1, 2, 3))).next_of(FIRST) is None


def test_no_attempt_is_made_after_its_block() -> None:
    """The run went on: the second trial has a record, so the first one is over."""
    assert after(("00001", 1, BUSY), ("00002", 1, BUSY)).next_of(FIRST) is None
    assert after(("00001", 1, BUSY), ("00002", 1, BUSY)).next_of(SECOND) == 2


def test_an_engine_that_is_missing_is_not_tried_again() -> None:
    assert after(("00001", 1, ENGINE_MISSING)).next_of(FIRST) is None


def test_a_condition_that_never_counted_gets_one_attempt_per_block() -> None:
    one, two, three, four, *_ = of_condition(FIRST)
    told = [(trial.trial, attempt, "page-error") for trial in (one, two) for attempt in (1, 2, 3)]
    attempts = after(*told)
    assert not attempts.is_hopeless(two)
    assert attempts.is_hopeless(three)
    attempts.note(three.trial, 1, "page-error")
    assert attempts.next_of(three) is None
    assert attempts.next_of(four) == 1
    attempts.note(four.trial, 1, None)  # it counts after all
    assert not attempts.is_hopeless(of_condition(FIRST)[4])
    assert attempts.allowed(of_condition(FIRST)[4]) == 3


def test_a_condition_that_only_the_machine_disturbed_keeps_its_attempts() -> None:
    one, two, three, *_ = of_condition(FIRST)
    attempts = after(*((trial.trial, attempt, BUSY) for trial in (one, two) for attempt in (1, 2, 3)))
    assert not attempts.is_hopeless(three)
    assert attempts.allowed(three) == 3


def test_a_condition_that_starves_the_machine_itself_gets_one_attempt_per_block() -> None:
    """Others counted in the same blocks, so the machine was not to blame."""
    one, two, three, four, *_ = of_condition(FIRST)
    others = of_condition(next(trial for trial in PLAN.trials if trial.condition != FIRST.condition))
    attempts = after(*((trial.trial, attempt, BUSY) for trial in (one, two) for attempt in (1, 2, 3)))
    attempts.note(others[0].trial, 1, None)
    assert not attempts.is_hopeless(three)  # block 2 was disturbed as a whole
    attempts.note(others[1].trial, 1, None)
    assert attempts.is_hopeless(three)
    attempts.note(three.trial, 1, None)
    assert not attempts.is_hopeless(four)


def test_a_condition_works_when_it_has_loaded_in_time_or_only_the_machine_was_in_its_way() -> None:
    one, two, *_ = of_condition(FIRST)
    attempts = after()
    assert not attempts.works(one.trial)  # nobody knows
    attempts.note(one.trial, 1, BUSY)
    assert attempts.works(one.trial)
    attempts.note(one.trial, 2, None, timed_out=True)
    assert not attempts.works(one.trial)
    attempts.note(two.trial, 1, None)
    assert attempts.works(one.trial)


@given(st.lists(st.sampled_from([None, BUSY, "page-error"]), max_size=60), st.data())
def test_a_run_killed_anywhere_goes_on_as_if_it_had_not_been(
    ends: list[str | None], data: st.DataObject
) -> None:
    """Each attempt ends as the list says, then all count; cut at any record, the rest is the same."""
    whole = list(carried_out(Attempts(PLAN), iter(ends)))
    cut = data.draw(st.integers(0, len(whole)))
    resumed = after(*whole[:cut])
    assert [*whole[:cut], *carried_out(resumed, iter(ends[cut:]))] == whole
    counted = {trial for trial, _, left_out in whole if left_out is None}
    for trial in PLAN.trials:
        made = [attempt for name, attempt, _ in whole if name == trial.trial]
        assert made == list(range(1, len(made) + 1))
        assert 1 <= len(made) <= 3
        assert trial.trial in counted or len(made) == 3 or trial.block > PROBATION_BLOCKS


def carried_out(attempts: Attempts, ends: Iterable[str | None]) -> Iterable[tuple[str, int, str | None]]:
    endings = iter(ends)
    for planned in PLAN.trials:
        while (attempt := attempts.next_of(planned)) is not None:
            left_out = next(endings, None)
            attempts.note(planned.trial, attempt, left_out)
            yield planned.trial, attempt, left_out


def test_what_is_stored_is_what_is_known(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", PLAN) as run:
        run.append(record(FIRST, 1, BUSY))
        assert run.standing().attempts.next_of(FIRST) == 2
        assert run.standing().left == list(PLAN.trials)
        run.append(record(FIRST, 2, None))
        assert run.standing().left == list(PLAN.trials[1:])
        assert run.trial_folder("00001", 1).name == "00001"
        assert run.trial_folder("00001", 2).name == "00001-2"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"attempt": 1}, "attempt 1 at trial '00001' is recorded twice"),
        ({"trial": "77777"}, "trial '77777' is not in plan.jsonl"),
        ({"attempt": 0}, "attempt is 0"),
        ({"attempt": "2"}, "attempt is '2'"),
        ({"trial": None}, "trial is None"),
        ({"left_out": [BUSY]}, "left_out is ['busy-machine']"),
        ({"block": 2}, "trial '00001' has another block, order or condition in plan.jsonl"),
        ({"condition": SECOND.condition.to_json()}, "trial '00001' has another block, order or condition"),
        ({"condition": FIRST.condition.to_json() | {"again": True}}, "another block, order or condition"),
        ({"condition": {}}, "page must be a text"),
    ],
)
def test_damage_is_named_with_its_line(tmp_path: Path, line: dict[str, object], said: str) -> None:
    path = tmp_path / "records.jsonl"
    lines = record(FIRST, 1, BUSY).to_json(), record(FIRST, 2, None).to_json() | line
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    with pytest.raises(RecordsError, match=r"records\.jsonl:2 is damaged") as refused:
        read_attempts(path, PLAN)
    assert said in str(refused.value)


def test_nothing_follows_an_attempt_that_counts() -> None:
    with pytest.raises(ValueError, match=r"attempt 2 .*'00001' follows one that counts"):
        after(("00001", 1, None), ("00001", 2, None))


def test_a_line_that_a_kill_cut_off_is_no_attempt_and_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(record(FIRST, 1, None).to_json()) + '\n{"trial": "000')
    before = path.read_bytes()
    assert read_attempts(path, PLAN).recorded == 1
    assert path.read_bytes() == before


def test_a_block_that_another_executor_took_is_begun_again_as_a_whole() -> None:
    attempts = Attempts(PLAN)
    attempts.take(1, "a")
    attempts.note(FIRST.trial, 1, None, executor="a")
    attempts.take(1, "a")  # it comes back, and goes on
    assert (attempts.next_of(FIRST), attempts.next_of(SECOND)) == (None, 1)
    attempts.take(1, "b")
    assert (attempts.next_of(FIRST), attempts.next_of(SECOND)) == (4, 4)
    assert attempts.last_of(FIRST, 4) == 6
    attempts.note(SECOND.trial, 1, BUSY, executor="a")  # late, of the go that was given up
    attempts.note(FIRST.trial, 4, BUSY, executor="b")
    assert (attempts.next_of(FIRST), attempts.next_of(SECOND)) == (5, 4)
    assert (attempts.next_of(FIRST, 0), attempts.next_of(SECOND, 0)) == (None, 2)
    assert attempts.begun_on(1) == ("b",)
    assert [attempts.restart_of(attempt) for attempt in (1, 3, 4, 6, 7)] == [0, 0, 1, 1, 2]


def test_a_block_is_finished_when_any_go_at_it_is_whole(tmp_path: Path) -> None:
    first, second = (replace(record(planned, 1, None), machine="a") for planned in (FIRST, SECOND))
    again = replace(record(FIRST, 4, None), machine="b", restart=1)
    with open_run(tmp_path / "run", PLAN) as run:
        run.append(first, again)
        assert [each.trial for each in run.standing().left_of(1)] == [SECOND.trial]
        assert run.standing().attempts.next_of(SECOND) == 4
        run.append(second)  # the executor that was thought lost ended the block
        assert run.standing().left_of(1) == []
        assert run.standing().left == list(PLAN.trials[2:])
        assert [
            line.get("restart", 0) for line in map(json.loads, run.records_path.read_text().splitlines())
        ] == [0, 1, 0]


RATES = make_plan(parse_study(REQUESTS, "rates.toml"), 1)
SATURATED = "generator-saturated"


def test_a_loop_whose_first_attempts_the_generator_limited_is_unmeasurable() -> None:
    first = RATES.trials[0]
    spent = [(first.trial, attempt, SATURATED) for attempt in range(1, RATES.attempts + 1)]
    assert not [*after(*spent[:-1], plan=RATES).unmeasurable]
    ((trial, reason),) = after(*spent, plan=RATES).unmeasurable
    assert (trial, reason) == (first, SATURATED)
    (other,) = [each for each in RATES.trials if each.condition == first.condition and each.block == 2]
    assert not [*after(*spent, (other.trial, 1, None), plan=RATES).unmeasurable]  # as in a lane beside it


def test_what_a_page_costs_is_told_by_a_crowd_that_the_generator_limited() -> None:
    """So a study that is about that goes on; one about page rates stops."""
    about = (
        USERS
        + '[[claims]]\nname = "c"\nsubject = {protocol = "h2"}\nreference = {protocol = "http1"}\nmetric = '
    )
    for metric, stops in (("pages_per_s", True), ("server_cpu_ms_per_page", False)):
        plan = make_plan(parse_study(f'{about}"{metric}"\n', "crowds.toml"), 1)
        first = plan.trials[0]
        spent = [(first.trial, attempt, SATURATED) for attempt in range(1, plan.attempts + 1)]
        assert bool([*after(*spent, plan=plan).unmeasurable]) is stops
