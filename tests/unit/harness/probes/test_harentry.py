"""How the time of a request divides: the parts add up, whatever the log holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.engines.browserlog import Connection, Exchange, Span
from harness.probes.harentry import Phases, phases
from tests.unit.harness.probes.goodload import START, request

MADE = Connection(
    "10.0.0.1:443", "10.64.0.1:4000", "TLS 1.3", "h2", False, 50, Span(1060, 1160), Span(1110, 1160)
)
LOOKUP = Span(1000, 1050)


def asked(**changes: Any) -> Any:
    told = {"sending_ms": 1170, "sent_ms": 1171, "over_ms": 1300} | changes.pop("exchange", {})
    made = {"asked_ms": 1000, "answered_ms": 1220, "ended_ms": 1290, "exchange": Exchange(**told)}
    return request(START, **made | changes)


def test_the_first_request_of_a_connection_waits_for_its_handshakes() -> None:
    assert phases(asked(), MADE, LOOKUP) == Phases(20, 50, 100, 50, 1, 49, 70)
    assert phases(asked(), MADE, LOOKUP).total_ms == 290


def test_what_was_over_before_it_was_asked_for_is_no_wait_of_its_own() -> None:
    late = phases(asked(asked_ms=1130), MADE, LOOKUP)
    assert (late.dns, late.connect, late.ssl, late.blocked) == (None, 30, 30, 10)
    warm = phases(asked(asked_ms=1165), MADE, LOOKUP)
    assert (warm.dns, warm.connect, warm.ssl, warm.blocked) == (None, None, None, 5)


def test_another_request_of_a_connection_was_blocked() -> None:
    assert phases(asked(), None, None) == Phases(170, None, None, None, 1, 49, 70)


def test_a_request_that_was_given_up_before_it_was_sent_was_blocked_all_the_time() -> None:
    aborted = asked(
        protocol=None, answered_ms=None, ended_ms=None, exchange={"sending_ms": None, "sent_ms": None}
    )
    assert phases(aborted, None, None) == Phases(300, None, None, None, 0, 0, 0)


def test_a_request_without_an_answer_waited_for_it_to_the_end() -> None:
    silent = asked(answered_ms=None, ended_ms=None)
    assert phases(silent, None, None) == Phases(170, None, None, None, 1, 129, 0)


def test_an_engine_that_does_not_tell_when_it_sends_has_its_queue_in_wait() -> None:
    told = {"sending_ms": None, "sent_ms": None}
    assert phases(asked(exchange=told), None, None) == Phases(None, None, None, None, 0, 220, 70)
    assert phases(asked(exchange=told), MADE, LOOKUP) == Phases(10, 50, 100, 50, 0, 60, 70)


times = st.none() | st.integers(0, 1000) | st.floats(0, 1000)
spans = st.none() | st.tuples(st.floats(0, 1000), st.floats(0, 1000)).map(lambda pair: Span(*sorted(pair)))


@pytest.mark.parametrize("protocol", ["h2", None])
@given(
    instants=st.tuples(times, times, times, times, times),
    made=st.none() | st.tuples(spans, spans),
    lookup=spans,
)
def test_phases_are_never_negative_and_end_no_earlier_than_anything_seen(
    protocol: str | None, instants: tuple[float | None, ...], made: Any, lookup: Span | None
) -> None:
    sending, sent, answered, ended, over = instants
    seen = asked(
        asked_ms=100,
        started_ms=100,
        answered_ms=answered,
        ended_ms=ended,
        protocol=protocol,
        exchange={"sending_ms": sending, "sent_ms": sent, "over_ms": over},
    )
    connection = None if made is None else Connection("a:1", "b:2", None, None, None, None, *made)
    found = phases(seen, connection, lookup)
    parts = [found.blocked, found.dns, found.connect, found.send, found.wait, found.receive]
    assert min(each for each in parts if each is not None) >= -1e-9
    known = [each for each in (100, answered, ended) if each is not None]
    assert found.total_ms == pytest.approx(sum(each or 0 for each in parts), abs=1e-3)
    assert found.total_ms >= max(known) - 100 - 1e-3
    assert (found.ssl or 0) <= (found.connect or 0) + 1e-9
