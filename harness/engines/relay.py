"""Our side of the hop (harness.engines.hop): its process, what its log tells, and the hops that a page needs.

An engine that sends each scheme where it is told to has a hop for what it asks for under one.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import harness
from harness.engines.browser import HOP, Surroundings
from harness.engines.browserlog import BrowserLog, Connection, Request, Span
from harness.engines.hop import HTTP, LOOPBACK, PORT, Security
from harness.errors import TrialFailed
from harness.system.netns import Host
from harness.system.process import Inherited, Process, running
from harness.system.program import Command

UNDER_HTTPS = "https://"
HOP_END_S = 0.5  # its sockets close a little before the process is gone
# The folder that holds the package: programs of ours are started from there.
ROOT = Path(harness.__file__).parent.parent
PLAIN_PORT = PORT + 1  # of the hop of plain http


@dataclass(frozen=True)
class Relay:
    """The hop of one trial, on the host with the namespace file `network`.

    `security` ends TLS in it; `addresses` are those of names that are not looked up. All other IP addresses are
    `elsewhere`. Nobody gets through to `refused` names.
    """

    log: Path
    network: Path | None
    security: Security | None = None
    addresses: Mapping[str, str] = field(default_factory=dict)
    elsewhere: str | None = None
    refused: tuple[str, ...] = ()

    @property
    def programs(self) -> dict[str, int]:
        """Its process by name, once it has started."""
        try:
            return {HOP: int(self.log.with_suffix(".pid").read_text())}
        except (OSError, ValueError):
            return {}

    @contextlib.contextmanager
    def running(
        self, listening: socket.socket, direct: Mapping[socket.socket, tuple[str, int]] | None = None
    ) -> Iterator[Process]:
        """Its process for the length of the block, on these sockets, which are closed here: if it dies nobody listens.

        Each of `direct` stands for one host and port. It may not be ready yet. TestbedFailed when it died: what is lost
        there is no fault of the page.
        """
        others = direct or {}
        command = self.command({each.fileno(): there for each, there in others.items()})
        descriptors = [listener.fileno() for listener in others]
        log = self.log.with_suffix(".log")
        with running(command, log, inherits=Inherited(listening.fileno(), descriptors)) as process:
            self.log.with_suffix(".pid").write_text(str(process.pid))
            for listener in (listening, *others):
                listener.close()
            try:
                yield process
            except TrialFailed:
                process.ends_within(HOP_END_S)
                process.check_running()
                raise
            process.check()

    def wait_for(self, process: Process) -> None:
        """Until it is ready."""
        process.wait_until(lambda: "listening" in self.told)

    @property
    def told(self) -> str:
        """The text of its log so far."""
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""

    def command(self, direct: Mapping[int, tuple[str, int]]) -> Command:
        """What starts it; `direct` are the hosts and ports that descriptors stand for."""
        settings = {
            "direct": list(direct.items()),
            "log": str(self.log),
            "security": asdict(self.security) if self.security else None,
            "addresses": dict(self.addresses),
            "elsewhere": self.elsewhere,
            "refused": self.refused,
        }
        return program(sys.executable, "hop", settings).on(self.network).named(HOP)


def program(python: str, name: str, settings: Mapping[str, object]) -> Command:
    """A program of this package."""
    command = Command.of(python, "-P", "-m", f"harness.engines.{name}", json.dumps(settings))
    return command.with_environment(PYTHONPATH=str(ROOT)).as_ordinary_user()


def entries(text: str) -> Iterator[Mapping[str, Any]]:
    """The whole lines of a log in JSON; the last one may have been cut off by a kill."""
    for line in text.splitlines(keepends=True):
        if line.endswith("\n"):
            yield json.loads(line)


def connections_made(log: str, epoch_ms: float = 0.0) -> tuple[Connection, ...]:
    """The connections over the link that the hop's log tells of; `epoch_ms` is when the clock began to count."""
    return tuple(
        Connection(
            entry["remote"],
            entry["local"],
            None,
            None,
            None,
            entry["connect_ms"],
            _took(entry["began_ms"] + entry["lookup_ms"] - epoch_ms, entry["connect_ms"]),
        )
        for entry in _made(log)
    )


