"""The engine of one trial: a process of QtWebKit on a host of its own, and the hop that joins it to the client host."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.engines import hop
from harness.engines.browser import Surroundings
from harness.engines.browserlog import BrowserLog
from harness.engines.qtwebkit import log
from harness.engines.qtwebkit.driver import QtWebKitBrowser
from harness.engines.relay import ROOT, Relay, program
from harness.engines.steered import BrowserHome, begun, environment, lived_in, version_of
from harness.model.condition import Condition
from harness.model.protocol import Protocol
from harness.system import roots
from harness.system.netns import Host, host
from harness.system.process import conversing
from harness.system.program import Command

PYTHON = "/usr/bin/python3"  # Debian's, whose packages bring Qt
SPDY = "spdy/3"  # the one version the engine speaks, as ALPN names it
VIEWPORT = (1280, 657)  # what Chromium's window leaves for the page
# Least, default and greatest receive buffer on the engine's host, in bytes: `_own_host` tells why.
RECEIVE_BUFFER = "4096 16384 16384"


@dataclass(frozen=True)
class QtWebKitHome(BrowserHome):
    """The home of one engine, and what its requests may use.

    `security` ends TLS in the hop: what travels has none. `tls` is the one version of it. Whatever a page asks for is
    asked for under `scheme`. `local` is where hosts are that are not looked up, all other IP addresses are `elsewhere`.
    `substitute` is the file of the certificate that is taken for any name. For those at `loopback_ports`, on its
    own loopback device, Qt takes no proxy: the hop listens there, too. `log_bodies`: the log holds those of answers.
    """

    network: Path | None
    authority: Path
    pipelining: bool = False
    spdy: bool = False
    security: hop.Security | None = None
    tls: str = "1.2"
    scheme: str = "https"
    local: Mapping[str, str] = field(default_factory=dict)
    elsewhere: str | None = None
    substitute: Path | None = None
    loopback_ports: Mapping[tuple[str, int], str] = field(default_factory=dict)
    log_bodies: bool = False
    name = "QtWebKit"

    @property
    def log(self) -> Path:
        """The engine's log of its requests."""
        return self.folder / "requests.jsonl"

    @property
    def programs(self) -> Mapping[str, int]:
        return self.relay.programs

    @property
    def relay(self) -> Relay:
        log = self.folder / "connections.jsonl"
        return Relay(log, self.network, self.security, self.local, self.elsewhere)

    @property
    def crashes(self) -> tuple[str, ...]:
        """It is one process, and the driver tells how that ended."""
        return ()

    def holds_pages(self, command_line: bytes, _name: bytes) -> bool:
        """It is one process, which is known."""
        del command_line
        return False

    def read_log(self) -> BrowserLog:
        return log.read(self.log, self.relay.log)

    @contextlib.contextmanager
    def start(self) -> Iterator[QtWebKitBrowser]:
        """A fresh engine behind a fresh hop for the length of the block; TestbedFailed when either does not start."""
        relay = self.relay
        with (
            _own_host(self.loopback_ports) as (own, listening, direct),
            relay.running(listening, direct) as process,
            conversing(self.engine.on(own.path), self.folder / "engine.log", cwd=self.folder) as engine,
        ):
            (self.folder / "pid").write_text(str(engine.pid))
            begun(engine, self.name)
            relay.wait_for(process)
            yield QtWebKitBrowser(engine, self.folder)

    @property
    def engine(self) -> Command:
        settings = {
            "log": str(self.log),
            "bodies": self.log_bodies,
            "home": str(self.folder),
            "viewport": VIEWPORT,
            "requests": {
                "pipelining": self.pipelining,
                "spdy": self.spdy,
                "scheme": self.scheme,
                "proxy_port": hop.PORT,
                "authority": str(self.authority),
                "substitute": str(self.substitute) if self.substitute else None,
                "tls": self.tls,
            },
        }
        around = {**environment(self.folder), "QT_QPA_PLATFORM": "offscreen"}
        command = program(PYTHON, "qtwebkit.engine", settings).with_environment(**around)
        return where_it_is(command, self.folder)


@contextlib.contextmanager
def _own_host(
    loopback_ports: Mapping[tuple[str, int], str],
) -> Iterator[tuple[Host, socket.socket, dict[socket.socket, tuple[str, int]]]]:
    """The engine's own host, with no network but a loopback device, and the sockets there that the hop listens on.

    The first is its own; the others stand for one host and port each.

    What comes through a proxy while Qt waits for the processor, it does not always hand on to the end if it is much:
    8 of 60 loads over SPDY at 100 Mbit/s on a busy machine stopped short, with every byte given to it, and none of 60
    without a proxy. With so little waiting in the kernel at a time none of 160 did.
    """
    with host("engine") as made:
        made.set_kernel({"ipv4.tcp_rmem": RECEIVE_BUFFER})
        with contextlib.ExitStack() as stack:
            with made.entered():
                listening = stack.enter_context(_listening(hop.LOOPBACK, hop.PORT))
                direct = {
                    stack.enter_context(_listening(address, port)): (name, port)
                    for (address, port), name in loopback_ports.items()
                }
            yield made, listening, direct


def _listening(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.create_server((address, port), family=family)


def where_it_is(command: Command, *shared: Path) -> Command:
    """A command of Debian's Python, with QtWebKit: on this machine, else in the root made for it, if one was."""
    root = roots.of_the_historical_engine()
    return command if root is None else command.in_tree(root.tree, ROOT, *shared)


def version() -> str:
    """The engine, Qt and its TLS library in one line; EnvironmentLacks when Debian's Python has no QtWebKit."""
    command = Command.of(PYTHON, "-P", "-m", "harness.engines.qtwebkit.engine", "--version")
    surroundings = {"PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen", "XDG_RUNTIME_DIR": "/tmp"}  # noqa: S108
    return version_of(where_it_is(command.with_environment(**surroundings)), "QtWebKit")


class QtWebKitMaker:
    """Makes QtWebKits, which have nothing in common that would be kept."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack, _network: Path | None) -> None:
        self._folder = folder
        made = roots.of_the_historical_engine()
        if made is not None:
            stack.enter_context(roots.kept(made))

    @staticmethod
    def programs() -> Mapping[str, Callable[[], str]]:
        return {"qtwebkit": version}

    @staticmethod
    def settings() -> Mapping[str, object]:
        return {"viewport": list(VIEWPORT), "receive_buffer": RECEIVE_BUFFER}

    @staticmethod
    def refuse_unless_usable() -> None:
        version()

    def prepare(self, condition: Condition) -> None:
        """Nothing is shared."""

    @contextlib.contextmanager
    def fresh(
        self, name: str, _condition: Condition, surroundings: Surroundings, *, bodies: bool
    ) -> Iterator[QtWebKitHome]:
        protocol, inner = surroundings.protocol, surroundings.inner_tls
        with lived_in(self._folder / f"home-{name}") as folder:
            yield QtWebKitHome(
                folder,
                surroundings.client.path,
                surroundings.authority,
                pipelining=protocol.pipelined,
                spdy=protocol.wire == SPDY,
                security=replace(inner.security, compresses=surroundings.replay.spdy_header_compression)
                if inner and protocol is Protocol.SPDY_PLAIN
                else None,
                tls=surroundings.replay.tls,
                scheme=protocol.scheme,
                local=surroundings.local,
                elsewhere=surroundings.address,
                substitute=surroundings.substitute.certificate_file if surroundings.substitute else None,
                loopback_ports=surroundings.loopback_ports,
                log_bodies=bodies,
            )
