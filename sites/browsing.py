"""A live page loaded in a browser of ours, sandboxed, with an empty profile, and all that it asks for recorded.

Playwright writes a HAR: requests of all frames and workers in their order, headers, times, addresses. Its bodies are
those of the browser's inspector, decoded and, for text, put into another character set. So bodies are taken from the
browser's log, which holds them byte by byte as they travelled; the HAR's are for what it may lack.

What a visitor does beforehand happens in another process of the browser. Of that one the recorded load finds cookies
and storage, and nothing else: no cache, no connection, nothing learned of servers.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from playwright.sync_api import Error, Page, TimeoutError

from harness.engines.browserlog import CLOCK_MS, BrowserLog, Request
from harness.engines.browsers import LiveBrowser, Recorder, recorder_of
from harness.errors import ArchiveError, Outcome, TestbedFailed, TrialFailed
from harness.input.shown import clipped, one_line
from harness.model.engine import Device, Engine
from sites.httrack import Visit
from sites.importers.har import read_har
from sites.importers.recording import Capture, Recording
from sites.response import RecordedLoad, RecordedRequest, header_of, is_load_time
from sites.urls import canonical_url, parse_url
from sites.visitor import NOBODY, Visitor, run_script

LOAD_TIMEOUT_S = 60.0
SCRIPT_TIMEOUT_S = 30.0  # of each step, as Playwright has it
QUIET_S = 5.0  # longer than `coldload verify` looks at a page
QUIET_LIMIT_S = 20.0
LOOK_S = 0.2
CHECK = "check the address and the network"


@dataclass(frozen=True)
class Browsed:
    """A recorded load. `late` is why it has no load event; "" when it has one.

    `visitor` has all cookies that the load set out with. `timeline` is the page's, as engines.browser has it.
    """

    late: str
    har: Path
    log: BrowserLog
    visitor: Visitor = NOBODY
    timeline: Mapping[str, Any] = field(default_factory=dict)

    @property
    def requests(self) -> tuple[Request, ...]:
        return self.log.page_requests

    def load(self, url: str) -> RecordedLoad | None:
        """The load of the page asked for, by the browser's own clock; None where it has no load event."""
        began_ms, took_ms = self.timeline.get("navigation_start_ms"), self.timeline.get("plt_ms")
        if began_ms is None or took_ms is None or not is_load_time(took_ms):
            return None
        if not self.log.is_of(url, self.timeline):
            return None
        offset_ms = self.log.step_ms / 2 - began_ms
        requests = (_waited(request, offset_ms) for request in self.log.page_requests)
        lookups = (span for spans in self.log.lookups.values() for span in spans)
        connecting = (made.connecting for made in self.log.connections if made.connecting)
        return RecordedLoad(
            took_ms,
            tuple(
                recorded_request
                for recorded_request in requests
                if recorded_request is not None and recorded_request.ended_ms <= took_ms + CLOCK_MS
            ),
            tuple(
                (handshake.began_ms + offset_ms, handshake.ended_ms + offset_ms)
                for handshake in (*lookups, *connecting)
            ),
        )

    def read(self, into: Recording) -> None:
        """Put the responses of the load into a recording, in the order of the requests."""
        travelled: defaultdict[tuple[str, str, int], list[Request]] = defaultdict(list)
        flights = {made.local: made.connect_ms for made in self.log.connections}
        # In whole ms; the HAR has fractions, but nothing of QUIC's first flight and of connections made beforehand.
        of_first: dict[str, float | None] = {}
        for request in self.requests:
            if request.status is None:
                continue
            if request.body is not None:
                travelled[request.method, _key(request.url), request.status].append(request)
            if request.exchange.connection in flights:
                of_first.setdefault(_key(request.url), flights.pop(request.exchange.connection))
        with self.har.open("rb") as file:
            read_har(
                file,
                into,
                travelled=lambda method, url, status: bool(travelled.get((method, _key(url), status))),
            )
        for number, capture in enumerate(into.captures):
            response = capture.response
            if response.connect_ms is None and (flight_ms := of_first.pop(response.url, None)):
                into.captures[number] = replace(capture, response=replace(response, connect_ms=flight_ms))
        # The inspector has no body of a request that was broken off: what it has a body of was whole.
        for number, capture in sorted(enumerate(into.captures), key=lambda each: not each[1].body.length):
            key = capture.method, _key(capture.response.url), capture.response.status
            into.captures[number] = _as_carried(into, capture, travelled[key])


def _as_carried(into: Recording, capture: Capture, carried: list[Request]) -> Capture:
    """The capture with its body as it travelled, which is taken from `carried`: a whole one, if there is one."""
    part = capture.response.byte_range
    for request in sorted(carried, key=_is_cut):
        body, cut = request.body or b"", part is None and _is_cut(request)
        if part is not None and len(body) != part.end - part.first:
            continue  # of another part, which the HAR may lack
        if cut and capture.body.length:
            continue
        carried.remove(request)
        return replace(capture, body=into.keep(body), decoded=False, charset="", cut=cut)
    if capture.body.length:
        into.tally.add("bodies as the browser's inspector shows them", capture.response.url)
    return capture


def _is_cut(request: Request) -> bool:
    """Whether the end of its body did not come."""
    told = header_of(request.exchange.answered_with, "Content-Length") or ""
    broken_off = request.failure is not None or request.exchange.cancelled
    return told != str(len(request.body or b"")) if told.isdecimal() else broken_off


