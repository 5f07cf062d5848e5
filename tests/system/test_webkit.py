"""Whole trials with WebKit: each of its protocols is proved, loads are cold and silent, and what goes wrong is recorded
by name.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from harness.engines.webkit.driver import WebKitBrowser
from harness.engines.webkit.home import WebKitMaker
from harness.errors import EnvironmentLacks, Outcome
from harness.lab.preflight import debian_packages
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
    inside,
    page_of,
    pause,
    picture,
    planned,
    small_site,
    struck,
    trial,
)

MISSING = [
    package.name
    for package in debian_packages()
    if package.engine == Engine.WEBKIT and not package.is_there()
]

pytestmark = [
    pytest.mark.side_by_side,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

Result = TypeVar("Result")
SPOKEN = Engine.WEBKIT.traits.protocols
EACH_WIRE = {each.wire: each for each in SPOKEN}.values()  # one of those that travel alike
RTT_MS = 10
EARLY_MS = 0.15  # a packet may leave 0.06 ms early each way, and times are rounded
WEB_PROCESS, NETWORK_PROCESS, PROGRAM = "WebKitWebProcess", "WebKitNetworkProcess", "webkit.program"
# One-sided: a script and a style sheet with an error status and a redirect, of which the engine tells no protocol.
ODD = """<img src="/0.png"><script>
const asked = new XMLHttpRequest(); asked.open("GET", "/gone", false, "me", "secret"); asked.send();
</script>"""  # a request with a password in its URL, and more redirects than WebKit follows
REDIRECTS = 21
UNTOLD = """<script src="/gone.js"></script><link rel="stylesheet" href="/gone.css"><img src="/moved.png">"""


def cell(name: str, protocol: Protocol = Protocol.H2, link: Link | None = None) -> Condition:
    return condition(name, protocol, Driver.WEBKITGTK, link)


def lab(
    archives: Mapping[str, Archive], *protocols: Protocol
) -> contextlib.AbstractContextManager[BrowserLab]:
    return browser_lab(archives, protocols or (Protocol.H2,), engine=Engine.WEBKIT)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, Protocol], Record]:
    """Each protocol on a small page of two hosts, and on one of whose requests the engine does not tell everything. A
    page whose requests are odd.
    """
    root = tmp_path_factory.mktemp("archives")
    moved = Response(f"{START_URL}moved.png", 302, (("Location", "/there.png"),), b"")
    there = Response(f"{START_URL}there.png", 200, (("Content-Type", "image/png"),), picture())
    endless = [
        Response(f"{START_URL}{number}.png", 302, (("Location", f"/{number + 1}.png"),), b"")
        for number in range(REDIRECTS)
    ]
    archives = {
        "small": small_site(root),
        "untold": page_of(root, "untold", UNTOLD, moved, there),
        "odd": page_of(root, "odd", ODD, *endless),
    }

    def run() -> dict[tuple[str, Protocol], Record]:
        cells = [("small", protocol) for protocol in SPOKEN]
        cells += [("untold", protocol) for protocol in EACH_WIRE] + [("odd", Protocol.H2)]
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
    assert seen.tls_resumed is None
    connections = seen.connections or 0
    if protocol is Protocol.H2:
        assert connections == 2  # one for each host
    elif protocol.keep_alive:
        assert 2 < connections < 11
    else:
        assert connections == 11
    assert (seen.missed_requests, seen.failed_requests) == (1, 1)
    assert seen.bytes_body is not None
    assert 8 * 12_000 < seen.bytes_body < 8 * 13_000


def test_what_the_engine_refuses_is_told_and_urls_hold_no_password(
    records: dict[tuple[str, Protocol], Record],
) -> None:
    seen = records["odd", Protocol.H2].observation
    assert seen.missed == (f"{START_URL}gone",)
    assert any("more than 20 redirections" in failed for failed in seen.failed), seen.failed


@pytest.mark.parametrize("protocol", SPOKEN)
def test_times_are_in_their_order(records: dict[tuple[str, Protocol], Record], protocol: Protocol) -> None:
    seen = records["small", protocol].observation
    assert seen.connect_ms is not None
    assert seen.ttfb_ms is not None
    assert seen.dcl_ms is not None
    assert seen.plt_ms is not None
    assert seen.navigate_ms is not None
    assert seen.fcp_ms is not None
    assert seen.connect_ms >= RTT_MS - EARLY_MS
    assert seen.ahead_ms is not None  # it may connect before its clock starts
    assert (
        2 * RTT_MS - seen.ahead_ms - 1 <= seen.ttfb_ms <= seen.dcl_ms <= seen.plt_ms <= seen.navigate_ms + 2
    )
    assert seen.ttfb_ms < seen.fcp_ms
    assert (seen.lcp_ms, seen.cls, seen.tbt_ms) == (None, None, None)
    assert seen.painted is True
    assert (seen.client_cpu_s or 0) > 0


@pytest.mark.parametrize("protocol", EACH_WIRE)
def test_a_record_says_of_what_the_evidence_is_one_sided(
    records: dict[tuple[str, Protocol], Record], protocol: Protocol
) -> None:
    """What the engine gives up and what is redirected has no protocol by its own account; the server's log has it."""
    seen = records["untold", protocol].observation
    assert (seen.requests, seen.server_requests) == (5, 5)
    assert seen.one_sided_requests == 3
    assert seen.protocols == {protocol.wire: 2}
    assert seen.missed_requests == 2


