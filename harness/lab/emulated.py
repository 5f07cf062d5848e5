"""The emulated access link: one `linkem` process between two hosts, its devices, and what it tells.

The emulator counts IP bytes (no link-layer headers). Its model is described in harness/linkem/README.md.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from harness.errors import EnvironmentLacks, TestbedFailed
from harness.linkem.build import runs
from harness.model.link import MTU_BYTES, Direction, GilbertElliott, Link, LinkAccount, Way, default_queue
from harness.model.rate import ConstantRate
from harness.system.enclosure import is_machines_root
from harness.system.folders import is_checkout, set_up_again
from harness.system.netns import Host, host
from harness.system.process import Process, running
from harness.system.program import Command

DEVICE = "link0"
EXAMINATION_S = 5.0  # within which it tells its counters, also on a very busy machine
# Both ends of the veth path share one hardware address and do no ARP: no packet but the traffic itself
# crosses the link, and the first one waits for nobody.
SHARED_MAC = "02:00:00:00:00:01"
LINKEM_FOLDER = Path(__file__).parents[1] / "linkem"
IN_A_ROOT = Path("/coldload/linkem/target/release/linkem")  # built for the system there
TUN_DEVICE = Path("/dev/net/tun")
TUN_MENDS = {
    errno.ENOENT: f"run `modprobe tun` as root, or start the container with `--device {TUN_DEVICE}`",
    errno.ENODEV: "run `modprobe tun` as root",
    errno.EPERM: f"start the container with `--device {TUN_DEVICE}`",
}  # elsewhere the user may not
STALL_VARIABLE = "LINKEM_STALL"  # makes an emulator late on purpose; for tests and benchmarks alone
NS_PER_US = 1000

Spans = tuple[tuple[int, int], ...]


class LinkDevice(StrEnum):
    """What packets get to the emulator by; a run has one kind."""

    TUN = "tun"
    VETH = "veth"  # pairs with packet sockets, for who may not open TUN devices, or gets no time stamps of theirs


def linkem_program() -> Path:
    """The emulator that the package's build made."""
    for path in (
        IN_A_ROOT,
        LINKEM_FOLDER / "bin" / "linkem",
        LINKEM_FOLDER / "target" / "release" / "linkem",
    ):
        if path.is_file():
            return path
    raise EnvironmentLacks(
        f"the link emulator is not built (looked in {LINKEM_FOLDER}); to mend it: {set_up_again()}"
    )


def refuse_stale_emulator() -> None:
    """Raise EnvironmentLacks in a checkout whose emulator does not run here, or was compiled from other sources."""
    program = linkem_program()
    if is_checkout() and not runs(program):
        raise EnvironmentLacks(
            f"the link emulator {program} is not built from these sources, or does not run here; "
            f"build it again: {set_up_again()}"
        )


