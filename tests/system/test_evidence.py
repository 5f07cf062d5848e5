"""What a record says is held against witnesses of another kind: a capture, and certificates that must not do."""

from __future__ import annotations

import struct
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from harness.errors import Outcome, TestbedFailed
from harness.lab.emulated import DEVICE
from harness.lab.link import RunningLink
from harness.lab.testbed import Client
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import TcpSettings
from harness.records import Record
from harness.system.enclosure import WORKSPACE
from harness.system.process import running
from harness.system.program import Command
from harness.trial.trial import browser_lab
from sites.certificates import Authority, trust_database
from tests.system.conftest import condition, inside, small_site, trial, wait_until

pytestmark = pytest.mark.side_by_side

HEADER = struct.Struct("<IHHiIII")  # pcap(5): the file's, then each packet's
PACKET = struct.Struct("<IIII")
LINK_HEADER_BYTES = {1: 14, 12: 0, 101: 0}  # Ethernet, and raw IP under its two numbers
WITHIN = 0.005
QUIET_S = 0.3  # some times as long as a packet is under way
WAYS = ("down", "up")
LONG_AGO = datetime(2012, 1, 1, tzinfo=UTC)


def captured_bytes(capture: Path, client: str) -> Counter[str]:
    """IP bytes to and from the client in a capture, by `down` and `up`."""
    data = capture.read_bytes()
    link_header = LINK_HEADER_BYTES[HEADER.unpack_from(data)[-1]]
    at, seen = HEADER.size, Counter[str]()
    while at < len(data):
        _, _, kept, size = PACKET.unpack_from(data, at)
        packet = data[at + PACKET.size + link_header : at + PACKET.size + kept]
        if packet and packet[0] >> 4 == 4:
            source, target = (str(IPv4Address(packet[place : place + 4])) for place in (12, 16))
            seen["up"] += (size - link_header) * (source == client)
            seen["down"] += (size - link_header) * (target == client)
        at += PACKET.size + kept
    return seen


def settled(link: RunningLink) -> dict[str, int]:
    """The bytes delivered each way, when nothing is under way any more: the browser's last packets come after it."""
    looks = [_delivered(link)]

    def is_quiet() -> bool:
        time.sleep(QUIET_S)
        looks.append(_delivered(link))
        return looks[-1] == looks[-2]

    wait_until(is_quiet, "the last packets")
    return looks[-1]


def _delivered(link: RunningLink) -> dict[str, int]:
    return {way: counters["bytes_out"] for way, counters in link.reading().items() if way in WAYS}


def observed(root: Path, protocol: Protocol) -> tuple[Record, dict[str, int], Counter[str]]:
    """One load: its record, the emulator's final counters, and what tcpdump saw on the client's device."""
    archive = small_site(root)

    def run() -> tuple[Record, dict[str, int], Counter[str]]:
        capture, log = WORKSPACE / "witness.pcap", WORKSPACE / "tcpdump.log"
        tcpdump = Command.of(
            "tcpdump",
            "-Z",
            "root",
            "--immediate-mode",
            "-i",
            DEVICE,
            "-U",
            "-s",
            "64",
            "-B",
            "8192",
            "-w",
            capture,
        )
        counted: dict[str, int] = {}
        clients: list[str] = []
        with browser_lab({"small": archive}, [protocol]) as opened:
            joined = opened.testbed.client

            @contextmanager
            def watched(
                link: Link,
                *,
                draw: int = 0,
                pcap: Path | None = None,
                count: int = 1,
                tcp: TcpSettings | None = None,
                distances_ms: Mapping[str, float] | None = None,
            ) -> Iterator[Client]:
                with (
                    joined(
                        link, draw=draw, pcap=pcap, count=count, tcp=tcp, distances_ms=distances_ms
                    ) as client,
                    running(tcpdump.on(client.host.path), log, ready=lambda: "listening" in log.read_text()),
                ):
                    yield client
                    clients.append(client.address)
                    counted.update(settled(client.link))

            opened.testbed.client = watched  # type: ignore[method-assign]  # the same, with a witness
            cell = condition("small", protocol)
            record = trial(opened, 1, cell)
        assert "0 packets dropped by kernel" in log.read_text()
        return record, counted, captured_bytes(capture, clients[0])

    return inside(run)


@pytest.mark.parametrize("protocol", [Protocol.HTTP1_CLOSE, Protocol.H2, Protocol.H3])
def test_bytes_on_the_link_are_those_of_a_capture(tmp_path: Path, protocol: Protocol) -> None:
    record, counted, captured = observed(tmp_path, protocol)
    assert record.outcome is Outcome.OK, record.reason
    assert counted == pytest.approx(dict(captured), rel=WITHIN)
    until_load = record.observation
    assert (until_load.bytes_down or 0) > (until_load.bytes_body or 0)
    assert (until_load.bytes_down or 0) <= captured["down"]
    assert captured["up"] / 2 < (until_load.bytes_up or 0) <= captured["up"]


def test_an_expired_certificate_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    archive = small_site(tmp_path)

    def run() -> None:
        with browser_lab({}, []) as opened:
            opened.testbed.authority = Authority.create(WORKSPACE / "expired", now=LONG_AGO)
            opened.testbed.serve(archive, [Protocol.H2])

    with pytest.raises(TestbedFailed, match="certificate has expired"):
        inside(run)


@pytest.mark.parametrize("protocol", [Protocol.H2, Protocol.H3])
def test_a_certificate_the_browser_does_not_trust_is_a_page_error(tmp_path: Path, protocol: Protocol) -> None:
    archive = small_site(tmp_path)

    def run() -> Record:
        with browser_lab({"small": archive}, [protocol]) as opened:
            other = Authority.create(WORKSPACE / "other")
            opened.testbed.trust = trust_database(other, WORKSPACE / "other-trust")
            cell = condition("small", protocol)
            return trial(opened, 1, cell)

    record = inside(run)
    assert record.outcome is Outcome.PAGE_ERROR, record.reason
    assert record.observation.plt_ms is None
    assert "ERR_" in (record.reason or "")
