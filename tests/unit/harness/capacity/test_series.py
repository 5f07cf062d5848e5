"""Pages and seconds to buckets: nothing is lost, nothing is counted twice."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.capacity.series import PageLine, Second, buckets, of_the_crowd, percentile


def page(t_s: float, ms: float | None = 100.0, error: str | None = None) -> PageLine:
    return PageLine(t_s=t_s, user=0, users=3, ms=ms, error=error, requests=4)


def test_a_page_counts_where_it_ends_loaded_or_failed() -> None:
    given_up = replace(page(1.0, None, "timeout"), ended_ms=15_000, broke_ms=15_000)
    untold = page(2.0, None, "reset")  # before 2026-12
    made = buckets([page(9.95), given_up, untold, page(0.0)], [], 10, 20)
    assert [(bucket.t_s, bucket.pages, bucket.failed, bucket.errors) for bucket in made] == [
        (0, 1, 1, {"reset": 1}),
        (10, 1, 1, {"timeout": 1}),
    ]
    assert [bucket.pages_per_s for bucket in made] == [0.1, 0.1]
    assert [bucket.requests for bucket in made] == [8, 8]


def test_what_is_read_of_seconds() -> None:
    seconds = [
        Second(
            t_s=number + 1.0,
            users=number,
            server_cpu_s=0.5,
            workers_busy=number,
            workers_idle=10 - number,
            machine_idle_share=0.1 * number,
            server_rss_bytes=100,
            server_pss_bytes=50 + number,
        )
        for number in range(4)
    ]
    first, second = buckets([], seconds, 2, 4)
    assert (first.users, first.server_cpu_s, first.workers_busy, first.workers) == (0.5, 1.0, 1, 10)
    assert (first.cpu_idle_share, first.memory_bytes) == (0.05, 51)
    assert (second.users, second.workers_busy, second.memory_bytes) == (2.5, 3, 53)


def test_resident_memory_does_not_mix_with_proportional_memory() -> None:
    """Proportional memory is not read every second; resident memory counts shared pages once a process."""
    read = [(900, None), (900, 50), (900, None), (900, None)]
    seconds = [
        Second(t_s=number + 1.0, server_rss_bytes=rss, server_pss_bytes=pss)
        for number, (rss, pss) in enumerate(read)
    ]
    assert [bucket.memory_bytes for bucket in buckets([], seconds, 2, 4)] == [50, None]
    resident = [replace(second, server_pss_bytes=None) for second in seconds]
    assert [bucket.memory_bytes for bucket in buckets([], resident, 2, 4)] == [900, 900]


def test_what_nobody_told_is_none_and_not_zero() -> None:
    (made,) = buckets([], [Second(t_s=1.0)], 10, 10)
    assert made.users is None
    assert made.page_ms is None
    assert made.server_cpu_s is None
    assert made.workers is None
    assert made.cpu_idle_share is None
    assert made.memory_bytes is None


@pytest.mark.parametrize(
    ("asked_s", "lengths"),
    [(30, [10, 10, 10]), (34, [10, 10, 14]), (36, [10, 10, 10, 6]), (3, [3]), (10, [10])],
)
def test_what_is_left_of_the_time_asked_for(asked_s: float, lengths: list[float]) -> None:
    assert [bucket.seconds for bucket in buckets([], [], 10, asked_s)] == lengths


@pytest.mark.parametrize("late_s", [0.002, 1, 4, 6, 12, 47])
def test_what_ends_after_the_time_asked_for_is_in_a_bucket_of_its_own(late_s: float) -> None:
    made = buckets([page(5), page(15), page(18, 1000 * (2 + late_s))], [], 10, 20)
    assert [(bucket.t_s, bucket.seconds, bucket.pages) for bucket in made] == [
        (0, 10, 1),
        (10, 10, 1),
        (20, pytest.approx(late_s), 1),
    ]
    assert of_the_crowd(made, 20) == made[:2]


def test_a_reading_at_the_end_of_the_time_asked_for_begins_no_bucket() -> None:
    seconds = [Second(t_s=18.0), Second(t_s=19.0, users=2), Second(t_s=20.0004, users=4)]
    made = buckets([], seconds, 10, 20)
    assert [(bucket.seconds, bucket.users) for bucket in made] == [(10, None), (10, 3)]
    assert of_the_crowd(made, 20) == made


@pytest.mark.parametrize("late_s", [0.0, 0.001, 0.3])
def test_a_reading_that_is_late_is_of_the_second_before(late_s: float) -> None:
    seconds = [Second(t_s=second + late_s, server_cpu_s=0.5) for second in range(1, 21)]
    made = buckets([], seconds, 5, 20)
    assert [bucket.server_cpu_s for bucket in made[:4]] == [2.5] * 4
    assert [bucket.server_cpu_s for bucket in made[4:]] in ([], [None])


def test_a_reading_after_the_time_asked_for_is_in_the_last_bucket() -> None:
    """It is short: the generator has ended."""
    seconds = [
        Second(t_s=1.0, server_cpu_s=0.5),
        Second(t_s=2.0, server_cpu_s=0.5),
        Second(t_s=2.2, server_cpu_s=0.1),
    ]
    made = buckets([], seconds, 2, 2)
    assert [(bucket.seconds, bucket.server_cpu_s) for bucket in made] == [(2, 1.0), (0.2, 0.1)]


@given(st.floats(1, 50), st.floats(1, 100), st.floats(0, 100))
def test_the_buckets_of_the_crowd_fill_the_time_asked_for(
    bucket_s: float, asked_s: float, late_s: float
) -> None:
    made = of_the_crowd(buckets([page(0.0, 1000 * (asked_s + late_s))], [], bucket_s, asked_s), asked_s)
    assert math.fsum(bucket.seconds for bucket in made) == pytest.approx(asked_s, abs=1e-4)


def test_in_the_median_of_all_pages_those_that_failed_take_for_ever() -> None:
    few, half, none = (
        buckets([page(0.0), page(0.0, 300.0), *[page(0.0, None, "reset")] * failed], [], 10, 10)[0]
        for failed in (1, 2, 0)
    )
    assert [(bucket.page_ms, bucket.waited_ms) for bucket in (few, half, none)] == [
        (200, 300),
        (200, None),
        (200, 200),
    ]


def test_a_few_slow_pages_move_the_mean_and_not_the_median() -> None:
    (made,) = buckets([page(0.0), page(0.0), page(0.0, 700.0), page(0.0, None, "reset")], [], 10, 10)
    assert (made.page_ms, made.page_mean_ms, made.page_p95_ms) == (100, 300, 700)


@given(
    st.lists(st.tuples(st.floats(0, 100), st.none() | st.floats(0, 5000))),
    st.lists(st.floats(0, 100)),
    st.floats(1, 50),
    st.floats(1, 100),
)
def test_each_page_and_second_is_in_one_bucket(
    told: list[tuple[float, float | None]], read: list[float], bucket_s: float, asked_s: float
) -> None:
    pages = [page(t_s, ms) for t_s, ms in told]
    seconds = [Second(t_s=t_s, server_cpu_s=1.0) for t_s in read]
    made = buckets(pages, seconds, bucket_s, asked_s)
    assert sum(bucket.pages + bucket.failed for bucket in made) == len(pages)
    assert sum(bucket.requests for bucket in made) == 4 * len(pages)
    assert math.fsum(bucket.server_cpu_s or 0 for bucket in made) == pytest.approx(len(seconds))
    assert made[0].t_s == 0
    for one, other in itertools.pairwise(made):
        assert one.t_s + one.seconds == pytest.approx(other.t_s, abs=1e-5)


def test_percentile_is_a_value_that_was_seen() -> None:
    assert percentile([], 0.95) is None
    assert percentile([1.0], 0.95) == 1.0
    assert percentile(map(float, range(1, 101)), 0.95) == 95.0
