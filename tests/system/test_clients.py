"""Many clients behind one emulator: each has its link to itself, whatever carries the packets."""

from __future__ import annotations

import socket
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from benchmarks.meanings import CALIBRATION, of_each_way
from harness.lab.calibrateclients import _MeasuredClients, client_readings
from harness.lab.calibration import PROBE_ADDRESS, Calibration, measured
from harness.lab.emulated import EmulatedLink, LinkDevice, usable_device
from harness.lab.passages import ManyPairs, Pair
from harness.lab.testbed import testbed
from harness.model.link import Link, RandomLoss, Way
from harness.system.netns import host
from tests.system.conftest import inside, timed, wait_until

EACH = replace(Link.of(5, 85, 2, delays_ms=(40, 45)), per_client=True)
SHARED = replace(EACH, shared_down_mbps=50.0, shared_up_mbps=20.0)


@timed("packets wait for the emulator's core")
@pytest.mark.parametrize(("link", "device"), [(EACH, LinkDevice.VETH), (SHARED, usable_device())])
def test_each_of_fifty_clients_gets_its_own_rate_and_delay(link: Link, device: LinkDevice) -> None:
    def measure() -> Calibration:
        with testbed(device=device) as made:
            return [*client_readings(made, link, 50)][-1]

    taken = inside(measure)
    assert taken.complaints == ()
    assert {*of_each_way(taken.to_json())} <= {*CALIBRATION}  # what docs/reference tells of
    assert taken.figures["client_down_mbps"].n == 50
    assert taken.figures["client_down_mbps"].measured == pytest.approx(5, rel=0.03)
    assert taken.figures["client_up_mbps"].measured == pytest.approx(2, rel=0.03)
    assert taken.figures["client_delay_down_ms"].measured == pytest.approx(40, abs=0.5)
    assert taken.figures["client_delay_up_ms"].measured == pytest.approx(45, abs=0.5)
    if link is SHARED:
        assert taken.figures["shared_down_mbps"].measured == pytest.approx(50, rel=0.03)
        assert taken.figures["shared_up_mbps"].measured == pytest.approx(20, rel=0.03)


@timed("packets wait for the emulator's core")
def test_a_shared_link_that_is_not_there_is_seen() -> None:
    def measure() -> Calibration:
        with testbed() as made:
            return measured(
                made,
                EACH,
                lambda client: _MeasuredClients(SHARED, client, made.server).figures(),
                clients=50,
            )

    figures = inside(measure).figures
    assert figures["shared_down_mbps"].measured > 55
    assert all(figures[f"shared_{way}_mbps"].off for way in Way)


@timed("packets wait for the emulator's core")
def test_the_loss_of_many_clients_is_measured() -> None:
    lossy = replace(EACH, down=replace(EACH.down, loss=RandomLoss(5)))

    def measure() -> Calibration:
        with testbed() as made:
            return [*client_readings(made, lossy, 20)][-1]

    taken = inside(measure)
    assert taken.complaints == ()
    assert taken.figures["loss_down_percent"].n > 2000
    assert taken.figures["loss_down_percent"].measured == pytest.approx(5, abs=2)
    assert "loss_up_percent" not in taken.figures


def each_sent_and_received(link: EmulatedLink) -> bool:
    """Whether the handshake of every client has gone both ways: the last packets are 45 ms under way."""
    reading = link.reading()
    return all(reading[way]["packets_in"] >= 2 * 50 for way in Way)


@pytest.mark.side_by_side
def test_all_addresses_can_be_bound_and_each_is_a_client_of_the_link() -> None:
    def send() -> dict[str, Any]:
        with testbed() as made:
            made.server.configure(f"addr add {PROBE_ADDRESS}/32 dev lo")
            with made.client(EACH, count=50) as client, made.server.entered():
                listener = socket.create_server((PROBE_ADDRESS, 8080), backlog=50)
                assert isinstance(client.link, EmulatedLink)
                for address in client.addresses:
                    with client.host.entered():
                        near = socket.create_connection((PROBE_ADDRESS, 8080), 10, (address, 0))
                    far, (seen, _) = listener.accept()
                    near.close()
                    far.close()
                    assert seen == address
                listener.close()
                wait_until(partial(each_sent_and_received, client.link), "the last packets")
                return client.link.reading()

    reading = inside(send)
    for way in Way:
        assert reading[way]["clients"] == 50
        assert reading[way]["foreign"] == 0


@timed("packets wait for the emulator's core")
def test_what_many_clients_share_is_no_more_than_the_shared_rate() -> None:
    """Twenty clients of 5 Mbit/s behind 50 Mbit/s: their full packets leave at 50."""

    def shared_mbps() -> float:
        with testbed() as made:
            made.server.configure(f"addr add {PROBE_ADDRESS}/32 dev lo")
            with made.client(SHARED, count=20) as client:
                pairs = [Pair(PROBE_ADDRESS, address) for address in client.addresses]
                between = ManyPairs(made.server, client.host, pairs)
                trains = between.trains(60, size_bytes=1500, gap_s=1e-4, patience_s=3)
        arrived = sorted(each.arrived_ns for seen in trains for each in seen)
        assert len(arrived) == 1200
        return (len(arrived) - 1) * 1500 * 8 / (arrived[-1] - arrived[0]) * 1e3

    assert inside(shared_mbps) == pytest.approx(50, rel=0.02)


@pytest.mark.side_by_side
def test_clients_of_a_number_lose_alike_in_crowds_of_one_draw() -> None:
    """Crowds that are compared have other addresses, and lose the same packets of each client."""
    lossy = replace(EACH, down=replace(EACH.down, loss=RandomLoss(20)))

    def arrived() -> list[list[list[int]]]:
        found = []
        with testbed() as made:
            made.server.configure(f"addr add {PROBE_ADDRESS}/32 dev lo")
            for draw in (1, 1, 2):
                with made.client(lossy, draw=draw, count=3) as client:
                    pairs = [Pair(PROBE_ADDRESS, address) for address in client.addresses]
                    between = ManyPairs(made.server, client.host, pairs)
                    trains = between.trains(60, size_bytes=100, gap_s=1e-3, patience_s=5)
                found.append([[each.number for each in seen] for seen in trains])
        return found

    first, again, other = inside(arrived)
    assert first == again
    assert first != other
    assert first[0] != first[1]


@pytest.mark.side_by_side
def test_two_crowds_share_no_address() -> None:
    def networks() -> list[str]:
        with testbed() as made:
            found = []
            for _ in range(2):
                with made.client(EACH, count=5) as client, host("another"):
                    found.append(client.addresses.network)
            return found

    assert inside(networks) == ["10.64.0.8/29", "10.64.0.16/29"]
