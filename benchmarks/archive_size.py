"""What an archive costs as it grows: opening it, making a site of it, starting a server, and each answer.

    .venv/bin/python -m benchmarks.archive_size [--server NAME] [--runs 3] [--into DIR] [RESPONSES ...]
    .venv/bin/python -m benchmarks.archive_size --load 10000 [--runs 3] [--into DIR]

By default of Apache with 50, 2000 and 20000 responses; medians of the runs with their range. Answers are timed over one
kept connection on the server's own host, so that the figure is the server's. `--load`: how long a page of so many tiny
pictures takes to load by each of today's protocols.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from benchmarks import common, quoted
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
FIGURES = {  # what each is told as, and its digits
    "materialise": ("making the site, CPU, s", 2),
    "serve": ("writing files and configuration, CPU, s", 2),
    "start": ("the server until it is ready, CPU, s", 2),
    "exact": ("an exact answer, us", 0),
    "closest": ("an answer by the closest query, us", 0),
    "miss": ("a miss, us", 0),
}
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


def measured(count: int, name: str, runs: int) -> Mapping[str, str]:
    """The figures of a size, as they are told."""
    seen = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory(dir=WORKSPACE) as folder:
            seen.append(measure(count, name, Path(folder)))
    return {
        told: common.spread([run[what] for run in seen], digits) for what, (told, digits) in FIGURES.items()
    }


def measure(count: int, name: str, folder: Path) -> dict[str, float]:
    """CPU seconds of this process, or of the server while it starts, but microseconds by the clock per answer."""
    root = folder / "archives"
    seconds: dict[str, float] = {}
    page = common.html("https://h0.example/", "<!doctype html><title>t</title>")
    timed(seconds, "write", lambda: common.archived(root, "a", page, recording(count)))
    archive = timed(seconds, "open", lambda: open_archive(root, "a"))
    site = timed(seconds, "materialise", lambda: materialise(archive, "http", determinism=True))
    authority = Authority.create(folder / "authority")
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(host("server"))
        made.set_kernel({"ipv4.ip_unprivileged_port_start": 0})
        server = serving(
            SERVERS[name],
            Deployment({"http": site}, [Service(Protocol.HTTP1, ADDRESS)]),
            authority,
            folder / "server",
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
        medians[what] = statistics.median(taken)
    return medians


def loads(count: int, runs: int) -> dict[str, list[float]]:
    """The seconds that a page of so many pictures takes by each protocol, of the loads that count."""
    start = "https://site.example/"
    page = common.html(
        start, "<!doctype html>" + "".join(f"<img src=/{number}.gif>" for number in range(count))
    )
    kind = (("Content-Type", "image/gif"),)
    pictures = (Response(f"{start}{number}.gif", 200, kind, TINY) for number in range(count))
    archive = common.archived(WORKSPACE / "archives", "page", page, pictures)
    taken: dict[str, list[float]] = {}
    with browser_lab({"page": archive}, TODAY) as opened:
        for run in range(runs):
            for place, protocol in enumerate(TODAY):
                cell, number = common.condition("page", protocol, LOADED_OVER), run * len(TODAY) + place + 1
                record = common.load(opened, cell, number, WORKSPACE / "kept", TrialOptions(TIMEOUT_S))
                if record:
                    taken.setdefault(protocol, []).append((record.observation.plt_ms or 0) / 1000)
                    print(f"{protocol:12} {taken[protocol][-1]:6.1f} s", flush=True)
    return taken


def of_loads(chosen: argparse.Namespace) -> int:
    part = quoted.Part("archive", "load", common.ENGINE)
    rows = [
        {"protocol": protocol, "loads": str(len(seconds)), "load_s": common.spread(seconds)}
        for protocol, seconds in loads(chosen.load, chosen.runs).items()
    ]
    if chosen.into:
        part.keep(chosen.into, rows, ["protocol"])
    return 0


def of_sizes(chosen: argparse.Namespace) -> int:
    part, of_size = quoted.Part("archive", chosen.server), dict[int, Mapping[str, str]]()
    for count in chosen.responses:
        of_size[count] = measured(count, chosen.server, chosen.runs)
        told = "; ".join(f"{what} {value}" for what, value in of_size[count].items())
        print(f"{count} responses: {told}", flush=True)
    if chosen.into:
        part.keep(chosen.into, _by_size(of_size), ["figure"])
    return 0


def _by_size(of_size: Mapping[int, Mapping[str, str]]) -> Sequence[Mapping[str, str]]:
    told = [figure for figure, _ in FIGURES.values()]
    return [
        {"figure": figure, **{f"of_{count}": seen[figure] for count, seen in of_size.items()}}
        for figure in told
    ]


def main() -> int:
    reader = common.parser(__doc__)
    reader.add_argument("--server", choices=sorted(SERVERS), default="apache")
    reader.add_argument("--load", type=int, metavar="PICTURES")
    reader.add_argument("--runs", type=int, default=3)
    reader.add_argument("responses", type=int, nargs="*", default=(50, 2000, 20000))
    quoted.add_into(reader)
    chosen = reader.parse_args()
    print(common.machine())
    return of_loads(chosen) if chosen.load else of_sizes(chosen)


if __name__ == "__main__":
    sys.exit(enclosed(main))
