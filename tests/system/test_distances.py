"""Each host at its own distance behind the link: as the packets, the browser and the calibration see it."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from harness.engines.browserlog import BrowserLog
from harness.errors import Outcome
from harness.lab.calibrate import readings
from harness.lab.calibration import Calibration
from harness.lab.emulated import LinkDevice
from harness.lab.testbed import Testbed, testbed
from harness.model.condition import Origins
from harness.model.kind import PCAP
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import Distances, Replay
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.system.enclosure import WORKSPACE
from harness.trial.trial import browser_lab, run_observed
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About
from tests.facts import tells
from tests.system.conftest import LINK_DEVICES, Coldload, condition, inside, picture, planned, timed

START = "https://site.example/"
LINK = Link.of(20, 30)
ROUND_TRIPS_MS = {"site.example": 12.0, "cdn.example": 52.5, "far.example": 100.25}
BEYOND_MS = {"site.example": 0, "cdn.example": 40.5, "far.example": 88.25}
PICTURES = 4  # of each other host, for several connections by HTTP/1.1
WITHIN_MS = 0.3  # of packets
WHOLE_MS = 1  # of the browser: Chromium counts whole ms
LATE_MS = 20  # that a browser may be on a busy machine; distances are twice that apart
HEADER, PACKET = struct.Struct("<IHHiIII"), struct.Struct("<IIII")  # pcap(5): the file's, then each packet's
TCP, SYN, ACK = 6, 0x02, 0x10


def recording(root: Path) -> Archive:
    """A page with pictures of each of its hosts, each recorded at its own address and distance."""
    hosts = [host for host in ROUND_TRIPS_MS if host != "site.example"]
    page = "<!doctype html><body>" + "".join(
        f'<img src="https://{host}/{n}.png">' for host in hosts for n in range(PICTURES)
    )
    html, png = (("Content-Type", "text/html"),), (("Content-Type", "image/png"),)

    def response(number: int, url: str, headers: tuple[tuple[str, str], ...], body: bytes) -> Response:
        took = ROUND_TRIPS_MS[url.split("/")[2]]
        return Response(url, 200, headers, body, ip=f"192.0.2.{number}", connect_ms=took)

    pictures = [
        response(number, f"https://{host}/{n}.png", png, picture())
        for number, host in enumerate(hosts, 2)
        for n in range(PICTURES)
    ]
    return write_archive(
        root, "page", About(START, "test", "test", ()), [response(1, START, html, page.encode()), *pictures]
    )


def handshakes_ms(capture: Path) -> Iterator[tuple[str, float]]:
    """The address of each server, and the time between SYN and ACK as they reach it: a round trip from its side."""
    data = capture.read_bytes()
    at, begun = HEADER.size, dict[tuple[bytes, bytes], int]()
    while at < len(data):
        seconds, nanoseconds, kept, _ = PACKET.unpack_from(data, at)
        packet = data[at + PACKET.size : at + PACKET.size + kept]
        at += PACKET.size + kept
        if packet[0] >> 4 != 4 or packet[9] != TCP:
            continue
        tcp = packet[4 * (packet[0] & 0x0F) :]
        ends, flags, when = (packet[12:20], tcp[:4]), tcp[13] & (SYN | ACK), seconds * 10**9 + nanoseconds
        if flags == SYN:
            begun.setdefault(ends, when)
        elif flags == ACK and ends in begun:
            yield str(IPv4Address(packet[16:20])), (when - begun.pop(ends)) / 1e6


def shortest(times: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Of the connections to each address: a machine that is late only adds to them."""
    found: dict[str, float] = {}
    for address, took in times:
        found[address] = min(took, found.get(address, took))
    return found


@dataclass(frozen=True)
class Seen:
    """One load: its record, the distances by address, and connect times by address as packets and browser have them."""

    record: Record
    distances_ms: Mapping[str, float]
    by_packets: list[tuple[str, float]]
    by_browser: list[tuple[str, float]]
    lookups_ms: list[float]


def load(root: Path, protocol: Protocol, distance: Distances) -> Seen:
    archive, replay = recording(root), Replay(Origins.RECORDED, distance=distance)

    def run() -> Seen:
        with browser_lab({"page": archive}, [protocol], replay=replay) as opened:
            cell = condition("page", protocol, link=LINK, origins=Origins.RECORDED)
            files = WORKSPACE / "kept"
            record, evidence = run_observed(
                opened.testbed, opened.browsers, planned(1, cell), TrialOptions(30, (PCAP,)), files
            )
            assert evidence is not None, record.reason
            log = evidence.get(BrowserLog)
            assert log is not None
            endpoint = opened.testbed.endpoint(cell)
            return Seen(
                record,
                {each.address: endpoint.distances_ms.get(each.address, 0.0) for each in endpoint.services},
                list(handshakes_ms(next(files.rglob("link.pcap")))),
                [
                    (each.remote.rpartition(":")[0], each.connect_ms)
                    for each in log.connections
                    if each.connect_ms is not None
                ],
                [
                    lookup.ended_ms - lookup.began_ms
                    for host in ROUND_TRIPS_MS
                    for lookup in log.lookups.get(host, ())
                ],
            )

    return inside(run)