def lookups_made(log: str, epoch_ms: float = 0.0) -> dict[str, tuple[Span, ...]]:
    """The first look-up of each name that the hop's log tells of: it remembers them."""
    lookups: dict[str, tuple[Span, ...]] = {}
    for entry in _made(log):
        lookups.setdefault(entry["name"], (_took(entry["began_ms"] - epoch_ms, entry["lookup_ms"]),))
    return lookups


def _made(log: str) -> list[Mapping[str, Any]]:
    return [entry for entry in entries(log) if "connect_ms" in entry]


def _took(began_ms: float, ms: float) -> Span:
    return Span(round(began_ms, 3), round(began_ms + ms, 3))


def relayed(seen: BrowserLog, log: str, port: int = PORT) -> BrowserLog:
    """What a browser did that has a hop on a port; `log` is the hop's.

    The browser's connections to the hop give way to those the hop made.
    """
    direct = [connection for connection in seen.connections if connection.remote != f"{LOOPBACK}:{port}"]
    return replace(
        seen,
        connections=(*direct, *connections_made(log, seen.epoch_ms)),
        lookups={**lookups_made(log, seen.epoch_ms), **seen.lookups},
    )


def as_travelled(seen: BrowserLog, log: str) -> BrowserLog:
    """`relayed`, of a browser whose https requests went through the hop to a server of plain http: their URLs become
    those the server got.
    """
    browser_log = relayed(seen, log)
    return replace(browser_log, requests=tuple(_as_travelled(request) for request in seen.requests))


def _as_travelled(request: Request) -> Request:
    """A request that was not sent keeps the URL it would have had."""
    if not request.url.startswith(UNDER_HTTPS) or (request.status is None and request.protocol is None):
        return request
    return replace(request, url=f"http://{request.url.removeprefix(UNDER_HTTPS)}", relayed=True)


@dataclass(frozen=True)
class SchemeHop:
    """A hop for what is asked for under one scheme, and the port of loopback that it listens on."""

    scheme: str
    port: int
    relay: Relay

    @property
    def proxy(self) -> str:
        return f"socks5://{LOOPBACK}:{self.port}"

    @contextlib.contextmanager
    def running(self, client: Host) -> Iterator[Callable[[], None]]:
        """It starts while the browser does; the block gets what waits until it is ready."""
        with client.entered():
            listening = socket.create_server((LOOPBACK, self.port))
        with self.relay.running(listening) as process:
            yield partial(self.relay.wait_for, process)

    def seen_from(self, log: BrowserLog) -> BrowserLog:
        """What the browser did, with what the hop did for it. One that ends TLS passes requests on in plain http."""
        told = self.relay.told
        return relayed(log, told, self.port) if self.relay.security is None else as_travelled(log, told)


def hops(folder: Path, surroundings: Surroundings, addresses: Mapping[str, str]) -> tuple[SchemeHop, ...]:
    """The hops that a page needs: over plain http one for what it asks for under https all the same; and for all that
    it asks for, where it has `addresses`: hosts that DNS has no say in.
    """
    inner = surroundings.inner_tls

    def made(scheme: str, port: int, security: Security | None) -> SchemeHop:
        log = folder / f"{scheme}-connections.jsonl"
        return SchemeHop(
            scheme, port, Relay(log, surroundings.client.path, security, addresses, surroundings.address)
        )

    if inner is not None:
        secure = made("https", PORT, replace(inner.security, https_port=HTTP))
        return (secure, made("http", PLAIN_PORT, None)) if addresses else (secure,)
    return (made("https", PORT, None),) if addresses else ()
