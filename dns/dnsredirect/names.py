"""Both sides of DNS in the testbed: dnsmasq as the name server of one zone, and which name server programs ask.

A name server is started on a host of the testbed and proved by a real query. The client's files of /etc are covered by
bind mounts inside the run's own mount namespace; the machine's are untouched.
"""

from __future__ import annotations

import contextlib
import ipaddress
import math
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import dns.exception
import dns.message
import dns.query
import dns.rdatatype

from harness.errors import TestbedFailed
from harness.model.link import Link
from harness.system.enclosure import resolv_conf
from harness.system.netns import Host
from harness.system.process import Process, running
from harness.system.program import Command


@dataclass(frozen=True)
class Zone:
    """Every name has the address `default`, but those in `names` have their own. AAAA and HTTPS: no data.

    Without a NODATA answer Chromium retries its HTTPS (type 65) query, which would cost a round trip per name.
    """

    default: str
    names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for address in (self.default, *self.names.values()):
            ipaddress.IPv4Address(address)

    def dnsmasq_options(self) -> tuple[str, ...]:
        """The zone in dnsmasq's own terms: a wildcard, and `local` so that other types get NODATA.

        A name is a host record, as dnsmasq's `address` would also hold for the names below it.
        """
        exact = tuple(f"--host-record={name},{address}" for name, address in sorted(self.names.items()))
        return (f"--address=/#/{self.default}", "--local=/#/", *exact)


PROBE_NAME = "probe.coldload.invalid"
QUERY_S, QUERIES = 1.0, 5  # within which it answers one of so many, also on a very busy machine


class NameServer:
    """A running dnsmasq that answers one zone on one address. `answers` asks it a real query."""

    def __init__(self, process: Process, answers: Callable[[float], bool]) -> None:
        self.process = process
        self._answers = answers

    def check(self) -> None:
        """Raise TestbedFailed when it has died or is stopped."""
        self.process.check_running()

    def examine(self) -> None:
        """`check`, and TestbedFailed when it answers no query."""
        self.check()
        if not any(self._answers(QUERY_S) for _ in range(QUERIES)):
            raise TestbedFailed(f"{self.process.name} answered no query within {QUERY_S * QUERIES:g} s")


@contextlib.contextmanager
def name_server(zone: Zone, address: str, log: Path, host: Host) -> Iterator[NameServer]:
    """Serve `zone` on `address` of a host, port 53."""
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
        with host.entered():
            return resolve(PROBE_NAME, address, timeout_s=timeout_s) == zone.default

    def ready() -> bool:
        return answers(0.2)

    with running(command.on(host.path).as_ordinary_user(), log, ready=ready) as process:
        yield NameServer(process, answers)


def resolve(name: str, server: str, *, timeout_s: float = 2.0) -> str | None:
    """One A query over UDP; the first address of the answer, None when there is no answer or no address."""
    question = dns.message.make_query(name, dns.rdatatype.A)
    try:
        answer = dns.query.udp(question, server, timeout=timeout_s)
    except (OSError, dns.exception.DNSException):
        return None
    addresses = [str(item) for records in answer.answer for item in records]
    return addresses[0] if addresses else None


def hosts_file(machine: str) -> str:
    """The names that are not asked for: some browsers look up the machine's. One in full may be a page's."""
    return f"127.0.0.1 localhost {'' if '.' in machine else machine}".strip() + "\n"


HOSTS = Path("/etc/hosts")
STATIC_FILES = {
    HOSTS: hosts_file(socket.gethostname()),
    Path("/etc/nsswitch.conf"): "passwd: files\ngroup: files\nhosts: files dns\n",
}


UNLIMITED_BYTES = 3_000_000  # a full queue that has no limit, about: more than most pages have
WAITING_BYTES = 500_000  # of page loads in docs/reproduction 324 kB waited at most, over 1 Mbit/s
LONGEST_S, MOST_ATTEMPTS = 30, 5  # that glibc takes


@dataclass(frozen=True)
class Asking:
    """How programs ask a name server: again after each time-out, in s, up to so many times in all.

    What comes late, after a later attempt, is an answer, too.
    """

    timeout_s: int = 1
    attempts: int = 3

    @classmethod
    def over(cls, link: Link) -> Asking:
        """As often as an answer may take that long: the round trip, and what a full queue holds before it.

        Once a second where five seconds are enough for the round trip and what a page load has waiting: a query that
        was lost costs a time-out, which is part of what is measured. So on a link that loses packets the time-out is
        no longer for the queue, which TCP keeps short there.
        """
        byte_s = 8 / (link.down.rate.mean_mbps * 1e6)
        full_bytes = link.down.queue.limit_bytes or UNLIMITED_BYTES
        path_s = (link.rtt_ms + link.down.jitter_ms + link.up.jitter_ms) / 1e3
        lossy = any(direction.loss.mean_percent for direction in link.directions)
        waiting_bytes = 0 if lossy else min(full_bytes, WAITING_BYTES)
        timeout_s = min(LONGEST_S, math.floor((path_s + waiting_bytes * byte_s) / MOST_ATTEMPTS) + 1)
        wanted = math.floor((path_s + full_bytes * byte_s) / timeout_s) + 1
        return cls(timeout_s, min(MOST_ATTEMPTS, max(cls.attempts, wanted)))


class Resolver:
    """The resolver configuration of the enclosure. One name server at a time, so one load at a time."""

    def __init__(self, folder: Path, bind: Callable[[Path, Path], None]) -> None:
        """`folder` holds the covering files; `bind(source, target)` mounts one file over another."""
        folder.mkdir(parents=True, exist_ok=True)
        for target, text in STATIC_FILES.items():
            cover = folder / target.name
            cover.write_text(text)
            if target.exists():
                bind(cover, target)
        self._hosts = folder / HOSTS.name
        self._file = self._cover_resolv_conf(folder, bind)

    @staticmethod
    def _cover_resolv_conf(folder: Path, bind: Callable[[Path, Path], None]) -> Path:
        """The file to write to. A link into /run, as systemd makes it, dangles here: then its target is ours."""
        target = resolv_conf()
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("")
            return target
        cover = folder / "resolv.conf"
        cover.write_text("")
        bind(cover, target)
        return cover

    def use(
        self, name_server: str, known: Mapping[str, str] | None = None, *, asking: Asking | None = None
    ) -> None:
        """From now on programs that start ask this address, by default once a second, up to three times.

        They do not ask for the `known` names, whose addresses these are.
        """
        chosen = asking or Asking()
        lines = [f"{address} {name}\n" for name, address in sorted((known or {}).items())]
        if lines and not HOSTS.exists():
            raise TestbedFailed(
                f"there is no {HOSTS} that could tell names without asking; make an empty one"
            )
        self._hosts.write_text("".join([STATIC_FILES[HOSTS], *lines]))
        options = f"timeout:{chosen.timeout_s} attempts:{chosen.attempts}"
        self._file.write_text(f"nameserver {name_server}\noptions {options}\n")
