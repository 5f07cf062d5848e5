"""Page-load times here and in Mahimahi: the same archive, browser and link settings, loads in turn. Root only.

    sysctl -w net.ipv4.ip_forward=1          # of the machine: Mahimahi's shells have what it has
    .venv/bin/python -m benchmarks.mahimahi --programs PREFIX/bin [--page dummy-2012] [--blocks 15] [--rtt-ms 100]

Mahimahi is no package of Debian: build it by hand (github.com/ravinet/mahimahi; autoconf, automake, libtool, g++,
pkg-config, protobuf-compiler, libprotobuf-dev, apache2-dev, libssl-dev, libxcb-present-dev, libcairo2-dev,
libpango1.0-dev, ssl-cert, iptables, dnsmasq-base). As root, in its sources:

    ./autogen.sh && ./configure --prefix=PREFIX && make PICKY_CXXFLAGS= && make PICKY_CXXFLAGS= install

PICKY_CXXFLAGS holds -Werror, which a newer compiler may run into. A kernel without the device type `dummy` (`ip link add
dummy0 type dummy` fails) needs `./configure IP=SCRIPT`, with a script that makes an `ifb` of it:

    #!/bin/bash -p
    args=("$@")
    for n in "${!args[@]}"; do [ "${args[n]}" = dummy ] && args[n]=ifb; done
    exec /usr/sbin/ip "${args[@]}"

There a load runs in `mm-webreplay RECORDING mm-delay RTT/2 mm-link TRACE TRACE`, begun anew for each load, as its
authors do; here it is a trial over Apache. Both browsers are started by the same code, with the same flags, and both
times are the page's own, navigation start to the end of the load event. Mahimahi replays HTTP/1.1 alone, and what was
recorded over http keeps it. Printed are medians, CV and the ratio with its 95 % interval, by the statistic of reports.
"""

from __future__ import annotations

import contextlib
import math
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from analysis.statistics import LEAST_PAIRS
from benchmarks import common
from harness.engines.browserlog import BrowserLog
from harness.engines.browsers import Drivers
from harness.errors import Outcome
from harness.lab.testbed import CLIENT
from harness.model.engine import DESKTOP
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.probes.probe import TrialOptions
from harness.system.enclosure import WORKSPACE, enclosed
from harness.system.processtree import family
from harness.trial.trial import BrowserLab, browser_lab, run_observed
from harness.trial.venue import surroundings
from sites.archive import Archive, archives_root, open_archive

USER = 1000  # Mahimahi refuses root
PORT, HTTP = 80, 1
NOT_REPLAYED = ("content-length", "transfer-encoding", "connection", "keep-alive")
PERIOD_S = 3
TIMEOUT_S, END_S = 120, 30
SETTLED_S = (
    2.0  # addresses of IPv6 come a while after the interface, and Chromium gives up loads on a new one
)
INNERMOST = "cat"
Words = tuple[str | Path | int, ...]
Shells = Callable[[], contextlib.AbstractContextManager[Path]]


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


def write_recording(archive: Archive, folder: Path) -> None:
    """The archive as a recording of Mahimahi: one RequestResponse a file, all hosts at one address."""
    for place, response in enumerate(archive.responses()):
        url = urlsplit(response.url)
        if url.scheme != "http":
            raise SystemExit(f"{response.url}: give a page that was recorded over http")
        target = url.path + (f"?{url.query}" if url.query else "")
        asked = message(
            f"GET {target} HTTP/1.1", [("Host", url.netloc), ("User-Agent", str(DESKTOP.user_agent))]
        )
        headers = [pair for pair in response.headers if pair[0].lower() not in NOT_REPLAYED]
        answered = message(
            f"HTTP/1.1 {response.status} {response.reason or 'OK'}",
            [*headers, ("Content-Length", str(len(response.body)))],
            response.body,
        )
        record = (
            field(1, b"203.0.113.1") + field(2, PORT) + field(3, HTTP) + field(4, asked) + field(5, answered)
        )
        (folder / f"{place:05d}").write_bytes(record)


def write_trace(mbps: float, path: Path) -> None:
    """A constant rate: a line a packet of 1500 bytes, the whole ms at which it may go; then Mahimahi begins anew."""
    packets = round(PERIOD_S * mbps * 1e6 / 8 / 1500)
    path.write_text(
        "".join(f"{round((place + 1) * PERIOD_S * 1000 / packets)}\n" for place in range(packets))
    )


def linked(link: Link, trace: Path, *options: str) -> Words:
    """The shells of a link of this rate and round trip."""
    return ("mm-delay", round(link.rtt_ms / 2), "mm-link", *options, trace, trace, "--")


@contextlib.contextmanager
def shells(programs: Path, *words: str | Path | int) -> Iterator[Path]:
    """Mahimahi's shells, one in the other; yields the namespace file of the innermost."""
    path = f"PATH={programs}:/usr/sbin:/usr/bin:/sbin:/bin"
    who = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "env", "-i", path, "HOME=/tmp"]
    process = subprocess.Popen([*who, *map(str, (*words, INNERMOST))], stdin=subprocess.PIPE)
    try:
        inner = innermost(process)
        time.sleep(SETTLED_S)
        yield Path(f"/proc/{inner}/ns/net")
        process.communicate(timeout=END_S)  # it ends as its input does, and the shells with it
    finally:
        if process.poll() is None:
            process.kill()


