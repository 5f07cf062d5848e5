"""HARs of real loads: valid, whole, as Playwright has them of the same load, and archives again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from harness.engines.browserlog import BrowserLog
from harness.engines.chromium.engine import ChromiumMaker
from harness.engines.chromium.netlog import read_netlog
from harness.errors import Outcome
from harness.lab.testbed import CLIENT
from harness.model.engine import Driver, Engine
from harness.model.link import Link
from harness.model.protocol import TODAY, Protocol
from harness.probes.evidence import Evidence, LoadSetup
from harness.probes.har import har
from harness.records import Record
from harness.system.enclosure import WORKSPACE
from harness.trial.trial import browser_lab
from harness.trial.venue import surroundings
from sites.archive import Archive, open_archive, write_archive
from sites.coding import coding_of, decode
from sites.importers import import_recording
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
    planned,
    small_site,
    timed,
    trial,
)
from tests.unit.harness.probes.harschema import faults, sums

FRAME_MS = 1000 / 60
LINK = Link.of(20, 40)
# What a load can do with a request: get it by a redirect, take it back, get it from the cache, or not at all.
SCRIPT = """<script>
const get = (url, options) => fetch(url, options).then((answer) => answer.blob()).catch(() => null);
const stop = new AbortController();
get("/large.bin", { signal: stop.signal });
setTimeout(() => stop.abort(), 80);
get("/kept.json").then(() => get("/kept.json"));
get("https://nobody.example/x");
</script>"""

Hars = Mapping[tuple[Driver, Protocol], tuple[Record, dict[str, Any]]]


def busy_site(root: Path, name: str = "busy") -> Archive:
    """The small site's kinds of things, a frame of another host, and what `SCRIPT` asks for."""
    binary = (("Content-Type", "application/octet-stream"),)
    kept = (("Content-Type", "application/json"), ("Cache-Control", "max-age=3600"))
    others = [
        Response(f"{START_URL}moved.png", 302, (("Location", f"https://{OTHER_HOST}/there.png"),), b""),
        Response(f"https://{OTHER_HOST}/there.png", 200, (("Content-Type", "image/png"),), picture()),
        Response(f"{START_URL}s.css", 200, (("Content-Type", "text/css"),), b"body{background:url(/b.png)}"),
        Response(f"{START_URL}b.png", 200, (("Content-Type", "image/png"),), picture()),
        Response(f"{START_URL}large.bin", 200, binary, bytes(3_000_000)),
        Response(f"{START_URL}kept.json", 200, kept, b"{}"),
        html(f"https://{OTHER_HOST}/frame.html", "<p>Within.</p><img src='/in.png'>"),
        Response(f"https://{OTHER_HOST}/in.png", 200, (("Content-Type", "image/png"),), picture()),
    ]
    body = (
        f"<link rel=stylesheet href='/s.css'>{SCRIPT}<img src='/moved.png'><img src='/none.png'>"
        f"<iframe src='https://{OTHER_HOST}/frame.html'></iframe><p>Text.</p>"
    )
    return write_archive(root, name, About(START_URL, "test", "test", ()), [html(START_URL, body), *others])


def kept_of(archive: Archive, cells: list[tuple[Driver, Protocol]], *keep: str) -> Hars:
    """A trial for each driver and protocol of one engine, with its HAR."""

    def run() -> Hars:
        engine = cells[0][0].engines[0]
        protocols = dict.fromkeys(protocol for _, protocol in cells)
        loads = {}
        with browser_lab({archive.name: archive}, protocols, engine=engine) as opened:
            for number, (driver, protocol) in enumerate(cells, start=1):
                files = WORKSPACE / "kept" / str(number)
                cell = condition(archive.name, protocol, driver, LINK, server=engine.traits.server)
                record = trial(opened, number, cell, keep=("har", *keep), files=files)
                loads[driver, protocol] = record, json.loads((files / "load.har").read_bytes())
        return loads

    return inside(run)


