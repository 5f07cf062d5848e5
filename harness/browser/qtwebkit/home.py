"""The engine of one trial: a process of QtWebKit on a host of its own, and the hop that joins it to the client host."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import harness
from harness.browser import fonts
from harness.browser.browserlog import BrowserLog
from harness.browser.qtwebkit import hop, log
from harness.browser.qtwebkit.driver import QtWebKitBrowser
from harness.command import Command
from harness.errors import EnvironmentLacks, TestbedFailed, TrialFailed
from harness.netns import Host, host
from harness.process import conversing, run, running

PYTHON = "/usr/bin/python3"  # Debian's, whose packages bring Qt
SPDY = "spdy/3"  # the one version the engine speaks, as ALPN names it
VIEWPORT = (1280, 657)  # what Chromium's window leaves for the page
START_TIMEOUT_S = 60.0
# Least, default and greatest receive buffer on the engine's host, in bytes: `_own_host` tells why.
RECEIVE_BUFFER = "4096 16384 16384"
HOP_END_S = 0.5  # its sockets close a little before the process is gone
# The folder that holds the package: Debian's Python finds the two programs there, and nothing else is asked of it.
ROOT = Path(harness.__file__).parent.parent


@dataclass(frozen=True)
class Home:
    """The folder one engine lives in, thrown away with the trial, and what its requests may use.

    `security` ends TLS in the hop: what travels has none. `tls` is the one version of it.
    """

    folder: Path
    network: Path | None
    authority: Path
    pipelining: bool = False
    spdy: bool = False
    security: hop.Security | None = None
    tls: str = "1.2"

    @property
    def log(self) -> Path:
        """The engine's log of its requests."""
        return self.folder / "requests.jsonl"

    @property
    def connections(self) -> Path:
        """The hop's log."""
        return self.folder / "connections.jsonl"

    @property
    def pid(self) -> int | None:
        """The engine's process, once it has started."""
        text = _text(self.folder / "pid")
        return int(text) if text else None

    @property
    def driver_pid(self) -> None:
        """Nothing steers it but ourselves."""
        return

    def read_log(self) -> BrowserLog:
        return log.read(self.log, self.connections)

    @contextlib.contextmanager
    def start(self) -> Iterator[QtWebKitBrowser]:
        """A fresh engine behind a fresh hop for the length of the block; TestbedFailed when either does not start."""
        with (
            _own_host() as (own, listening),
            running(self.hop, self.folder / "hop.log", stdin=listening.fileno()) as relay,
            conversing(self.engine.on(own.path), self.folder / "engine.log") as engine,
        ):
            listening.close()  # the hop has its own: when it dies, nobody listens
            (self.folder / "pid").write_text(str(engine.pid))
            try:
                engine.hear(START_TIMEOUT_S)
            except (EOFError, TimeoutError) as error:
                raise TestbedFailed(f"QtWebKit did not start: {error}") from error
            relay.wait_until(lambda: "listening" in _text(self.connections))
            try:
                yield QtWebKitBrowser(engine)
            except TrialFailed:
                if relay.ends_within(HOP_END_S):
                    relay.check()  # what is lost there is no fault of the page
                raise
            relay.check()

    @property
    def engine(self) -> Command:
        settings = {
            "log": str(self.log),
            "home": str(self.folder),
            "viewport": VIEWPORT,
            "ways": {
                "pipelining": self.pipelining,
                "spdy": self.spdy,
                "proxy_port": hop.PORT,
                "authority": str(self.authority),
                "tls": self.tls,
            },
        }
        return self._program(PYTHON, "engine", settings).with_environment(**_surroundings(self.folder))

    @property
    def hop(self) -> Command:
        settings = {
            "log": str(self.connections),
            "security": asdict(self.security) if self.security else None,
        }
        return self._program(sys.executable, "hop", settings).on(self.network)

    def _program(self, python: str, name: str, settings: Mapping[str, object]) -> Command:
        command = Command.of(python, "-m", f"harness.browser.qtwebkit.{name}", json.dumps(settings))
        return command.with_environment(PYTHONPATH=str(ROOT)).as_ordinary_user()


@contextlib.contextmanager
def _own_host() -> Iterator[tuple[Host, socket.socket]]:
    """The engine's own host, with no network but a loopback device, and the socket there that the hop listens on.

    What comes through a proxy while Qt waits for the processor, it does not always hand on to the end if it is much:
    8 of 60 loads over SPDY at 100 Mbit/s on a busy machine stopped short, with every byte given to it, and none of 60
    without a proxy. With so little waiting in the kernel at a time none of 160 did.
    """
    with host("engine") as made:
        made.set_kernel({"ipv4.tcp_rmem": RECEIVE_BUFFER})
        with made.entered():
            listening = socket.create_server(("127.0.0.1", hop.PORT))
        with listening:
            yield made, listening


def _surroundings(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "TMPDIR": str(home),
        "XDG_RUNTIME_DIR": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "QT_QPA_PLATFORM": "offscreen",
        **fonts.ENVIRONMENT,
        "LC_ALL": "C.UTF-8",  # Qt says at each start that it would rather have that
    }


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def version() -> str:
    """The engine, Qt and its TLS library in one line; EnvironmentLacks when Debian's Python has no QtWebKit."""
    command = Command.of(PYTHON, "-m", "harness.browser.qtwebkit.engine", "--version")
    try:
        return run(
            command.with_environment(PYTHONPATH=str(ROOT), QT_QPA_PLATFORM="offscreen"), timeout_s=60
        ).strip()
    except TestbedFailed as error:
        why = str(error).rpartition(" | ")[2]  # the last line it printed
        raise EnvironmentLacks(
            f"QtWebKit does not work here ({why}); `coldload doctor` tells how to get it"
        ) from error
