"""A replay server that runs, the requests that it has logged, and what it tells of itself meanwhile.

A server's module describes it as a `serving.Program`, which `serving.serving` starts. What it must do with a request:

    recorded under its host and target, or these in another spelling
                                                    the response as recorded          Match.EXACT
    else `Site.closest` has rules for host and path  the response of the first that fits   Match.CLOSEST
    else a CORS preflight (also before the above)   204 with yes to everything        Match.PREFLIGHT
    else                                            404, MISS_HEADERS, no body        Match.MISS
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import TestbedFailed
from harness.model.protocol import Protocol
from harness.system.processtree import cpu_seconds, stopped

if TYPE_CHECKING:  # whoever reads what was served starts no process
    from harness.system.process import Process

# What logs call protocols, and what ALPN does.
WIRE_NAMES = {"HTTP/1.0": "http/1.0", "HTTP/1.1": "http/1.1", "HTTP/2.0": "h2", "HTTP/3.0": "h3"}
# Statuses whose answers have neither body nor Content-Length.
BODILESS = frozenset({204, 304})
# What is not archived is answered with 404, these headers and an empty body, which no browser takes for content.
MISS_HEADERS = (("Access-Control-Allow-Origin", "*"), ("Timing-Allow-Origin", "*"))
EXAMINATION_S = 5.0  # within which a server that runs answers, also on a very busy machine
# A preflight gets these and, echoed, what it asks for: origin, method and headers. Its answer holds for as long as
# Chromium lets it: after the usual 5 s a browser asks again, so that a page would ask more often over a slow link.
PREFLIGHT_HEADERS = (("Access-Control-Allow-Credentials", "true"), ("Access-Control-Max-Age", "7200"))


GIVEN_UP = 499  # how nginx and the gateway log what its client no longer wanted before there was an answer


class Match(StrEnum):
    """How a request was answered from the archive; `preflight` is a CORS question, always answered with yes."""

    EXACT = "exact"
    CLOSEST = "closest"
    MISS = "miss"
    PREFLIGHT = "preflight"


@dataclass(frozen=True)
class ServedRequest:
    """One request as the server logged it, at its end. Fields the server does not log are None.

    `protocol` is named as ALPN does (`http/1.1`, `h2`, `spdy/3`). The client's address and port tell a connection.
    `body_bytes` are those of the body alone. `requests_before` counts the earlier requests on the connection.
    `websocket` is a handshake for one: it needs a connection of its own, in HTTP/1.1 whatever the page's protocol.
    `depth` is how many requests of the connection were waiting or under way once this one had been read, itself
    included: 1 when it was not pipelined (of nginx see its log).
    """

    started_us: int
    duration_us: int
    client_address: str
    client_port: int
    server_address: str
    server_port: int
    protocol: str
    method: str
    host: str
    target: str
    status: int
    body_bytes: int
    requests_before: int | None
    tls: str | None
    resumed: bool
    match: Match
    websocket: bool = False
    depth: int | None = None

    @classmethod
    def logged(cls, values: Mapping[str, Any], **own: Any) -> ServedRequest:
        """One by the values of its line in a log, under our names and `upgrade`, the header; `own` are read already."""
        return cls(
            client_address=values["client_address"],
            client_port=int(values["client_port"]),
            server_address=values["server_address"],
            server_port=int(values["server_port"]),
            host=values["host"].lower(),
            status=int(values["status"]),
            body_bytes=int(values["body_bytes"]),
            websocket=values["upgrade"].lower() == "websocket",
            **own,
        )

    @property
    def given_up(self) -> bool:
        """Whether its client went before there was an answer. An archive may hold this status, too: that is a match."""
        return self.status == GIVEN_UP and self.match is Match.MISS

    @property
    def url(self) -> str:
        secure = self.tls or self.protocol == Protocol.SPDY.wire  # a page asks by SPDY for https only
        return f"{'https' if secure else 'http'}://{self.host}{self.target}"

    @property
    def connection(self) -> tuple[str, int, str, int]:
        return self.client_address, self.client_port, self.server_address, self.server_port


def served_to(requests: Iterable[ServedRequest], client: str) -> tuple[ServedRequest, ...]:
    """The requests of one client: of one trial, as each has an address of its own."""
    return tuple(request for request in requests if request.client_address == client)


@dataclass(frozen=True)
class Service:
    """One protocol on one address of the server host.

    `hosts` are the names that resolve to the address and have a certificate there, at least one; None: all names
    of the site.
    """

    protocol: Protocol
    address: str
    hosts: tuple[str, ...] | None = None

    def certified(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of a site's names that have a certificate here, in their order."""
        return tuple(name for name in names if self.hosts is None or name in self.hosts)