# Tells on the console how wide a text is in fonts of each kind, and what pages ask before they go one way or another.
SAYING = """<script>
const widths = ["serif", "sans-serif", "monospace", "cursive", "Arial", "Georgia", "nowhere"].map((family) => {
  const text = document.createElement("span");
  text.style = `font: 20px ${family}; position: absolute`;
  text.textContent = "A text of some words \u65e5\u672c";
  document.documentElement.append(text);
  return Math.round(text.getBoundingClientRect().width);
});
const around = [isSecureContext, !!crypto.subtle, navigator.languages[0], innerWidth, innerHeight];
console.error(JSON.stringify([widths, ...around]));
</script>"""


@pytest.mark.parametrize("protocol", [Protocol.HTTP1, Protocol.H2])
def test_a_page_finds_what_it_finds_in_chromium(tmp_path: Path, protocol: Protocol) -> None:
    """The same fonts and size, and a secure context over plain http, too, where the page was recorded over https."""
    archives = {"saying": page_of(tmp_path, "saying", SAYING)}

    def run(engine: Engine) -> str:
        with browser_lab(archives, [protocol], engine=engine) as opened:
            record = trial(opened, 1, condition("saying", protocol, engine.traits.drivers[0]))
            return str(next(each for each in record.observation.console_errors or () if "[[" in each))

    chromium, webkit = (inside(partial(run, engine)) for engine in (Engine.CHROMIUM, Engine.WEBKIT))
    assert webkit == chromium
    assert webkit.endswith(',true,true,"en-US",1280,657]')


def test_a_certificate_of_another_authority_is_an_error(tmp_path: Path) -> None:
    archives = {"small": small_site(tmp_path)}

    def run() -> Record:
        with lab(archives) as opened:
            authority = opened.testbed.authority
            opened.testbed.authority = type(authority).create(opened.testbed.folder / "other")
            return trial(opened, 1, cell("small"))

    record = inside(run)
    assert record.outcome is Outcome.PAGE_ERROR, record.reason
    assert tells([record.reason or ""], "certificate", "not trusted", "(unknown-ca)")


def process_of(program: str) -> psutil.Process | None:
    """The process that runs this program, not the sandbox around it."""
    for each in psutil.process_iter(["cmdline"]):
        words = each.info["cmdline"] or []
        if any(word.endswith(program) for word in words) and "bwrap" not in words[0]:
            return each
    return None


STRUCK = {  # whose end by which signal is whose fault
    (WEB_PROCESS, signal.SIGTRAP): (
        Outcome.PAGE_ERROR,
        "a process of the browser crashed while the page loaded: page by SIGTRAP",
    ),
    (WEB_PROCESS, signal.SIGKILL): (Outcome.TESTBED_FAILED, "one of its processes by SIGKILL"),
    (NETWORK_PROCESS, signal.SIGKILL): (Outcome.TESTBED_FAILED, "one of its processes by SIGKILL"),
    (NETWORK_PROCESS, signal.SIGABRT): (
        Outcome.PAGE_ERROR,
        "a process of the browser crashed while the page loaded: process by SIGABRT",
    ),
    (PROGRAM, signal.SIGKILL): (Outcome.TESTBED_FAILED, "the browser died (killed by SIGKILL)"),
    (PROGRAM, signal.SIGABRT): (Outcome.PAGE_ERROR, "the browser died (killed by SIGABRT)"),
    ("weston", signal.SIGKILL): (Outcome.TESTBED_FAILED, "the display died"),
}


