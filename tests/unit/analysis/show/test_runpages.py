"""The list of trials: sorted, narrowed down, a page at a time, whatever an address says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.runs.rundirectory import load
from analysis.show.runpages import PAGE_ROWS, ListQuery, listed
from analysis.show.shownrun import ShownRun, shown_run
from tests.unit.analysis.synthetic import Synthetic

MADE = Synthetic(
    pages=("p",),
    protocols=("http1", "h2"),
    rates_mbps=(10.0,),
    rtts_ms=(20.0, 50.0),
    trials=60,
    outcomes={"00002": "missing-objects", "00003": "page-error"},
    repeat=frozenset({"00002"}),
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> ShownRun:
    return shown_run(load(MADE.write(tmp_path_factory.mktemp("run"))))


def test_pages_hold_every_attempt_once(shown: ShownRun) -> None:
    pages = [listed(shown, ListQuery(page=number)) for number in (1, 2)]
    assert [len(each.rows) for each in pages] == [PAGE_ROWS, 41]
    places = [(row.trial, row.attempt) for each in pages for row in each.rows]
    assert len(set(places)) == len(places) == 241
    assert listed(shown, ListQuery(page=9)).query.page == 2


def test_sorted_by_time_what_has_none_comes_last(shown: ShownRun) -> None:
    for down in (False, True):
        found = listed(shown, ListQuery(sort="plt_ms", down=down, page=2)).rows
        assert {row.trial for row in found if not row.values[0]} == {row.trial for row in found[-2:]}


def test_narrowed_down_to_a_condition_and_to_what_is_left_out(shown: ShownRun) -> None:
    key = list(shown.conditions)[1]
    mine = listed(shown, ListQuery(condition=key, counting="counted"))
    assert {row.condition for row in mine.rows} == {key}
    left_out = listed(shown, ListQuery(counting="left-out"))
    assert {row.trial for row in left_out.rows} == {"00002", "00003"}
    assert all(row.left_out for row in left_out.rows)


def test_conditions_have_the_median_of_what_counts(shown: ShownRun) -> None:
    for each in shown.conditions.values():
        assert each.estimate.n <= each.recorded
        assert each.median_trial is not None
        row = shown.of_trial(*each.median_trial)
        assert row is not None
        assert row["plt_ms"] == pytest.approx(each.estimate.median, rel=0.01)
    assert sum(each.recorded for each in shown.conditions.values()) == 241


@given(
    st.dictionaries(st.sampled_from(["sort", "down", "condition", "counting", "page"]), st.text(max_size=20))
)
def test_any_address_gives_a_query_that_comes_back(given_: dict[str, str]) -> None:
    query = ListQuery.of(given_)
    assert ListQuery.of(query.given()) == query or query.sort == ""
