"""Which turns count, and what the replay of a live page is made of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import MeasurementRefused, Outcome
from harness.lab.livehost import HostRate, HostReading
from harness.model.condition import Condition, Origins
from harness.model.engine import DESKTOP
from harness.model.link import NO_LINK
from harness.model.protocol import Protocol
from harness.model.settings import NameSide, ThinkTime
from harness.model.trials import PlannedTrial
from harness.probes.registry import Observation
from harness.records import Record
from harness.verify.live import BesideOptions, Turn, counted, nearest_ms, study_of, timed_archive
from harness.verify.survey import PLAIN, Survey
from sites.archive import Archive, write_archive
from sites.archiveindex import round_trips
from sites.materialise import materialise
from sites.response import Response
from sites.warc import About
from tests.facts import tells

START, CDN = "https://site.example/", "https://cdn.example/a.png"
SURVEY = Survey(
    hosts=(
        HostReading("site.example", ("192.0.2.1", 443), (20.5, 20.0)),
        HostReading("cdn.example", ("192.0.2.2", 443), (90.0,)),
    ),
    unmeasured=("gone.example cannot be measured",),
    rates=(HostRate(START, 6, 2.0, 10**6, 30.0), HostRate(START, 6, 2.0, 10**6, None)),
    think_ms={START: 12.5},
    look_up_ms=30.0,
    protocols={"h2": 20, "h3": 3},
)
OPTIONS = BesideOptions(DESKTOP, 4)


def record(outcome: Outcome = Outcome.OK, left_out: str | None = None, **seen: Any) -> Record:
    usual = Condition.usual("page", Protocol.H2, NO_LINK)
    condition = replace(usual, origins=Origins.RECORDED, server="live")
    told = Observation(**{"plt_ms": 500.0, "requests": 40, "bytes_body": 10**6, **seen})
    return Record(
        PlannedTrial("1", 1, 1, condition), outcome, "said", "2026-01-01", told, 1.0, left_out=left_out
    )


def archive(root: Path) -> Archive:
    urls = [START, CDN, "https://gone.example/b.png"]
    return write_archive(
        root,
        "page",
        About(START, "test", "", ()),
        [Response(url, 200, (), b"x", ip="198.51.100.9", wait_ms=400, connect_ms=300) for url in urls],
    )


def test_turns_that_do_not_count_are_told() -> None:
    turns = [Turn(number, record(), record()) for number in range(1, 8)]
    turns[1] = replace(turns[1], live=record(requests=30))
    turns[2] = replace(turns[2], live=record(bytes_body=1_200_000))
    turns[3] = replace(turns[3], replay=record(left_out="busy-machine"))
    turns[4] = replace(turns[4], live=record(Outcome.PAGE_TIMEOUT))
    kept, left_out = counted(turns)
    assert [turn.number for turn in kept] == [1, 6, 7]
    second, third, *failed = left_out
    assert tells([second], "turn 2: the live page changed", "30 requests", "usually 40")
    assert tells([third], "turn 3: the live page changed", "1,200,000 bytes", "usually 1,000,000")
    assert failed == ["turn 4: replay: busy-machine", "turn 5: live: page-timeout: said"]
    assert counted([]) == ([], [])


def test_the_replay_is_over_what_was_measured() -> None:
    study = study_of("page", START, 20.0, SURVEY, OPTIONS)
    (link,), (setup,) = study.links, study.setups
    assert (link.rtt_ms, link.down.rate.mean_mbps, link.up.rate.mean_mbps) == (20.0, 30.0, 30.0)
    assert (study.protocols, setup.server.name, study.trials.most) == ((Protocol.H2,), "nginx", 4)
    (replay,) = setup.replays
    assert (replay.origins, str(replay.distance), str(replay.think_time)) == (
        Origins.RECORDED,
        "recorded",
        "recorded",
    )
    assert replay.dns is NameSide.SERVER


def test_what_is_given_is_taken_instead() -> None:
    given = replace(OPTIONS, protocol=Protocol.H3, down_mbps=50.0, up_mbps=10.0)
    study = study_of("page", START, 20.0, replace(SURVEY, rates=(), look_up_ms=1.0), given)
    (link,), (setup,) = study.links, study.setups
    assert (link.down.rate.mean_mbps, link.up.rate.mean_mbps) == (50.0, 10.0)
    (replay,) = setup.replays
    assert (setup.server.name, str(replay.think_time), replay.dns) == ("caddy", "none", NameSide.CLIENT)


@pytest.mark.parametrize(
    ("wire", "protocol"), [("http/1.1", Protocol.HTTPS1), (PLAIN, Protocol.HTTP1), ("h3", Protocol.H2)]
)
def test_the_replay_speaks_what_the_live_page_speaks_most(wire: str, protocol: Protocol) -> None:
    study = study_of("page", START, 20.0, replace(SURVEY, protocols={wire: 9, "h2": 1}), OPTIONS)
    assert study.protocols == (protocol,)


def test_without_a_rate_one_is_asked_for() -> None:
    with pytest.raises(MeasurementRefused, match=r"too small .*\brate\b.*; give that of your access link"):
        study_of("page", START, 20.0, replace(SURVEY, rates=()), OPTIONS)


def test_the_link_is_as_long_as_the_way_to_the_nearest_host_that_is_archived(tmp_path: Path) -> None:
    near = HostReading("near.example", ("192.0.2.9", 443), (5.0, 5.5))
    survey = replace(SURVEY, hosts=(*SURVEY.hosts, near))
    gone = "https://gone.example/"
    whole = archive(tmp_path / "archives")
    known = [each for each in whole.responses() if not each.url.startswith(gone)]
    measured = write_archive(tmp_path / "known", "page", About(START, "test", "", ()), known)
    assert nearest_ms(timed_archive(measured, survey, tmp_path / "timed")) == 20.0
    assert nearest_ms(timed_archive(whole, survey, tmp_path / "as-near-as-any")) == 5.0


def test_the_archive_gets_the_times_of_this_hour(tmp_path: Path) -> None:
    origin = archive(tmp_path / "archives")
    timed = timed_archive(origin, SURVEY, tmp_path / "timed")
    assert timed.name == origin.name
    assert round_trips(timed.entries) == {"site.example": 20.0, "cdn.example": 90.0, "gone.example": 20.0}
    assert [(entry.ip, entry.wait_ms) for entry in timed.entries] == [
        ("192.0.2.1", 32.5),
        ("192.0.2.2", None),
        (None, None),
    ]
    served = materialise(timed, "https", think_time=ThinkTime(recorded=True))
    assert [each.think_ms for each in served.objects] == [12.5, 0, 0]
    assert [each.body for each in timed.responses()] == [each.body for each in origin.responses()]


def test_a_host_that_was_not_measured_leaves_the_others_where_they_are(tmp_path: Path) -> None:
    """It was recorded at the address of the far host: it is as far, and does not draw that one near."""
    origin = archive(tmp_path / "archives")
    shared = [replace(each, ip="192.0.2.2") for each in origin.responses()]
    recorded = write_archive(tmp_path / "shared", "page", About(START, "test", "", ()), shared)
    timed = timed_archive(recorded, replace(SURVEY, think_ms={CDN: 20.0}), tmp_path / "timed")
    assert [entry.ip for entry in timed.entries] == ["192.0.2.1", "192.0.2.2", "192.0.2.2"]
    assert round_trips(timed.entries) == {"site.example": 20.0, "cdn.example": 90.0, "gone.example": 90.0}
    served = materialise(timed, "https", think_time=ThinkTime(recorded=True))
    assert [each.think_ms for each in served.objects] == [0, 20.0, 0]


def test_a_page_recorded_over_http_that_is_live_over_https_thinks_as_long(tmp_path: Path) -> None:
    origin = archive(tmp_path / "archives")
    over_http = replace(SURVEY, think_ms={START.replace("https:", "http:"): 12.5})
    timed = timed_archive(origin, over_http, tmp_path / "timed")
    assert [entry.wait_ms for entry in timed.entries] == [32.5, None, None]
