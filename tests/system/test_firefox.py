"""Whole trials with Firefox: each protocol is proved, loads are cold and silent, and what fails is recorded by name."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import psutil
import pytest
from PIL import Image

from harness.engines.firefox.driver import FirefoxBrowser
from harness.engines.firefox.home import FirefoxMaker
from harness.errors import EnvironmentLacks, Outcome
from harness.model.condition import Condition
from harness.model.engine import Driver, Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.system import syscalls
from harness.system.enclosure import WORKSPACE
from harness.trial.trial import BrowserLab, browser_lab, run_trial
from sites.archive import Archive
from sites.response import Response
from tests.facts import tells
from tests.system.conftest import (
    START_URL,
    Coldload,
    condition,
    html,
    inside,
    page_of,
    picture,
    planned,
    small_site,
    struck,
    trial,
    wait_until,
)

PROGRAM = Path("/usr/bin/firefox-esr")

pytestmark = [
    pytest.mark.side_by_side,
    pytest.mark.skipif(not PROGRAM.exists(), reason="not installed: firefox-esr"),
]

Result = TypeVar("Result")
SPOKEN = Engine.FIREFOX.traits.protocols
EACH_WIRE = {each.wire: each for each in SPOKEN}.values()  # one of those that travel alike
RTT_MS = 10
EARLY_MS = 0.15  # a packet may leave 0.06 ms early each way, and times are rounded
AGAIN = """<img src="/kept.png"><img src="/kept.png"><script>
for (let times = 0; times < 3; times++) {
  const asked = new XMLHttpRequest(); asked.open("GET", "/kept.png", false); asked.send();
}</script>"""
# A request with a password in its URL, a frame that is sent to where no redirect may lead, a module that is not there.
ODD = """<iframe src="/away"></iframe><script type="module" src="/module.js"></script><script>
const asked = new XMLHttpRequest(); asked.open("GET", "/gone", false, "me", "secret"); asked.send();
</script>"""
LATER = """onload = () => setTimeout(() => { new Image().src = "/late.png"; }, 0);"""
WORKS_ON = """onload = () => setTimeout(() => {
  const begun = performance.now(); while (performance.now() - begun < 2000);
}, 0);"""


def cell(name: str, protocol: Protocol = Protocol.H2, link: Link | None = None) -> Condition:
    return condition(name, protocol, Driver.MARIONETTE, link)


def lab(
    archives: Mapping[str, Archive], *protocols: Protocol
) -> contextlib.AbstractContextManager[BrowserLab]:
    return browser_lab(archives, protocols or (Protocol.H2,), engine=Engine.FIREFOX)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, Protocol], Record]:
    """Each protocol on a small page of two hosts, and on one with a redirect and with what is not there. A page that
    asks for a picture again, one that works on after its load, and one whose requests are odd.
    """
    root = tmp_path_factory.mktemp("archives")
    moved = Response(f"{START_URL}moved.png", 302, (("Location", "/there.png"),), b"")
    there = Response(f"{START_URL}there.png", 200, (("Content-Type", "image/png"),), picture())
    body = """<link rel="stylesheet" href="/gone.css"><img src="/moved.png">"""
    headers = (("Content-Type", "image/png"), ("Cache-Control", "max-age=600"))
    kept = Response(f"{START_URL}kept.png", 200, headers, picture())
    archives = {
        "small": small_site(root),
        "moved": page_of(root, "moved", body, moved, there),
        "again": page_of(root, "again", AGAIN, kept),
        "odd": page_of(root, "odd", ODD, Response(f"{START_URL}away", 302, (("Location", "foo://x/"),), b"")),
        "works": page_of(root, "works", f"<p>text<script>{WORKS_ON}</script>"),
    }

    def run() -> dict[tuple[str, Protocol], Record]:
        cells = [("small", protocol) for protocol in SPOKEN]
        cells += [("moved", protocol) for protocol in EACH_WIRE]
        cells += [("again", Protocol.H2), ("odd", Protocol.H2), ("works", Protocol.H2)]
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
    assert seen.connections is not None
    assert seen.server_connections is not None
    assert 0 <= seen.connections - seen.server_connections <= 1  # a spare one may carry nothing
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


def test_what_the_load_itself_has_fetched_may_come_out_of_the_cache(
    records: dict[tuple[str, Protocol], Record],
) -> None:
    record = records["again", Protocol.H2]
    assert (record.outcome, record.reason) == (Outcome.OK, None)
    assert (record.observation.cache_hits or 0) >= 2


def test_what_a_page_works_after_its_load_event_is_no_part_of_it(
    records: dict[tuple[str, Protocol], Record],
) -> None:
    works, small = (records[name, Protocol.H2].observation for name in ("works", "small"))
    assert works.client_cpu_s is not None
    assert small.client_cpu_s is not None
    read_late_s = (works.runner_late_ms or 0) / 1000
    assert works.client_cpu_s - read_late_s < small.client_cpu_s + 1  # of 2 s


def test_urls_hold_no_password(records: dict[tuple[str, Protocol], Record]) -> None:
    assert set(records["odd", Protocol.H2].observation.missed) == {
        f"{START_URL}gone",
        f"{START_URL}module.js",
    }


def test_no_window_opens_and_no_word_of_that_takes_of_the_height_of_the_page(tmp_path: Path) -> None:
    archives = {"opens": page_of(tmp_path, "opens", "<script>open('/other')</script><p>text")}

    def run() -> tuple[int, int]:
        with lab(archives) as opened:
            record = trial(opened, 1, cell("opens"), keep=["screenshot"], files=WORKSPACE / "kept")
            assert (record.outcome, record.reason) == (Outcome.OK, None)
            assert record.observation.missed == ()
            return Image.open(WORKSPACE / "kept" / "screenshot.png").size

    assert inside(run) == (1280, 656)


def test_a_request_that_waits_for_its_answer_at_the_end_was_asked_for_when_it_was(tmp_path: Path) -> None:
    archives = {"later": page_of(tmp_path, "later", f"<p>text<script>{LATER}</script>")}

    def run() -> Record:
        with lab(archives) as opened:
            return trial(opened, 1, cell("later", link=Link.of(50, 1000)))

    record = inside(run)
    assert (record.outcome, record.reason) == (Outcome.OK, None)
    assert (record.observation.requests, record.observation.requests_after_load) == (1, 1)


@pytest.mark.parametrize("protocol", SPOKEN)
def test_times_are_in_their_order(records: dict[tuple[str, Protocol], Record], protocol: Protocol) -> None:
    seen = records["small", protocol].observation
    assert seen.connect_ms is not None
    assert seen.ttfb_ms is not None
    assert seen.dcl_ms is not None
    assert seen.plt_ms is not None
    assert seen.navigate_ms is not None
    assert seen.fcp_ms is not None
    assert RTT_MS - EARLY_MS <= seen.connect_ms < seen.ttfb_ms
    assert 2 * RTT_MS <= seen.ttfb_ms <= seen.dcl_ms <= seen.plt_ms <= seen.navigate_ms + 2
    assert seen.ttfb_ms < seen.fcp_ms
    assert (seen.lcp_ms, seen.cls, seen.tbt_ms) == (None, None, None)
    assert seen.painted is True
    assert (seen.client_cpu_s or 0) > 0


def test_the_largest_paint_is_told_past_what_the_page_has_put_in_its_place(tmp_path: Path) -> None:
    """Of a page that comes to rest, and whose scripts have replaced what tells of paints."""
    forged = "<script>PerformanceObserver.prototype.takeRecords = () => [{startTime: 1, size: 1}]</script>"
    body = f'{forged}<p>A text</p><img id="large" width="600" height="400" src="/p.png">'
    shown = Response(f"{START_URL}p.png", 200, (("Content-Type", "image/png"),), picture())
    archives = {"page": page_of(tmp_path, "page", body, shown)}

    def run() -> Record:
        with lab(archives) as opened:
            options, files = TrialOptions(vitals=True), WORKSPACE / "kept"
            return run_trial(opened.testbed, opened.browsers, planned(1, cell("page")), options, files)

    record = inside(run)
    seen = record.observation
    assert (record.outcome, record.reason) == (Outcome.OK, None)
    assert (seen.settled, seen.lcp_element, seen.lcp_url) == (True, "img#large", f"{START_URL}p.png")
    assert (seen.cls, seen.tbt_ms, seen.unread_frames) == (None, None, 0)
    assert seen.fcp_ms is not None
    assert seen.lcp_ms is not None
    assert 3 * RTT_MS <= seen.fcp_ms <= seen.lcp_ms


@pytest.mark.parametrize("protocol", EACH_WIRE)
def test_what_is_redirected_or_missing_is_proved_from_both_sides_too(
    records: dict[tuple[str, Protocol], Record], protocol: Protocol
) -> None:
    seen = records["moved", protocol].observation
    assert (seen.requests, seen.server_requests, seen.one_sided_requests) == (4, 4, 0)
    assert seen.protocols == {protocol.wire: 4}
    assert (seen.missed_requests, seen.failed_requests) == (1, 1)


@pytest.mark.parametrize("protocol", [Protocol.H2, Protocol.H3])
def test_an_authority_that_is_not_trusted_is_an_error(tmp_path: Path, protocol: Protocol) -> None:
    archives = {"small": small_site(tmp_path)}

    def run() -> Record:
        with lab(archives, protocol) as opened:
            opened.testbed.trust = opened.testbed.folder / "nobody"
            opened.testbed.trust.mkdir()
            return trial(opened, 1, cell("small", protocol))

    record = inside(run)
    assert record.outcome is Outcome.PAGE_ERROR, record.reason
    assert record.observation.plt_ms is None
    assert (record.reason or "").startswith("the page was not loaded: ")


def loaded_behind(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """A trial with a Firefox before which a shell does this."""
    folder.chmod(0o777)
    wrapper = folder / PROGRAM.name
    wrapper.write_text(f'#!/bin/bash\n{line}\nexec {PROGRAM} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    archives = {"small": small_site(folder)}

    def run() -> Record:
        with lab(archives) as opened:
            return trial(opened, 1, cell("small"))

    return inside(run)


def test_a_browser_that_uses_the_link_before_it_is_asked_for_the_page_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Firefox as another distribution starts it: with a word to somebody else."""
    record = loaded_behind("echo early >/dev/udp/10.0.0.1/9", tmp_path, monkeypatch)
    assert record.outcome is Outcome.TESTBED_FAILED, record.reason
    assert tells([record.reason or ""], "1 packet left the client", "before the page was asked for")


