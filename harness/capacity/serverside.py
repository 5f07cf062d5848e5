"""The server's side of a trial, once a second while a block lasts: what server, generator, emulator and machine used.

    watched = Watched(endpoint.server, testbed.server, client.link, users=users_at)
    with sampling(watched, folder / SECONDS_NAME) as sampler:
        with generator() as running:
            sampler.follow(running.pid)
            ...
    sampler.seconds, sampler.accounting, sampler.cpu_s, sampler.requests()

It reads in a thread of its own, at whole seconds. What does not come at once is null in that second.
"""

from __future__ import annotations

import contextlib
import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import psutil

from harness.capacity.series import Second
from harness.capacity.watches import LinkWatch, RequestTail, StatusWatch, Tail, watched_status
from harness.lab.emulated import EmulatedLink
from harness.lab.link import RunningLink
from harness.system import accounts
from harness.system.accounts import Account, account
from harness.system.netns import Host
from harness.system.topology import online_cpus
from sites.servers.server import ServedRequest, Server, Status

INTERVAL_S = 1.0
JUST_BEFORE_S = 0.001
Fields = Mapping[str, Any]
CoreTimes = tuple[float | None, float | None]  # idle time and all time; None when it is off
Result = TypeVar("Result")
REST_S, STEADY_S, POLL_S = 30.0, 3.0, 0.1
LISTENING, ESTABLISHED = "0A", "01"  # as /proc/net/tcp has them
# Of a core that may go into what costs most: proportional memory, and the memory of many processes.
PROPORTIONAL_SHARE = 0.002
RESIDENT_SHARE = 0.003


@dataclass(frozen=True)
class Watched:
    """What is watched: a server and its host, a link, how many users there are.

    None: nobody tells. A link that is not our emulator's tells nothing while packets cross it.
    """

    server: Server
    host: Host
    link: RunningLink | None = None
    users: Callable[[float], int | None] | None = None


class Sampler:
    """Reads once a second. Made by `sampling`; to be made on the server's host."""

    def __init__(self, watched: Watched, began: float, undo: contextlib.ExitStack) -> None:
        server = watched.server
        self._watched, self._began, self._undo = watched, began, undo
        self._status: StatusWatch | None = undo.enter_context(
            watched_status(server.telling.status, watched.host)
        )
        by = [undo.enter_context(account(pid)) for pid in server.programs.values()]
        self._server = ServerReading(server, by, self._status)
        self._link = LinkReading(LinkWatch(watched.link)) if isinstance(watched.link, EmulatedLink) else None
        self._machine = MachineReading()
        self._generator: GeneratorReading | None = None
        self._own_cpu_s = 0.0
        self.accounting = by[0].kind  # how CPU is counted: `cgroup` or `processes`
        self.seconds: list[Second] = []

    @property
    def cpu_s(self) -> float:
        """What watching has cost us."""
        return self._own_cpu_s + (self._status.cpu_s if self._status else 0.0)

    def follow(self, generator: int) -> None:
        """Watch a generator, too: its main process, as soon as it has started."""
        self._generator = GeneratorReading(self._undo.enter_context(account(generator)))

    def requests(self) -> Iterator[ServedRequest]:
        """What the server has logged since the beginning; to be asked once, when the watching is over.

        Its log is emptied meanwhile. A server that logs nothing has none.
        """
        logged = self._server.requests
        yield from self._watched.server.parsed(logged.lines()) if logged else ()

    def work(self, host: Host, file: Path, stopped: threading.Event) -> None:
        """A line a second until it is stopped, and one then."""
        with host.entered(), file.open("a", encoding="utf-8") as lines:
            going = True
            while going:
                going = not stopped.wait(self._until_next())
                second = self._read()
                self.seconds.append(second)
                lines.write(json.dumps(asdict(second)) + "\n")
                lines.flush()
                self._own_cpu_s = time.thread_time()

    def _until_next(self) -> float:
        """The next whole second since the beginning."""
        return INTERVAL_S - (time.monotonic() - self._began) % INTERVAL_S

    def _read(self) -> Second:
        nothing: Fields = {}
        t_s = time.monotonic() - self._began
        # A step ends with a whole second: what is read then is of its users, and not of those of the next one.
        just_before_s = max(0.0, math.floor(t_s) - JUST_BEFORE_S)
        return Second(
            t_s=round(t_s, 3),
            users=self._watched.users(just_before_s) if self._watched.users else None,
            **self._server.read(),
            **(self._generator.read() if self._generator else nothing),
            **(self._link.read() if self._link else nothing),
            **self._machine.read(),
        )


@contextlib.contextmanager
def sampling(watched: Watched, file: Path, began: float | None = None) -> Iterator[Sampler]:
    """A line a second into `file` while the block lasts; times count from `began` (monotonic), by default from now.

    What a reading fails with, such as a status page that says nothing that makes sense, is raised at the end.
    """
    stopped = threading.Event()
    with contextlib.ExitStack() as undo:
        with watched.host.entered():
            sampler = Sampler(watched, time.monotonic() if began is None else began, undo)
        thread = undo.enter_context(ThreadPoolExecutor(1, "sampler"))
        work = thread.submit(sampler.work, watched.host, file, stopped)
        try:
            yield sampler
        finally:
            stopped.set()
            work.result()


