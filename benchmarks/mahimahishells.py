"""Mahimahi's side of `benchmarks.mahimahi`: an archive as its recording, a rate as its trace, its shells as hosts."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from harness.model.engine import DESKTOP
from harness.model.link import Link
from harness.system.netns import Host
from harness.system.processtree import family
from sites.archive import Archive

USER = 1000  # Mahimahi refuses root
ADDRESS, PORT, HTTP = "203.0.113.1", 80, 1
NOT_REPLAYED = ("content-length", "transfer-encoding", "connection", "keep-alive")
PERIOD_S = 3
END_S = 30  # for a shell to start, and to end
INNERMOST = "cat"
# A shell refuses to start on a host without it, and the host inside has what the machine has.
NEEDED = {"ipv4.ip_forward": 1}
OUTSIDE = Host("outside", Path("/proc/self/ns/net"))  # where the first shell begins
# Addresses of IPv6 come a while after the interface, and Chromium gives up loads on a new one.
SETTLED_S = 2.0
Words = tuple[str | Path | int, ...]


def number(value: int) -> bytes:
    """A varint of Protocol Buffers."""
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + number(rest) if rest else bytes([low])


def field(key: int, value: int | bytes) -> bytes:
    """A field of a message of Protocol Buffers."""
    if isinstance(value, int):
        return number(key << 3) + number(value)
    return number(key << 3 | 2) + number(len(value)) + value


def message(first: str, headers: Sequence[tuple[str, str]], body: bytes = b"") -> bytes:
    """Mahimahi's HTTPMessage (src/protobufs/http_record.proto)."""
    pairs = (field(1, name.encode()) + field(2, value.encode("latin-1")) for name, value in headers)
    return field(1, first.encode()) + b"".join(field(2, pair) for pair in pairs) + field(3, body)


def asked_with(netloc: str) -> list[tuple[str, str]]:
    """The headers by which Mahimahi tells requests apart."""
    return [("Host", netloc), ("User-Agent", str(DESKTOP.user_agent))]


def write_recording(archive: Archive, folder: Path) -> None:
    """The archive as a recording of Mahimahi: one RequestResponse a file, all hosts at one address."""
    for place, response in enumerate(archive.responses()):
        url = urlsplit(response.url)
        if url.scheme != "http":
            raise SystemExit(f"{response.url}: give a page that was recorded over http")
        target = url.path + (f"?{url.query}" if url.query else "")
        asked = message(f"GET {target} HTTP/1.1", asked_with(url.netloc))
        headers = [pair for pair in response.headers if pair[0].lower() not in NOT_REPLAYED]
        answered = message(
            f"HTTP/1.1 {response.status} {response.reason or 'OK'}",
            [*headers, ("Content-Length", str(len(response.body)))],
            response.body,
        )
        record = (
            field(1, ADDRESS.encode())
            + field(2, PORT)
            + field(3, HTTP)
            + field(4, asked)
            + field(5, answered)
        )
        (folder / f"{place:05d}").write_bytes(record)


def write_trace(mbps: float, path: Path) -> None:
    """A constant rate: a line a packet of 1500 bytes, the whole ms at which it may go; then Mahimahi begins anew."""
    packets = round(PERIOD_S * mbps * 1e6 / 8 / 1500)
    path.write_text(
        "".join(f"{round((place + 1) * PERIOD_S * 1000 / packets)}\n" for place in range(packets))
    )


def delaying(link: Link) -> Words:
    """The shell of a link's round trip."""
    return "mm-delay", round(link.rtt_ms / 2)


def limiting(trace: Path, *options: str) -> Words:
    """The shell of a link's rate, which is that of the trace either way."""
    return "mm-link", *options, trace, trace, "--"


@contextlib.contextmanager
def shell(programs: Path, on: Host, *words: str | Path | int) -> Iterator[Host]:
    """The host inside one of Mahimahi's shells, which is started on another host."""
    path = f"PATH={programs}:/usr/sbin:/usr/bin:/sbin:/bin"
    user = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups")
    command = [*user, "env", "-i", path, "HOME=/tmp", *map(str, words), INNERMOST]
    on.set_kernel(NEEDED)
    with on.entered():
        process = subprocess.Popen(command, stdin=subprocess.PIPE)
    try:
        yield Host("mahimahi", Path(f"/proc/{innermost(process)}/ns/net"))
    finally:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=END_S)  # it ends as its input does
        if process.poll() is None:
            process.kill()


def innermost(process: subprocess.Popen[bytes]) -> int:
    """The process inside a shell, once that is up."""
    ends_s = time.monotonic() + END_S
    while process.poll() is None and time.monotonic() < ends_s:
        for pid in family(process.pid):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text() == f"{INNERMOST}\n":
                    return pid
        time.sleep(0.02)
    raise SystemExit(f"{process.args!r} did not start; what it said stands above")


@dataclass(frozen=True)
class Mahimahi:
    """Its programs, a recording of a page, and the trace of a link."""

    programs: Path
    recording: Path
    trace: Path
    link: Link

    @contextlib.contextmanager
    def served(self) -> Iterator[Host]:
        """The host on which mm-webreplay serves the recording."""
        with shell(self.programs, OUTSIDE, "mm-webreplay", self.recording) as inner:
            yield inner

    @contextlib.contextmanager
    def linked(self, server: Host, *addresses: str) -> Iterator[Host]:
        """A host that reaches these addresses of the server by mm-delay and mm-link."""
        with shell(self.programs, server, *delaying(self.link)) as between:
            # A shell takes the first address of 10.0.0.0/24 that its host has not, nor a route to: not the server's.
            between.configure(*(f"route add {address}/32 dev ingress" for address in addresses))
            with shell(self.programs, between, *limiting(self.trace)) as inner:
                yield inner