def test_a_firefox_that_stands_still_as_it_starts_is_started_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    record = loaded_behind(f"mkdir {seen} && exec sleep 600", tmp_path, monkeypatch)
    assert seen.exists()
    assert (record.outcome, record.reason) == (Outcome.OK, None)


def test_a_profile_that_cannot_be_written_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    archives = {"small": small_site(tmp_path)}

    def room(spare_bytes: int) -> None:
        told = os.statvfs(WORKSPACE)
        used = (told.f_blocks - told.f_bfree) * told.f_frsize
        kept = syscalls.MS_NOSUID | syscalls.MS_NODEV
        syscalls.mount(
            "none", str(WORKSPACE.parent), "tmpfs", kept | syscalls.MS_REMOUNT, f"size={used + spare_bytes}"
        )

    def run() -> list[Record]:
        with lab(archives) as opened:
            opened.browsers.prepare(cell("small"))
            room(2_000_000)
            bad = trial(opened, 1, cell("small"))
            assert not (WORKSPACE / "home-00001").exists()
            room(1_000_000_000)
            return [bad, trial(opened, 2, cell("small"))]

    bad, good = inside(run)
    assert bad.outcome is Outcome.TESTBED_FAILED, bad.reason
    assert tells([bad.reason or ""], "Firefox's profile cannot be written", "No space left on device")
    assert (good.outcome, good.reason) == (Outcome.OK, None)


