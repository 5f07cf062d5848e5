"""What an archive costs as it grows: opening it, making a site of it, starting the server, and each answer.

    python benchmarks/archive_size.py [RESPONSES ...]        default: 50 2000 20000

Answers are timed over one kept connection on the server's own host, so that the figure is the server's.
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

from harness.model.protocol import Protocol
from harness.system.enclosure import WORKSPACE, enclosed
from harness.system.netns import host
from sites.archive import Response, open_archive, write_archive
from sites.certificates import Authority
from sites.materialise import materialise
from sites.servers.apache import APACHE
from sites.servers.server import Service
from sites.servers.serving import Deployment, serving
from sites.warc import About

Result = TypeVar("Result")
ADDRESS = "127.1.0.1"
REQUESTS = 500


def recording(count: int) -> Iterator[Response]:
    """A page of 20 hosts: documents, scripts, pictures; every tenth under one path with a query of its own."""
    chance = random.Random(2012)  # noqa: S311 - not for secrets
    yield Response(
        "https://h0.example/", 200, (("Content-Type", "text/html"),), b"<!doctype html><title>t</title>"
    )
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


def measure(count: int) -> dict[str, float]:
    """CPU seconds of this process, but microseconds by the clock per answer."""
    root = WORKSPACE / f"archives-{count}"
    seconds: dict[str, float] = {}
    start = "https://h0.example/"
    timed(
        seconds,
        "write",
        lambda: write_archive(root, "a", About(start, "benchmark", "", ()), recording(count)),
    )
    archive = timed(seconds, "open", lambda: open_archive(root, "a"))
    site = timed(seconds, "materialise", lambda: materialise(archive, "http", determinism=True))
    authority = Authority.create(WORKSPACE / "authority")
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(host("server"))
        made.set_kernel({"ipv4.ip_unprivileged_port_start": 0})
        server = serving(
            APACHE,
            Deployment({"http": site}, [Service(Protocol.HTTP1, ADDRESS)]),
            authority,
            WORKSPACE / f"server-{count}",
            made,
        )
        timed(seconds, "serve", lambda: stack.enter_context(server))
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


def main() -> int:
    """Print one line per size."""
    for count in map(int, sys.argv[1:] or ("50", "2000", "20000")):
        figures = ", ".join(f"{what} {value:.3g}" for what, value in measure(count).items())
        print(f"{count} responses: {figures}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(enclosed(main))
