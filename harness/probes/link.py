"""Probe of the link: the emulator's own counters at the load event, and when it was busy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.engines.browserlog import BrowserLog, Connection
from harness.engines.browsers import FreshBrowser
from harness.lab.emulated import LinkAccount
from harness.lab.link import lost_outside
from harness.lab.testbed import Client
from harness.outcome import Outcome
from harness.probes.evidence import Blame, Evidence, Fault, listed
from harness.probes.probe import OpenPage, Probe

# A handshake takes one round trip; NetLog's ticks are whole ms, and a packet may leave 30 us early each way.
CONNECT_SLACK_MS = 2


@dataclass(frozen=True)
class LinkSeen:
    """The emulator's counters, and the account of when it was busy."""

    reading: Mapping[str, Any] | None = None
    account: LinkAccount | None = None


def lossy_testbed(evidence: Evidence) -> str | None:
    """Packets lost outside the model of the link."""
    reading = evidence.of(LinkSeen).reading
    if reading is None:
        return "the link gave no reading"
    return listed("packets were lost outside the emulated link:", lost_outside(reading))


def shorter_link(evidence: Evidence) -> str | None:
    """Connections made faster than light on the link: it was not the one of the condition."""
    log, rtt_ms = evidence.get(BrowserLog), evidence.setup.rtt_ms
    made = log.connections if log else ()
    fast = [f"{each.connect_ms} ms to {each.remote}" for each in made if _too_fast(each, rtt_ms)]
    return listed(f"the link has a round trip of {rtt_ms:g} ms, yet connections took only", fast)


def _too_fast(connection: Connection, rtt_ms: float) -> bool:
    return connection.connect_ms is not None and connection.connect_ms < rtt_ms - CONNECT_SLACK_MS


class LinkProbe(Probe):
    """The counters go on with the page, so they are read at once after the load event."""

    reasons = (
        Fault(Blame.LINK, Outcome.TESTBED_FAILED, lossy_testbed),
        Fault(Blame.LINK, Outcome.TESTBED_FAILED, shorter_link),
    )
    reading: Mapping[str, Any] | None = None
    account: LinkAccount | None = None

    def at_load_event(self, page: OpenPage, navigate_ms: float) -> None:
        del navigate_ms
        self.reading = page.client.link.reading()

    def after(self, fresh: FreshBrowser, client: Client) -> None:
        del fresh
        link = client.link
        self.reading = self.reading or link.reading()
        if self.load.timeline is not None:
            self.account = link.account()

    def seen(self) -> LinkSeen:
        return LinkSeen(self.reading, self.account)

    @staticmethod
    def reduce(evidence: Evidence) -> Mapping[str, Any]:
        reading = evidence.of(LinkSeen).reading or {}
        return {
            "bytes_down": reading.get("down", {}).get("bytes_out"),
            "bytes_up": reading.get("up", {}).get("bytes_out"),
            "link_reading": evidence.of(LinkSeen).reading,
        }
