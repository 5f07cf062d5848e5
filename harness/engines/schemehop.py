"""A hop for what a browser asks for under one scheme, of an engine that sends each scheme where it is told to."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from harness.engines import hop
from harness.engines.browserlog import BrowserLog
from harness.engines.relay import Relay, as_travelled, relayed
from harness.engines.surroundings import Surroundings
from harness.system.netns import Host

PLAIN_PORT = hop.PORT + 1  # of the hop of plain http


@dataclass(frozen=True)
class SchemeHop:
    """A hop for what is asked for under one scheme, and the port of loopback that it listens on."""

    scheme: str
    port: int
    relay: Relay

    @property
    def proxy(self) -> str:
        return f"socks5://{hop.LOOPBACK}:{self.port}"

    @contextlib.contextmanager
    def running(self, client: Host) -> Iterator[Callable[[], None]]:
        """It starts while the browser does; the block gets what waits until it is ready."""
        with client.entered():
            listening = socket.create_server((hop.LOOPBACK, self.port))
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

    def made(scheme: str, port: int, security: hop.Security | None) -> SchemeHop:
        log = folder / f"{scheme}-connections.jsonl"
        return SchemeHop(
            scheme, port, Relay(log, surroundings.client.path, security, addresses, surroundings.address)
        )

    if inner is not None:
        secure = made("https", hop.PORT, replace(inner.security, https_port=hop.HTTP))
        return (secure, made("http", PLAIN_PORT, None)) if addresses else (secure,)
    return (made("https", hop.PORT, None),) if addresses else ()