def processes(role: str) -> list[psutil.Process]:
    """Those of a running Firefox: "tab", where pages are, or "parent"."""
    found = []
    for each in psutil.process_iter(["cmdline"]):
        words = each.info["cmdline"] or [""]
        of = words[-1] if "-contentproc" in words else "parent" if "--marionette" in words else ""
        found += [each] if of == role else []
    return found


STRUCK = {  # whose end by which signal is whose fault
    ("tab", signal.SIGABRT): (
        Outcome.PAGE_ERROR,
        "a process of the browser crashed while the page loaded: process by SIGABRT",
    ),
    ("tab", signal.SIGKILL): (Outcome.TESTBED_FAILED, "the browser died"),
    ("parent", signal.SIGKILL): (Outcome.TESTBED_FAILED, "the browser died (killed by SIGKILL)"),
    ("parent", signal.SIGABRT): (Outcome.PAGE_ERROR, "the browser died (killed by SIGABRT)"),
}


# One of each role, and of each signal; the other two take as long, and cross them.
@pytest.mark.parametrize(
    ("role", "number"),
    [
        pytest.param(*each, marks=[pytest.mark.lengthy] if number % 2 else [])
        for number, each in enumerate(STRUCK)
    ],
)
def test_a_process_that_dies_is_recorded_and_the_next_trial_is_clean(
    tmp_path: Path, role: str, number: signal.Signals
) -> None:
    """After the first request the others take seconds on this link."""
    archives = {"small": small_site(tmp_path)}
    slow = cell("small", link=Link.of(0.1, 200))

    def strike() -> None:
        for each in processes(role):
            each.send_signal(number)

    def run() -> list[Record]:
        with lab(archives) as opened:
            with struck(opened, slow, strike):
                bad = trial(opened, 1, slow, timeout_s=12)
            return [bad, trial(opened, 2, cell("small"))]

    bad, good = inside(run)
    outcome, said = STRUCK[role, number]
    assert (bad.outcome, said in (bad.reason or "")) == (outcome, True), bad.reason
    assert (good.outcome, good.reason) == (Outcome.OK, None)