def innermost(process: subprocess.Popen[bytes]) -> int:
    """The process inside all shells, once they are up."""
    while process.poll() is None:
        for pid in family(process.pid):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text() == f"{INNERMOST}\n":
                    return pid
        time.sleep(0.02)
    raise SystemExit("Mahimahi's shells did not start; what they said stands above")


@dataclass(frozen=True)
class Took:
    """The times of a load."""

    plt_ms: float
    waited_ms: float


class Pair:
    """Loads of one page, here and there, by one driver: the host that its browsers run on is a link that is changed."""

    def __init__(
        self, opened: BrowserLab, stack: contextlib.ExitStack, page: str, link: Link, begin: Shells
    ) -> None:
        self._testbed, self._begin = opened.testbed, begin
        self._host = Path(stack.enter_context(TemporaryDirectory(dir=WORKSPACE)), "host")
        self._drivers = Drivers(self._host.parent, stack, self._host)
        self._condition = replace(common.condition(page, Protocol.HTTP1, link), server="apache")

    def _on(self, host: Path) -> None:
        self._host.unlink(missing_ok=True)
        self._host.symlink_to(host)

    def here(self, block: int) -> Took | None:
        self._on(CLIENT.path)
        planned = common.planned(block, self._condition)
        with TemporaryDirectory() as kept:
            record, evidence = run_observed(self._testbed, self._drivers, planned, TrialOptions(), Path(kept))
        if record.outcome is not Outcome.OK or evidence is None:
            print(f"  not counted: {record.outcome}: {record.reason}")
            return None
        return Took(record.observation.plt_ms or math.nan, waited_ms(evidence.of(BrowserLog)))

    def there(self, block: int) -> Took | None:
        endpoint = self._testbed.endpoint(self._condition)
        around = replace(surroundings(self._testbed, endpoint), inner_tls=None)
        self._drivers.prepare(self._condition)
        with self._begin() as host:
            self._on(host)
            with self._drivers.fresh(f"there-{block}", self._condition, around, bodies=False) as fresh:
                with fresh.start() as browser:
                    browser.load(endpoint.start_url, TIMEOUT_S)
                    plt_ms = browser.timeline()["plt_ms"]
                log = fresh.read_log()
        bad = [request for request in log.page_requests if request.failure or request.status != 200]
        if bad:
            print(f"  not counted: {len(bad)} requests failed in Mahimahi, as {bad[0].url}: {bad[0].status}")
            return None
        return Took(plt_ms, waited_ms(log))


def waited_ms(log: BrowserLog) -> float:
    """From a request's last byte to the first of its answer: the median over the page's requests."""
    asked = ((request.answered_ms, request.exchange.sent_ms) for request in log.page_requests)
    return statistics.median(first - sent for first, sent in asked if first is not None and sent is not None)


def measure(page: str, programs: Path, blocks: int, link: Link) -> list[tuple[Took, Took]]:
    """The times of loads here and there that both count. Must run inside an enclosure."""
    archive = open_archive(archives_root(), page)
    source = random.Random(1)  # noqa: S311  # an order, not a secret
    found: list[tuple[Took, Took]] = []
    with (
        TemporaryDirectory(dir="/var/tmp") as parent,
        browser_lab({page: archive}, [Protocol.HTTP1], server="apache") as opened,
        contextlib.ExitStack() as stack,
    ):
        Path(parent).chmod(0o755)
        recording, trace = Path(parent, "recording"), Path(parent, "trace")
        recording.mkdir()
        write_recording(archive, recording)
        write_trace(link.down.rate.mean_mbps, trace)
        words = ("mm-webreplay", recording, *linked(link, trace))
        pair = Pair(opened, stack, page, link, lambda: shells(programs, *words))
        for block in range(1, blocks + 1):
            seen = {load.__name__: load(block) for load in source.sample([pair.here, pair.there], 2)}
            if (here := seen["here"]) and (there := seen["there"]):
                found.append((here, there))
                print(
                    f"  {block}/{blocks}: here {here.plt_ms:.0f} ms, Mahimahi {there.plt_ms:.0f} ms",
                    flush=True,
                )
    return found


def told(page: str, link: Link, found: Sequence[tuple[Took, Took]]) -> None:
    for name, loads in zip(("here", "Mahimahi"), zip(*found, strict=True), strict=True):
        times, waited = [load.plt_ms for load in loads], [load.waited_ms for load in loads]
        spread = statistics.stdev(times) / statistics.mean(times) * 100
        print(
            f"{page}, {link.name}, {name}: median {statistics.median(times):.0f} ms, CV {spread:.1f} %, "
            f"n = {len(times)}; a request waits {statistics.median(waited):.0f} ms"
        )
    if len(found) >= LEAST_PAIRS:
        print(f"Mahimahi / here: {common.ratio([(there.plt_ms, here.plt_ms) for here, there in found])}")


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument(
        "--programs", type=Path, required=True, help="the folder of mm-webreplay, mm-delay, mm-link"
    )
    parser.add_argument("--page", default="dummy-2012")
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--mbps", type=float, default=10)
    parser.add_argument("--rtt-ms", type=float, default=100)
    arguments = parser.parse_args()
    print(common.machine())
    link = Link.of(arguments.mbps, arguments.rtt_ms)

    def command() -> int:
        told(arguments.page, link, measure(arguments.page, arguments.programs, arguments.blocks, link))
        return 0

    return enclosed(command)


if __name__ == "__main__":
    sys.exit(main())
