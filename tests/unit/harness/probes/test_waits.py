"""What a load waited for: the order of precedence, each class by what shows it, recorded loads, arithmetic of spans."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import pytest

from harness.engines.browserlog import BrowserLog, Connection, Exchange, Request, Span
from harness.model.kind import Waiting
from harness.model.link import LinkAccount
from harness.probes.evidence import Evidence, Stretch
from harness.probes.registry import observe
from harness.probes.trace import MainThread
from harness.probes.waits import (
    InstantSpans,
    LoadAccount,
    beginning,
    between,
    common,
    length,
    split,
    union,
    waits,
    without,
)
from sites.response import RecordedLoad, RecordedRequest
from sites.servers.server import ServedRequest
from tests.facts import tells
from tests.unit.harness.probes.goodload import START, changed, evidence, log_of, request, served

BEGIN_MS = 999.5  # half a ms of Chromium's log: what stands at 1000 there is 1 ms after it
EPOCH_MS = 1_700_000_000_000.0
LOAD_MS = 100.0


def test_of_what_goes_on_at_once_the_first_class_counts() -> None:
    seen = {waiting: [(0, 10 * (number + 1))] for number, waiting in enumerate(list(Waiting)[:-1])}
    assert list(split(100, seen).values()) == [10, 10, 10, 10, 10, 10, 40]


def test_it_is_divided_without_remainder_whatever_was_seen() -> None:
    dice = random.Random(1)  # noqa: S311 - no secret
    for _ in range(300):
        total = dice.randrange(200)
        seen = {
            waiting: union((dice.randrange(-50, 250), dice.randrange(-50, 250)) for _ in range(5))
            for waiting in list(Waiting)[:-1]
        }
        parts = split(total, seen)
        assert list(parts) == list(Waiting)
        assert sum(parts.values()) == total
        assert min(parts.values()) >= 0


def at(ms: float) -> float:
    """A time of the load by the browser's log."""
    return 1000 + ms - 1


def travelled(url: str = START, *, asked: float, sent: float, answered: float, ended: float) -> Request:
    """A request with its times in ms since the navigation began."""
    return request(
        url,
        started_ms=at(asked),
        answered_ms=at(answered),
        ended_ms=at(ended),
        exchange=Exchange(sending_ms=at(sent), sent_ms=at(sent), over_ms=at(ended)),
    )


def link(down: list[tuple[float, float]] = [], up: list[tuple[float, float]] = []) -> LinkAccount:  # noqa: B006
    """Busy spans in ms since the navigation began."""
    ways = [
        tuple((round(1000 * (BEGIN_MS + begin)), round(1000 * (BEGIN_MS + end))) for begin, end in spans)
        for spans in (down, up)
    ]
    return LinkAccount(*ways)


def answer(url: str = START, *, began: float, took: float, **changes: Any) -> ServedRequest:
    """What the server did, in ms since the navigation began, by its own clock."""
    began_us = round(1000 * (EPOCH_MS + BEGIN_MS + began))
    return served(url, started_us=began_us, duration_us=round(1000 * took), **changes)


def load(*requests: Request, connections: tuple[Connection, ...] = (), **changes: Any) -> Evidence:
    lookups = changes.pop("lookups", {})
    return evidence(
        timeline={"plt_ms": LOAD_MS, "navigation_start_ms": BEGIN_MS},
        browser_log=BrowserLog(requests, connections, lookups=lookups, epoch_ms=EPOCH_MS, step_ms=1.0),
        since_1970_us=round(EPOCH_MS * 1000),
        **{"served": (), "link_account": link(), "delay_down_ms": 10.0, **changes},
    )


def ms(seen: Evidence) -> dict[str, float]:
    """The classes that are not 0, in ms."""
    split_up = waits(seen)
    assert split_up is not None
    assert sum(split_up.values()) == LOAD_MS * 1000
    return {waiting.value: took / 1000 for waiting, took in split_up.items() if took}


