"""Which attempts count, told from the record of one attempt."""

from __future__ import annotations

import pytest

from harness.model.soundness import MACHINE, MEANINGS, REASONS, Limit, disturbed, unsound
from harness.outcome import Outcome

LOADED = {"outcome": "ok", "plt_ms": 1500.0}


def test_a_load_of_which_nothing_bad_is_known_counts() -> None:
    assert unsound(LOADED) is None
    assert unsound({**LOADED, "link_reading": None, "foreign_cpu_share": None}) is None


@pytest.mark.parametrize("outcome", [each for each in Outcome if each is not Outcome.OK])
def test_an_outcome_is_its_own_reason_whatever_else_is_wrong(outcome: Outcome) -> None:
    assert unsound({"outcome": outcome.value, "plt_ms": None, "foreign_cpu_share": 1.0}) == outcome.value


def test_what_is_not_known_does_not_count() -> None:
    assert unsound({**LOADED, "outcome": "from-the-future"}) == "unknown-outcome"
    assert unsound({}) == "unknown-outcome"
    assert unsound({**LOADED, "plt_ms": None}) == "no-load-time"
    assert unsound({**LOADED, "plt_ms": 0}) == "no-load-time"


def test_a_limit_is_kept_by_what_reaches_it() -> None:
    plain = Limit(("waited_ms",), 10)
    assert not plain.exceeded(10, None)
    assert plain.exceeded(10.1, None)
    assert not plain.exceeded(None, 1000)


def test_a_limit_per_second_allows_a_long_load_more() -> None:
    rate = Limit(("waited_ms",), 10, per_load_second=True)
    assert rate.exceeded(15, 1000)
    assert not rate.exceeded(15, 2000)
    assert not rate.exceeded(15, None)


def test_one_limit_of_several_is_enough() -> None:
    reason = disturbed("late", "", [Limit(("a", "b"), 1), Limit(("c",), 5)])
    assert [reason.applies(1000.0, *values) for values in ((None, 6), (2, None), (1, 5), (None, None))] == [
        True,
        True,
        False,
        False,
    ]


def test_names_are_given_once_and_outcomes_are_no_fault_of_the_machine() -> None:
    names = [reason.name for reason in REASONS]
    assert len(names) == len(set(names))
    assert set(MEANINGS) == set(Outcome) - {Outcome.OK}
    assert set(names) >= MACHINE
    assert not MACHINE & {outcome.value for outcome in Outcome}
