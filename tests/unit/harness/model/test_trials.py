"""How many trials a study asks for, when it may look, and how long a trial takes."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import StudyError
from harness.model.condition import CacheState, Condition
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.trials import GROWTH, MAX_LOOKS, MAX_TRIALS, Trials, seconds_of
from harness.study.studyfile import parse_study
from tests.unit.harness.study.kindstudies import REQUESTS, USERS


@pytest.mark.parametrize(
    ("value", "trials"),
    [
        (10, Trials(10, 10)),
        ({"least": 10, "most": 60, "until": "2 %", "attempts": 3}, Trials(10, 60, 0.02, 3)),
        ({"least": 10, "attempts": 2}, Trials(10, 10, None, 2)),
        ({"attempts": 1}, Trials(5, 5, None, 1)),
        ({"most": 30, "until": "0.5%"}, Trials(5, 30, 0.005)),
        ({"least": 7, "most": 7, "until": "50 %"}, Trials(7, 7, 0.5)),
    ],
)
def test_a_number_or_a_table(value: Any, trials: Trials) -> None:
    assert Trials.parse(value) == trials


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "trials is 0; it must be 1 to 10000"),
        ("ten", "trials must be a whole number"),
        (True, "trials must be a whole number"),
        ({}, "some of least, most, until, attempts"),
        ({"least": 60, "most": 10, "until": "2 %"}, "least is 60 and most 10"),
        ({"least": 10, "until": "2 %"}, "trials has until but no most"),
        ({"least": 10, "most": 60}, "nothing says when to stop between 10 and 60"),
        ({"least": 10, "most": 60, "until": 0.02}, 'trials: until must be a text such as "2 %", found 0.02'),
        ({"least": 10, "most": 60, "until": "2"}, "must be a text such as"),
        ({"least": 10, "most": 60, "until": "-2 %"}, "must be a text such as"),
        ({"least": 10, "most": 60, "until": "0.05 %"}, "until is 0.05 %; it must be 0.1 to 50 %"),
        ({"least": 10, "most": 60, "until": "51 %"}, "until is 51 %"),
        ({"least": 10, "attempts": 0}, "trials: attempts is 0; it must be 1 to 10"),
        ({"least": 10, "attempts": 11}, "trials: attempts is 11"),
        ({"least": 10, "maximum": 11}, "unknown key 'maximum'"),
    ],
)
def test_what_cannot_be_is_one_line(value: Any, said: str) -> None:
    with pytest.raises(StudyError) as refused:
        Trials.parse(value)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_looks_of_the_usual_case() -> None:
    assert Trials(10, 60, 0.02).looks == (10, 13, 17, 22, 28, 36, 46, 60)
    assert Trials(10, 20, 0.02).looks == (10, 12, 14, 17, 20)
    assert Trials.of(10).looks == ()


@given(st.integers(1, MAX_TRIALS), st.integers(1, MAX_TRIALS))
def test_looks_are_few_and_go_from_the_least_to_the_most(one: int, other: int) -> None:
    least, most = sorted((one, other))
    looks = Trials(least, most, 0.02).looks
    assert looks[0] == least
    assert looks[-1] == most
    assert len(looks) <= MAX_LOOKS
    assert list(looks) == sorted(set(looks))
    steps = list(itertools.pairwise(looks))
    if len(looks) < MAX_LOOKS:
        assert all(later <= GROWTH * earlier + 1 for earlier, later in steps)


@given(st.integers(1, 100), st.integers(0, 100), st.integers(1, 10), st.sampled_from([0.001, 0.02, 0.5]))
def test_they_survive_the_header_of_a_plan(least: int, more: int, attempts: int, until: float) -> None:
    for trials in (Trials(least, least, None, attempts), Trials(least, least + more, until, attempts)):
        assert Trials.from_json(trials.to_json()) == trials


def test_looks_that_do_not_follow_from_the_rest_are_refused() -> None:
    for trials, looks in ((Trials(10, 60, 0.02), [10, 60]), (Trials.of(10), [10])):
        with pytest.raises(StudyError, match="looks are"):
            Trials.from_json(trials.to_json() | {"looks": looks})


def test_a_trial_takes_as_long_as_its_workload() -> None:
    (crowd, *_), (loop, *_) = (parse_study(text, "x").conditions for text in (USERS, REQUESTS))
    assert 1200 < seconds_of(crowd, 10**9) < 1300  # whatever the page weighs
    assert 13 <= seconds_of(loop, 10**9) < 20


def test_a_load_with_a_warm_cache_takes_that_of_two() -> None:
    cold = Condition.usual("page", Protocol.H2, Link.of(5, 10))
    assert seconds_of(replace(cold, cache=CacheState.WARM), 10**6) > 2 * seconds_of(cold, 10**6)
