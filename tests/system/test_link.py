"""The emulated link does what it is configured to do, and no reading can hide that it does not."""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from benchmarks.meanings import CALIBRATION, of_each_way
from dnsredirect.names import Asking, Zone, name_server
from harness.errors import MeasurementRefused, TestbedFailed
from harness.lab.calibrate import _MeasuredLink, calibrate
from harness.lab.calibration import PROBE_ADDRESS, Calibration, Patience, measured, refuse_if_off
from harness.lab.emulated import STALL_VARIABLE, EmulatedLink, LinkDevice, usable_device
from harness.lab.passages import RECEIVE_BUFFER_BYTES, Echo, OneWay, _make_room, echoes, train
from harness.lab.testbed import testbed
from harness.model.link import Discipline, GilbertElliott, Link, Queue, RandomLoss
from harness.model.rate import RateFormat, RecordedRate
from harness.model.settings import TcpSettings
from harness.system.enclosure import is_machines_root
from harness.system.processtree import family
from harness.system.program import Command, run
from tests.system.conftest import LINK_DEVICES, OWN_RIGHTS, WITHOUT_TUN, inside, timed, wait_until

SERVER = "10.0.255.1"
SLOW_ANSWERS = Link.of(10, 3600)


def reading(link: Link, device: LinkDevice, *, thorough: bool = False) -> Calibration:
    """Calibrate a link in a testbed of its own, as a run does."""

    def measure() -> Calibration:
        with testbed(device=device) as made:
            return [*Patience().until_right(partial(calibrate, made, link, thorough=thorough))][-1]

    return inside(measure)


BURSTY = GilbertElliott(0.02, 0.3)
TRACE = RecordedRate.of(RateFormat.TRACE, "t", "".join(f"{ms}\n" for ms in range(1, 400) if ms % 3))
STEPS = RecordedRate.of(RateFormat.STEPS, "s", "0 4\n700 12\n900 6\n")


def odd(name: str, **changes: object) -> Link:
    """A link whose down direction is unusual."""
    plain = Link.of(10, 40, name=name)
    return replace(plain, down=replace(plain.down, **changes))  # type: ignore[arg-type]  # fields of Direction


LINKS = [
    Link.of(10, 50),
    Link.of(1.6, 150, 0.768),
    odd("lossy", loss=RandomLoss(5)),
    odd("bursty", loss=BURSTY),
    odd("jittery", jitter_ms=4),
    odd("codel", queue=Queue(Discipline.CODEL, 100_000)),
    odd("unlimited", queue=Queue(Discipline.UNLIMITED, None)),
    odd("one-packet", queue=Queue(Discipline.DROP_TAIL, 1500)),
    odd("trace", rate=TRACE),
    odd("steps", rate=STEPS),
]
BY_BOTH = (LINKS[0].name, "lossy", "one-packet", "trace")


def marks(link: Link, device: LinkDevice) -> Sequence[pytest.MarkDecorator]:
    """The emulator treats packets alike, whatever brings them; so where both devices do, some links show the second."""
    if device is LinkDevice.TUN:
        return (WITHOUT_TUN,)
    return (pytest.mark.lengthy,) if usable_device() is LinkDevice.TUN and link.name not in BY_BOTH else ()


@timed("packets wait for the emulator's core")
@pytest.mark.side_by_side
@pytest.mark.parametrize(
    ("link", "device"),
    [
        pytest.param(link, device, id=f"{link.name}-{device}", marks=marks(link, device))
        for device in LinkDevice
        for link in LINKS
    ],
)
def test_every_kind_of_link_does_what_it_says(link: Link, device: LinkDevice) -> None:
    taken = reading(link, device)
    assert taken.complaints == ()
    assert taken.device == device
    assert {*of_each_way(taken.to_json())} <= {*CALIBRATION}  # what docs/reference tells of
    rtt = taken.figures["rtt_ms"]
    assert rtt.measured == pytest.approx(link.rtt_ms, abs=rtt.tolerance)
    for direction in link.directions:
        rate = taken.figures[f"{direction.way}_mbps"]
        assert rate.measured == pytest.approx(rate.configured, abs=rate.tolerance)
        assert (f"loss_{direction.way}_percent" in taken.figures) == bool(direction.loss.mean_percent)


@pytest.mark.lengthy  # on a busy machine: readings are taken again until enough were calm
def test_the_long_form_fills_the_link_and_its_queue() -> None:
    small = Queue(Discipline.DROP_TAIL, 100_000)
    plain = Link.of(20, 20)
    link = replace(plain, down=replace(plain.down, queue=small), up=replace(plain.up, queue=small))
    taken = reading(link, usable_device(), thorough=True)
    assert taken.complaints == ()
    assert taken.figures["queue_down_ms"].configured == 66 * 1500 * 8 / 20e3  # 66 full packets fit
    assert taken.figures["goodput_up_mbps"].configured == pytest.approx(20 * 1448 / 1500)
    assert taken.figures["loss_up_percent"].measured == 0
    assert taken.figures["rtt_ms"].n == 300