@dataclass(frozen=True)
class Status:
    """One answer. None: this server does not tell.

    `workers_busy` are requests in hand, or connections where each holds a worker; what the question itself takes is not
    counted. `hits` and `bytes` have been counted since the server started, questions included. `mpm` is Apache's.
    """

    workers_busy: int | None = None
    workers_idle: int | None = None
    hits: int | None = None
    bytes: int | None = None
    mpm: str | None = None


@dataclass(frozen=True)
class StatusPage:
    """Where a server tells its status, by HTTP/1.1 on its host's loopback, and how to read it."""

    address: str
    parse: Callable[[str], Status]
    port: int = 8080
    target: str = "/status?auto"


def status_address(service_address: str) -> str:
    """An address that only the server's own host reaches, another one for each server: that of a service, in 127/8."""
    return "127." + service_address.partition(".")[2]


def strange(what: str, text: str, error: Exception | None = None) -> TestbedFailed:
    """The error of a server that says what it was not set up to say; `what` tells where."""
    why = "" if error is None else f" ({type(error).__name__} {error})"
    return TestbedFailed(f"{what}{why}: {text[:200]!r}")


@dataclass(frozen=True)
class Telling:
    """What a server tells while it works, beside its request log.

    `body_bytes` finds the bytes of a body in a line of the request log; None: it writes none. `status` is where it
    tells its workers, if it does.
    """

    errors: Path
    body_bytes: re.Pattern[bytes] | None
    status: StatusPage | None


@dataclass(eq=False)
class Server:
    """A running server. `settings` are those that may change a figure; `parse` reads a line of its log.

    `answers` asks it by a protocol and tells whether it has answered within so many seconds.
    """

    processes: Sequence[Process]
    log: Path
    settings: Mapping[str, object]
    parse: Callable[[str], ServedRequest]
    answers: Callable[[Protocol, float], bool]
    telling: Telling

    def check(self) -> None:
        """Raise TestbedFailed when one of the processes has died, or one of them or of their workers is stopped."""
        for process in self.processes:
            process.check_running()
            if stopped(process.pid):
                raise TestbedFailed(
                    f"a worker of {process.name} is stopped: somebody sent it SIGSTOP, or debugs it"
                )

    def examine(self, protocol: Protocol) -> None:
        """`check`, and TestbedFailed when it does not answer a request of the protocol at once."""
        self.check()
        if not self.answers(protocol, EXAMINATION_S):
            names = " and ".join(self.programs)
            raise TestbedFailed(f"{names} did not answer a request by {protocol} within {EXAMINATION_S:g} s")

    @property
    def programs(self) -> dict[str, int]:
        """The main process of each of its programs, by name."""
        return {process.name: process.pid for process in self.processes}

    @property
    def log_offset(self) -> int:
        """The present end of the request log, to read from later."""
        return self.log.stat().st_size

    def requests(self, since: int = 0) -> list[ServedRequest]:
        """The requests logged from the byte offset `since` on, in the order in which they ended."""
        return list(self.each_request(since))

    def each_request(self, since: int) -> Iterator[ServedRequest]:
        """The same, one after the other: a closed loop makes many."""
        with self.log.open("rb") as log:
            log.seek(since)
            yield from self.parsed(log)

    def parsed(self, lines: Iterable[bytes]) -> Iterator[ServedRequest]:
        """Lines of the request log as requests; a last one that is not whole is left out."""
        for line in lines:
            if line.endswith(b"\n"):
                yield self.parse(line.decode("latin-1"))

    def empty_log(self) -> None:
        """Empty the request log; every server appends to it."""
        os.truncate(self.log, 0)

    def cpu_seconds(self) -> float | None:
        """User and system CPU seconds of the whole server since its start, in steps of 10 ms."""
        times = [cpu_seconds(process.pid) for process in self.processes]
        known = [seconds for seconds in times if seconds is not None]
        return sum(known) if len(known) == len(times) else None
