"""What is done to a browser beside loading a page: its processor is slowed, its cache is filled by a load before."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import Outcome
from harness.model.condition import CacheState, Condition
from harness.model.engine import Driver
from harness.model.kind import HAR
from harness.model.protocol import Protocol
from harness.probes.har import FILE
from harness.records import Record
from harness.trial.trial import browser_lab
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About
from tests.system.conftest import (
    CHROMIUMS,
    OTHER_HOST,
    START_URL,
    condition,
    html,
    inside,
    picture,
    timed,
    trial,
)

LEAST = 1.5  # of a slowdown of 4, on a machine that does other things beside
FRAME = f"https://{OTHER_HOST}/frame"
# The same work in the page and in a frame of another site, for long enough that Chromium's own start is over.
WORK = """const work = () => { let sum = 0; const begun = performance.now();
for (let step = 0; step < 8e7; step++) sum = (sum * 31 + step) % 1000003;
return performance.now() - begun; };"""
WORKER = "new Worker(URL.createObjectURL(new Blob(['onmessage = () => 0'])))"

MODIFIED = ("Last-Modified", "Sun, 01 Jul 2012 12:00:00 GMT")
ETAG = ("ETag", '"abc{}"')  # no placeholder of a server's
ASK = ("Cache-Control", "no-cache")
# What a script finds of the visit before: not the cookie of a session, which ends with the first browser. One with a
# date counts from the page's own, which is that of the recording.
STORE = """const found = (name) => document.cookie.includes(name + "=");
console.error(`coldload visited ${localStorage.getItem("visited") ?? 0} `);
for (const name of ["lasting", "session", "dated"]) console.error(`coldload ${name} ${Number(found(name))} `);
localStorage.setItem("visited", 1);
document.cookie = "lasting=1; max-age=86400";
document.cookie = "session=1";
document.cookie = "dated=1; expires=" + new Date(Date.now() + 864e5).toUTCString();"""
# How each picture may be kept.
PICTURES = {
    "fresh": (("Cache-Control", "max-age=600"),),
    "expiring": (ETAG, ("Date", MODIFIED[1]), ("Expires", "Sun, 01 Jul 2012 12:10:00 GMT")),
    "tagged": (ETAG, MODIFIED, ASK),
    "dated": (MODIFIED, ASK),
    "forgotten": (ETAG, ("Cache-Control", "no-store")),
}


def archives(root: Path) -> dict[str, Archive]:
    about = About(START_URL, "test", "test", ())
    told = 'console.error("coldload {} " + work() + " ");'
    page = f'<script>{WORK} window.worker = {WORKER}; {told.format("page")}</script><iframe src="{FRAME}"></iframe>'
    frame = f"<script>{WORK} {told.format('frame')}</script>"
    shown = "".join(f'<img src="/{name}.png">' for name in PICTURES)
    kept = [
        Response(
            url=f"{START_URL}{name}.png",
            status=200,
            headers=(("Content-Type", "image/png"), *headers),
            body=picture(),
        )
        for name, headers in PICTURES.items()
    ]
    return {
        "work": write_archive(root, "work", about, [html(START_URL, page), html(FRAME, frame)]),
        "kept": write_archive(
            root, "kept", about, [html(START_URL, f"{shown}<script>{STORE}</script>"), *kept]
        ),
    }


def numbers_told(record: Record) -> dict[str, float]:
    """By where work was done, how long it took there; or by what was looked for, how many there were."""
    told = [each.partition("coldload ")[2].split() for each in record.observation.console_errors]
    return {words[0]: float(words[1]) for words in told if words}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Archive]:
    return archives(tmp_path_factory.mktemp("archives"))


@timed("where cores are scarce, Chromium slows less")
def test_a_slowed_processor_takes_longer_for_the_same_work(made: dict[str, Archive]) -> None:
    """By about 4 on a quiet machine (`benchmarks/cpu_slowdown.py`); where cores are scarce, Chromium slows less."""

    def run() -> dict[tuple[Driver, int], Record]:
        with browser_lab({"work": made["work"]}, [Protocol.H2]) as opened:
            return {
                (driver, slowdown): trial(
                    opened,
                    number,
                    replace(condition("work", Protocol.H2, driver), cpu_slowdown=slowdown),
                )
                for number, (driver, slowdown) in enumerate(
                    ((driver, slowdown) for driver in CHROMIUMS for slowdown in (1, 4)), start=1
                )
            }

    found = inside(run)
    assert {record.outcome for record in found.values()} == {Outcome.OK}
    for driver in CHROMIUMS:
        usual, slowed = (numbers_told(found[driver, slowdown]) for slowdown in (1, 4))
        assert slowed["page"] > LEAST * usual["page"]
        if driver is Driver.PLAYWRIGHT:  # Selenium does not reach frames of other sites
            assert slowed["frame"] > LEAST * usual["frame"]
        assert found[driver, 1].observation.at_full_speed is None
    assert found[Driver.PLAYWRIGHT, 4].observation.at_full_speed == 1  # the worker
    assert found[Driver.SELENIUM, 4].observation.at_full_speed == 2


VISITS = [
    ("caddy", Driver.PLAYWRIGHT, Protocol.H2),
    ("caddy", Driver.SELENIUM, Protocol.H3),
    ("nginx", Driver.PLAYWRIGHT, Protocol.HTTP1),
    ("apache", Driver.PLAYWRIGHT, Protocol.H2),
]


@pytest.mark.side_by_side
@pytest.mark.parametrize("server", dict.fromkeys(server for server, _, _ in VISITS))
def test_a_warm_load_has_the_cache_of_the_one_before_and_nothing_else(
    server: str, made: dict[str, Archive], tmp_path: Path
) -> None:
    cells: list[Condition] = [
        replace(condition("kept", protocol, driver, server=server), cache=cache)
        for each, driver, protocol in VISITS
        if each == server
        for cache in CacheState
    ]

    def run() -> list[Record]:
        with browser_lab({"kept": made["kept"]}, {each.protocol for each in cells}, server=server) as opened:
            return [
                trial(opened, number, cell, keep=[HAR], files=tmp_path / str(number))
                for number, cell in enumerate(cells)
            ]

    for number, record in enumerate(inside(run)):
        seen = record.observation
        assert (record.outcome, record.reason) == (Outcome.OK, None)
        assert (seen.connections or 0) >= 1
        assert seen.tls_resumed in (0, None)
        entries = json.loads((tmp_path / str(number) / FILE).read_text())["log"]["entries"]
        told = {each["request"]["url"].removeprefix("http"): each for each in entries}
        picture_of = {name: next(each for url, each in told.items() if name in url) for name in PICTURES}
        warm = record.planned.condition.cache is CacheState.WARM
        assert numbers_told(record) == {"visited": warm, "lasting": warm, "session": 0, "dated": warm}
        if not warm:
            assert (seen.cache_hits, seen.revalidated) == (0, 0)
            continue
        assert (seen.cache_hits, seen.revalidated) == (2, 2)
        assert {name: each["response"]["status"] for name, each in picture_of.items()} == {
            "fresh": 200,
            "expiring": 200,
            "tagged": 304,
            "dated": 304,
            "forgotten": 200,
        }
        assert picture_of["fresh"]["_fromCache"] == "disk"
        assert picture_of["fresh"]["response"]["headers"]  # those of the first load
        assert picture_of["tagged"]["response"]["bodySize"] == 0
        assert picture_of["forgotten"]["response"]["bodySize"] > 0