@pytest.mark.side_by_side
def test_draws_lose_other_packets_and_conditions_of_a_draw_the_same() -> None:
    """What is lost of the same train: the link's seed and what it is moved on by decide, nothing else."""
    link = odd("lossy", loss=RandomLoss(20))

    def lost(draw: int) -> set[int]:
        with testbed() as made:
            made.server.configure(f"addr add {SERVER}/32 dev lo")
            with made.client(link, draw=draw) as client:
                seen = train(
                    OneWay(made.server, client.host, client.address), 60, size_bytes=100, patience_s=5
                )
        return set(range(60)) - {each.number for each in seen}

    first, again, other = (inside(partial(lost, draw)) for draw in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.side_by_side
@pytest.mark.parametrize(("link", "anew"), [(odd("trace", rate=TRACE), True), (LINKS[0], False)])
def test_time_begins_anew_where_a_rate_changes_with_it_and_nowhere_else(link: Link, anew: bool) -> None:
    def begun() -> tuple[int, int, int, bool]:
        with testbed() as made, made.client(link) as client:
            made_ns = client.link.epoch_ns
            before_ns = time.monotonic_ns()
            client.link.begin()
            assert isinstance(client.link, EmulatedLink)
            return made_ns, before_ns, client.link.epoch_ns, "restart" in client.link.log.read_text()

    made_ns, before_ns, epoch_ns, told = inside(begun)
    assert told == anew
    assert (epoch_ns >= before_ns) if anew else (epoch_ns == made_ns)


@pytest.mark.side_by_side
def test_each_measurement_has_losses_of_its_own() -> None:
    def seeds() -> list[int | None]:
        with testbed() as made:
            return [measured(made, LINKS[0], lambda _: iter(())).seed for _ in range(3)]

    assert len({*inside(seeds)} - {None, LINKS[0].seed}) == 3


@pytest.mark.side_by_side
def test_lost_probes_are_a_reading_that_is_off() -> None:
    """The link loses packets where none should be lost; no part is dead."""
    lossy, told = odd("lossy", loss=RandomLoss(30)), odd("lossy")

    def measure() -> Calibration:
        with testbed() as made:
            return measured(
                made, lossy, lambda client: _MeasuredLink(told, client, made.server, False, {}).figures()
            )

    taken = inside(measure)
    assert [*taken.figures][-1] == "arrived_packets"
    assert "arrivals of full packets down that fit the queue" in taken.complaints[-1]


@pytest.mark.skipif(not is_machines_root(), reason="an ordinary user gets no more than net.core.rmem_max")
def test_a_whole_train_waits_until_it_is_read() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sink:
        _make_room(sink)
        assert sink.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) >= RECEIVE_BUFFER_BYTES


@pytest.mark.side_by_side
def test_the_device_of_who_is_not_the_machines_root_tells_when_packets_came() -> None:
    """It could open /dev/net/tun, and the kernel would not stamp what is sent into it."""
    code = (
        "from harness.lab.calibration import measured\n"
        "from harness.lab.testbed import testbed\n"
        "from harness.model.link import Link\n"
        "from harness.system.enclosure import enclosed\n"
        "def run():\n"
        "    with testbed() as made:\n"
        "        taken = measured(made, Link.of(10, 20), lambda _: iter(()))\n"
        "    print(taken.device, taken.arrivals)\n"
        "    return 0\n"
        "enclosed(run)\n"
    )
    assert run(Command.of(*OWN_RIGHTS, sys.executable, "-c", code)).split() == ["veth", "kernel"]


@pytest.mark.parametrize("asking", [Asking(), Asking.over(SLOW_ANSWERS)], ids=str)
@pytest.mark.side_by_side
def test_a_name_is_found_whose_answer_takes_longer_than_usual(tmp_path: Path, asking: Asking) -> None:
    """Programs that ask glibc take a late answer to an earlier query, as long as they ask."""

    def look_up() -> str:
        with testbed() as made:
            made.server.configure(f"addr add {SERVER}/32 dev lo")
            with (
                name_server(Zone(SERVER), SERVER, tmp_path / "dns.log", made.server),
                made.client(SLOW_ANSWERS) as client,
            ):
                made.resolver.use(SERVER, asking=asking)
                asked = Command.of("getent", "ahostsv4", "a.example").on(client.host.path)
                return run(asked, ok_codes=(0, 2))  # 2: there is none

    assert (SERVER in inside(look_up)) is (asking != Asking())


@timed("packets wait for the emulator's core")
@pytest.mark.side_by_side
def test_a_link_that_is_off_is_refused_with_how_much() -> None:
    taken = reading(Link.of(10, 50), usable_device())
    figures = taken.figures | {"rtt_ms": replace(taken.figures["rtt_ms"], configured=80.0)}
    off = replace(taken, figures=figures, link=Link.of(10, 80))
    with pytest.raises(
        MeasurementRefused, match=r"10mbps-80ms: round-trip time 5\d(\.\d+)? ms instead of 80 ms"
    ):
        refuse_if_off([off])