def refuse_without_tun() -> None:
    """Raise EnvironmentLacks when TUN devices may not be opened here, or would not tell when packets came.

    That is told by a BPF program, which the machine's root alone may attach (harness/linkem/src/device/stamps.rs).
    Without it a packet comes when the emulator wakes up to read it; a veth pair's stamps are anybody's.
    """
    try:
        os.close(os.open(TUN_DEVICE, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        mend = TUN_MENDS.get(error.errno or 0, "run as root")
        raise EnvironmentLacks(f"cannot open {TUN_DEVICE} ({error.strerror}); {mend}") from error
    if not is_machines_root():
        raise EnvironmentLacks("TUN devices tell root alone when packets came; run as root")


def usable_device() -> LinkDevice:
    """TUN where its device may be opened and tells when packets came, else veth."""
    try:
        refuse_without_tun()
    except EnvironmentLacks:
        return LinkDevice.VETH
    return LinkDevice.TUN


@dataclass(frozen=True)
class Ends:
    """What a link joins: the client host, which gets the address, and the server host.

    With a `network` the client host has all its addresses, as of a crowd; `address` is the first. A round trip to
    each of the server host's addresses in `distances_ms` takes so much longer than the link's.
    """

    client: Host
    address: str
    server: Host
    network: str | None = None
    distances_ms: Mapping[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class LinkFiles:
    """Where the emulator writes: its own files into `folder`, the packets, and when each came, was due and left."""

    folder: Path
    pcap: Path | None = None
    times: Path | None = None


def specification(direction: Direction, delay_ms: float, seed: int, folder: Path) -> str:
    """One direction in the emulator's words; a trace or step list is written to `folder` for it."""
    words = [f"{_rate(direction, folder)},delay_ms={delay_ms:.6f},jitter_ms={direction.jitter_ms:.6f}"]
    queue, loss = direction.queue, direction.loss
    size = "" if queue.limit_bytes is None else f":{queue.limit_bytes}"
    words.append(f"queue={queue.discipline}{size}")
    if isinstance(loss, GilbertElliott):
        words.append("loss_ge=" + ":".join(f"{chance:.6f}" for chance in (loss.p, loss.r, loss.h, loss.k)))
    else:
        words.append(f"loss={loss.percent / 100:.6f}")
    return ",".join([*words, f"seed={seed}"])


def _rate(direction: Direction, folder: Path) -> str:
    if isinstance(direction.rate, ConstantRate):
        return f"rate_mbps={direction.rate.mean_mbps:.6f}"
    file = folder / f"{direction.way}.{direction.rate.format}"
    file.write_text(direction.rate.text, encoding="ascii")
    return f"{direction.rate.format}={file}"


def spans_since(epoch_ns: int, edges_us: Sequence[int]) -> Spans:
    """Begins and ends by turns, told in us since an instant, as spans."""
    edges = [epoch_ns // NS_PER_US + edge for edge in edges_us]
    return tuple(zip(edges[::2], edges[1::2], strict=True))


class EmulatedLink:
    """A link of our own emulator. `seed` is what its random losses and jitter were drawn with."""

    def __init__(self, process: Process, device: LinkDevice, seed: int, *, changes: bool) -> None:
        self._process = process
        self.device = device
        self.seed = seed
        self.changes = changes  # a rate of it, with time
        self.ready: Mapping[str, Any] = {}
        self._restarted: Mapping[str, Any] = {}
        self._told: dict[str, list[dict[str, Any]]] = {}
        self._read_up_to = 0  # of its log

    @property
    def epoch_ns(self) -> int:
        return int((self._restarted or self.ready)["epoch_ns"])

    def begin(self, timeout_s: float = 5.0) -> None:
        """Time zero of rates that change with time is now. Where none does, the emulator is told nothing."""
        if self.changes:
            what = "that its rates began anew"
            self._restarted = self._asked(signal.SIGALRM, "restart", what, timeout_s)

    def is_ready(self) -> bool:
        lines = self._events("ready")
        if lines:
            self.ready = lines[-1]
        return bool(lines)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def log(self) -> Path:
        """Where it tells its counters, a line each time it gets SIGUSR1."""
        return self._process.log

    @property
    def alive(self) -> bool:
        return self._process.alive

    def check(self) -> None:
        """Raise TestbedFailed when the emulator has died or is stopped."""
        with self._named():
            self._process.check_running()

    def examine(self) -> None:
        """`check`, and TestbedFailed when it does not tell its counters at once."""
        self.check()
        self.reading(timeout_s=EXAMINATION_S)

    def reading(self, timeout_s: float = 5.0) -> dict[str, Any]:
        """The counters now: packets, IP bytes, drops and lateness per direction."""
        return self._described(self._asked(signal.SIGUSR1, "stats", "its counters", timeout_s))

    def account(self, timeout_s: float = 5.0) -> LinkAccount:
        """When each way was busy so far; it holds packets up for some ms."""
        told = self._asked(signal.SIGUSR2, "busy", "when it was busy", timeout_s)
        made_ns = int(self.ready["epoch_ns"])
        return LinkAccount(*(spans_since(made_ns, told[way]) for way in (Way.DOWN, Way.UP)))

    def _asked(self, by: signal.Signals, kind: str, what: str, timeout_s: float) -> dict[str, Any]:
        """What it tells of this kind when asked by a signal."""
        before = len(self._events(kind))
        self._process.signal(by)
        with self._named():
            self._process.wait_until(
                lambda: len(self._events(kind)) > before, timeout_s, f"did not tell {what}"
            )
        return self._events(kind)[-1]

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except TestbedFailed as failure:
            raise TestbedFailed(f"the link emulator {failure}") from failure

    def _described(self, counters: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in counters.items() if key != "event"}
        scheduling = self.ready.get("scheduling")
        arrivals = self.ready.get("arrivals")
        told = {"backend": self.device.value, "scheduling": scheduling, "arrivals": arrivals}
        return {**told, "seed": self.seed, **kept}

    def _events(self, kind: str) -> list[dict[str, Any]]:
        """What it has told so far of this kind. Each line of its log is read once, however often it is asked."""
        with self._process.log.open("rb") as log:
            log.seek(self._read_up_to)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._read_up_to += len(whole)
        for line in whole.splitlines():
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict):
                    self._told.setdefault(event.get("event", ""), []).append(event)
        return self._told.get(kind, [])


@contextlib.contextmanager
def emulated_link(
    link: Link, ends: Ends, files: LinkFiles, device: LinkDevice, seed: int
) -> Iterator[EmulatedLink]:
    with contextlib.ExitStack() as undo:
        command = _linkem(link, ends, files, seed).plus("--backend", device.value, "--device", DEVICE)
        command = command.plus("--client-ns", ends.client.path, "--server-ns", ends.server.path)
        if ends.distances_ms:
            each_way = (f"{address}={ms / 2:.6f}" for address, ms in ends.distances_ms.items())
            command = command.plus("--distances", ",".join(each_way))
        if device is LinkDevice.VETH:
            middle = undo.enter_context(_veth_pairs(ends.client, ends.server))
            command = command.plus("--middle-ns", middle.path)
            command = command.plus("--client-peer", "client", "--server-peer", "server")
        process = undo.enter_context(running(command, files.folder / "link.log"))
        emulated = EmulatedLink(process, device, seed, changes=link.changes)
        process.wait_until(emulated.is_ready)
        yield emulated


def _linkem(link: Link, ends: Ends, files: LinkFiles, seed: int) -> Command:
    """The emulator with its model of the link and its files, not yet between hosts."""
    command = Command.of(linkem_program())
    for direction in link.directions:
        said = specification(direction, link.delay_ms(direction.way), seed, files.folder)
        command = command.plus(f"--{direction.way}", said)
    if link.per_client:
        command = command.plus("--per-client", "--first-client", ends.address)
    for way in Way:
        shared = link.shared_mbps(way)
        if shared is not None:
            common = Direction(way, ConstantRate(shared), default_queue(shared, link.rtt_ms))
            command = command.plus(f"--shared-{way}", specification(common, 0, seed, files.folder))
    if files.pcap is not None:
        command = command.plus("--pcap", files.pcap)
    if files.times is not None:
        command = command.plus("--times", files.times)
    return command


@contextlib.contextmanager
def _veth_pairs(client: Host, server: Host) -> Iterator[Host]:
    """A middle host with a cable to each side; removing the server's end at once frees its name."""
    with host("middle") as middle:
        for side in (client, server):
            near = f"{DEVICE} address {SHARED_MAC} mtu {MTU_BYTES} arp off netns {side.name}"
            middle.configure(f"link add {near} type veth peer name {side.name}")
        try:
            yield middle
        finally:
            with contextlib.suppress(TestbedFailed):  # gone already when making it failed
                server.configure(f"link del {DEVICE}")