def _waited(request: Request, offset_ms: float) -> RecordedRequest | None:
    """The times of a request; None of one that was not sent, or not answered."""
    sending_ms, answered_ms, ended_ms = request.exchange.sending_ms, request.answered_ms, request.ended_ms
    if sending_ms is None or answered_ms is None or ended_ms is None:
        return None
    asked_ms = request.started_ms if request.asked_ms is None else request.asked_ms
    return RecordedRequest(
        request.host,
        0.0 if request.main_frame else asked_ms + offset_ms,  # the navigation asks for the document
        sending_ms + offset_ms,
        answered_ms + offset_ms,
        ended_ms + offset_ms,
    )


def _key(url: str) -> str:
    try:
        return canonical_url(url)
    except ArchiveError:
        return url


def browse(url: str, device: Device, visit: Visit) -> Browsed:
    """Load a page and record it in the new folder of the visit; ArchiveError when it cannot be loaded.

    The page may go on for QUIET_S after its load event, and then until it asks for nothing, at most QUIET_LIMIT_S.
    """
    folder, visitor = visit.work, visit.visitor
    folder.mkdir(parents=True)
    har = folder / "load.har"
    with recorder_of(visit.engine)(folder, device, visit.network, visit.trust) as recorder:
        if visitor.acts:
            visitor = _after_acting(url, recorder, visitor, visit.engine)
        with recorder.recording(har) as browser:
            _watch(browser.page, visit)
            _bring(browser, url, visitor, visit.engine)
            late = _load(browser, url, visitor.wait_for, visit.engine)
            browser.linger(QUIET_S)
            browser.wait_for_quiet(QUIET_LIMIT_S)
            timeline: Mapping[str, Any] = {}
            with contextlib.suppress(TrialFailed):  # the page has become another one, or none
                timeline = browser.timeline()
    try:
        log = recorder.read_log()
    except TestbedFailed as error:
        raise ArchiveError(f"cannot record {url}: {error}; try again") from error
    return Browsed(late, har, log, visitor, timeline)


def _load(browser: LiveBrowser, url: str, wait_for: str, engine: Engine) -> str:
    """Load the page; why it has no load event, "" when it has one."""
    late = ""
    try:
        browser.load(url, LOAD_TIMEOUT_S)
    except TrialFailed as failure:
        if failure.outcome is not Outcome.PAGE_TIMEOUT:
            name = engine.traits.label
            raise ArchiveError(f"{name} could not load {url}: {failure.reason}; {CHECK}") from failure
        late = failure.reason
    if wait_for:
        try:
            browser.page.wait_for_selector(wait_for, timeout=LOAD_TIMEOUT_S * 1000)
        except TimeoutError as error:
            raise ArchiveError(
                f"--wait-for {wait_for}: no such element is to be seen on {url} within {LOAD_TIMEOUT_S:g} s after its "
                f"load{_picture_of(browser.page)}"
            ) from error
        except Error as error:
            raise ArchiveError(f"--wait-for {wait_for}: {_first_line(error)}") from error
    return late


def _watch(page: Page, visit: Visit) -> None:
    """Tell of what has been fetched; what that raises is for HTTrack alone."""
    fetched: list[str] = []

    def note(request: Any) -> None:
        fetched.append(request.url)
        if visit.progress is not None:
            with contextlib.suppress(ArchiveError):
                visit.progress(visit.engine.traits.label, len(fetched), request.url)

    page.context.on("requestfinished", note)


def _bring(browser: LiveBrowser, url: str, visitor: Visitor, engine: Engine) -> None:
    """Set out with the visitor's cookies and headers; ArchiveError, without any value, when they are not taken."""
    try:
        browser.page.context.add_cookies([*visitor.cookies])  # type: ignore[list-item]  # a mapping for its TypedDict
    except Error as error:
        raise ArchiveError(
            f"{engine.traits.label} does not take the cookies of --cookie: a domain, a path or a prefix (__Host-) of "
            "them is not what browsers allow; export them again"
        ) from error
    if visitor.headers:
        browser.send_with(visitor.headers, _of_host(parse_url(url).host))


def _of_host(host: str) -> Callable[[str], bool]:
    """Whether a URL is of that host."""

    def is_its(url: str) -> bool:
        try:
            return parse_url(url).host == host
        except ArchiveError:  # data:, blob:
            return False

    return is_its


def _after_acting(url: str, recorder: Recorder, visitor: Visitor, engine: Engine) -> Visitor:
    """The visitor with the cookies that are there once a script, or a person, has acted on the page."""
    with recorder.acting(visitor.display) as browser:
        page = browser.page
        _bring(browser, url, visitor, engine)
        page.set_default_timeout(SCRIPT_TIMEOUT_S * 1000)
        with contextlib.suppress(Error):  # it may answer with an error as long as nobody is signed in
            page.goto(url)
        try:
            if visitor.script is not None:
                run_script(visitor.script, page)
            while visitor.attended is not None and not visitor.attended():
                browser.linger(LOOK_S)
            return visitor.with_cookies(page.context.cookies())
        except ArchiveError as error:
            raise ArchiveError(f"{error}{_picture_of(page)}") from error
        except (Error, TrialFailed) as error:
            raise ArchiveError(
                f"the window was closed before {url} was recorded; leave it open until that is done"
            ) from error


def _picture_of(page: Page) -> str:
    """Where the page as it is now was put, in words that end an error; "" when there is none to be had.

    Only its owner can read it: it may show what is nobody else's business.
    """
    descriptor, path = tempfile.mkstemp(".png", "coldload-")
    os.close(descriptor)
    try:
        page.screenshot(path=path)
    except Error:
        Path(path).unlink()
        return ""
    place = parse_url(page.url) if page.url.startswith("http") else None
    return f"; the page then ({place.host if place else clipped(page.url, 60)}) is in {path}"


def _first_line(error: Error) -> str:
    return one_line(clipped((error.message.splitlines() or ["no message"])[0], 200))