@timed("packets wait for the emulator's core")
@pytest.mark.parametrize("device", LINK_DEVICES)
def test_packets_that_come_while_the_emulator_cannot_run_are_still_delivered_in_time(
    device: LinkDevice,
) -> None:
    def measure() -> list[Echo]:
        with testbed(device=device) as made:
            made.server.configure(f"addr add {PROBE_ADDRESS}/32 dev lo")
            with made.client(Link.of(10, 200)) as client:
                assert isinstance(client.link, EmulatedLink)
                os.kill(client.link.pid, signal.SIGSTOP)
                threading.Timer(0.05, os.kill, (client.link.pid, signal.SIGCONT)).start()
                return echoes(client.host, (PROBE_ADDRESS,), 2, 0.01, patience_s=5)

    seen = inside(measure)
    assert min(each.ms for each in seen) < 225  # were a packet there only once it is read, 240 and more
    for each in seen:
        assert each.ms > 199.9
        assert each.asked_ns < each.sent_ns < each.arrived_ns < each.seen_ns


@pytest.mark.side_by_side
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


@pytest.mark.side_by_side
@pytest.mark.parametrize(
    "tcp",
    [TcpSettings(), TcpSettings("reno", 4, slow_start_after_idle=False, tail_loss_probe=False)],
    ids=str,
)
def test_both_hosts_use_the_studys_tcp(tcp: TcpSettings) -> None:
    """What the kernel says of a real connection's two ends."""

    def ends() -> list[tuple[str, int, str, str]]:
        with testbed(tcp) as made, made.client(Link.of(10, 10)) as client:
            made.server.configure(f"addr add {SERVER}/32 dev lo")
            with made.server.entered():
                listener = socket.create_server((SERVER, 8080))
                idle, probe = (
                    Path(f"/proc/sys/net/ipv4/{name}").read_text().strip()
                    for name in ("tcp_slow_start_after_idle", "tcp_early_retrans")
                )
            with client.host.entered():
                near = socket.create_connection((SERVER, 8080))
            far, _ = listener.accept()
            with listener, near, far:
                return [(*_end(end), idle, probe) for end in (near, far)]

    idle, probe = str(int(tcp.slow_start_after_idle)), "3" if tcp.tail_loss_probe else "0"
    wanted = (tcp.congestion_control, tcp.initial_window, idle, probe)
    assert inside(ends) == [wanted, wanted]


@pytest.mark.side_by_side
@pytest.mark.parametrize("remembers", [False, True])
def test_a_host_is_remembered_from_connection_to_connection_where_a_study_says_so(remembers: bool) -> None:
    """What the server's kernel keeps of a client whose connection has ended."""

    def kept() -> str:
        tcp = TcpSettings(remembers_destinations=remembers)
        shallow = odd("shallow", queue=Queue(Discipline.DROP_TAIL, 15_000))
        with testbed(tcp) as made, made.client(shallow) as client:
            made.server.configure(f"addr add {SERVER}/32 dev lo")
            with made.server.entered():
                listener = socket.create_server((SERVER, 8080))
            with client.host.entered():
                near = socket.create_connection((SERVER, 8080))
            far, _ = listener.accept()
            with listener, near:
                sending = threading.Thread(target=_send_and_close, args=(far,))
                sending.start()
                while near.recv(65_536):
                    pass
                sending.join()
            asked = Command.of("ip", "tcp_metrics", "show", client.address)

            def told() -> str:
                return run(asked.on(made.server.path), ok_codes=(0, 2))  # 2: of this host it knows nothing

            if remembers:
                wait_until(
                    lambda: "rtt" in told(), "what the kernel writes down when the client has closed, too"
                )
            else:
                time.sleep(0.5)
            return told()

    found = inside(kept)
    assert ("rtt" in found) is remembers
    assert ("ssthresh" in found) is remembers


def _send_and_close(end: socket.socket) -> None:
    with end:
        end.sendall(bytes(1_000_000))


def _end(end: socket.socket) -> tuple[str, int]:
    """Congestion control and congestion window (tcp_info.tcpi_snd_cwnd, in segments) of one end."""
    name = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
    window = struct.unpack_from("I", end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 80)[0]
    return name, window


@timed("packets wait for the emulator's core")
def test_a_link_that_wakes_up_late_says_for_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 ms late after each 100 ms, for a second of echoes: packets that were due meanwhile wait."""

    def stalled_ms() -> list[float]:
        with testbed() as made:
            made.server.configure(f"addr add {PROBE_ADDRESS}/32 dev lo")
            with made.client(Link.of(10, 20)) as client:
                echoes(client.host, (PROBE_ADDRESS,), 200, 0.005, 3)
                reading = client.link.reading()
        return [reading[way]["stalled_us"] / 1000 for way in ("down", "up")]

    punctual = inside(stalled_ms)
    monkeypatch.setenv(STALL_VARIABLE, "20:100")
    late = inside(stalled_ms)
    for usual, disturbed in zip(punctual, late, strict=True):
        assert disturbed > usual + 50
        assert disturbed > 50