@pytest.mark.side_by_side
def test_a_traced_load_tells_what_painting_waited_for(tmp_path: Path) -> None:
    head = "<link rel=stylesheet href=/s.css><script async src=/a.js></script>"
    page = f"<!doctype html><html><head>{head}</head><body><p>Text.<img src=/b.png></body></html>"
    made = [
        Response(START_URL, 200, (("Content-Type", "text/html"),), page.encode()),
        Response(f"{START_URL}s.css", 200, (("Content-Type", "text/css"),), b"p{color:red}"),
        Response(f"{START_URL}a.js", 200, (("Content-Type", "text/javascript"),), b"0"),
        Response(f"{START_URL}b.png", 200, (("Content-Type", "image/png"),), picture()),
    ]
    archive = write_archive(tmp_path, "blocked", About(START_URL, "test", "test", ()), made)
    for record, kept in kept_of(archive, [(driver, Protocol.H2) for driver in CHROMIUMS], "trace").values():
        assert (record.outcome, record.observation.traced) == (Outcome.OK, True)
        told = {entry["request"]["url"]: entry.get("_renderBlocking") for entry in kept["log"]["entries"]}
        told.pop(f"{START_URL}favicon.ico", None)
        assert told.pop(f"{START_URL}a.js") in ("non_blocking", "potentially_blocking")
        assert told == {START_URL: None, f"{START_URL}s.css": "blocking", f"{START_URL}b.png": None}


@pytest.fixture(scope="module")
def hars(tmp_path_factory: pytest.TempPathFactory) -> Hars:
    """Of every protocol by the engines that speak it."""
    archive = small_site(tmp_path_factory.mktemp("archives"))
    chromium = [(Driver.PLAYWRIGHT, protocol) for protocol in TODAY] + [(Driver.SELENIUM, Protocol.H2)]
    historical = [(Driver.PYQT, protocol) for protocol in (Protocol.HTTP1, Protocol.HTTPS1, Protocol.SPDY)]
    return {**kept_of(archive, chromium), **kept_of(archive, historical)}


@pytest.mark.side_by_side
def test_it_is_valid_and_its_phases_add_up_by_every_protocol_and_engine(hars: Hars) -> None:
    for cell, (record, made) in hars.items():
        assert (cell, record.outcome, record.reason) == (cell, Outcome.OK, None)
        assert faults(made) == []
        for whole, parts in sums(made):
            assert whole == pytest.approx(parts, abs=0.01), cell


@pytest.mark.side_by_side
def test_it_holds_each_request_of_the_page_by_the_protocol_and_connection_that_carried_it(hars: Hars) -> None:
    for (driver, protocol), (record, made) in hars.items():
        log = made["log"]
        entries = log["entries"]
        entries = [
            entry for entry in entries if entry["request"]["httpVersion"]
        ]  # not what came too late to be sent
        asked_for = (record.observation.requests or 0) + (record.observation.requests_after_load or 0)
        assert {entry["request"]["httpVersion"] for entry in entries} == {protocol.wire}
        assert asked_for - 1 <= len(entries) <= asked_for
        used = {entry["connection"] for entry in entries}
        assert used <= {connection["connection"] for connection in log["_connections"]}
        assert len(log["_connections"]) == record.observation.connections
        assert all(entry["serverIPAddress"].startswith("10.0.") for entry in entries)
        shaken = [entry for entry in entries if entry["timings"]["connect"] > 0]
        assert shaken, (driver, protocol)
        if protocol.encrypted and driver.engines[0] is Engine.CHROMIUM:
            assert any(entry["timings"]["ssl"] > 0 for entry in shaken)
        pictures = [
            entry
            for entry in entries
            if entry["request"]["url"].endswith(".png") and entry["response"]["status"] == 200
        ]
        assert len(pictures) == 8
        assert {entry["response"]["bodySize"] for entry in pictures} == {
            entry["response"]["content"]["size"] for entry in pictures
        }


@pytest.mark.side_by_side
def test_its_times_are_those_of_the_record(hars: Hars) -> None:
    for cell, (record, made) in hars.items():
        (page,) = made["log"]["pages"]
        assert page["pageTimings"]["onLoad"] == record.observation.plt_ms
        first = made["log"]["entries"][0]
        late = _ms(first["startedDateTime"]) - _ms(page["startedDateTime"])
        assert -1.5 <= late <= (record.observation.ttfb_ms or 0), cell
        took = first["timings"]
        answered = late + first["time"] - took["receive"]
        without_core_ms = record.observation.client_late_ms or 0
        assert answered == pytest.approx(record.observation.ttfb_ms or 0, abs=FRAME_MS + without_core_ms), (
            cell
        )


def _ms(text: str) -> float:
    return datetime.fromisoformat(text).timestamp() * 1000