class Sparing:
    """Reads what is dear no more often than costs `share` of a core; None in between."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._due = 0.0

    def read(self, what: Callable[[], Result]) -> Result | None:
        if time.monotonic() < self._due:
            return None
        before = time.thread_time()
        result = what()
        self._due = time.monotonic() + (time.thread_time() - before) / self._share - 1
        return result


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

    To be made and read on the server's host, before the crowd comes.
    """

    def __init__(self, server: Server, by: list[Account], status: StatusWatch | None) -> None:
        self._accounts, self._status = by, status
        body_bytes = server.telling.body_bytes
        self.requests = RequestTail(server.log, body_bytes) if body_bytes else None
        self._errors = Tail(server.telling.errors)
        self._cpu = [Growth(group.cpu_seconds(accounts.usage(group.pids()))) for group in by]
        self._hits = Growth(self._counted(status.ask() if status else None))
        self._own_sockets = own_sockets()
        self._proportional = Sparing(PROPORTIONAL_SHARE)
        self._resident = [Sparing(RESIDENT_SHARE) for _ in by]

    def read(self) -> Fields:
        answer = self._status.ask() if self._status else None
        gained = self.requests.gained() if self.requests else None
        counted = self._hits.to_whole(self._counted(answer))
        return {
            **self._processes(),
            "server_connections": max(0, tcp_sockets() - self._own_sockets),
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
        pids = [group.pids() for group in self._accounts]
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
        every = [pid for family in pids for pid in family]
        return {
            "server_cpu_s": None if None in cpu else round(sum(seconds or 0.0 for seconds in cpu), 6),
            "server_rss_bytes": sum(reading.rss_bytes for reading in known)
            if len(known) == len(used)
            else None,
            "server_pss_bytes": self._proportional.read(partial(accounts.proportional_bytes, every)),
            "server_threads": sum(reading.threads for reading in known) if len(known) == len(used) else None,
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
    """The idle share of each core (0 when it is off) and of all together, and the memory that is in use."""

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


def _core_times() -> list[CoreTimes]:
    """Idle time and all time of each core, by the kernel's numbers."""
    told = [
        (times.idle + times.iowait, math.fsum(times) - times.guest - times.guest_nice)
        for times in psutil.cpu_times(percpu=True)
    ]
    return by_kernel_number(told, online_cpus())


def by_kernel_number(told: Sequence[CoreTimes], online: Sequence[int]) -> list[CoreTimes]:
    """What is told of the CPUs that are on, in their order; a CPU that is off has no times. Pure.

    As it stands where the kernel does not tell which are on, or tells of others, as in some containers.
    """
    if not online or len(told) != len(online):
        return list(told)
    times = dict(zip(online, told, strict=True))
    return [times.get(number, (None, None)) for number in range(max(online) + 1)]


def _share(part: float, whole: float) -> float | None:
    return round(min(max(part / whole, 0.0), 1.0), 4) if whole > 0 else None


def wait_for_rest(server: Server, host: Host) -> None:
    """Until a server has digested the crowd before, but no longer than REST_S: its host has no connections to others,
    and the server as many workers as STEADY_S before.

    One that has answered fewer requests than it has workers has had no crowd.
    """
    end = time.monotonic() + REST_S
    workers, since = -1, end
    with host.entered(), watched_status(server.telling.status, host) as status:
        while time.monotonic() < end:
            told = status.ask() if status else Status()
            if told is not None:
                now = (told.workers_busy or 0) + (told.workers_idle or 0)
                if now != workers:
                    workers, since = now, time.monotonic()
                untold = told.workers_idle is None
                is_steady = untold or (told.hits or 0) < now or time.monotonic() - since >= STEADY_S
                if is_steady and tcp_sockets() <= own_sockets():
                    return
            time.sleep(POLL_S)


def own_sockets() -> int:
    """The TCP sockets on the host of this thread that listen, or are connected to another one of the same host."""
    lines = Path("/proc/thread-self/net/tcp").read_text().splitlines()[1:]
    ends = [(local, remote, state) for _, local, remote, state, *_ in map(str.split, lines)]
    connected = {(local, remote) for local, remote, state in ends if state == ESTABLISHED}
    listening = sum(state == LISTENING for _, _, state in ends)
    return listening + sum((remote, local) in connected for local, remote in connected)


def tcp_sockets() -> int:
    """The TCP sockets on the host of this thread that are open; those of ended connections (TIME_WAIT) are not."""
    for line in Path("/proc/thread-self/net/sockstat").read_text().splitlines():
        if line.startswith("TCP: inuse "):
            return int(line.split()[2])
    raise AssertionError("the kernel tells no TCP sockets")
