"""Probes of the link: the emulator's own counters at the load event, when it was busy, and what crossed it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.engines.browserlog import BrowserLog, Connection
from harness.errors import Outcome
from harness.input.shown import count_of
from harness.model.kind import PCAP
from harness.model.link import LinkAccount, Way
from harness.model.metric import Column, MetricTable, Source, Unit, metric
from harness.model.soundness import late
from harness.probes.evidence import Blame, Evidence, Fault, LoadSetup, listed
from harness.probes.probe import Load, MeasuredLink, OpenPage, Probe

# A handshake takes one round trip; logs may count whole ms, and a packet may leave 0.06 ms early each way.
CONNECT_SLACK_MS = 2
LOST_OUTSIDE = ("drops_device", "oversize", "write_errors")  # of its counters, each way


@dataclass(frozen=True)
class LinkSeen:
    """The emulator's counters, and the account of when it was busy. `early_packets` are those that had left the client
    when the browser had started and was asked for nothing yet; `first_up_us` is when the first one after that did, of
    CLOCK_MONOTONIC.
    """

    reading: Mapping[str, Any] | None = None
    account: LinkAccount | None = None
    early_packets: int = 0
    first_up_us: int | None = None


def lost_outside(reading: Mapping[str, Any] | None) -> str | None:
    """Packets lost outside the model of the link: how many of what kind each way, as `4 write_errors up`."""
    if reading is None:
        return "the link gave no reading"
    lost = [
        f"{count:,} {kind} {way}"
        for way in Way
        for kind in LOST_OUTSIDE
        if (count := reading.get(way, {}).get(kind))
    ]
    return listed("packets were lost outside the emulated link:", lost)


def used_early(evidence: Evidence) -> str | None:
    """What went over the link before anybody asked for the page: no log of a browser that starts tells of it."""
    count = evidence.of(LinkSeen).early_packets
    return f"{count_of(count, 'packet')} left the client before the page was asked for" if count else None


def shorter_link(evidence: Evidence) -> str | None:
    """Connections made faster than light on the link, or than the distance of their server allows: it was not the one
    of the condition.
    """
    log, setup = evidence.get(BrowserLog), evidence.setup
    made = log.connections if log else ()
    fast = [
        f"{connection.connect_ms} ms to {connection.remote} at {setup.round_trip_ms(connection.remote):g} ms"
        for connection in made
        if _too_fast(connection, setup)
    ]
    return listed("connections took less than the round trip to their server:", fast)


def _too_fast(connection: Connection, setup: LoadSetup) -> bool:
    least_ms = setup.round_trip_ms(connection.remote) - CONNECT_SLACK_MS
    return connection.connect_ms is not None and connection.connect_ms < least_ms


@dataclass(frozen=True)
class LinkMetrics:
    """What crossed the link."""

    bytes_down: int | None = metric(
        "Down",
        Unit.BYTES,
        Source.EMULATOR,
        "IP bytes (headers included) that the link delivered to the client",
        Column(MetricTable.TRAFFIC, 1),
        Column(MetricTable.SERVER, 3, "Sent"),
    )
    bytes_up: int | None = metric(
        "Up",
        Unit.BYTES,
        Source.EMULATOR,
        "IP bytes (headers included) that the link delivered to the server",
        Column(MetricTable.TRAFFIC, 2),
        Column(MetricTable.SERVER, 4, "Received"),
    )
    link_reading: Mapping[str, Any] | None = metric(
        "Link",
        Unit.READING,
        Source.EMULATOR,
        "the emulator's counters at the load event",
        Column(MetricTable.TRAFFIC, 11, "Lost in queue", part="down_drops_queue"),
    )


class LinkProbe(Probe):
    """The counters go on with the page, so they are read at once after the load event."""

    metrics = LinkMetrics
    reasons = (
        Fault(
            Blame.LINK,
            Outcome.TESTBED_FAILED,
            lambda seen: lost_outside(seen.of(LinkSeen).reading),
            of_replay=True,
            of_time_outs=True,
        ),
        Fault(Blame.LINK, Outcome.TESTBED_FAILED, used_early, of_replay=True, of_time_outs=True),
        Fault(Blame.LINK, Outcome.TESTBED_FAILED, shorter_link, of_replay=True, of_time_outs=True),
    )
    left_out = (late("down"), late("up"))
    reading: Mapping[str, Any] | None = None
    account: LinkAccount | None = None
    early_packets = 0
    asked_us = 0

    @classmethod
    def wanted(cls, load: Load) -> bool:
        return not load.setup.live

    def before(self, page: OpenPage) -> None:
        if self.load.condition.link.emulated:
            self.early_packets = page.client.link.reading()[Way.UP.value]["packets_in"]
        self.asked_us = time.monotonic_ns() // 1000

    def at_load_event(self, page: OpenPage, navigate_ms: float) -> None:
        del navigate_ms
        self.reading = page.client.link.reading()

    def at_last(self, link: MeasuredLink) -> None:
        self.reading = self.reading or link.reading()
        if self.load.timeline is not None:
            self.account = link.account()

    def seen(self) -> LinkSeen:
        up = self.account.up if self.account else ()
        first_us = next((began for began, _ in up if began >= self.asked_us), None)
        return LinkSeen(self.reading, self.account, self.early_packets, first_us)

    @staticmethod
    def reduce(evidence: Evidence) -> Mapping[str, Any]:
        reading = evidence.of(LinkSeen).reading or {}
        return {
            "bytes_down": reading.get("down", {}).get("bytes_out"),
            "bytes_up": reading.get("up", {}).get("bytes_out"),
            "link_reading": evidence.of(LinkSeen).reading,
        }


class PacketsProbe(Probe):
    """The link captures its packets itself, from its first one on. They are for people: no metric comes from them."""

    asked_by = PCAP

    def before_link(self) -> None:
        self.load.pcap = self.load.kept(PCAP, "link.pcap")
