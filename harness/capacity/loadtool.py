"""What makes the load on a server, as it is started: a tool that asks for one URL without a pause, with what it is
asked and says, its warm-up, end and cost; or a generator of users, a plan in and a line per page out.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import select
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from harness.errors import TestbedFailed
from harness.input.shown import shown
from harness.model.kind import OUTPUT
from harness.model.protocol import Protocol
from harness.system.netns import Host
from harness.system.process import Process, running
from harness.system.processtree import cpu_seconds, is_stopped
from harness.system.program import Command

PLAN_NAME = "plan.json"  # of users
PERCENTILES = (50, 90, 99, 99.9)  # in the order of `Latency`
PATIENCE_S = 30.0  # beyond its seconds, for a tool on a very busy machine to end
LOOK_S = 0.02
CHECK_S = 1.0  # a check costs some ms of the cores that are measured


@dataclass(frozen=True)
class ClosedLoop:
    """One URL, asked for over so many `connections` by one protocol, each with `depth` requests under way.

    What is answered in `seconds` counts, after `warm_s` that do not. `codings` are what the answer may be coded by.
    """

    url: str
    protocol: Protocol
    connections: int
    depth: int
    seconds: float
    warm_s: float = 0.0
    codings: tuple[str, ...] = ()
    threads: int = 1

    @property
    def accepted(self) -> str:
        """The value of Accept-Encoding."""
        return ", ".join(self.codings) or "identity"


@dataclass(frozen=True)
class Latency:
    """From a request to the end of its answer, in ms; None where that was longer than the tool tells."""

    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    p999_ms: float | None


@dataclass(frozen=True)
class RateReading:
    """What a tool says of the seconds that count.

    `requests` are those answered with a status below 400, `errors` counts the others by kind. `bytes_read` are bytes on
    the sockets without TLS. None is what the tool does not tell: `bytes_body` without headers, `latency`, `batch` (from
    the first request of a batch to its last answer), `under_way` (how many requests were under way at once on all
    connections, on the average), `protocol` by its ALPN name, `tls` as logs of servers name it.
    """

    seconds: float
    requests: int
    errors: Mapping[str, int]
    bytes_read: int
    bytes_body: int | None = None
    latency: Latency | None = None
    batch: Latency | None = None
    under_way: float | None = None
    protocol: str | None = None
    tls: str | None = None

    @property
    def requests_per_s(self) -> float:
        return self.requests / self.seconds


def percentiles(counts: Mapping[int, int], beyond: int = 0) -> Latency:
    """Of microseconds with how often there were so many: the least that the share of them does not exceed.

    `beyond`: how many more times there were, which were longer than all that is told.
    """
    values = sorted(counts)
    reached = list(accumulate(counts[value] for value in values))
    wanted = [math.ceil(share / 100 * (reached[-1] + beyond)) for share in PERCENTILES]
    told = list(zip(values, reached, strict=True))
    return Latency(*(next((us / 1000 for us, total in told if total >= rank), None) for rank in wanted))


def there_were(**errors: int) -> dict[str, int]:
    """The kinds of errors without those that did not happen."""
    return {kind: count for kind, count in errors.items() if count}


def told_by(tool: str, lines: Iterable[str], known: Sequence[re.Pattern[str]]) -> dict[str, str]:
    """What the groups of the patterns catch; TestbedFailed for a line that the tool is not known to print."""
    told: dict[str, str] = {}
    for line in lines:
        first_match = next((match for pattern in known if (match := pattern.fullmatch(line))), None)
        if first_match is None:
            raise TestbedFailed(f"{tool} printed a strange line: {shown(line)}")
        told |= {name: value for name, value in first_match.groupdict().items() if value is not None}
    return told


@dataclass(frozen=True)
class RateTool:
    """A tool as it is started and read.

    `command` takes a folder for files of its own, where `read` looks for them beside the output. `counts_from` is what
    it prints when its warm-up is over; a tool without one is run twice, and the first run does not count. `few` is the
    command for so many requests and no more (`rateproof.burst`); None for a tool that sends its requests in
    batches, or whose server tells.
    """

    name: str
    command: Callable[[ClosedLoop, Path], Command]
    read: Callable[[str, ClosedLoop, Path], RateReading]
    version: Callable[[], str]
    counts_from: str | None = None
    threaded: bool = True
    few: Callable[[ClosedLoop, int], Command] | None = None


@dataclass(frozen=True)
class ToolWatch:
    """What the caller does meanwhile.

    `began` is called when the counting begins, `check` once a second; it may raise. `pinned` takes the number of the
    tool's process, once it runs.
    """

    began: Callable[[], None]
    check: Callable[[], None]
    pinned: Callable[[int], AbstractContextManager[None]] = lambda _: nullcontext()


@dataclass(frozen=True)
class Ran:
    """A tool that has ended: its output, and its CPU seconds since the counting began."""

    said: str
    cpu_s: float | None


def run_tool(tool: RateTool, loop: ClosedLoop, network: Path | None, folder: Path, watch: ToolWatch) -> Ran:
    """Run the tool on a host, by the file of its namespace; TestbedFailed when it dies, is stopped or does not end."""
    if tool.counts_from is None and loop.warm_s:
        warming = replace(loop, seconds=loop.warm_s, warm_s=0.0)
        _run(tool, warming, network, folder / "warm-up", replace(watch, began=lambda: None))
    return _run(tool, loop, network, files_of(folder), watch)


def files_of(folder: Path) -> Path:
    """The folder for the files of the run that counts."""
    return folder / "counted"


def _run(tool: RateTool, loop: ClosedLoop, network: Path | None, folder: Path, watch: ToolWatch) -> Ran:
    folder.mkdir()
    log = folder / OUTPUT
    counting = _Counting(tool, watch)
    if tool.counts_from is None:
        counting.begin(0.0)
    with running(tool.command(loop, folder).on(network).with_all_descriptors(), log) as process:
        with watch.pinned(process.pid):
            _until_it_ends(tool, loop, process, counting)
            cpu_s = cpu_seconds(process.pid)  # nobody has waited for it yet
        code = process.end()
    if code != 0:
        raise TestbedFailed(f"{tool.name} died (exit code {code}): {process.last_lines()}")
    if counting.before_s is None:
        raise TestbedFailed(f"{tool.name} ended before it counted: {process.last_lines()}")
    used_s = None if cpu_s is None else round(cpu_s - counting.before_s, 3)
    return Ran(log.read_text(errors="replace"), used_s)


class _Counting:
    """Whether the seconds that count have begun, and what CPU time the tool had used until then."""

    def __init__(self, tool: RateTool, watch: ToolWatch) -> None:
        self._tool = tool
        self._watch = watch
        self.before_s: float | None = None

    @property
    def pause_s(self) -> float:
        """Until the next look: looks cost time of the cores that are measured."""
        return LOOK_S if self.before_s is None else CHECK_S

    def begin(self, before_s: float) -> None:
        self._watch.began()
        self.before_s = before_s

    def look(self, process: Process) -> None:
        """Begin when the tool says so."""
        said = self._tool.counts_from
        if self.before_s is None and said is not None and said in process.log.read_text(errors="replace"):
            self.begin(cpu_seconds(process.pid) or 0.0)

    def check(self) -> None:
        self._watch.check()


def _until_it_ends(tool: RateTool, loop: ClosedLoop, process: Process, counting: _Counting) -> None:
    """Until the process ends, which the kernel is not told that we know: what it used can still be read."""
    start = checked = time.monotonic()
    ended = os.pidfd_open(process.pid)
    try:
        while not select.select([ended], [], [], counting.pause_s)[0]:
            counting.look(process)
            if time.monotonic() - checked < CHECK_S:
                continue
            checked = time.monotonic()
            counting.check()
            if is_stopped(process.pid):
                raise TestbedFailed(f"{tool.name} is stopped: somebody sent it SIGSTOP, or debugs it")
            if checked - start > loop.warm_s + loop.seconds + PATIENCE_S:
                raise TestbedFailed(
                    f"{tool.name} did not end within {PATIENCE_S:g} s after its {loop.seconds:g} s: "
                    f"{process.last_lines()}"
                )
    finally:
        os.close(ended)


@dataclass(frozen=True)
class UserGenerator:
    """A generator as it is started.

    `command` takes the plan's file, and a folder for files of its own. `version` is name and version; EnvironmentLacks
    when it cannot run here. `threads` is how many of its threads load pages, None: as many as there are cores.
    """

    name: str
    command: Callable[[Path, Path], Command]
    version: Callable[[], str]
    threads: int | None = None

    def log(self, files: Path) -> Path:
        """What it said beside the lines of the pages."""
        return files / f"{self.name}.log"

    @contextlib.contextmanager
    def generating(self, plan: Mapping[str, Any], host: Host, files: Path) -> Iterator[Process]:
        """A crowd on a host for the length of the block. It ends by itself when its time is over (`check_ended_well`).

        The plan says what is loaded, by whom and when. The lines of the pages come to the plan's `lines`, each whole
        as its page ends. Plan and log are in `files`.
        """
        files.mkdir(parents=True, exist_ok=True)
        file = files / PLAN_NAME
        file.write_text(json.dumps(plan) + "\n", encoding="utf-8")
        command = self.command(file, files).named(self.name).on(host.path).dying_with_us()
        with running(command, self.log(files)) as process:
            yield process