def isolated() -> set[int]:
    """The processes that hold documents of one site each."""
    return {each.pid for each in processes("tab") if each.name().startswith("Isolated")}


def test_a_load_whose_frame_lost_its_process_does_not_count(tmp_path: Path) -> None:
    frame = html("https://frame.example/", "<p>framed" * 2000)
    archives = {"page": page_of(tmp_path, "page", f'<iframe src="{frame.url}"></iframe>', frame)}
    slow = cell("page", link=Link.of(0.1, 200))

    def strike() -> None:
        wait_until(lambda: len(isolated()) > 1, "the process of the frame")
        os.kill(max(isolated()), signal.SIGKILL)  # the younger one

    def run() -> Record:
        with lab(archives) as opened, struck(opened, slow, strike):
            return trial(opened, 1, slow, timeout_s=20)

    record = inside(run)
    assert record.outcome is Outcome.TESTBED_FAILED, record.reason
    assert "killed from outside" in (record.reason or "")


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
                opened.browsers,
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
    found: set[tuple[str, str, bool]] = set()

    def all_sandboxed() -> bool:
        """One in reserve starts, and goes, at any time."""
        found.clear()
        for each in processes("tab"):
            with contextlib.suppress(OSError):
                text = Path(f"/proc/{each.pid}/status").read_text()
                status = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
                apart = Path(f"/proc/{each.pid}/ns/net").readlink() != network
                found.add((status["Seccomp"], status["NoNewPrivs"], apart))
        return {seccomp for seccomp, *_ in found} == {"2"}

    wait_until(all_sandboxed, "the start of processes in reserve")
    return found


def test_the_processes_of_pages_are_in_their_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, seen = looked_at(small_site(tmp_path), confinement, monkeypatch)
    assert record.outcome is Outcome.OK, record.reason
    assert seen == {("2", "1", True)}


def test_an_engine_that_is_missing_is_told_in_one_line() -> None:
    def run() -> str:
        syscalls.mount("/dev/null", str(PROGRAM), "", syscalls.MS_BIND)
        try:
            FirefoxMaker.refuse_unless_usable()
        except EnvironmentLacks as error:
            return str(error)
        return ""

    assert tells([inside(run)], "firefox-esr is not installed", "`coldload setup firefox`")


def test_a_protocol_that_it_lacks_is_refused_with_who_speaks_it(coldload: Coldload) -> None:
    code, out, err = coldload.run("load", "dummy-2012", "--engine", "firefox", "--protocol", "spdy")
    assert (code, out) == (2, "")
    assert tells(err, "firefox does not speak spdy", ": qtwebkit")
    assert err.count("\n") == 1
