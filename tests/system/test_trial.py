"""Whole trials: every protocol by every driver is proved, and whatever breaks is recorded by name."""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from harness.engines.chromium import devtools
from harness.engines.chromium.engine import ChromiumMaker
from harness.errors import Outcome
from harness.lab.testbed import CLIENT
from harness.model.condition import CacheState, Served
from harness.model.engine import Driver, Engine
from harness.model.link import Link
from harness.model.protocol import TODAY, Protocol
from harness.model.rate import RateFormat, RecordedRate
from harness.model.settings import Replay
from harness.model.trials import PlannedTrial
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.study.rules import ABILITIES, DEFAULT_SERVER
from harness.system.enclosure import WORKSPACE
from harness.trial.trial import browser_lab, run_at
from harness.trial.venue import BrowsersHost, InTestbed, surroundings
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About
from tests.facts import tells
from tests.system.conftest import (
    CHROMIUMS,
    NO_ICON,
    OTHER_HOST,
    START_URL,
    condition,
    html,
    inside,
    page_of,
    picture,
    planned,
    small_site,
    timed,
    trial,
)
from tests.system.test_hostile import CRASH

# Of /proc/net/tcp: by port 443, in its states.
HTTPS_LISTENS, HTTPS_IS_THERE = (
    re.compile(r":01BB [0-9A-F]+:0000 0A "),
    re.compile(r":01BB [0-9A-F]+:[0-9A-F]+ 01 "),
)

pytestmark = pytest.mark.side_by_side

# Every protocol by every driver on the default server; every other server by one.
MATRIX = [(DEFAULT_SERVER, driver, protocol) for driver in CHROMIUMS for protocol in TODAY] + [
    (server, Driver.PLAYWRIGHT, protocol)
    for server, ability in ABILITIES.items()
    if server != DEFAULT_SERVER
    for protocol in TODAY
    if protocol in ability.protocols
]


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """One trial of every cell of the matrix."""
    archive = small_site(tmp_path_factory.mktemp("archives"))

    def run(server: str) -> list[Record]:
        cells = [(driver, protocol) for each, driver, protocol in MATRIX if each == server]
        protocols = dict.fromkeys(protocol for _, protocol in cells)
        with browser_lab({"small": archive}, protocols, server=server) as opened:
            return [
                trial(opened, number, condition("small", protocol, driver, server=server))
                for number, (driver, protocol) in enumerate(cells, start=1)
            ]

    return [record for server in ABILITIES for record in inside(partial(run, server))]


def test_every_protocol_counts_on_every_server_and_by_every_driver(matrix: list[Record]) -> None:
    assert [(str(record.planned.condition), record.outcome, record.reason) for record in matrix] == [
        (str(record.planned.condition), Outcome.OK, None) for record in matrix
    ]


def test_every_request_is_seen_by_browser_and_server_alike(matrix: list[Record]) -> None:
    for record in matrix:
        seen = record.observation
        icon = sum("favicon.ico" in url for url in seen.failed)  # asked for about when the load ends
        assert seen.requests == 11 + icon  # page, style sheet, eight pictures, one that is not archived
        assert [url for url in seen.missed if "favicon" not in url] == [seen.missed[0]]
        assert seen.failed_requests == 1 + icon
        assert set(seen.protocols) == {record.planned.condition.protocol.wire}
        assert seen.service_requests == 0
        assert seen.server_requests is not None
        assert 11 <= seen.server_requests <= 12  # the icon is asked for after the load


def test_connections_follow_the_protocol(matrix: list[Record]) -> None:
    for record in matrix:
        used = record.observation.server_connections
        assert used is not None
        match record.planned.condition.protocol:
            case Protocol.HTTP1_CLOSE | Protocol.HTTPS1_CLOSE:
                assert used == record.observation.server_requests
            case Protocol.H2 | Protocol.H3:
                assert 1 <= used <= 4  # one per host, one more for requests without credentials
            case _:
                assert 2 < used <= 14  # at most six per host


def test_times_are_there_and_in_order(matrix: list[Record]) -> None:
    for record in matrix:
        seen = record.observation
        assert seen.ttfb_ms is not None
        assert seen.dcl_ms is not None
        assert seen.plt_ms is not None
        assert seen.navigate_ms is not None
        assert seen.fcp_ms is not None
        assert seen.ahead_ms is not None
        assert seen.ahead_ms + seen.ttfb_ms >= 20
        assert seen.ttfb_ms <= seen.dcl_ms <= seen.plt_ms <= seen.navigate_ms + 5
        assert record.overhead_ms is not None
        assert record.overhead_ms > 0


