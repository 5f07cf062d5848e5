"""Recording a live page by loading it in Chromium: everything a real load asks for, with bodies.

Playwright writes a HAR: requests of all frames and workers in their order, headers, times, addresses. Its bodies are
those of the browser's inspector, decoded and, for text, put into another character set. So bodies are taken from
the browser's NetLog, which holds them byte by byte as they travelled; the HAR's are for what it may lack.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

from harness.engines.browserlog import Request
from harness.engines.chromium.home import ChromiumHome, write_launcher
from harness.engines.chromium.netlog import read_netlog
from harness.engines.chromium.playwright import playwright_driver
from harness.errors import ArchiveError, TestbedFailed
from harness.model.device import DESKTOP, Device
from harness.outcome import Outcome, TrialFailed
from sites.importers.har import read_har
from sites.importers.recording import Recording
from sites.urls import canonical_url

LOAD_TIMEOUT_S = 60.0
QUIET_S = 5.0  # longer than `coldload verify` looks at a page
QUIET_LIMIT_S = 20.0
NO_PAGE = "ERR_HTTP_RESPONSE_CODE_FAILURE"  # an error status without a body


@dataclass(frozen=True)
class Browsed:
    """A recorded load. `late` is why it has no load event; "" when it has one."""

    late: str
    har: Path
    requests: tuple[Request, ...]

    def read(self, into: Recording) -> None:
        """Put the responses of the load into a recording, in the order of the requests."""
        with self.har.open("rb") as file:
            read_har(file, into)
        bodies: defaultdict[tuple[str, str, int], list[bytes]] = defaultdict(list)
        for request in self.requests:
            if request.body is not None and request.status is not None:
                bodies[request.method, _key(request.url), request.status].append(request.body)
        for number, capture in enumerate(into.captures):
            response = capture.response
            travelled = bodies[capture.method, _key(response.url), response.status]
            if travelled:
                body = into.keep(travelled.pop(0))
                into.captures[number] = replace(capture, body=body, decoded=False, charset="")
            elif capture.body.length:
                into.tally.add("bodies as the browser's inspector shows them", response.url)


def _key(url: str) -> str:
    try:
        return canonical_url(url)
    except ArchiveError:
        return url


def browse(
    url: str,
    folder: Path,
    device: Device = DESKTOP,
    *,
    network: Path | None = None,
    trust: Path | None = None,
) -> Browsed:
    """Load a page with an empty profile in our own Chromium, sandboxed, and record it in the new folder.

    The page may go on for QUIET_S after its load event, and then until it asks for nothing, at most
    QUIET_LIMIT_S. `network` is the namespace file of the host to work on, `trust` a folder with an NSS database of
    certificate authorities to trust besides the public ones. ArchiveError when the page cannot be loaded.
    """
    folder.mkdir(parents=True)
    home = ChromiumHome(folder / "home", page_hosts=None, device=device)
    home.make(trust)
    current = folder / "current"
    current.symlink_to(home.folder)
    launcher = write_launcher(folder / "chromium", network, current)
    har = folder / "load.har"
    late = ""
    launch = replace(home.launch(), log_bodies=True)
    with playwright_driver(launcher) as driver, driver.start(launch, har=har) as browser:
        try:
            browser.load(url, LOAD_TIMEOUT_S)
        except TrialFailed as failure:
            if failure.outcome is not Outcome.PAGE_TIMEOUT:
                no_page = NO_PAGE in failure.reason
                why = "the server answered with an error and no page" if no_page else failure.reason
                raise ArchiveError(
                    f"Chromium could not load {url}: {why}; check the address and the network"
                ) from failure
            late = failure.reason
        browser.linger(QUIET_S)
        browser.wait_for_quiet(QUIET_LIMIT_S)
    try:
        requests = read_netlog(home.netlog).page_requests
    except TestbedFailed as error:
        raise ArchiveError(f"cannot record {url}: {error}; try again") from error
    home.remove()
    return Browsed(late, har, requests)
