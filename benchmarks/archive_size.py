"""What an archive costs as it grows: opening it, making a site of it, starting a server, and each answer.

    python benchmarks/archive_size.py [--server NAME] [RESPONSES ...]        default: apache, 50 2000 20000

Answers are timed over one kept connection on the server's own host, so that the figure is the server's.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from harness.lab.testbed import SERVERS
from harness.model.protocol import Protocol
from harness.system.enclosure import WORKSPACE, enclosed
from harness.system.netns import host
from sites.archive import Response, open_archive, write_archive
from sites.certificates import Authority
from sites.materialise import materialise
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


def measure(count: int, name: str) -> dict[str, float]:
    """CPU seconds of this process, or of the server while it starts, but microseconds by the clock per answer."""
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


def main() -> int:
    """Print one line per size."""
    reader = argparse.ArgumentParser()
    reader.add_argument("--server", choices=sorted(SERVERS), default="apache")
    reader.add_argument("responses", type=int, nargs="*", default=(50, 2000, 20000))
    chosen = reader.parse_args()
    for count in chosen.responses:
        figures = ", ".join(f"{what} {value:.3g}" for what, value in measure(count, chosen.server).items())
        print(f"{count} responses: {figures}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(enclosed(main))