def test_a_request_under_way_is_a_round_trip_and_the_rest_is_not_known() -> None:
    seen = load(travelled(asked=5, sent=10, answered=60, ended=80))
    assert ms(seen) == {"round_trips": 70, "unknown": 30}


def test_the_link_counts_while_a_request_is_under_way() -> None:
    one = travelled(asked=5, sent=10, answered=60, ended=80)
    seen = load(one, link_account=link(down=[(0, 5), (55, 90)], up=[(10, 11), (55, 60)]))
    assert ms(seen) == {"down": 25, "up": 1, "round_trips": 44, "unknown": 30}


def test_handshakes_count_while_a_request_waits_to_be_sent() -> None:
    made = Connection("r", "l", None, None, None, connecting=Span(at(20), at(50)))
    spare = replace(made, connecting=Span(at(70), at(95)))
    one = travelled(asked=5, sent=52, answered=80, ended=90)
    seen = load(one, connections=(made, spare), lookups={"site.example": (Span(at(6), at(20)),)})
    assert ms(seen) == {"handshakes": 44, "round_trips": 38, "unknown": 18}


def test_handshakes_count_for_the_document_before_the_browser_asks_for_it() -> None:
    made = Connection("r", "l", None, None, None, connecting=Span(at(2), at(10)))
    seen = load(travelled(asked=15, sent=20, answered=80, ended=90), connections=(made,))
    assert ms(seen) == {"handshakes": 8, "round_trips": 70, "unknown": 22}


def test_the_servers_time_is_seen_later_by_the_delay_and_ends_with_the_answer() -> None:
    one = travelled(asked=0, sent=0, answered=70, ended=90)
    working = load(one, served=(answer(began=10, took=30),))
    assert ms(working) == {"server": 30, "round_trips": 60, "unknown": 10}
    sending = load(one, served=(answer(began=10, took=75),))  # it goes on while the answer comes
    assert ms(sending) == {"server": 50, "round_trips": 40, "unknown": 10}


def test_a_server_at_a_distance_is_half_of_it_farther_away() -> None:
    one = travelled(asked=0, sent=0, answered=70, ended=90)
    writing = load(
        one, served=(answer(began=10, took=75),), distances_ms={"10.0.0.1": 40.0, "10.0.0.2": 60.0}
    )
    assert ms(writing) == {"server": 30, "round_trips": 60, "unknown": 10}  # from 10 + 10 + 20 on
    other = load(one, served=(answer(began=10, took=75),), distances_ms={"10.0.0.2": 60.0})
    assert ms(other) == {"server": 50, "round_trips": 40, "unknown": 10}


def test_a_request_of_which_the_server_alone_tells_the_protocol_was_under_way() -> None:
    """A redirect in WebKit."""
    one = replace(travelled(asked=5, sent=10, answered=60, ended=80), protocol=None, status=302)
    known = load(one, served=(answer(began=20, took=10, status=302),))
    assert ms(known) == {"server": 10, "round_trips": 60, "unknown": 30}
    assert ms(load(one)) == {"unknown": LOAD_MS}  # it may have come from a cache


def test_behind_another_answer_of_its_connection_a_request_waits_for_that_one() -> None:
    first = travelled(asked=0, sent=0, answered=20, ended=60)
    second = travelled(f"{START}2", asked=0, sent=0, answered=80, ended=90)
    logged = (answer(began=5, took=5), answer(f"{START}2", began=5, took=65))
    assert ms(load(first, second, served=logged)) == {"server": 25, "round_trips": 65, "unknown": 10}
    apart = (logged[0], replace(logged[1], client_port=4001))
    assert ms(load(first, second, served=apart)) == {"server": 65, "round_trips": 25, "unknown": 10}