@timed("packets wait for the emulator's core")
@pytest.mark.parametrize("protocol", [Protocol.HTTP1, Protocol.H2])
def test_connections_take_the_link_and_the_distance(tmp_path: Path, protocol: Protocol) -> None:
    seen = load(tmp_path, protocol, Distances.parse("recorded"))
    assert (seen.record.outcome, seen.record.reason) == (Outcome.OK, None)
    assert sorted(set(seen.distances_ms.values())) == sorted(BEYOND_MS.values())
    reached = {seen.distances_ms[address] for address, _ in seen.by_packets}
    assert reached == set(BEYOND_MS.values())
    bits_ms = 3 * 60 * 8 / 20e3  # of SYN, SYN and ACK, ACK
    for address, took in shortest(seen.by_packets).items():
        assert took == pytest.approx(LINK.rtt_ms + seen.distances_ms[address] + bits_ms, abs=WITHIN_MS)
    by_browser = shortest(seen.by_browser)
    assert {seen.distances_ms[address] for address in by_browser} == reached
    for address, took in by_browser.items():
        assert -WHOLE_MS < took - LINK.rtt_ms - seen.distances_ms[address] < LATE_MS


@timed("a starved browser asks late for names")
def test_a_name_costs_the_link_alone_and_a_table_counts(tmp_path: Path) -> None:
    table = Distances.parse({"site.example": 7, "*": "recorded"})
    seen = load(tmp_path, Protocol.H2, table)
    assert (seen.record.outcome, seen.record.reason) == (Outcome.OK, None)
    assert sorted(seen.distances_ms.values()) == [0, 7, 40.5, 88.25]  # the first is that of names nobody has
    assert len(seen.lookups_ms) == len(ROUND_TRIPS_MS)
    assert all(-WHOLE_MS < took - LINK.rtt_ms < LATE_MS for took in seen.lookups_ms)


def calibrated(device: LinkDevice, distances_ms: Mapping[str, float]) -> Calibration:
    def measure() -> Calibration:
        with testbed(device=device) as made:
            add(made, distances_ms)
            return [*readings(made, LINK, distances_ms=distances_ms)][-1]

    return inside(measure)


def add(made: Testbed, addresses: Mapping[str, float]) -> None:
    made.server.configure(*(f"addr add {address}/32 dev lo" for address in addresses))


@timed("packets wait for the emulator's core")
@pytest.mark.parametrize("device", LINK_DEVICES)
def test_the_calibration_measures_each_distance(device: LinkDevice) -> None:
    far = {"10.0.0.7": 12.0, "10.0.0.8": 12.0, "10.0.0.9": 0.5, "10.0.1.1": 180.125}
    taken = calibrated(device, far)
    assert taken.complaints == ()
    assert taken.figures["rtt_ms"].measured == pytest.approx(LINK.rtt_ms, abs=WITHIN_MS)
    for ms in set(far.values()):
        figure = taken.figures[f"distance_{ms:g}_ms"]
        assert figure.configured == LINK.rtt_ms + ms
        assert figure.measured == pytest.approx(figure.configured, abs=WITHIN_MS)
        assert figure.n == 5 * list(far.values()).count(ms)


def test_a_link_without_the_distances_is_refused() -> None:
    """The testbed's client is made without them, as by an emulator that forgets an address."""

    def measure() -> Calibration:
        far = {"10.0.0.7": 12.0, "10.0.0.8": 12.0}
        with testbed() as made:
            add(made, far)
            whole = made.client

            def forgetful(link: Link, **options: object) -> object:
                options["distances_ms"] = {"10.0.0.7": 12.0}
                return whole(link, **options)  # type: ignore[arg-type]

            made.client = forgetful  # type: ignore[method-assign,assignment]  # the sabotage
            return next(readings(made, LINK, distances_ms=far))

    taken = inside(measure)
    assert len(taken.complaints) == 1
    told = re.search(r"round-trip time at a distance of 12 ms (\S+) ms instead of 42 ms", taken.complaints[0])
    assert told is not None
    assert float(told[1]) == pytest.approx(30, abs=1)  # the link alone


STUDY = """
name = "far"
pages = ["page"]
protocols = ["h2"]
trials = {least = 1, attempts = 1}
aa = false
seed = 1
origins = "recorded"
distance = "recorded"
[[links]]
down_mbps = 20
rtt_ms = 30
[[factors]]
name = "near"
distance = "equal"
"""


@timed("a load on a busy machine is left out")
@pytest.mark.lengthy
def test_a_run_keeps_its_distances_and_its_report_tells_them(coldload: Coldload) -> None:
    recording(coldload.folder / "archives")
    (coldload.folder / "far.toml").write_text(STUDY)
    code, out, err = coldload.run("run", "far.toml", "--out", "run")
    assert code == 0, out + err
    folder = coldload.folder / "run"
    environment = json.loads((folder / "environment.json").read_text())
    assert environment["replay"]["distances_ms"] == {"page": BEYOND_MS}
    assert environment["factors"]["near"]["replay"].keys() & {"distance", "distances_ms"} == set()
    readings = [json.loads(line) for line in (folder / "calibration.jsonl").read_text().splitlines()]
    assert {"distance_40.5_ms", "distance_88.25_ms"} <= readings[-1].keys()
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    took = {each["condition"]["factor"]: each["plt_ms"] for each in records}
    assert (
        took["usual"] - took["near"] > BEYOND_MS["far.example"]
    )  # at least a connection, a handshake, an answer
    report = (folder / "report.html").read_text()
    assert tells(report, "recorded: 3 hosts of 1 archive", "0 to 88.2 ms", "median 40.5 ms")
    assert "RTT there, off at most (ms)" in report
