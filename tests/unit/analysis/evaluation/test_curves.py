"""Curves over the trials of a crowd, and what is read off them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from analysis.evaluation.curves import (
    TIME,
    USERS,
    at_users,
    before_the_most,
    curve,
    drawable,
    least_idle,
    memory_per_user,
    page_times,
)


def trial(name: str, users: list[float], rates: list[float], **more: list[float]) -> pd.DataFrame:
    count = len(users)
    return pd.DataFrame(
        {
            "run": "run",
            "trial": name,
            "cell": 0,
            "t_s": np.arange(count) * 10.0,
            "seconds": 10.0,
            "users": users,
            "pages_per_s": rates,
            "page_ms": more.get("page_ms", [1000.0] * count),
            "failed": more.get("failed", [0.0] * count),
            "cpu_idle_share": more.get("cpu_idle_share", [0.9] * count),
            "memory_bytes": more.get("memory_bytes", [1e6] * count),
            "server_cpu_s": 1.0,
        }
    )


RAMP = pd.concat(
    [
        trial("1", [10, 20, 30], [1.0, 2.0, 3.0]),
        trial("2", [10.4, 20.2, 30.1], [1.2, 2.2, 2.0]),
        trial("3", [10, 20], [5.0, 2.1]),
    ]
)


def test_against_time_trials_meet_in_their_buckets_with_median_and_range() -> None:
    found = curve(drawable(RAMP), TIME, "pages_per_s")
    assert found.x.tolist() == [5.0, 15.0, 25.0]
    assert found.median.tolist() == [1.2, 2.1, 2.5]
    assert found.low.tolist() == [1.0, 2.0, 2.0]
    assert found.high.tolist() == [5.0, 2.2, 3.0]
    assert [line.y.tolist() for line in found.trials] == [[1.0, 2.0, 3.0], [1.2, 2.2, 2.0], [5.0, 2.1]]


def test_a_step_of_users_is_one_point_however_many_buckets_it_has() -> None:
    steps = trial("1", [50, 50, 50, 100, 100], [4.0, 5.0, 6.0, 8.0, 10.0])
    found = curve(drawable(steps), USERS, "pages_per_s")
    assert (found.x.tolist(), found.median.tolist()) == ([50.0, 100.0], [5.0, 9.0])
    assert (found.low.tolist(), found.high.tolist()) == ([4.0, 8.0], [6.0, 10.0])
    (line,) = found.trials
    assert line.y.tolist() == [5.0, 9.0]


def test_what_was_never_observed_is_no_curve() -> None:
    nothing = drawable(trial("1", [1, 2], [math.nan, math.nan]))
    assert curve(nothing, TIME, "pages_per_s").is_empty


@pytest.mark.parametrize(
    ("users", "ms"), [(100, 1000.0), (110, 1500.0), (120, 2000.0), (99, math.nan), (121, math.nan)]
)
def test_a_page_time_at_some_users_lies_between_two_buckets_and_not_beyond(users: float, ms: float) -> None:
    one = trial("1", [100, 120], [1.0, 1.0], page_ms=[1000.0, 2000.0])
    assert at_users(one, "page_ms", users) == pytest.approx(ms, nan_ok=True)


def test_a_page_time_is_not_made_up_where_no_page_came() -> None:
    one = trial("1", [100, 120, 140], [1.0, 0.0, 1.0], page_ms=[1000.0, math.nan, 5000.0])
    assert math.isnan(at_users(one, "page_ms", 110))
    assert at_users(one, "page_ms", 140) == 5000.0


def failing(name: str, times: list[float]) -> pd.DataFrame:
    return trial(name, [100, 120], [1.0, 1.0], page_ms=times, failed=[5.0, 5.0])


def test_where_pages_failed_and_none_loaded_is_the_longest_page_time() -> None:
    lost = failing("1", [700.0, math.nan])
    assert page_times(lost).tolist() == [700.0, math.inf]
    assert at_users(lost.assign(page_ms=page_times(lost)), "page_ms", 110) == math.inf
    quiet = trial("1", [100, 120], [1.0, 1.0], page_ms=[700.0, math.nan])
    assert math.isnan(page_times(quiet)[1])


@pytest.mark.parametrize(("lost", "second"), [(1, 0.9), (2, math.nan)])
def test_the_median_of_page_times_is_none_where_half_of_the_trials_have_none(
    lost: int, second: float
) -> None:
    parts = [failing(str(number), [700.0, math.nan if number < lost else 900.0]) for number in range(3)]
    found = curve(drawable(pd.concat(parts)), USERS, "page_s")
    assert found.median.tolist() == pytest.approx([0.7, second], nan_ok=True)
    assert math.isnan(found.high[1])
    assert [math.isnan(line.y[1]) for line in found.trials] == [number < lost for number in range(3)]


def test_memory_and_idle_cpu_are_those_before_the_server_gave_way() -> None:
    one = trial(
        "1",
        [0, 10, 20, 30, 40],
        [1.0, 2.0, 3.0, 2.5, 9.0],  # in the last one nobody begins a page any more
        memory_bytes=[1e6, 2e6, 3e6, 9e6, 9e6],
        cpu_idle_share=[0.95, 0.9, 0.8, 0.1, 0.2],
    )
    rising = before_the_most(one, most_pages_per_s=3.0)
    assert rising["users"].tolist() == [0, 10, 20]
    assert memory_per_user(rising) == pytest.approx(1e5)
    assert least_idle(rising) == 0.8
    assert math.isnan(memory_per_user(rising.head(2)))
