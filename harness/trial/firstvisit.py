"""The load of a page before the one that is measured, which fills the cache of the browser. Nothing of it is timed."""

from __future__ import annotations

from harness.browser.browserlog import BrowserLog
from harness.lab.endpoint import Endpoint
from harness.lab.testbed import Client
from harness.model.link import Link
from harness.outcome import TrialFailed
from harness.trial.browsers import FreshBrowser
from harness.trial.settling import LIMIT_S, settles
from harness.trial.started import started
from harness.trial.watchdog import Watchdog

RETURN_S = 3.0  # after the limit of the load, for the driver to tell of it
ANSWER_S = 10.0


def visit(
    fresh: FreshBrowser, client: Client, endpoint: Endpoint, link: Link, timeout_s: float
) -> BrowserLog:
    """Load the page until it has come to rest, end the browser, and make it new but for what it keeps of the page.

    Returns what the browser did on the network. TrialFailed, which names the first load, when that does not succeed.
    """
    watch = Watchdog(lambda: fresh.pid, lambda: fresh.driver_pid)
    try:
        with started(fresh, watch) as browser:
            with watch.limit(timeout_s + RETURN_S, "return of the navigation"):
                browser.load(endpoint.start_url, timeout_s)
            with watch.limit(LIMIT_S + ANSWER_S, "rest of the page"):
                settles(browser, client.link, link.rtt_ms)
    except TrialFailed as failed:
        raise failed.in_which("in the first load, which fills the cache") from failed
    client.link.check()
    log = fresh.read_log()
    fresh.start_over()
    return log
