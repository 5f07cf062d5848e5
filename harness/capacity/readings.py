"""What is read once a second of a server, a generator, an emulator and the machine: fields of a `Second`, by name.

What only grows is told as what it has grown by since it was last known. What does not come at once is None.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import psutil

from harness.capacity.linkwatch import LinkWatch
from harness.capacity.logtail import RequestTail, Tail
from harness.capacity.statuswatch import StatusWatch
from harness.system import accounts
from harness.system.accounts import Account
from sites.servers.server import Server, Status

Fields = Mapping[str, Any]
Result = TypeVar("Result")
# Of a core that may go into what costs most: proportional memory, and the memory of many processes.
PROPORTIONAL_SHARE = 0.002
RESIDENT_SHARE = 0.003


class Sparing:
    """Reads what is dear no more often than costs `share` of a core; None in between."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._due = 0.0

    def read(self, what: Callable[[], Result]) -> Result | None:
        if time.monotonic() < self._due:
            return None
        before = time.thread_time()
        found = what()
        self._due = time.monotonic() + (time.thread_time() - before) / self._share - 1
        return found


class Growth:
    """By how much a number has grown since it was last known."""

    def __init__(self, value: float | None = None) -> None:
        self._last = value

    def to(self, value: float | None) -> float | None:
        """None when it was not known before, or is not now."""
        if value is None:
            return None
        before, self._last = self._last, value
        return None if before is None else round(value - before, 6)

    def to_whole(self, value: int | None) -> int | None:
        """The same of what is counted."""
        grown = self.to(value)
        return None if grown is None else int(grown)


class ServerReading:
    """CPU, memory and threads of a server's processes, its open connections, its status page, and its logs.

    To be made and read on the server's host, before the crowd comes: TCP sockets that are there then are its listeners
    and our own.
    """

    def __init__(self, server: Server, by: list[Account], status: StatusWatch | None) -> None:
        self._accounts, self._status = by, status
        body_bytes = server.telling.body_bytes
        self.requests = RequestTail(server.log, body_bytes) if body_bytes else None
        self._errors = Tail(server.telling.errors)
        self._cpu = [Growth(each.cpu_seconds(accounts.usage(each.pids()))) for each in by]
        self._hits = Growth(self._counted(status.ask() if status else None))
        self._sockets_before = tcp_sockets()
        self._proportional = Sparing(PROPORTIONAL_SHARE)
        self._resident = [Sparing(RESIDENT_SHARE) for _ in by]

    def read(self) -> Fields:
        answer = self._status.ask() if self._status else None
        gained = self.requests.gained() if self.requests else None
        counted = self._hits.to_whole(self._counted(answer))
        return {
            **self._processes(),
            "server_connections": tcp_sockets() - self._sockets_before,
            "workers_busy": answer.workers_busy if answer else None,
            "workers_idle": answer.workers_idle if answer else None,
            "server_hits": gained.hits if gained else counted,
            "server_bytes": gained.bytes if gained else None,
            "server_errors": self._errors.gained().count(b"\n"),
        }

    def _counted(self, answer: Status | None) -> int | None:
        """The requests that the status page counts, without our questions."""
        if self._status is None or answer is None or answer.hits is None:
            return None
        return answer.hits - self._status.questions

    def _processes(self) -> Fields:
        pids = [each.pids() for each in self._accounts]
        used = [
            # Where nothing else tells of CPU it is read once a second, whatever it costs.
            sparing.read(partial(accounts.usage, each)) if account.counts_cpu_itself else accounts.usage(each)
            for account, sparing, each in zip(self._accounts, self._resident, pids, strict=True)
        ]
        cpu = [
            growth.to(account.cpu_seconds(usage))
            for growth, account, usage in zip(self._cpu, self._accounts, used, strict=True)
        ]
        known = [usage for usage in used if usage is not None]
        every = [pid for each in pids for pid in each]
        return {
            "server_cpu_s": None if None in cpu else round(sum(each or 0.0 for each in cpu), 6),
            "server_rss_bytes": sum(each.rss_bytes for each in known) if len(known) == len(used) else None,
            "server_pss_bytes": self._proportional.read(partial(accounts.proportional_bytes, every)),
            "server_threads": sum(each.threads for each in known) if len(known) == len(used) else None,
        }


class GeneratorReading:
    """CPU and memory of what makes the load."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._cpu = Growth(account.cpu_seconds(accounts.usage(account.pids())))

    def read(self) -> Fields:
        used = accounts.usage(self._account.pids())
        return {
            "generator_cpu_s": self._cpu.to(self._account.cpu_seconds(used)),
            "generator_rss_bytes": used.rss_bytes if used else None,
        }


class LinkReading:
    """The emulator's CPU, and what has crossed the link or was dropped, by direction."""

    WHAT = ("packets", "bytes", "drops")

    def __init__(self, watch: LinkWatch) -> None:
        self._watch = watch
        told = watch.ask()
        names = [f"{way}_{what}" for way in ("down", "up") for what in self.WHAT]
        self._counters = {name: Growth(getattr(told, name, None)) for name in names}
        self._cpu = Growth(told.cpu_s if told else None)

    def read(self) -> Fields:
        told = self._watch.ask()
        counted = {
            name: growth.to_whole(getattr(told, name, None)) for name, growth in self._counters.items()
        }
        return {**counted, "emulator_cpu_s": self._cpu.to(told.cpu_s if told else None)}


class MachineReading:
    """The idle share of each core and of all together, and the memory that is in use."""

    def __init__(self) -> None:
        self._cores = [(Growth(idle), Growth(every)) for idle, every in _core_times()]

    def read(self) -> Fields:
        grown = [
            (idle.to(now_idle) or 0.0, every.to(now) or 0.0)
            for (idle, every), (now_idle, now) in zip(self._cores, _core_times(), strict=False)
        ]
        memory = psutil.virtual_memory()
        return {
            "machine_idle_share": _share(*map(sum, zip(*grown, strict=True))),
            "idle_by_core": tuple(_share(idle, every) or 0.0 for idle, every in grown),
            "machine_memory_bytes": memory.total - memory.available,
        }


def _core_times() -> list[tuple[float, float]]:
    """Idle time and all time of each core, in the kernel's order."""
    return [
        (each.idle + each.iowait, math.fsum(each) - each.guest - each.guest_nice)
        for each in psutil.cpu_times(percpu=True)
    ]


def _share(part: float, whole: float) -> float | None:
    return round(min(max(part / whole, 0.0), 1.0), 4) if whole > 0 else None


def tcp_sockets() -> int:
    """The TCP sockets on the host of this thread that are open; those of ended connections (TIME_WAIT) are not."""
    for line in Path("/proc/thread-self/net/sockstat").read_text().splitlines():
        if line.startswith("TCP: inuse "):
            return int(line.split()[2])
    raise AssertionError("the kernel tells no TCP sockets")
