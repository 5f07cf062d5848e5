"""What others tell while it lasts: lines that logs have gained, a server's status page, the emulator's own counters.

A status page is asked over one connection that is kept, by a thread that may wait as long as it takes: under a crowd a
new connection would stand in the queue with all others, and the page would tell what was long ago.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import os
import re
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from harness.lab.emulated import EmulatedLink
from harness.system.netns import Host
from harness.system.syscalls import punch_hole
from sites.servers.server import Status, StatusPage

LINE_END = b"\n"
SUMMED_BYTES = 8 * 2**20  # of a log: what grew by more at once is not looked through
QUICKLY = 1  # level of zstd: a thousand lines cost 0.3 ms, and become thirty times smaller
STATUS_PATIENCE_S = 0.25
LONGEST_S = 30.0  # for an answer; then the connection is given up, and made anew
# A server that is ending, or ends the process that holds the connection, also answers in part.
FAILURES = (OSError, http.client.HTTPException)
LINK_PATIENCE_S = 0.2
POLL_S = 0.005
DROPS = ("drops_queue", "drops_loss", "drops_codel", "drops_device")


class Tail:
    """Reads a file from where it ended before, whole lines alone, and from its start when it was emptied meanwhile.

    A file that is not there has gained nothing. With `emptying` the lines that were read take no room any more,
    whoever appends to the file meanwhile.
    """

    def __init__(self, file: Path, *, from_now: bool = True, emptying: bool = False) -> None:
        self._file, self._emptying = file, emptying
        self._position = file.stat().st_size if from_now and file.exists() else 0

    def gained(self) -> bytes:
        """The whole lines since the last time."""
        try:
            with self._file.open("r+b" if self._emptying else "rb") as text:
                if os.fstat(text.fileno()).st_size < self._position:
                    self._position = 0
                text.seek(self._position)
                content = text.read()
                whole = content[: content.rfind(LINE_END) + 1]
                self._position += len(whole)
                if self._emptying and whole:
                    punch_hole(text.fileno(), self._position)
        except FileNotFoundError:
            return b""
        return whole


class PackedLines:
    """Lines of a log, kept small: a crowd makes millions of them."""

    def __init__(self) -> None:
        self._packed = io.BytesIO()
        self._packing = zstandard.ZstdCompressor(level=QUICKLY).compressobj()

    def add(self, lines: bytes) -> None:
        """Keep some more."""
        self._packed.write(self._packing.compress(lines))

    def unpacked(self) -> Iterator[bytes]:
        """Every line with its end. No more can be added then."""
        self._packed.write(self._packing.flush())
        self._packed.seek(0)
        yield from io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(self._packed))


@dataclass(frozen=True)
class Gain:
    """What a request log has gained: requests, and the bytes of their answers' bodies; None: too many to add up."""

    hits: int
    bytes: int | None


class RequestTail:
    """A server's request log, which lies in memory: it is emptied as it is read, and its lines are kept packed.

    `body_bytes` finds the bytes of the body in each line.
    """

    def __init__(self, log: Path, body_bytes: re.Pattern[bytes]) -> None:
        self._tail, self._body_bytes = Tail(log, emptying=True), body_bytes
        self._kept = PackedLines()

    def gained(self) -> Gain:
        """What has been added since the last time."""
        text = self._tail.gained()
        self._kept.add(text)
        hits = text.count(LINE_END)
        if len(text) > SUMMED_BYTES:
            return Gain(hits, None)
        return Gain(hits, sum(map(int, self._body_bytes.findall(text))))

    def lines(self) -> Iterator[bytes]:
        """Every line from the beginning to now; to be asked for once, at the end."""
        self.gained()
        yield from self._kept.unpacked()


class StatusWatch:
    """Asks a status page. Made by `watched_status`."""

    def __init__(self, page: StatusPage, host: Host, thread: ThreadPoolExecutor) -> None:
        self._page, self._host, self._thread = page, host, thread
        self._connection = http.client.HTTPConnection(page.address, page.port, timeout=LONGEST_S)
        self._asked: Future[Status | None] | None = None
        self.questions = 0  # that have been answered
        self.cpu_s = 0.0  # that asking has cost us

    def ask(self) -> Status | None:
        """The status now; None when it does not come at once. A question under way is not asked a second time."""
        if self._asked is None or self._asked.done():
            self._asked = self._thread.submit(self._answer)
        try:
            answer = self._asked.result(STATUS_PATIENCE_S)
        except TimeoutError:
            return None
        self._asked = None
        return answer

    def _answer(self) -> Status | None:
        began = time.thread_time()
        try:
            if self._connection.sock is None:
                with self._host.entered():
                    self._connection.connect()
            self._connection.request("GET", self._page.target)
            text = self._connection.getresponse().read().decode("latin-1")
        except FAILURES:
            self._connection.close()
            return None
        finally:
            self.cpu_s += time.thread_time() - began
        self.questions += 1
        return self._page.parse(text)

    def give_up(self) -> None:
        """Wait for no answer any more."""
        with contextlib.suppress(OSError, AttributeError):  # not connected
            self._connection.sock.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def watched_status(page: StatusPage | None, host: Host) -> Iterator[StatusWatch | None]:
    """A watch over a status page on a host for the length of the block, already connected; None where there is none."""
    if page is None:
        yield None
        return
    with ThreadPoolExecutor(1, "status") as thread:
        watch = StatusWatch(page, host, thread)
        watch.ask()
        try:
            yield watch
        finally:
            watch.give_up()


@dataclass(frozen=True)
class Counters:
    """Since the emulator started: its CPU, and by direction the packets and IP bytes that left it, and those lost."""

    cpu_s: float
    down_packets: int
    up_packets: int
    down_bytes: int
    up_bytes: int
    down_drops: int
    up_drops: int


class LinkWatch:
    """Asks an emulator for its counters."""

    def __init__(self, link: EmulatedLink) -> None:
        self._pid, self._tail = link.pid, Tail(link.log)

    def ask(self) -> Counters | None:
        """The counters now; None when they do not come at once."""
        self._tail.gained()  # what others asked for
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGUSR1)
        deadline = time.monotonic() + LINK_PATIENCE_S
        while time.monotonic() < deadline:
            time.sleep(POLL_S)
            for line in self._tail.gained().splitlines():
                with contextlib.suppress(ValueError):  # what it complains of
                    event = json.loads(line)
                    if event["event"] == "stats":
                        return counters(event)
        return None


def counters(event: Mapping[str, Any]) -> Counters:
    """What the emulator says, as a value. Pure."""
    down, up = event["down"], event["up"]
    return Counters(
        cpu_s=event["cpu_user_s"] + event["cpu_system_s"],
        down_packets=down["packets_out"],
        up_packets=up["packets_out"],
        down_bytes=down["bytes_out"],
        up_bytes=up["bytes_out"],
        down_drops=sum(down[name] or 0 for name in DROPS),
        up_drops=sum(up[name] or 0 for name in DROPS),
    )
