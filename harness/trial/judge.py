"""Whether a trial may count, from its evidence. Pure.

A trial counts only when the browser's log and the server's log agree that every request used the protocol of
the condition, the cache was as the condition names it, nothing of the page was lost on the way, and nothing but
the page used the link.
"""

from __future__ import annotations

import ipaddress
from operator import attrgetter

from harness.browser.browserlog import Connection
from harness.errors import TestbedFailed
from harness.lab.losses import lost_outside
from harness.outcome import Outcome, TrialFailed
from harness.trial.cacheproof import wrong_cache
from harness.trial.evidence import BROWSER, Evidence
from harness.trial.protocolproof import not_pipelined, wrong_at_server, wrong_in_browser
from harness.trial.reason import listed
from sites.asked import refused

# Chromium's net errors (net_error_list.h) that mean the transport failed, not the page's own rules:
# time-out, network change, connection (100s), certificate (200s), HTTP and its framing (300s).
TRANSPORT_ERRORS = frozenset({-7, -21, *range(-399, -99)})
TESTBED_ADDRESSES = ipaddress.IPv4Network("10.0.0.0/8")
# A handshake takes one round trip; NetLog's ticks are whole ms, and a packet may leave 30 us early each way.
CONNECT_SLACK_MS = 2


def ending(evidence: Evidence, failed: TrialFailed | TestbedFailed | None) -> tuple[Outcome, str | None]:
    """The outcome of a trial with its reason; `failed` is what ended it early.

    The testbed is to blame before the page: a part of it that failed, then one that stood still.
    """
    if isinstance(failed, TestbedFailed):
        return Outcome.TESTBED_FAILED, str(failed)
    if failed is None:
        return verdict(evidence)
    hindrance = _hindered(evidence)
    if hindrance:
        return Outcome.TESTBED_FAILED, hindrance
    return _died(evidence, failed) if failed.died else (failed.outcome, failed.reason)


def _died(evidence: Evidence, failed: TrialFailed) -> tuple[Outcome, str]:
    """Who ended the browser, or the process of the page: the page, when it crashed by itself or wanted more memory than
    there is; else a program outside.
    """
    crash = _crashed(evidence)
    if crash:
        return Outcome.PAGE_ERROR, f"{crash}: {failed.reason}"
    if evidence.out_of_memory:
        return Outcome.PAGE_ERROR, f"the kernel ended it for want of memory: {failed.reason}"
    return Outcome.TESTBED_FAILED, f"killed from outside, it reports no crash: {failed.reason}"


def verdict(evidence: Evidence) -> tuple[Outcome, str | None]:
    """Whether a load that reached its load event may count; else the outcome with its reason."""
    for outcome, find in (
        (Outcome.TESTBED_FAILED, _hindered),
        (Outcome.PAGE_ERROR, _crashed),
        (Outcome.PAGE_ERROR, attrgetter("misfit")),
        (Outcome.TESTBED_FAILED, _foreign_traffic),
        (Outcome.TESTBED_FAILED, _lossy_testbed),
        (Outcome.TESTBED_FAILED, _shorter_link),
        (Outcome.PAGE_ERROR, _reached_the_testbed),
        (Outcome.WRONG_PROTOCOL, wrong_in_browser),
        (Outcome.WRONG_PROTOCOL, wrong_at_server),
        (Outcome.WRONG_PROTOCOL, not_pipelined),
        (Outcome.WRONG_CACHE, wrong_cache),
        (Outcome.MISSING_OBJECTS, _lost),
    ):
        reason = find(evidence)
        if reason:
            return outcome, reason
    return Outcome.OK, None


def _hindered(evidence: Evidence) -> str | None:
    """What stood still while the page loaded, or went: the page did not take the time for itself."""
    seen = evidence.lateness or {}
    reported = {BROWSER} if evidence.crashes else set()  # its own reporter holds what has crashed
    stood = [
        f"{name} for {each.stopped_ms:,.0f} ms"
        for name, each in seen.items()
        if each.stopped_ms and name not in reported
    ]
    went = [name for name, each in seen.items() if each.ended and name != BROWSER]
    return listed("stopped while the page loaded:", stood) or listed(
        "lost a process while the page loaded:", went
    )


def _crashed(evidence: Evidence) -> str | None:
    return listed("a process of the browser crashed while the page loaded:", evidence.crashes)


def _foreign_traffic(evidence: Evidence) -> str | None:
    if evidence.browser_log is None:
        return "the browser left no log"
    foreign = [request.url for request in evidence.browser_log.service_requests if request.protocol]
    return listed("the browser used the link for itself", foreign)


def _lossy_testbed(evidence: Evidence) -> str | None:
    """Packets lost outside the model of the link."""
    if evidence.link_reading is None:
        return "the link gave no reading"
    return listed("packets were lost outside the emulated link:", lost_outside(evidence.link_reading))


def _shorter_link(evidence: Evidence) -> str | None:
    """Connections made faster than light on the link: it was not the one of the condition."""
    if evidence.browser_log is None:
        return None
    made = [
        f"{each.connect_ms} ms to {each.remote}"
        for each in evidence.browser_log.connections
        if _too_fast(each, evidence)
    ]
    return listed(f"the link has a round trip of {evidence.rtt_ms:g} ms, yet connections took only", made)


def _too_fast(connection: Connection, evidence: Evidence) -> bool:
    return connection.connect_ms is not None and connection.connect_ms < evidence.rtt_ms - CONNECT_SLACK_MS


def _reached_the_testbed(evidence: Evidence) -> str | None:
    """Answers from a bare address that the archive does not hold and the testbed does: other addresses only miss."""
    reached = [
        each.url
        for each in evidence.page_requests
        if each.status is not None and each.host not in evidence.page_hosts and _is_of_the_testbed(each.host)
    ]
    return listed("the page asked for addresses that are the testbed's own:", reached)


def _is_of_the_testbed(host: str) -> bool:
    try:
        return ipaddress.ip_address(host) in TESTBED_ADDRESSES
    except ValueError:
        return False


def _lost(evidence: Evidence) -> str | None:
    lost = [
        f"{request.url} ({request.net_error})"
        for request in evidence.load_requests
        if request.net_error in TRANSPORT_ERRORS
        and request.host in evidence.page_hosts
        and not refused(request.address)
    ]
    return listed("lost on the way:", lost)
