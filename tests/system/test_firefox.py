"""Whole trials with Firefox: each protocol is proved, loads are cold and silent, and what fails is recorded by name."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import dns.message
import psutil
import pytest

from harness.engines.firefox.driver import FirefoxBrowser
from harness.engines.firefox.home import FirefoxMaker
from harness.errors import EnvironmentLacks
from harness.model.condition import Condition
from harness.model.engine import Driver, Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.outcome import Outcome
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.system import syscalls
from harness.system.enclosure import WORKSPACE
from harness.trial.browserlab import BrowserLab, browser_lab
from harness.trial.trial import run_trial
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About
from tests.system.conftest import (
    OTHER_HOST,
    START_URL,
    Coldload,
    condition,
    html,
    inside,
    picture,
    planned,
    small_site,
    trial,
    wait_until,
)
from tests.system.test_hostile import HANGING, HONEST, LEAVING, page

PROGRAM = Path("/usr/bin/firefox-esr")

pytestmark = [
    pytest.mark.side_by_side,
    pytest.mark.skipif(not PROGRAM.exists(), reason="not installed: firefox-esr"),
]

Result = TypeVar("Result")
SPOKEN = Engine.FIREFOX.traits.protocols
LOADS = 20
RTT_MS = 10
ETHERNET, UDP, DNS_PORT = 14, 17, 53


def cell(name: str, protocol: Protocol = Protocol.H2, link: Link | None = None) -> Condition:
    return condition(name, protocol, Driver.MARIONETTE, link)


def page_of(root: Path, name: str, body: str, *others: Response) -> Archive:
    return write_archive(root, name, About(START_URL, "t", "t", ()), [html(START_URL, body), *others])


def lab(
    archives: Mapping[str, Archive], *protocols: Protocol
) -> contextlib.AbstractContextManager[BrowserLab]:
    return browser_lab(archives, protocols or (Protocol.H2,), engine=Engine.FIREFOX)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, Protocol], Record]:
    """Each protocol on a small page of two hosts, and on one with a redirect and with what is not there."""
    root = tmp_path_factory.mktemp("archives")
    moved = Response(f"{START_URL}moved.png", 302, (("Location", "/there.png"),), b"")
    there = Response(f"{START_URL}there.png", 200, (("Content-Type", "image/png"),), picture())
    body = """<link rel="stylesheet" href="/gone.css"><img src="/moved.png">"""
    archives = {"small": small_site(root), "moved": page_of(root, "moved", body, moved, there)}

    def run() -> dict[tuple[str, Protocol], Record]:
        cells = [(name, protocol) for name in archives for protocol in SPOKEN]
        with lab(archives, *SPOKEN) as opened:
            return {
                (name, protocol): trial(opened, number, cell(name, protocol))
                for number, (name, protocol) in enumerate(cells, start=1)
            }

    return inside(run)


def test_every_protocol_counts(records: dict[tuple[str, Protocol], Record]) -> None:
    assert [(key, record.outcome, record.reason) for key, record in records.items()] == [
        (key, Outcome.OK, None) for key in records
    ]


@pytest.mark.parametrize("protocol", SPOKEN)
def test_the_proof_comes_from_both_sides(
    records: dict[tuple[str, Protocol], Record], protocol: Protocol
) -> None:
    seen = records["small", protocol].observation
    assert (seen.requests, seen.server_requests, seen.one_sided_requests) == (11, 11, 0)
    assert seen.protocols == {protocol.wire: 11}
    assert seen.connections == seen.server_connections
    assert seen.tls == ({"TLS 1.3": seen.connections} if protocol.encrypted else {})
    assert seen.tls_resumed == (0 if protocol.encrypted else None)
    connections = seen.connections or 0
    if protocol in (Protocol.H2, Protocol.H3):
        assert connections == 2  # one for each host
    elif protocol.keep_alive:
        assert 2 < connections < 11
    else:
        assert connections == 11
    assert (seen.missed_requests, seen.failed_requests) == (1, 1)
    assert seen.bytes_body is not None
    assert 8 * 12_000 < seen.bytes_body < 8 * 13_000


@pytest.mark.parametrize("protocol", SPOKEN)
def test_times_are_in_their_order(records: dict[tuple[str, Protocol], Record], protocol: Protocol) -> None:
    seen = records["small", protocol].observation
    assert seen.connect_ms is not None
    assert seen.ttfb_ms is not None
    assert seen.dcl_ms is not None
    assert seen.plt_ms is not None
    assert seen.navigate_ms is not None
    assert seen.fcp_ms is not None
    assert RTT_MS <= seen.connect_ms < seen.ttfb_ms
    assert 2 * RTT_MS <= seen.ttfb_ms <= seen.dcl_ms <= seen.plt_ms <= seen.navigate_ms + 2
    assert seen.ttfb_ms < seen.fcp_ms
    assert (seen.lcp_ms, seen.cls, seen.tbt_ms) == (None, None, None)
    assert seen.painted is True
    assert (seen.client_cpu_s or 0) > 0


@pytest.mark.parametrize("protocol", SPOKEN)
def test_what_is_redirected_or_missing_is_proved_from_both_sides_too(
    records: dict[tuple[str, Protocol], Record], protocol: Protocol
) -> None:
    seen = records["moved", protocol].observation
    assert (seen.requests, seen.server_requests, seen.one_sided_requests) == (4, 4, 0)
    assert seen.protocols == {protocol.wire: 4}
    assert (seen.missed_requests, seen.failed_requests) == (1, 1)


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


def test_nothing_but_the_page_crosses_the_link_in_many_loads(tmp_path: Path) -> None:
    """Each load is captured: it asks for the page's names alone, and speaks with the page's server alone."""
    archives = {"small": small_site(tmp_path)}

    def run() -> list[tuple[Record, list[bytes]]]:
        with lab(archives) as opened:
            found = []
            for number in range(1, LOADS + 1):
                files = WORKSPACE / f"kept-{number}"
                record = trial(opened, number, cell("small"), keep=["pcap"], files=files)
                found.append((record, list(packets_of((files / "link.pcap").read_bytes()))))
            return found

    loads = inside(run)
    assert [record.outcome for record, _ in loads] == [Outcome.OK] * LOADS
    assert {record.observation.requests_after_load for record, _ in loads} == {0}
    for number, (_, captured) in enumerate(loads, start=1):
        packets = [Packet.of(each) for each in captured]
        ends = {address for each in packets for address in (each.source, each.destination)}
        assert ends == {f"10.64.0.{number}", "10.0.0.1"}
        asked = [each for each in packets if each.kind == UDP and each.ports[1] == DNS_PORT]
        names = {str(q.name) for each in asked for q in dns.message.from_wire(each.payload).question}
        assert names == {"site.example.", f"{OTHER_HOST}."}
        assert {each.ports[1] for each in packets if each.destination == "10.0.0.1"} == {DNS_PORT, 443}


def test_each_load_is_cold(tmp_path: Path) -> None:
    """What a load could keep is there for the next one to use, and is asked for anew."""
    kept = (("Content-Type", "image/png"), ("Cache-Control", "max-age=86400"))
    script = """<script>const seen = [document.cookie, localStorage.seen, navigator.language].join(".");
        document.cookie = "seen=yes; max-age=9999"; localStorage.seen = "yes";
        document.write("<img src='/said/" + seen + "'>");</script><img src="/p.png">"""
    archives = {
        "page": page_of(tmp_path, "page", script, Response(f"{START_URL}p.png", 200, kept, picture()))
    }

    def run() -> list[Record]:
        with lab(archives, Protocol.HTTPS1) as opened:
            return [trial(opened, number, cell("page", Protocol.HTTPS1)) for number in (1, 2, 3)]

    for record in inside(run):
        seen = record.observation
        assert (record.outcome, record.reason) == (Outcome.OK, None)
        assert (seen.requests, seen.server_requests, seen.cache_hits) == (3, 3, 0)
        assert seen.missed == (f"{START_URL}said/..en-US",)


def test_pages_that_forge_their_times_change_no_figure(tmp_path: Path) -> None:
    archives = {name: page(tmp_path, name, script) for name, script in HONEST.items()}

    def run() -> dict[str, Record]:
        with lab(archives) as opened:
            return {name: trial(opened, number, cell(name)) for number, name in enumerate(archives, start=1)}

    found = inside(run)
    assert {name: (record.outcome, record.reason) for name, record in found.items()} == dict.fromkeys(
        found, (Outcome.OK, None)
    )
    for record in found.values():
        seen = record.observation
        assert seen.plt_ms is not None
        assert seen.navigate_ms is not None
        assert seen.ttfb_ms is not None
        assert 3 * RTT_MS <= seen.ttfb_ms <= seen.plt_ms <= seen.navigate_ms + 2
        assert (
            seen.navigate_ms - seen.plt_ms < 100
        )  # which is what the way to the driver takes on a busy machine
        assert (seen.painted, seen.requests) == (True, 2)


def test_pages_that_fail_are_recorded_and_the_next_trial_is_clean(tmp_path: Path) -> None:
    absent = Response(START_URL, 404, (("Content-Type", "text/html"),), b"<p>There is no such page.")
    dialogs = "<script>alert('a'); confirm('b'); prompt('c'); onbeforeunload = () => 1</script><p>still here"
    archives = {
        "endless": page_of(tmp_path, "endless", "<script>while (true) {}</script>"),
        "absent": write_archive(tmp_path, "absent", About(START_URL, "t", "t", ()), [absent]),
        "spin": page(tmp_path, "spin", HANGING["spin"]),
        **{name: page(tmp_path, name, script) for name, script in LEAVING.items()},
        "asking": page_of(tmp_path, "asking", dialogs),
        "small": small_site(tmp_path),
    }

    def run() -> dict[str, Record]:
        with lab(archives) as opened:
            return {
                name: trial(opened, number, cell(name), timeout_s=5)
                for number, name in enumerate(archives, start=1)
            }

    found = inside(run)
    said = {name: (str(record.outcome), record.reason or "") for name, record in found.items()}
    assert said["endless"] == ("page-timeout", "no load event within 5 s")
    assert said["absent"] == ("page-error", "the page itself was answered with 404")
    assert said["spin"][0] == "page-timeout"
    for name in LEAVING:
        assert said[name][0] == "page-error", (name, said[name])
        assert any(
            words in said[name][1]
            for words in ("went on", "began anew", "times cannot be read", "no load event")
        ), said[name]
        assert found[name].observation.plt_ms is None
    assert said["asking"] == ("ok", "")
    assert said["small"] == ("ok", "")


def test_an_authority_that_is_not_trusted_is_an_error(tmp_path: Path) -> None:
    archives = {"small": small_site(tmp_path)}

    def run() -> Record:
        with lab(archives) as opened:
            opened.testbed.trust = opened.testbed.folder / "nobody"
            opened.testbed.trust.mkdir()
            return trial(opened, 1, cell("small"))

    record = inside(run)
    assert record.outcome is Outcome.PAGE_ERROR
    assert record.reason == "the page was not loaded: insecure certificate"


def processes(role: str) -> list[psutil.Process]:
    """Those of a running Firefox: "tab", where pages are, or "parent"."""
    found = []
    for each in psutil.process_iter(["cmdline"]):
        words = each.info["cmdline"] or [""]
        of = words[-1] if "-contentproc" in words else "parent" if "--marionette" in words else ""
        found += [each] if of == role else []
    return found


@pytest.mark.parametrize("role", ["tab", "parent"])
def test_a_process_that_dies_is_recorded_and_the_next_trial_is_clean(tmp_path: Path, role: str) -> None:
    archives = {"small": small_site(tmp_path)}

    def strike(opened: BrowserLab) -> None:
        """Once the server has answered the first request; the others take seconds on this link."""
        server = opened.testbed.endpoint(cell("small")).server
        before = server.log_offset
        wait_until(lambda: server.log_offset > before, "the first request")
        for each in processes(role):
            each.kill()

    def run() -> list[Record]:
        with lab(archives) as opened:
            striking = threading.Thread(target=strike, args=(opened,))
            striking.start()
            bad = trial(opened, 1, cell("small", link=Link.of(0.1, 200)), timeout_s=20)
            striking.join()
            return [bad, trial(opened, 2, cell("small"))]

    bad, good = inside(run)
    assert bad.outcome is Outcome.TESTBED_FAILED
    assert "the browser died" in (bad.reason or "")
    assert (good.outcome, good.reason) == (Outcome.OK, None)


def looked_at(
    archive: Archive, look: Callable[[], Result], monkeypatch: pytest.MonkeyPatch
) -> tuple[Record, Result]:
    """A trial, and what is seen when its page has had its load event."""
    seen: list[Result] = []
    ask = FirefoxBrowser.timeline

    def timeline(browser: FirefoxBrowser) -> Mapping[str, object]:
        seen.append(look())
        return ask(browser)

    def run() -> tuple[Record, Result]:
        with lab({archive.name: archive}) as opened:
            record = run_trial(
                opened.testbed,
                opened.drivers,
                planned(1, cell(archive.name)),
                TrialOptions(),
                WORKSPACE / "kept",
            )
            return record, seen[0]

    with monkeypatch.context() as patched:
        patched.setattr(FirefoxBrowser, "timeline", timeline)
        return inside(run)


def confinement() -> set[tuple[str, str, bool]]:
    """What the processes that hold pages may do: seccomp, no new privileges, a network of their own."""
    (browser,) = processes("parent")
    network = Path(f"/proc/{browser.pid}/ns/net").readlink()
    sandboxed = "Seccomp:\t2"
    wait_until(
        lambda: all(sandboxed in Path(f"/proc/{each.pid}/status").read_text() for each in processes("tab")),
        "the start of processes in reserve",
    )
    found = set()
    for each in processes("tab"):
        text = Path(f"/proc/{each.pid}/status").read_text()
        status = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        apart = Path(f"/proc/{each.pid}/ns/net").readlink() != network
        found.add((status["Seccomp"], status["NoNewPrivs"], apart))
    return found


def test_the_processes_of_pages_are_in_their_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, seen = looked_at(small_site(tmp_path), confinement, monkeypatch)
    assert record.outcome is Outcome.OK
    assert seen == {("2", "1", True)}


def test_an_engine_that_is_missing_is_told_in_one_line() -> None:
    def run() -> str:
        syscalls.mount("/dev/null", str(PROGRAM), "", syscalls.MS_BIND)
        try:
            FirefoxMaker.refuse_unless_usable()
        except EnvironmentLacks as error:
            return str(error)
        return ""

    assert inside(run) == "the program firefox-esr is not installed; `coldload setup firefox` installs it"


ORDINARY = ("unshare", "--user", "--map-user=1000", "--map-group=1000")


@pytest.mark.parametrize("prefix", [(), ORDINARY], ids=["root", "user"])
def test_the_command_line_loads_a_page_and_leaves_nothing(
    coldload: Coldload, prefix: tuple[str, ...]
) -> None:
    words = ("load", "dummy-2012", "--engine", "firefox", "--protocol", "http1", "--json")
    code, out, err = coldload.run(*words, prefix=prefix)
    assert code == 0, err
    assert '"outcome": "ok"' in out


def test_nothing_is_left_of_a_killed_command(coldload: Coldload) -> None:
    words = (
        "load",
        "dummy-2012",
        "--engine",
        "firefox",
        "--down-mbps",
        "0.1",
        "--up-mbps",
        "0.1",
        "--rtt-ms",
        "200",
    )
    process = coldload.start(*words)
    wait_until(
        lambda: any("-contentproc" in each for each in coldload.left_behind()), "a page in the browser"
    )
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    wait_until(lambda: not coldload.left_behind(), "the end of what the command had started")


def test_a_protocol_that_it_lacks_is_refused_with_who_speaks_it(coldload: Coldload) -> None:
    code, out, err = coldload.run("load", "dummy-2012", "--engine", "firefox", "--protocol", "spdy")
    assert (code, out) == (2, "")
    assert "firefox does not speak spdy; engines that do: qtwebkit" in err
    assert err.count("\n") == 1
