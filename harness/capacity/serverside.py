"""The server's side of a trial, once a second while a block lasts: what server, generator, emulator and machine used.

    watched = Watched(endpoint.server, testbed.server, client.link, users=lambda: active)
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
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.capacity.linkwatch import LinkWatch
from harness.capacity.readings import (
    Fields,
    GeneratorReading,
    LinkReading,
    MachineReading,
    ServerReading,
)
from harness.capacity.series import Second
from harness.capacity.statuswatch import StatusWatch, watched_status
from harness.lab.emulated import EmulatedLink, RunningLink
from harness.system.accounts import account
from harness.system.netns import Host
from sites.servers.server import ServedRequest, Server

INTERVAL_S = 1.0


@dataclass(frozen=True)
class Watched:
    """What is watched: a server and its host, a link, how many users there are.

    None: nobody tells. A link that is not our emulator's tells nothing while packets cross it.
    """

    server: Server
    host: Host
    link: RunningLink | None = None
    users: Callable[[], int | None] | None = None


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
                lines.write(json.dumps(second.to_json()) + "\n")
                lines.flush()
                self._own_cpu_s = time.thread_time()

    def _until_next(self) -> float:
        """The next whole second since the beginning."""
        return INTERVAL_S - (time.monotonic() - self._began) % INTERVAL_S

    def _read(self) -> Second:
        nothing: Fields = {}
        return Second(
            t_s=round(time.monotonic() - self._began, 3),
            users=self._watched.users() if self._watched.users else None,
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