def both(archive: Archive, protocol: Protocol) -> tuple[dict[str, Any], dict[str, Any]]:
    """One load, in our HAR and in that of Playwright itself."""

    def run() -> tuple[dict[str, Any], dict[str, Any]]:
        with browser_lab({archive.name: archive}, [protocol]) as opened, ExitStack() as stack:
            cell = condition(archive.name, protocol, Driver.PLAYWRIGHT, LINK)
            endpoint = opened.testbed.endpoint(cell)
            maker = ChromiumMaker(WORKSPACE, stack, CLIENT.path)
            theirs = WORKSPACE / "playwright.har"
            opened.testbed.resolver.use(endpoint.address)
            with (
                opened.testbed.client(cell.link),
                maker.fresh_home("both", surroundings(opened.testbed, endpoint)) as home,
            ):
                driver = maker.driver(Driver.PLAYWRIGHT)
                with driver.start(home.launch(), har=theirs) as browser:  # type: ignore[call-arg]
                    browser.load(endpoint.start_url, 30)
                    browser.linger(0.5)
                log = read_netlog(home.netlog)
            evidence = Evidence(
                LoadSetup(protocol, endpoint.start_url, endpoint.hosts, 40), {BrowserLog: log}
            )
            ours = har(planned(1, cell), evidence, log, {})
            return ours, json.loads(theirs.read_bytes())

    return inside(run)


def asked(made: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries but the page's icon, which Playwright does not see."""
    return [entry for entry in made["log"]["entries"] if not entry["request"]["url"].endswith("/favicon.ico")]


@timed("other work comes between the end of a look-up and the moment at which its connection hears of it")
@pytest.mark.parametrize("protocol", [Protocol.HTTPS1, Protocol.H2, Protocol.H3])
def test_it_is_what_playwright_sees_of_the_same_load(tmp_path: Path, protocol: Protocol) -> None:
    ours, theirs = both(busy_site(tmp_path), protocol)
    assert faults(ours) == []
    seen, expected = asked(ours), asked(theirs)
    assert Counter(map(named, seen)) == Counter(map(named, expected))
    cached = {named(entry) for entry in seen if "_fromCache" in entry}
    assert cached == {("GET", f"{START_URL}kept.json")}
    answered = {
        named(entry): entry for entry in seen if entry["response"]["status"] and named(entry) not in cached
    }
    compared = [entry for entry in expected if named(entry) in answered and entry["response"]["status"] > 0]
    assert len(compared) > 7
    for entry in compared:
        ours_of, theirs_of = answered[named(entry)]["timings"], entry["timings"]
        for phases in (("dns",), ("connect",), ("ssl",), ("send", "wait")):
            took = [sum(max(0, of[name]) for name in phases) for of in (ours_of, theirs_of)]
            assert took[0] == pytest.approx(took[1], abs=FRAME_MS), (named(entry), phases)
        asked_ms = [_ms(of["startedDateTime"]) for of in (answered[named(entry)], entry)]
        assert asked_ms[0] >= asked_ms[1] - 2  # the page's process asks, then that of the network hears of it


def named(entry: dict[str, Any]) -> tuple[str, str]:
    return entry["request"]["method"], entry["request"]["url"]


@pytest.mark.side_by_side
@pytest.mark.parametrize(
    ("driver", "protocol"),
    [
        *((Driver.PLAYWRIGHT, Protocol.H2), (Driver.SELENIUM, Protocol.HTTP1), (Driver.PYQT, Protocol.SPDY)),
        (Driver.MARIONETTE, Protocol.H2),
        pytest.param(Driver.MARIONETTE, Protocol.HTTP1, marks=pytest.mark.lengthy),
    ],
)
def test_with_bodies_it_is_an_archive_again(tmp_path: Path, driver: Driver, protocol: Protocol) -> None:
    archive = small_site(tmp_path)
    ((record, made),) = kept_of(archive, [(driver, protocol)], "bodies").values()
    assert (record.outcome, record.reason) == (Outcome.OK, None)
    path = tmp_path / "load.har"
    path.write_text(json.dumps(made))
    again = import_recording(path, tmp_path, "again")
    want = {response.url.partition(":")[2]: response.body for response in archive.responses()}
    have = {
        response.url.partition(":")[2]: decode(response.body, coding_of(response.header("Content-Encoding")))
        for response in again.responses()
        if response.status == 200
    }
    page = START_URL.partition(":")[2]
    assert b"missing.png" in have[page]
    want[page] = have[page]  # what is served has a script of ours, for determinism
    assert {url: have.get(url) for url in want} == want
    assert open_archive(tmp_path, "again").start_url.endswith("//site.example/")