@dataclass(frozen=True)
class Late(InTestbed):
    """A venue whose browser starts so long after its link was made."""

    late_s: float

    @contextlib.contextmanager
    def client(self, planned: PlannedTrial, pcap: Path | None = None) -> Iterator[BrowsersHost]:
        with super().client(planned, pcap) as client:
            time.sleep(self.late_s)
            yield client


@timed("what is late under the fast rate costs four times that under the slow one")
def test_loads_whose_browsers_take_differently_long_to_start_meet_the_same_link(tmp_path: Path) -> None:
    """Its rate drops in the middle of the load: time zero is when the page is asked for."""
    steps = RecordedRate.of(RateFormat.STEPS, "s", "0 4\n1500 1\n")
    plain = Link.of(4, 20)
    link = replace(plain, down=replace(plain.down, rate=steps))
    image = Response(f"{START_URL}p.png", 200, (("Content-Type", "image/png"),), picture(640))
    archive = page_of(tmp_path, "steps", f'{NO_ICON}<img src="p.png">', image)
    cell = condition("steps", Protocol.H2, link=link)

    def run() -> list[Record]:
        with browser_lab({"steps": archive}, [Protocol.H2]) as opened:
            return [
                run_at(
                    Late(opened.testbed, opened.testbed.endpoint(cell), late_s),
                    opened.browsers,
                    planned(number, cell),
                    TrialOptions(),
                    WORKSPACE / "kept",
                )[0]
                for number, late_s in enumerate((0.0, 3.0), start=1)
            ]

    times = []
    for record in inside(run):
        assert record.outcome is Outcome.OK, record.reason
        seen = record.observation
        assert seen.plt_ms is not None
        assert seen.bytes_down is not None
        fast_ms, slow_ms = seen.bytes_down * 8 / 4e3, seen.bytes_down * 8 / 1e3
        assert fast_ms + 1000 < seen.plt_ms < slow_ms - 2000
        times.append(seen.plt_ms)
    assert times[0] == pytest.approx(times[1], abs=700)


@pytest.mark.parametrize("cache", CacheState)
def test_servers_hear_that_a_browser_has_gone(tmp_path: Path, cache: CacheState) -> None:
    """Over a long link, too: they would keep its connections for minutes, of every trial of a run."""
    archive = small_site(tmp_path)
    cell = replace(condition("small", Protocol.HTTPS1, link=Link.of(20, 400)), cache=cache)

    def run() -> tuple[Record, str]:
        with browser_lab({"small": archive}, [Protocol.HTTPS1]) as opened:
            record = trial(opened, 1, cell)
            with opened.testbed.server.entered():
                return record, Path("/proc/thread-self/net/tcp").read_text()

    record, connections = inside(run)
    assert record.outcome is Outcome.OK, record.reason
    assert HTTPS_LISTENS.search(connections)
    assert HTTPS_IS_THERE.findall(connections) == []


def test_both_drivers_start_chromium_with_the_same_flags(tmp_path: Path) -> None:
    archive = small_site(tmp_path)

    def flags() -> list[set[str]]:
        with browser_lab({"small": archive}, [Protocol.HTTP1]) as opened, contextlib.ExitStack() as stack:
            endpoint = opened.testbed.endpoint(condition("small", Protocol.HTTP1))
            made = ChromiumMaker(WORKSPACE, stack, CLIENT.path)
            found = []
            for driver in CHROMIUMS:
                with (
                    opened.testbed.client(Link.of(50, 10)),
                    made.fresh_home("flags", surroundings(opened.testbed, endpoint)) as home,
                    made.driver(driver).start(home.launch()),
                ):
                    words = Path(f"/proc/{home.pid}/cmdline").read_text().split("\0")
                found.append({flag for word in words[1:] for flag in _parts(word)})
            return found

    playwright, selenium = inside(flags)
    assert playwright == selenium
    assert not any("no-sandbox" in flag for flag in playwright)


def _parts(word: str) -> list[str]:
    """A flag; a list of features in any order is as many flags."""
    name, _, value = word.partition("=")
    return [f"{name}={part}" for part in value.split(",")] if "features" in name else [word]


def test_nothing_but_the_page_touches_the_link(tmp_path: Path) -> None:
    """A capture by the emulator itself: DNS for the page's names, TCP to the test server, nothing else."""
    archive = small_site(tmp_path)

    def capture() -> tuple[Record, str]:
        with browser_lab({"small": archive}, [Protocol.HTTPS1]) as opened:
            kept = WORKSPACE / "kept"
            record = trial(opened, 1, condition("small", Protocol.HTTPS1), keep=["pcap"], files=kept)
            pcap = kept / "link.pcap"
            text = subprocess.run(
                ["tcpdump", "-Z", "root", "-nn", "-r", str(pcap)], capture_output=True, text=True, check=True
            ).stdout
        return record, text

    record, text = inside(capture)
    assert record.outcome is Outcome.OK, record.reason
    lines = text.splitlines()
    assert len(lines) > 50
    asked = {line.split("? ")[1].split(". ")[0] for line in lines if "? " in line}
    assert asked == {"site.example", OTHER_HOST}
    ours = (" 10.0.0.1.443", " 10.0.0.1.53")
    assert [line for line in lines if not any(end in line for end in ours)] == []


