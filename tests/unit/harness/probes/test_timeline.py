"""What is no time is refused, whatever a page or a browser makes of it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.outcome import Outcome, TrialFailed
from harness.probes.timeline import parsed


@pytest.mark.parametrize(
    "value", [-5, math.inf, -math.inf, math.nan, 1e300, 10**400, True, False, "1", {}, [], b"", object()]
)
def test_what_no_clock_shows_is_a_page_error(value: object) -> None:
    with pytest.raises(TrialFailed, match="plt_ms is") as caught:
        parsed({"plt_ms": value})
    assert caught.value.outcome is Outcome.PAGE_ERROR
    assert len(str(caught.value)) < 200


@given(st.floats(0, 1e13) | st.none() | st.integers(0, 10**13))
def test_times_and_what_was_not_observed_pass(value: float | None) -> None:
    assert parsed({"plt_ms": value}) == {"plt_ms": value}