def test_what_was_not_over_with_the_load_was_not_waited_for() -> None:
    one = travelled(asked=0, sent=0, answered=40, ended=50)
    beacon = travelled(f"{START}beacon", asked=0, sent=0, answered=90, ended=130)
    never = replace(beacon, answered_ms=None, ended_ms=None, exchange=Exchange(sending_ms=at(0)))
    assert ms(load(one, beacon, never)) == {"round_trips": 50, "unknown": 50}


def test_the_end_of_a_request_may_be_told_after_the_load_by_a_browser_that_is_late() -> None:
    last = load(travelled(asked=0, sent=0, answered=99, ended=LOAD_MS + 2))
    assert ms(last) == {"unknown": LOAD_MS}
    log = log_of(last)
    assert ms(changed(last, browser_log=replace(log, in_main_thread=True))) == {"round_trips": LOAD_MS}
    later = load(travelled(asked=0, sent=0, answered=99, ended=LOAD_MS + 4))
    assert ms(changed(later, browser_log=replace(log_of(later), in_main_thread=True))) == {"unknown": LOAD_MS}


def test_the_main_thread_takes_of_each_step_what_nothing_else_does() -> None:
    def ran(began: float, ended: float, took: float) -> Stretch:
        return Stretch(*(round(1000 * moment_ms) for moment_ms in (BEGIN_MS + began, BEGIN_MS + ended, took)))

    one = travelled(asked=0, sent=0, answered=40, ended=50)
    seen = load(one, runs=(ran(20, 40, 20), ran(40, 60, 4), ran(80, 100, 25)))
    assert ms(seen) == {"round_trips": 50, "main_thread": 24, "unknown": 26}


def test_a_trace_tells_the_main_threads_tasks_themselves() -> None:
    one = travelled(asked=0, sent=0, answered=40, ended=50)
    traced = MainThread(30.0, {}, (), ((30_000, 60_000), (90_000, 95_000)))
    runs = (Stretch(0, 10**9, 10**9),)
    assert ms(load(one, main_thread=traced, runs=runs)) == {
        "round_trips": 50,
        "main_thread": 15,
        "unknown": 35,
    }


def test_a_log_that_counts_from_1970_is_put_on_the_same_clock() -> None:
    """QtWebKit's: it does not tell when requests were sent, and its times are exact."""
    begin = EPOCH_MS + BEGIN_MS
    one = replace(
        travelled(asked=0, sent=0, answered=0, ended=0),
        started_ms=begin + 10,
        answered_ms=begin + 60,
        ended_ms=begin + 80,
        exchange=Exchange(),
    )
    made = Connection("r", "l", None, None, None, connecting=Span(begin + 10, begin + 30))
    seen = evidence(
        timeline={"plt_ms": LOAD_MS, "navigation_start_ms": begin},
        browser_log=BrowserLog((one,), (made,)),
        since_1970_us=round(EPOCH_MS * 1000),
        served=(answer(began=35, took=5),),
        link_account=link(down=[(60, 75)]),
        delay_down_ms=10.0,
    )
    parts = {"down": 15, "handshakes": 20, "server": 5, "round_trips": 30, "unknown": 30}
    assert ms(seen) == parts
    ran = Stretch(*(round(1000 * moment_ms) for moment_ms in (BEGIN_MS + 50, BEGIN_MS + 60, 8)))
    busy = changed(seen, runs=(ran,))
    assert ms(busy) == parts
    assert log_of(seen) is not None
    told_late = changed(busy, browser_log=replace(log_of(seen), in_main_thread=True))
    assert ms(told_late) == {**parts, "main_thread": 8, "round_trips": 22}


@pytest.mark.parametrize("lacking", ["browser_log", "link_account", "timeline"])
def test_without_all_of_it_nothing_is_said(lacking: str) -> None:
    seen = changed(load(travelled(asked=5, sent=10, answered=60, ended=80)), **{lacking: None})
    assert waits(seen) is None
    assert observe(seen).waited_unknown_ms is None


