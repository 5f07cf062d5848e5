"""What holds of Firefox and WebKit alike: loads are cold and silent, pages forge nothing, nothing is left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import dns.message
import pytest

from harness.engines.browsers import maker_of
from harness.errors import EnvironmentLacks, Outcome
from harness.model.condition import Condition
from harness.model.engine import Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.system.enclosure import WORKSPACE
from harness.trial.trial import BrowserLab, browser_lab, run_trial
from sites.archive import write_archive
from sites.response import Response
from sites.servers.server import served_to
from sites.warc import About
from tests.facts import tells
from tests.system.conftest import (
    CANCELLED,
    DIALOGS,
    OTHER_HOST,
    START_URL,
    Coldload,
    condition,
    inside,
    page_of,
    picture,
    planned,
    small_site,
    trial,
    wait_until,
)
from tests.system.test_hostile import HANGING, HONEST, LEAVING, another_document_counts, page

PAGES = {
    Engine.FIREFOX: "-contentproc",
    Engine.WEBKIT: "WebKitWebProcess",
}  # in the command line of what holds pages
LOADS = 20
RTT_MS = 10
UDP, DNS_PORT = 17, 53


@lru_cache
def missing(engine: Engine) -> str:
    """Why an engine cannot be asked; "" for nothing."""
    try:
        maker_of(engine).refuse_unless_usable()
    except EnvironmentLacks as error:
        return str(error)
    return ""


pytestmark = [
    pytest.mark.side_by_side,
    pytest.mark.parametrize(
        "engine",
        [
            pytest.param(engine, marks=pytest.mark.skipif(bool(missing(engine)), reason=missing(engine)))
            for engine in PAGES
        ],
    ),
]


def cell(engine: Engine, name: str, protocol: Protocol = Protocol.H2) -> Condition:
    return condition(name, protocol, engine.traits.drivers[0])


def packets_of(capture: bytes) -> Iterator[bytes]:
    """Of a file as pcap(5) describes it."""
    at = 24
    while at < len(capture):
        kept = int.from_bytes(capture[at + 8 : at + 12], "little")
        yield capture[at + 16 : at + 16 + kept]
        at += 16 + kept


@dataclass(frozen=True)
class Packet:
    """An IPv4 packet of a capture."""

    source: str
    destination: str
    kind: int
    ports: tuple[int, int]
    payload: bytes

    @classmethod
    def of(cls, data: bytes) -> Packet:
        head = (data[0] & 15) * 4
        source, destination = (".".join(map(str, data[at : at + 4])) for at in (12, 16))
        ports = int.from_bytes(data[head : head + 2]), int.from_bytes(data[head + 2 : head + 4])
        return cls(source, destination, data[9], ports, data[head + 8 :])


@pytest.mark.lengthy
def test_nothing_but_the_page_crosses_the_link_in_many_loads(engine: Engine, tmp_path: Path) -> None:
    """Each load is captured: it asks for the page's names alone, and speaks with the page's server alone."""
    archives = {"small": small_site(tmp_path)}

    def run() -> list[tuple[Record, list[bytes]]]:
        with browser_lab(archives, [Protocol.H2], engine=engine) as opened:
            loads = []
            for number in range(1, LOADS + 1):
                files = WORKSPACE / f"kept-{number}"
                record = trial(opened, number, cell(engine, "small"), keep=["pcap"], files=files)
                loads.append((record, list(packets_of((files / "link.pcap").read_bytes()))))
            return loads

    loads = inside(run)
    assert [record.outcome for record, _ in loads] == [Outcome.OK] * LOADS
    assert {record.observation.requests_after_load for record, _ in loads} == {0}
    for number, (_, captured) in enumerate(loads, start=1):
        packets = [Packet.of(data) for data in captured]
        ends = {address for packet in packets for address in (packet.source, packet.destination)}
        assert ends == {f"10.64.0.{number}", "10.0.0.1"}
        asked = [packet for packet in packets if packet.kind == UDP and packet.ports[1] == DNS_PORT]
        names = {str(q.name) for packet in asked for q in dns.message.from_wire(packet.payload).question}
        assert names == {"site.example.", f"{OTHER_HOST}."}
        assert {packet.ports[1] for packet in packets if packet.destination == "10.0.0.1"} == {DNS_PORT, 443}


def test_each_load_is_cold(engine: Engine, tmp_path: Path) -> None:
    """What a load could keep is there for the next one to use, and is asked for anew."""
    kept = (("Content-Type", "image/png"), ("Cache-Control", "max-age=86400"))
    script = """<script>const seen = [document.cookie, localStorage.seen, navigator.language].join(".");
        document.cookie = "seen=yes; max-age=9999"; localStorage.seen = "yes";
        document.write("<img src='/said/" + seen + "'>");</script><img src="/p.png">"""
    archives = {
        "page": page_of(tmp_path, "page", script, Response(f"{START_URL}p.png", 200, kept, picture()))
    }

    def run() -> list[Record]:
        with browser_lab(archives, [Protocol.HTTPS1], engine=engine) as opened:
            return [trial(opened, number, cell(engine, "page", Protocol.HTTPS1)) for number in (1, 2, 3)]

    for record in inside(run):
        seen = record.observation
        assert (record.outcome, record.reason) == (Outcome.OK, None)
        assert (seen.requests, seen.server_requests, seen.cache_hits or 0) == (3, 3, 0)
        assert seen.missed == (f"{START_URL}said/..en-US",)


def test_what_a_page_has_from_its_own_load_is_no_request(engine: Engine, tmp_path: Path) -> None:
    kept = (("Content-Type", "application/json"), ("Cache-Control", "max-age=3600"))
    script = """<script>for (const turn of [1, 2]) {
        const request = new XMLHttpRequest(); request.open("GET", "/kept.json", false); request.send(); }</script>
        <img src="/p.png"><img src="/p.png">"""
    shown = Response(f"{START_URL}p.png", 200, (("Content-Type", "image/png"),), picture())
    said = Response(f"{START_URL}kept.json", 200, kept, b"{}")
    archives = {"page": page_of(tmp_path, "page", script, shown, said)}

    def run() -> Record:
        with browser_lab(archives, [Protocol.H2], engine=engine) as opened:
            return trial(opened, 1, cell(engine, "page"))

    record = inside(run)
    seen = record.observation
    assert (record.outcome, record.reason) == (Outcome.OK, None)
    assert seen.requests == seen.server_requests
    assert seen.requests in (3, 4)  # a cache on a busy machine may not have kept the first answer yet


def confirmed(opened: BrowserLab, cell: Condition, number: int, offset: int) -> int:
    """How many requests of a load the server answered with 304."""
    server = opened.testbed.endpoint(cell).server
    return sum(answer.status == 304 for answer in served_to(server.requests(offset), f"10.64.0.{number}"))


def test_what_the_server_confirmed_within_a_load_is_a_request_and_told_as_such(
    engine: Engine, tmp_path: Path
) -> None:
    kept = (("Content-Type", "application/json"), ("Cache-Control", "no-cache"), ("ETag", '"1"'))
    script = """<script>for (const turn of [1, 2]) {
        const request = new XMLHttpRequest(); request.open("GET", "/kept.json", false); request.send();
        const end = performance.now() + 200; while (performance.now() < end) ; }</script>"""
    archives = {
        "page": page_of(tmp_path, "page", script, Response(f"{START_URL}kept.json", 200, kept, b"{}"))
    }
    asked = cell(engine, "page")

    def run() -> tuple[Record, int]:
        with browser_lab(archives, [Protocol.H2], engine=engine) as opened:
            offset = opened.testbed.endpoint(asked).server.log_offset
            return trial(opened, 1, asked), confirmed(opened, asked, 1, offset)

    record, answers = inside(run)
    seen = record.observation
    assert (record.outcome, record.reason) == (Outcome.OK, None)
    assert (seen.requests, seen.server_requests, seen.revalidated) == (3, 3, answers)
    assert answers == 1 or engine is not Engine.FIREFOX


def test_what_is_under_way_when_the_browser_is_closed_did_not_fail(engine: Engine, tmp_path: Path) -> None:
    """It is asked for 50 ms before the load event, and its answer takes a second."""
    late = """const late = new XMLHttpRequest(); late.open('GET', '/late.json'); late.send();
        const end = performance.now() + 50; while (performance.now() < end) ;"""
    shown = Response(f"{START_URL}p.png", 200, (("Content-Type", "image/png"),), picture())
    said = Response(f"{START_URL}late.json", 200, (("Content-Type", "application/json"),), b"{}")
    archives = {"page": page_of(tmp_path, "page", f'<img src="/p.png" onload="{late}">', shown, said)}

    def run() -> Record:
        with browser_lab(archives, [Protocol.H2], engine=engine) as opened:
            far = replace(cell(engine, "page"), link=Link.of(50, 1000))
            return trial(opened, 1, far)

    record = inside(run)
    seen = record.observation
    assert (record.outcome, record.reason) == (Outcome.OK, None)
    # What had no core for 50 ms may come to ask for it after the load event.
    afterwards = (seen.requests_after_load or 0) if (seen.client_late_ms or 0) > 50 else 0
    assert ((seen.requests or 0) + afterwards, seen.failed_requests, seen.failed) == (3, 0, ())


def test_a_websocket_is_no_request_of_another_protocol(engine: Engine, tmp_path: Path) -> None:
    """It is refused, after the load event."""
    script = """<script>new WebSocket(location.origin.replace("http", "ws") + "/chat");</script><img src="/p.png">"""
    shown = Response(f"{START_URL}p.png", 200, (("Content-Type", "image/png"),), picture())
    archives = {"page": page_of(tmp_path, "page", script, shown)}

    def run() -> Record:
        with browser_lab(archives, [Protocol.H2], engine=engine) as opened:
            options = TrialOptions(linger_s=5.0)
            files = WORKSPACE / "kept"
            return run_trial(
                opened.testbed, opened.browsers, planned(1, cell(engine, "page")), options, files
            )

    record = inside(run)
    seen = record.observation
    assert (record.outcome, record.reason) == (Outcome.OK, None)
    assert (seen.requests, seen.requests_after_load, seen.server_requests) == (2, 0, 3)
    assert seen.protocols == {"h2": 2}


@pytest.mark.parametrize("server", ["caddy", "nginx", "apache"])
def test_a_refused_websocket_leaves_no_connection_for_what_the_page_asks_for_next(
    server: str, engine: Engine, tmp_path: Path
) -> None:
    script = """<script>const socket = new WebSocket(location.origin.replace("http", "ws") + "/chat");
        socket.onerror = () => new Image().src = "/next.png";</script><img src="/p.png">"""
    png = (("Content-Type", "image/png"),)
    shown = [Response(f"{START_URL}{name}.png", 200, png, picture()) for name in ("p", "next")]
    archives = {"page": page_of(tmp_path, "page", script, *shown)}

    asked = replace(cell(engine, "page"), server=server)

    def run() -> tuple[Record, dict[str, str]]:
        with browser_lab(archives, [Protocol.H2], engine=engine, server=server) as opened:
            served = opened.testbed.endpoint(asked).server
            offset, options = served.log_offset, TrialOptions(linger_s=5.0)
            record = run_trial(
                opened.testbed, opened.browsers, planned(1, asked), options, WORKSPACE / "kept"
            )
            answers = served_to(served.requests(offset), "10.64.0.1")
            return record, {answer.target: answer.protocol for answer in answers}

    record, protocols = inside(run)
    assert (record.outcome, record.reason) == (Outcome.OK, None)
    assert protocols == {"/": "h2", "/p.png": "h2", "/chat": "http/1.1", "/next.png": "h2"}


def test_what_a_service_worker_asks_for_is_told_by_the_server_at_least(
    engine: Engine, tmp_path: Path
) -> None:
    """Firefox tells of it, too; WebKit's Inspector is the page's alone."""
    script = '<script>navigator.serviceWorker.register("/worker.js")</script><img src="/large.png">'
    png = (("Content-Type", "image/png"),)
    others = (
        Response(
            f"{START_URL}worker.js",
            200,
            (("Content-Type", "text/javascript"),),
            b'oninstall = (event) => event.waitUntil(fetch("/p.png"));',
        ),
        Response(f"{START_URL}large.png", 200, png, picture(400)),
        Response(f"{START_URL}p.png", 200, png, picture()),
    )
    archives = {"page": page_of(tmp_path, "page", script, *others)}

    def run() -> Record:
        with browser_lab(archives, [Protocol.H2], engine=engine) as opened:
            return trial(opened, 1, replace(cell(engine, "page"), link=Link.of(0.5, 10)), timeout_s=120)

    record = inside(run)
    seen = record.observation
    assert (record.outcome, record.reason) == (Outcome.OK, None)
    assert seen.server_requests == 4
    assert (seen.requests or 0) + (seen.one_sided_requests or 0) == 4
    assert bool(seen.one_sided_requests) is (engine is Engine.WEBKIT)


def test_pages_that_forge_their_times_change_no_figure(engine: Engine, tmp_path: Path) -> None:
    archives = {name: page(tmp_path, name, script) for name, script in HONEST.items()}

    def run() -> dict[str, Record]:
        with browser_lab(archives, [Protocol.H2], engine=engine) as opened:
            return {
                name: trial(opened, number, cell(engine, name))
                for number, name in enumerate(archives, start=1)
            }

    records = inside(run)
    assert {name: (record.outcome, record.reason) for name, record in records.items()} == dict.fromkeys(
        records, (Outcome.OK, None)
    )
    for record in records.values():
        seen = record.observation
        assert seen.plt_ms is not None
        assert seen.navigate_ms is not None
        assert seen.ttfb_ms is not None
        assert 3 * RTT_MS <= seen.ttfb_ms <= seen.plt_ms <= seen.navigate_ms + 2
        late_ms = (seen.runner_late_ms or 0) + (seen.client_late_ms or 0)
        assert seen.navigate_ms - seen.plt_ms < 500 + late_ms  # which is what the way to the driver takes
        assert (seen.painted, seen.requests) == (True, 2)


def test_pages_that_fail_are_recorded_and_the_next_trial_is_clean(engine: Engine, tmp_path: Path) -> None:
    absent = Response(START_URL, 404, (("Content-Type", "text/html"),), b"<p>There is no such page.")
    nothing = Response(START_URL, 204, (), b"")
    file = Response(START_URL, 200, (("Content-Disposition", "attachment"),), b"<p>to keep")
    archives = {
        "endless": page_of(tmp_path, "endless", "<script>while (true) {}</script>"),
        **{
            name: write_archive(tmp_path, name, About(START_URL, "t", "t", ()), [answer])
            for name, answer in (("absent", absent), ("nothing", nothing), ("file", file))
        },
        "spin": page(tmp_path, "spin", HANGING["spin"]),
        **{name: page(tmp_path, name, script) for name, script in LEAVING.items()},
        "asking": page_of(tmp_path, "asking", DIALOGS),
        "small": small_site(tmp_path),
    }
    without_end = {"endless", *LEAVING}

    def run() -> dict[str, Record]:
        with browser_lab(archives, [Protocol.H2], engine=engine) as opened:
            return {
                name: trial(opened, number, cell(engine, name), timeout_s=5 if name in without_end else 20)
                for number, name in enumerate(archives, start=1)
            }

    records = inside(run)
    said = {name: (str(record.outcome), record.reason or "") for name, record in records.items()}
    assert said["endless"][0] == "page-timeout"
    assert tells([said["endless"][1]], "no load event", "5 s")
    assert [said[name][0] for name in ("absent", "nothing", "file", "spin")] == ["page-error"] * 4, said
    assert tells([said["absent"][1]], "the page itself", "404")
    for name in LEAVING:
        assert not another_document_counts(records[name]), (name, records[name])
        assert said[name][0] == "ok" or any(
            words in said[name][1]
            for words in ("went on", "began anew", "times cannot be read", "no load event")
        ), said[name]
    assert said["asking"] == ("ok", "")
    assert records["asking"].observation.missed == (CANCELLED,)
    assert said["small"] == ("ok", "")


def test_a_page_that_only_seems_to_go_on_is_the_page_itself(engine: Engine, tmp_path: Path) -> None:
    """Its address changes long before its load event, a redirect leads to it, or its answer asks for another process
    than the one made for it.
    """
    real = f"{START_URL}real"
    text = (
        b"<!doctype html><script>history.pushState(1, '', '/elsewhere'); location.hash = 'x'</script><p>here"
        b'<img src="/late.png">'
    )
    kind = ("Content-Type", "text/html")
    late = Response(f"{START_URL}late.png", 200, (("Content-Type", "image/png"),), picture(512))
    alone = (("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Embedder-Policy", "require-corp"))
    answers = {
        "moved": [Response(START_URL, 302, (("Location", real),), b""), Response(real, 200, (kind,), text)],
        "alone": [Response(START_URL, 200, (kind, *alone), text)],
        "sandboxed": [
            Response(START_URL, 200, (kind, ("Content-Security-Policy", "sandbox allow-scripts")), text)
        ],
    }
    about = About(START_URL, "t", "t", ())
    archives = {name: write_archive(tmp_path, name, about, [*given, late]) for name, given in answers.items()}

    def run() -> list[Record]:
        with browser_lab(archives, [Protocol.H2], engine=engine) as opened:
            return [
                trial(opened, number, cell(engine, name)) for number, name in enumerate(archives, start=1)
            ]

    for record in inside(run):
        untimed = engine is Engine.WEBKIT and record.planned.condition.page == "alone"
        found = (record.outcome, tells([record.reason or ""], "Cross-Origin-Opener-Policy", "cannot time"))
        assert found == (Outcome.PAGE_ERROR if untimed else Outcome.OK, untimed), (
            record.planned.condition.page,
            record.reason,
        )


ORDINARY = ("unshare", "--user", "--map-user=1000", "--map-group=1000")


# As root, every engine is loaded in test_portraits.
@pytest.mark.parametrize(
    "prefix", [pytest.param((), marks=pytest.mark.lengthy), ORDINARY], ids=["root", "user"]
)
def test_the_command_line_loads_a_page_and_leaves_nothing(
    engine: Engine, coldload: Coldload, prefix: tuple[str, ...]
) -> None:
    words = ("load", "dummy-2012", "--engine", engine, "--protocol", "http1", "--json", "--keep", "kept")
    code, out, err = coldload.run(*words, prefix=prefix)
    assert code == 0, err
    assert '"outcome": "ok"' in out
    assert [found.suffix for found in (coldload.folder / "kept").iterdir() if found.suffix == ".har"]


def test_nothing_is_left_of_a_killed_command(engine: Engine, coldload: Coldload) -> None:
    words = (
        "load",
        "dummy-2012",
        "--engine",
        engine,
        "--down-mbps",
        "0.1",
        "--up-mbps",
        "0.1",
        "--rtt-ms",
        "200",
    )
    process = coldload.start(*words)
    wait_until(lambda: any(PAGES[engine] in left for left in coldload.left_behind()), "a page in the browser")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    wait_until(lambda: not coldload.left_behind(), "the end of what the command had started")
