"""Which executor gets which block, without any lab."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import given
from hypothesis import strategies as st

from harness.run.attempts import Attempts, Standing
from harness.run.dispatch import Dispatch
from harness.study.plan import Looks, Plan
from tests.unit.harness.run.test_attempts import PLAN
from tests.unit.harness.study.test_plan import PLAN as LOOKED

ALL = ("a", "b", "c")


class Floor:
    """Executors that run what they are given, when they are told to. A trial takes a second, or more."""

    def __init__(self, plan: Plan = PLAN, *, doubles: bool = True) -> None:
        self.standing = Standing(plan, Attempts(plan), Looks(plan))
        self.dispatch = Dispatch(self.standing, doubles=doubles)
        self.at: dict[str, list[tuple[str, int]]] = {}
        self.made: list[tuple[str, int, str]] = []
        self.now_s = 0.0

    def begins(self, executor: str, present: Collection[str] = ALL) -> int | None:
        number = self.dispatch.next_for(executor, present, self.now_s)
        if number is not None:
            attempts = self.standing.attempts
            attempts.take(number, executor)
            left = self.standing.left_of(number)
            self.at[executor] = [(each.trial, attempts.next_of(each) or 0) for each in left]
            self.dispatch.began(executor, number, len(left), self.now_s)
        return number

    def ends_trials(self, executor: str, count: int = 99, seconds: float = 1.0) -> None:
        for trial, attempt in self.at[executor][:count]:
            self.now_s += seconds
            self.standing.attempts.note(trial, attempt, None, executor=executor)
            self.dispatch.trial_ended(executor)
            self.made.append((trial, attempt, executor))
        self.at[executor] = self.at[executor][count:]

    def leaves(self, executor: str) -> None:
        self.dispatch.ended(executor, self.now_s)
        self.at.pop(executor, None)


def test_executors_get_the_blocks_in_their_order() -> None:
    floor = Floor()
    assert [floor.begins(executor) for executor in ALL] == [1, 2, 3]
    floor.ends_trials("b")
    floor.leaves("b")
    assert floor.begins("b") == 4
    assert floor.dispatch.left == [1, 3, 4, 5, 6]


def test_an_executor_that_comes_back_goes_on_with_its_block() -> None:
    floor = Floor()
    floor.begins("a"), floor.begins("b")
    floor.ends_trials("a", 1)
    floor.leaves("a")
    assert floor.begins("c") == 3
    assert floor.begins("a") == 1
    assert [attempt for _, attempt in floor.at["a"]] == [1]


def test_a_block_is_not_taken_from_an_executor_that_is_there_and_is_from_one_that_is_not() -> None:
    floor = Floor()
    floor.begins("a")
    floor.ends_trials("a", 1)
    floor.leaves("a")
    while floor.begins("b") != 6:
        floor.ends_trials("b")
        floor.leaves("b")
    floor.ends_trials("b")
    floor.leaves("b")
    assert floor.begins("b", ("a", "b")) is None
    assert floor.begins("b", ("b",)) == 1
    assert [attempt for _, attempt in floor.at["b"]] == [4, 4]  # all of it, and no number twice


def test_at_the_end_a_slow_executor_is_not_waited_for() -> None:
    floor = Floor()
    floor.begins("a")
    for _ in range(5):
        floor.begins("b")
        floor.ends_trials("b")
        floor.leaves("b")
    assert floor.dispatch.left == [1]
    assert floor.begins("b") == 1  # a is at its first trial since 10 s
    assert floor.begins("c") is None  # nothing is known of its pace, and b is at it
    floor.ends_trials("b")
    floor.leaves("b")
    assert floor.dispatch.is_over(1)
    floor.ends_trials("a")  # late: stored, and nothing is counted twice
    assert floor.dispatch.left == []


def test_lanes_wait_for_each_other() -> None:
    floor = Floor(doubles=False)
    floor.begins("a")
    for _ in range(5):
        floor.begins("b")
        floor.ends_trials("b")
        floor.leaves("b")
    assert floor.begins("b") is None
    floor.leaves("a")
    assert floor.begins("b", ("b",)) == 1  # a has gone


def test_blocks_behind_a_look_wait_for_it() -> None:
    floor = Floor(LOOKED)  # its first look is after block 3
    assert [floor.begins(executor) for executor in ALL] == [1, 2, 3]
    floor.ends_trials("c", 2)
    for executor in ("a", "b"):
        floor.ends_trials(executor)
        floor.leaves(executor)
    assert floor.begins("a") is None
    assert floor.dispatch.look_to_take() is None
    floor.ends_trials("c")
    floor.leaves("c")
    assert floor.dispatch.look_to_take() == 4
    floor.standing.looks.note(3, [])
    floor.dispatch.look_again()
    assert floor.begins("a") == 4


@given(
    st.lists(
        st.tuples(st.sampled_from(ALL), st.sampled_from(["trial", "block", "goes", "gone"])), max_size=120
    )
)
def test_whatever_executors_do_every_block_ends_whole_and_nothing_is_made_twice(
    steps: list[tuple[str, str]],
) -> None:
    floor = Floor()
    present = set(ALL)
    for executor, what in steps:
        if what == "gone":
            present.discard(executor)
            floor.leaves(executor)
            continue
        present.add(executor)
        if executor not in floor.at and floor.begins(executor, present) is None:
            continue
        floor.ends_trials(executor, 1 if what == "trial" else 99)
        if what == "goes" or not floor.at[executor]:
            floor.leaves(executor)
    for executor in ALL:
        floor.leaves(executor)
    while floor.dispatch.left:
        assert floor.begins("a", ("a",)) is not None
        floor.ends_trials("a")
        floor.leaves("a")
    assert len({(trial, attempt) for trial, attempt, _ in floor.made}) == len(floor.made)
    goes: dict[tuple[int, int], dict[str, set[str]]] = {}
    for trial, attempt, executor in floor.made:
        attempts = floor.standing.attempts
        go = attempts.planned(trial).block, attempts.restart_of(attempt)
        goes.setdefault(go, {}).setdefault(executor, set()).add(trial)
    assert all(len(executors) == 1 for executors in goes.values())
    for block, trials in floor.standing.blocks.items():
        whole = {each.trial for each in trials}
        assert any(whole in executors.values() for (number, _), executors in goes.items() if number == block)
