"""The emulated link does what it is configured to do, and no reading can hide that it does not."""

from __future__ import annotations

import os
import signal
import socket
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from harness.calibrate import LinkReading, calibrate, refuse_if_off
from harness.errors import MeasurementRefused, TestbedFailed
from harness.model import Backend, Link, TcpSettings
from harness.processtree import family
from harness.testbed import testbed
from tests.system.conftest import inside

SERVER = "10.0.255.1"


def reading(link: Link, backend: Backend) -> LinkReading:
    """Calibrate a link in a testbed of its own."""

    def measure() -> LinkReading:
        with testbed() as made:
            made.backend = backend
            return calibrate(made, link)

    return inside(measure)


@pytest.mark.parametrize("backend", [Backend.TUN, Backend.VETH])
@pytest.mark.parametrize("link", [Link.of(10, 50), Link.of(1.6, 150, 0.768)], ids=lambda link: link.name)
def test_round_trip_time_and_rates_are_as_configured(link: Link, backend: Backend) -> None:
    taken = reading(link, backend)
    assert taken.complaints == ()
    assert taken.backend == backend
    assert taken.figures["rtt_ms"].measured == pytest.approx(link.rtt_ms, abs=1.0)
    for direction in link.directions:
        measured = taken.figures[f"{direction.way}_mbps"].measured
        assert measured == pytest.approx(direction.rate.mean_mbps, rel=0.02)


def test_a_link_that_is_off_is_refused_with_how_much() -> None:
    taken = reading(Link.of(10, 50), Backend.TUN)
    figures = taken.figures | {"rtt_ms": replace(taken.figures["rtt_ms"], configured=80.0)}
    off = replace(taken, figures=figures, link=Link.of(10, 80))
    with pytest.raises(
        MeasurementRefused, match=r"10mbps-80ms: round-trip time 5\d\.\d+ ms instead of 80 ms"
    ):
        refuse_if_off([off])


def test_a_dead_emulator_is_noticed() -> None:
    def kill() -> str:
        with testbed() as made, made.client(Link.of(10, 10)) as client:
            emulators = [
                pid for pid in family(os.getpid()) if b"linkem" in Path(f"/proc/{pid}/cmdline").read_bytes()
            ]
            os.kill(emulators[0], signal.SIGKILL)
            while client.link.alive:
                pass
            try:
                client.link.check()
            except TestbedFailed as error:
                return str(error)
            return "not noticed"

    assert "died" in inside(kill)


@pytest.mark.parametrize("tcp", [TcpSettings(), TcpSettings("reno", 4, slow_start_after_idle=False)], ids=str)
def test_both_hosts_use_the_studys_tcp(tcp: TcpSettings) -> None:
    """What the kernel says of a real connection's two ends."""

    def ends() -> list[tuple[str, int, str]]:
        with testbed(tcp) as made, made.client(Link.of(10, 10)) as client:
            made.server.configure(f"addr add {SERVER}/32 dev lo")
            with made.server.entered():
                listener = socket.create_server((SERVER, 8080))
                idle = Path("/proc/sys/net/ipv4/tcp_slow_start_after_idle").read_text().strip()
            with client.host.entered():
                near = socket.create_connection((SERVER, 8080))
            far, _ = listener.accept()
            with listener, near, far:
                return [_end(end, idle) for end in (near, far)]

    wanted = (tcp.congestion_control, tcp.initial_window, str(int(tcp.slow_start_after_idle)))
    assert inside(ends) == [wanted, wanted]


def _end(end: socket.socket, idle: str) -> tuple[str, int, str]:
    """Congestion control and congestion window (tcp_info.tcpi_snd_cwnd, in segments) of one end."""
    name = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
    window = struct.unpack_from("I", end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 80)[0]
    return name, window, idle