def failing(
    tmp_path: Path,
    body: str,
    protocol: Protocol,
    driver: Driver = Driver.PLAYWRIGHT,
    timeout_s: float = 30.0,
) -> list[Record]:
    """A trial of a page with this body, and one of the good page after it, on the same lab."""
    archives = {
        "bad": write_archive(tmp_path, "bad", About(START_URL, "test", "", ()), [html(START_URL, body)]),
        "small": small_site(tmp_path),
    }

    def run() -> list[Record]:
        with browser_lab(archives, [protocol]) as opened:
            bad, good = condition("bad", protocol, driver), condition("small", protocol)
            return [trial(opened, 1, bad, timeout_s=timeout_s), trial(opened, 2, good)]

    return inside(run)


@pytest.mark.parametrize("driver", CHROMIUMS)
def test_a_page_that_never_finishes_is_a_timeout(tmp_path: Path, driver: Driver) -> None:
    bad, good = failing(tmp_path, "<script>while (true) {}</script>", Protocol.HTTP1, driver, 4)
    assert bad.outcome is Outcome.PAGE_TIMEOUT, bad.reason
    assert "no load event within 4 s" in (bad.reason or "")
    assert bad.observation.plt_ms is None
    assert bad.observation.requests == 1
    assert bad.observation.bytes_down is not None
    assert good.outcome is Outcome.OK, good.reason


@pytest.mark.parametrize(
    ("driver", "script", "frame", "why"),
    [
        (Driver.PLAYWRIGHT, "while (true) {}", "", "no load event within 4 s"),
        (Driver.SELENIUM, "", CRASH, "a process of the browser crashed: renderer by SIGTRAP"),
    ],
)
def test_a_first_visit_that_fails_is_told_and_is_no_time_out_of_the_load(
    tmp_path: Path, driver: Driver, script: str, frame: str, why: str
) -> None:
    """Also one whose page has its load event, and lost a frame of another site, which chromedriver does not tell."""
    framed = html(f"https://{OTHER_HOST}/", f"<script>{frame}</script>")
    start = html(START_URL, f'<script>{script}</script><iframe src="{framed.url}"></iframe>')
    archive = write_archive(tmp_path, "bad", About(START_URL, "test", "", ()), [start, framed])
    cell = replace(condition("bad", Protocol.HTTPS1, driver), cache=CacheState.WARM)

    def run() -> Record:
        with browser_lab({"bad": archive}, [Protocol.HTTPS1]) as opened:
            return trial(opened, 1, cell, timeout_s=4 if script else 60)

    record = inside(run)
    why = f"in the first load, which fills the cache: {why}"
    assert (record.outcome, record.reason) == (Outcome.PAGE_ERROR, why)


def test_a_link_that_a_script_puts_together_travels_by_the_protocol_all_the_same(tmp_path: Path) -> None:
    """No rewriting of text can see it; the page asks under https, and plain HTTP/1.1 is on the link."""
    script = "<script>new Image().src = 'ht' + 'tps:' + '//site.example/x'</script>"
    asked, good = failing(tmp_path, script, Protocol.HTTP1)
    assert (asked.outcome, asked.observation.relayed_requests) == (Outcome.OK, 1)
    assert asked.observation.missed == ("http://site.example/x",)
    assert set(asked.observation.protocols) == {"http/1.1"}
    assert (good.outcome, good.observation.relayed_requests) == (Outcome.OK, 0)


def test_a_request_with_a_password_in_its_url_is_proved_and_the_password_not_told(tmp_path: Path) -> None:
    script = 'const x = new XMLHttpRequest(); x.open("GET", "/x", false, "me", "secret"); x.send()'
    asked, _ = failing(tmp_path, f"<script>{script}</script>", Protocol.H2)
    assert (asked.outcome, asked.reason) == (Outcome.OK, None)
    assert asked.observation.missed == (f"{START_URL}x",)


