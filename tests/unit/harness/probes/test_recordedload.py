"""How much of a recorded load's time can be accounted for, in a load whose every ms is known."""

from __future__ import annotations

from harness.model.kind import Waiting
from harness.probes.waits import LoadAccount
from sites.response import RecordedLoad, RecordedRequest

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
    assert str(account) == (
        "recorded load: 200 ms; link, distances, think times and bytes account for at most 90 % of it: 30 ms answers "
        "arriving, 60 ms look-ups and handshakes, 60 ms round trips, at least 30 ms think times; in 20 ms no "
        "request was under way"
    )


def test_a_wait_is_a_round_trip_and_a_think_time_where_the_distance_is_known() -> None:
    account = LoadAccount.of(LOAD, {"site.example": 20.0, "cdn.example": 15.0})
    assert (account.waited[Waiting.SERVER], account.waited[Waiting.ROUND_TRIPS]) == (65_000, 25_000)
    assert "at least" not in str(account)
