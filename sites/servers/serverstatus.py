"""What servers tell of themselves while they work: where they are asked, and their answers as values. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from harness.errors import TestbedFailed


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


def apache_status(text: str) -> Status:
    """mod_status, as `?auto` writes it: a line for each value."""
    found = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    try:
        return Status(
            workers_busy=int(found["BusyWorkers"]) - 1,
            workers_idle=int(found["IdleWorkers"]),
            hits=int(found["Total Accesses"]),
            bytes=int(found["Total kBytes"]) * 1024,
            mpm=found["ServerMPM"],
        )
    except (KeyError, ValueError) as error:
        raise _strange("Apache", text, error) from error


STUB_STATUS = re.compile(
    r"Active connections: \d+ \nserver accepts handled requests\n \d+ \d+ (?P<requests>\d+) \n"
    r"Reading: (?P<reading>\d+) Writing: (?P<writing>\d+) Waiting: \d+ \n"
)


def nginx_status(text: str) -> Status:
    """stub_status. Requests in hand are those that it reads or answers."""
    found = STUB_STATUS.fullmatch(text)
    if found is None:
        raise _strange("nginx", text, None)
    return Status(
        workers_busy=int(found["reading"]) + int(found["writing"]) - 1,
        hits=int(found["requests"]),
    )


IN_FLIGHT = re.compile(
    r'^caddy_http_requests_in_flight\{handler="(\w+)",server="(?!status")[^"]*"\} (\S+)$', re.M
)


def caddy_status(text: str) -> Status:
    """Caddy's metrics, in the form of Prometheus. A request is in flight in each handler that it has reached.

    Before the first request the metric is not there.
    """
    if "go_goroutines" not in text:
        raise _strange("Caddy", text, None)
    by_handler: dict[str, float] = {}
    for handler, value in IN_FLIGHT.findall(text):
        by_handler[handler] = by_handler.get(handler, 0) + float(value)
    return Status(workers_busy=round(max(by_handler.values(), default=0)))


def _strange(server: str, text: str, error: Exception | None) -> TestbedFailed:
    why = "" if error is None else f" ({type(error).__name__} {error})"
    return TestbedFailed(f"{server}'s status page says something strange{why}: {text[:200]!r}")
