"""What an archive costs as it grows: opening it, making a site of it, starting a server, and each answer.

    python benchmarks/archive_size.py [--server NAME] [RESPONSES ...]        default: apache, 50 2000 20000
    python benchmarks/archive_size.py --load 10000

Answers are timed over one kept connection on the server's own host, so that the figure is the server's. `--load`: how
long a page of so many tiny pictures takes to load in Chromium by each of today's protocols.
"""

from __future__ import annotations

import contextlib
import http.client
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from benchmarks import common
from harness.lab.testbed import SERVERS
from harness.model.link import Link
from harness.model.protocol import TODAY, Protocol
from harness.probes.probe import TrialOptions
from harness.system.enclosure import WORKSPACE, enclosed
from harness.system.netns import host
from harness.trial.trial import browser_lab
from sites.archive import open_archive
from sites.certificates import Authority
from sites.materialise import materialise
from sites.response import Response
from sites.servers.server import Service
from sites.servers.serving import Deployment, serving

Result = TypeVar("Result")
ADDRESS = "127.1.0.1"
REQUESTS = 500
LOADED_OVER, TIMEOUT_S = Link.of(100, 10), 300.0
TINY = bytes.fromhex(
    "47494638396101000100800000000000ffffff2c00000000010001000002024401003b"
)  # a GIF of one pixel


def recording(count: int) -> Iterator[Response]:
    """A page of 20 hosts: documents, scripts, pictures; every tenth under one path with a query of its own."""
    chance = random.Random(2012)  # noqa: S311 - not for secrets
    for number in range(1, count):
        url = f"https://h{number % 20}.example/{number // 100}/{number}"
        if number % 10 == 0:
            url = f"https://h1.example/api?session={chance.randrange(10**9)}&id={number}"
        mime = ("text/html", "text/javascript", "image/png")[number % 3]
        links = b'<a href="https://h1.example/x">' * 20 if mime != "image/png" else b""
        yield Response(url, 200, (("Content-Type", mime),), links + chance.randbytes(4000).hex().encode())


def timed(seconds: dict[str, float], what: str, done: Callable[[], Result]) -> Result:
    """The result of a call; its CPU time is noted, as others may use the machine, too."""
    before = time.process_time()
    result = done()
    seconds[what] = time.process_time() - before
    return result


def measure(count: int, name: str) -> dict[str, float]:
    """CPU seconds of this process, or of the server while it starts, but microseconds by the clock per answer."""
    root = WORKSPACE / f"archives-{count}"
    seconds: dict[str, float] = {}
    page = common.html("https://h0.example/", "<!doctype html><title>t</title>")
    timed(seconds, "write", lambda: common.archived(root, "a", page, recording(count)))
    archive = timed(seconds, "open", lambda: open_archive(root, "a"))
    site = timed(seconds, "materialise", lambda: materialise(archive, "http", determinism=True))
    authority = Authority.create(WORKSPACE / "authority")
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(host("server"))
        made.set_kernel({"ipv4.ip_unprivileged_port_start": 0})
        server = serving(
            SERVERS[name],
            Deployment({"http": site}, [Service(Protocol.HTTP1, ADDRESS)]),
            authority,
            WORKSPACE / f"server-{count}",
            made,
        )
        running = timed(seconds, "serve", lambda: stack.enter_context(server))
        seconds["start"] = running.cpu_seconds() or 0.0
        stack.enter_context(made.entered())
        seconds.update(answers(count))
    return seconds


def answers(count: int) -> dict[str, float]:
    """The median time of an answer of each kind."""
    chance = random.Random(1)  # noqa: S311 - not for secrets
    recorded = [f"/{number // 100}/{number}" for number in range(1, count) if number % 20 == 1]
    asked: dict[str, Callable[[], str]] = {
        "exact": lambda: chance.choice(recorded),
        "closest": lambda: f"/api?session={chance.randrange(10**9)}&id={chance.randrange(count)}",
        "miss": lambda: f"/nothing/{chance.randrange(10**9)}",
    }
    connection = http.client.HTTPConnection(ADDRESS)
    medians = {}
    for what, target in asked.items():
        taken = []
        for _ in range(REQUESTS):
            before = time.perf_counter()
            connection.request("GET", target(), headers={"Host": "h1.example"})
            connection.getresponse().read()
            taken.append((time.perf_counter() - before) * 1e6)
        medians[f"{what} (us)"] = statistics.median(taken)
    return medians


def load(count: int) -> int:
    """Load a page of so many pictures once by each protocol and print the times."""
    start = "https://site.example/"
    page = common.html(
        start, "<!doctype html>" + "".join(f"<img src=/{number}.gif>" for number in range(count))
    )
    kind = (("Content-Type", "image/gif"),)
    pictures = (Response(f"{start}{number}.gif", 200, kind, TINY) for number in range(count))
    archive = common.archived(WORKSPACE / "archives", "page", page, pictures)
    with browser_lab({"page": archive}, TODAY) as opened:
        for number, protocol in enumerate(TODAY, 1):
            cell = common.condition("page", protocol, LOADED_OVER)
            record = common.load(opened, cell, number, WORKSPACE / "kept", TrialOptions(TIMEOUT_S))
            if record:
                print(f"{protocol:12} {(record.observation.plt_ms or 0) / 1000:6.1f} s", flush=True)
    return 0


def main() -> int:
    """Print one line per size."""
    reader = common.parser(__doc__)
    reader.add_argument("--server", choices=sorted(SERVERS), default="apache")
    reader.add_argument("--load", type=int, metavar="PICTURES")
    reader.add_argument("responses", type=int, nargs="*", default=(50, 2000, 20000))
    chosen = reader.parse_args()
    if chosen.load:
        return load(chosen.load)
    for count in chosen.responses:
        figures = ", ".join(f"{what} {value:.3g}" for what, value in measure(count, chosen.server).items())
        print(f"{count} responses: {figures}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(enclosed(main))