@pytest.mark.parametrize(
    ("program", "number"),
    [
        pytest.param(*each, marks=[pytest.mark.lengthy] if each[0] == NETWORK_PROCESS else [])
        for each in STRUCK
    ],
)
def test_a_process_that_dies_is_recorded_and_the_next_trial_is_clean(
    tmp_path: Path, program: str, number: signal.Signals
) -> None:
    """After the first request the others take seconds on this link."""
    archives = {"small": small_site(tmp_path)}
    slow = cell("small", link=Link.of(0.1, 200))

    def strike() -> None:
        victim = process_of(program)
        assert victim is not None
        victim.send_signal(number)

    def run() -> list[Record]:
        with lab(archives) as opened:
            with struck(opened, slow, strike):
                bad = trial(opened, 1, slow, timeout_s=20)
            return [bad, trial(opened, 2, cell("small"))]

    bad, good = inside(run)
    outcome, said = STRUCK[program, number]
    assert (bad.outcome, said in (bad.reason or "")) == (outcome, True), bad.reason
    assert (good.outcome, good.reason) == (Outcome.OK, None)


def test_a_display_that_stands_still_while_the_page_loads_is_seen(tmp_path: Path) -> None:
    archives = {"small": small_site(tmp_path)}
    slow = cell("small", link=Link.of(0.2, 200))

    def pause_display() -> None:
        display = process_of("weston")
        assert display is not None
        pause(display.pid)

    def run() -> Record:
        with lab(archives) as opened, struck(opened, slow, pause_display):
            return trial(opened, 1, slow)

    record = inside(run)
    assert record.outcome is Outcome.TESTBED_FAILED, record.reason
    assert tells([record.reason or ""], "stopped while the page loaded", ": the display")


def looked_at(
    archive: Archive, look: Callable[[], Result], monkeypatch: pytest.MonkeyPatch
) -> tuple[Record, Result]:
    """A trial, and what is seen when its page has had its load event."""
    seen: list[Result] = []
    ask = WebKitBrowser.timeline

    def timeline(browser: WebKitBrowser) -> Mapping[str, object]:
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
        patched.setattr(WebKitBrowser, "timeline", timeline)
        return inside(run)


def confinement() -> dict[str, str]:
    """What the page's own process may do, and where it is beside the browser."""
    web, browser = process_of(WEB_PROCESS), process_of(PROGRAM)
    assert web is not None
    assert browser is not None
    status = dict(
        line.split(":\t", 1)
        for line in Path(f"/proc/{web.pid}/status").read_text().splitlines()
        if ":\t" in line
    )
    here = {
        name: str(Path(f"/proc/{web.pid}/ns/{name}").readlink()) for name in ("net", "pid", "mnt", "user")
    }
    there = {name: str(Path(f"/proc/{browser.pid}/ns/{name}").readlink()) for name in here}
    own = ",".join(name for name in here if here[name] != there[name])
    return {"seccomp": status["Seccomp"], "privileges": status["NoNewPrivs"], "own": own}


def test_the_process_of_the_page_is_in_its_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, seen = looked_at(small_site(tmp_path), confinement, monkeypatch)
    assert record.outcome is Outcome.OK, record.reason
    assert seen == {"seccomp": "2", "privileges": "1", "own": "net,pid,mnt,user"}


def test_a_page_finds_no_door_to_the_inspector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the browser's takes connections while a page is there."""

    def listening() -> str:
        browser = process_of(PROGRAM)
        assert browser is not None
        table = Path(f"/proc/{browser.pid}/net/tcp").read_text().splitlines()[1:]
        return " ".join(line.split()[1] for line in table if line.split()[3] == "0A")

    record, seen = looked_at(small_site(tmp_path), listening, monkeypatch)
    assert record.outcome is Outcome.OK, record.reason
    assert seen == ""


def test_an_engine_that_is_missing_is_told_in_one_line() -> None:
    def run() -> str:
        (typelib,) = Path("/usr/lib").glob("*/girepository-1.0/WebKit2-4.1.typelib")
        syscalls.mount("none", str(typelib.parent), "tmpfs", 0)
        try:
            WebKitMaker.refuse_unless_usable()
        except EnvironmentLacks as error:
            return str(error)
        return ""

    said = inside(run)
    assert said.startswith("WebKit does not work here (")
    assert "`coldload doctor`" in said
    assert "\n" not in said


def test_a_display_that_is_missing_is_told_with_what_installs_it() -> None:
    def run() -> str:
        syscalls.mount("/dev/null", "/usr/bin/weston", "", syscalls.MS_BIND)
        try:
            WebKitMaker.refuse_unless_usable()
        except EnvironmentLacks as error:
            return str(error)
        return ""

    assert tells([inside(run)], "weston is not installed", "`coldload setup webkit`")


def test_a_protocol_that_it_lacks_is_refused_with_who_speaks_it(coldload: Coldload) -> None:
    code, out, err = coldload.run("load", "dummy-2012", "--engine", "webkit", "--protocol", "h3")
    assert (code, out) == (2, "")
    assert tells(err, "webkit does not speak h3", ": chromium")
    assert err.count("\n") == 1