def test_the_record_has_them_in_ms() -> None:
    seen = observe(load(travelled(asked=5, sent=10, answered=60, ended=80)))
    parts = [getattr(seen, waiting.key) for waiting in Waiting]
    assert parts == [0, 0, 0, 0, 70, 0, 30]
    assert sum(parts) == seen.plt_ms


LOAD = RecordedLoad(
    took_ms=200.0,
    requests=(
        RecordedRequest("site.example", asked_ms=0, sending_ms=60, answered_ms=110, ended_ms=130),
        RecordedRequest("site.example", asked_ms=115, sending_ms=115, answered_ms=125, ended_ms=126),
        RecordedRequest("cdn.example", asked_ms=120, sending_ms=120, answered_ms=170, ended_ms=180),
    ),
    handshakes=((-5, 20), (20, 60), (185, 195)),  # for the last one nothing waits
)


def test_each_ms_of_a_load_is_accounted_for_once() -> None:
    account = LoadAccount.of(LOAD, {"site.example": 20.0})
    assert {waiting: took_us / 1000 for waiting, took_us in account.waited.items()} == {
        Waiting.DOWN: 30,  # 110 to 130, 170 to 180
        Waiting.UP: 0,
        Waiting.HANDSHAKES: 60,
        Waiting.SERVER: 30,  # 80 to 110
        Waiting.ROUND_TRIPS: 60,  # 60 to 80; 130 to 170, as nothing tells how far the second host is
        Waiting.MAIN_THREAD: 0,
        Waiting.UNKNOWN: 20,
    }
    first, parts, idle = str(account).split("; ")
    assert tells([first], "recorded load", "200 ms")
    pieces = (
        "30 ms answers",
        "60 ms look-ups and handshakes",
        "60 ms round trips",
        "at least 30 ms think times",
    )
    assert tells([parts], "at most 90 %", *pieces)
    assert tells([idle], "20 ms", "no request")


def test_a_wait_is_a_round_trip_and_a_think_time_where_the_distance_is_known() -> None:
    account = LoadAccount.of(LOAD, {"site.example": 20.0, "cdn.example": 15.0})
    assert (account.waited[Waiting.SERVER], account.waited[Waiting.ROUND_TRIPS]) == (65_000, 25_000)
    assert "at least" not in str(account)


END = 60


def drawn(seed: int) -> list[tuple[int, int]]:
    dice = random.Random(seed)  # noqa: S311 - no secret
    return [(dice.randrange(END), dice.randrange(END)) for _ in range(dice.randrange(8))]


def instants(spans: InstantSpans) -> set[int]:
    return {at for begin, end in spans for at in range(begin, end)}


def apart(spans: InstantSpans) -> bool:
    return all(begin < end for begin, end in spans) and all(
        first[1] < second[0] for first, second in itertools.pairwise(spans)
    )


def test_union_holds_every_instant_once() -> None:
    for seed in range(500):
        united = union(drawn(seed))
        assert apart(united)
        assert instants(united) == instants(drawn(seed))
        assert length(united) == len(instants(united))


def test_common_and_without_divide_the_first() -> None:
    for seed in range(500):
        first, second = union(drawn(seed)), union(drawn(-seed - 1))
        assert instants(common(first, second)) == instants(first) & instants(second)
        assert instants(without(first, second)) == instants(first) - instants(second)
        assert length(common(first, second)) + length(without(first, second)) == length(first)


def test_what_is_between_two_instants_is_what_is_common_with_them() -> None:
    for seed in range(300):
        spans = union(drawn(seed))
        for begin, end in drawn(seed + 1000):
            assert list(between(spans, begin, end)) == common(spans, union([(begin, end)]))


def test_the_beginning_of_spans_is_as_long_as_asked_or_as_there_is() -> None:
    spans = [(0, 10), (20, 25), (30, 40)]
    assert list(beginning(spans, 12)) == [(0, 10), (20, 22)]
    assert list(beginning(spans, 0)) == []
    assert list(beginning(spans, 99)) == spans