@pytest.mark.parametrize("driver", CHROMIUMS)
def test_a_trace_that_lost_events_tells_no_times(
    tmp_path: Path, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devtools, "BUFFER_KB", 64)
    archive = small_site(tmp_path)

    def run() -> Record:
        with browser_lab({"small": archive}, [Protocol.H2]) as opened:
            return trial(opened, 1, condition("small", Protocol.H2, driver), keep=["trace"])

    record = inside(run)
    seen = record.observation
    assert (record.outcome, seen.traced, seen.main_thread_ms) == (Outcome.OK, True, None)


def key(protocol: Protocol) -> Served:
    """Where the small site is served, as `Testbed.endpoints` names it."""
    return Served("small", protocol, Engine.CHROMIUM)


def test_another_protocol_than_the_conditions_is_noticed(tmp_path: Path) -> None:
    """The h2 condition gets a server that speaks HTTP/1.1 over TLS alone."""
    archive = small_site(tmp_path)

    def run() -> Record:
        with browser_lab({"small": archive}, [Protocol.HTTPS1, Protocol.H2]) as opened:
            endpoints = opened.testbed.endpoints
            wrong = replace(endpoints[key(Protocol.HTTPS1)], protocol=Protocol.H2)
            endpoints[key(Protocol.H2)] = wrong
            return trial(opened, 1, condition("small", Protocol.H2))

    record = inside(run)
    assert record.outcome is Outcome.WRONG_PROTOCOL, record.reason
    assert tells([record.reason or ""], "did not use h2", "https://site.example/ by http/1.1")


def test_http3_that_does_not_get_through_is_never_measured_as_another_protocol(tmp_path: Path) -> None:
    """The server host has no UDP on port 443, but speaks HTTP/2 on the same address."""
    archive = small_site(tmp_path)

    def run() -> Record:
        with browser_lab({"small": archive}, [Protocol.H2, Protocol.H3]) as opened:
            endpoints = opened.testbed.endpoints
            endpoints[key(Protocol.H3)] = replace(endpoints[key(Protocol.H2)], protocol=Protocol.H3)
            return trial(opened, 1, condition("small", Protocol.H3), timeout_s=8)

    record = inside(run)
    assert record.outcome in (Outcome.PAGE_ERROR, Outcome.PAGE_TIMEOUT)
    assert record.observation.plt_ms is None
    assert not record.observation.protocols


def test_http3_is_proved_by_quic_connections_over_the_link(matrix: list[Record]) -> None:
    found = [record for record in matrix if record.planned.condition.protocol is Protocol.H3]
    assert len(found) == len(CHROMIUMS)
    for record in found:
        seen = record.observation
        assert seen.tls == {"TLS 1.3": seen.connections}
        assert seen.connect_ms is not None
        assert seen.connect_ms >= 10  # the round-trip time of the link


def test_every_handshake_is_a_full_one_unless_the_study_says_otherwise(
    matrix: list[Record], tmp_path: Path
) -> None:
    over_tcp = [
        record
        for record in matrix
        if record.planned.condition.protocol.encrypted and not record.planned.condition.protocol.over_quic
    ]
    assert {record.observation.tls_resumed for record in over_tcp} == {0}
    archive = small_site(tmp_path)

    def run(server: str) -> Record:
        cell = condition(
            "small", Protocol.HTTPS1_CLOSE, server=server
        )  # most connections come after an answer
        replay = Replay(tls_resumption=True)
        with browser_lab({"small": archive}, [cell.protocol], replay=replay, server=server) as opened:
            return trial(opened, 1, cell)

    for server in ("apache", "caddy", "nginx"):
        record = inside(partial(run, server))
        assert (record.outcome, record.reason) == (Outcome.OK, None)
        assert 0 < (record.observation.tls_resumed or 0) < (record.observation.connections or 0), server


@pytest.mark.parametrize(
    "server", [name for name, able in ABILITIES.items() if Protocol.H2 in able.protocols]
)
def test_tls_is_the_version_the_study_names(tmp_path: Path, server: str) -> None:
    archive = small_site(tmp_path)
    cell = condition("small", Protocol.H2, server=server)

    def run() -> list[Record]:
        with browser_lab(
            {"small": archive}, [Protocol.H2], replay=Replay(tls="1.2"), server=server
        ) as opened:
            good = trial(opened, 1, cell)
            endpoints = opened.testbed.endpoints
            right = endpoints[key(Protocol.H2)]
            endpoints[key(Protocol.H2)] = replace(right, replay=replace(right.replay, tls="1.3"))
            return [good, trial(opened, 2, cell)]

    good, wrong = inside(run)
    assert (good.outcome, set(good.observation.tls)) == (Outcome.OK, {"TLS 1.2"})
    assert wrong.outcome is Outcome.WRONG_PROTOCOL, wrong.reason
    assert "did not use TLS 1.3" in (wrong.reason or "")
