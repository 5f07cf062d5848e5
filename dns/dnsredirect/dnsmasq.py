"""dnsmasq as the name server of one zone: started on a host of the testbed, proved by a real query."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import dns.exception
import dns.message
import dns.query
import dns.rdatatype

from dnsredirect.zone import Zone
from harness.errors import TestbedFailed
from harness.system.command import Command
from harness.system.process import Process, running

PROBE_NAME = "probe.coldload.invalid"
EXAMINATION_S = 1.0  # within which it answers, also on a busy machine
QUERY_LINE = re.compile(r" query\[(?P<type>[^\]]+)\] (?P<name>\S+) from (?P<client>\S+)")


@dataclass(frozen=True)
class Query:
    """One query the name server got."""

    name: str
    type: str
    client: str


class NameServer:
    """A running dnsmasq that answers one zone on one address. `answers` asks it a real query."""

    def __init__(self, address: str, process: Process, answers: Callable[[float], bool]) -> None:
        self.address = address
        self.process = process
        self._answers = answers

    def check(self) -> None:
        """Raise TestbedFailed when it has died or is stopped."""
        self.process.check_running()

    def examine(self) -> None:
        """`check`, and TestbedFailed when it does not answer a query at once."""
        self.check()
        if not self._answers(EXAMINATION_S):
            raise TestbedFailed(f"{self.process.name} did not answer a query within {EXAMINATION_S:g} s")

    @property
    def offset(self) -> int:
        """The present end of the query log, to read from later."""
        return self.process.log.stat().st_size

    def queries(self, since: int = 0) -> list[Query]:
        """The queries logged from the byte offset `since` on."""
        with self.process.log.open(encoding="utf-8", errors="replace") as log:
            log.seek(since)
            found = (QUERY_LINE.search(line) for line in log)
            return [Query(match["name"], match["type"], match["client"]) for match in found if match]


@contextlib.contextmanager
def name_server(
    zone: Zone,
    address: str,
    log: Path,
    *,
    network: Path | None,
    on_host: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
) -> Iterator[NameServer]:
    """Serve `zone` on `address`, port 53. `on_host` moves the calling thread to that host for the probe."""
    command = Command.of(
        "dnsmasq",
        "--keep-in-foreground",
        "--conf-file=/dev/null",
        "--no-hosts",
        "--no-resolv",
        "--bind-interfaces",
        f"--listen-address={address}",
        "--cache-size=0",
        "--log-queries",
        "--log-facility=-",
        "--pid-file=",
        *zone.dnsmasq_options(),
    )

    def answers(timeout_s: float) -> bool:
        with on_host():
            return resolve(PROBE_NAME, address, timeout_s=timeout_s) == zone.default

    def ready() -> bool:
        return answers(0.2)

    with running(command.on(network).as_ordinary_user(), log, ready=ready) as process:
        yield NameServer(address, process, answers)


def resolve(name: str, server: str, *, timeout_s: float = 2.0) -> str | None:
    """One A query over UDP; the first address of the answer, None when there is no answer or no address."""
    question = dns.message.make_query(name, dns.rdatatype.A)
    try:
        answer = dns.query.udp(question, server, timeout=timeout_s)
    except (OSError, dns.exception.DNSException):
        return None
    addresses = [str(item) for records in answer.answer for item in records]
    return addresses[0] if addresses else None
