"""What is no time is refused, whatever a page or a browser makes of it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.engines.browserlog import Exchange, Span
from harness.errors import Outcome, TrialFailed
from harness.probes.timeline import ahead_ms, parsed
from harness.study.metrics import unsound
from tests.unit.harness.probes.goodload import changed, evidence, log_of


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


@pytest.mark.parametrize(
    ("looked_up_ms", "connected_ms", "ahead"),
    [(996, 997, 2.5), (None, 990, 8.5), (999, 1000, 0), (None, None, None)],
)
def test_what_the_browser_began_before_its_clock_is_told(
    looked_up_ms: float | None, connected_ms: float | None, ahead: float | None
) -> None:
    lookups = {} if looked_up_ms is None else {"site.example": (Span(looked_up_ms, looked_up_ms + 10),)}
    lookups["other.example"] = (Span(0, 1),)
    connecting = None if connected_ms is None else Span(connected_ms, connected_ms + 10)
    made = evidence()
    log = log_of(made)
    document = replace(log.requests[0], exchange=Exchange(connection=log.connections[0].local))
    other = replace(log.connections[0], local="10.64.0.1:4001", connecting=Span(0, 1))
    carrier = replace(log.connections[0], connecting=connecting)
    seen = replace(log, requests=(document,), connections=(carrier, other), lookups=lookups)
    assert ahead_ms(changed(made, browser_log=seen)) == ahead


@pytest.mark.parametrize("epoch_ms", [0.0, 1.7e12])
def test_a_connection_that_no_log_tells_of_is_known_by_its_packets(epoch_ms: float) -> None:
    """By a log that counts from 1970 itself, and by one of CLOCK_MONOTONIC."""
    made = evidence()
    log = replace(log_of(made), epoch_ms=epoch_ms)
    left_us = 986_500 if epoch_ms else 986_500 - made.setup.since_1970_us
    assert ahead_ms(changed(made, browser_log=log)) is None
    assert ahead_ms(changed(made, browser_log=log, first_up_us=left_us)) == 12
    assert ahead_ms(changed(made, browser_log=log, first_up_us=left_us + 20_000)) == 0


def test_a_clock_that_starts_late_leaves_a_load_out() -> None:
    loaded = {"outcome": "ok", "plt_ms": 300.0}
    assert unsound({**loaded, "ahead_ms": 15.5}) == "late-clock"
    assert unsound({**loaded, "ahead_ms": 15.0}) is None
    assert unsound({**loaded, "plt_ms": 5000.0, "ahead_ms": 15.5}) == "late-clock"
    assert unsound({**loaded, "ahead_ms": None}) is None
