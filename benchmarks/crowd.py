"""What a virtual user costs the generator, and whether its page times are those of the browser. Some minutes.

    .venv/bin/python -m benchmarks.crowd [--runs 3] [--only cpu clients memory times] [--into DIR]

`cpu` and `memory`: the page is `icons-2013` (HTML of 9.5 kB and 50 icons), from Caddy, over a link to each user of 40
ms down and 45 ms up. CPU is that of the generator while the crowd is there, without its start.

`clients`: the same over HTTP/2 by three clients, which take turns: that of golang.org/x/net, which users had before;
that which they have; and the floor, a program that makes the same connections and requests and only counts the frames
that come (`benchmarks/floor.go`). The first of these is built from the history of this repository, once.

`times`: twenty users load `dummy-2012`, by SPDY five, as the gateway is slow; each behind a link of 5 Mbit/s and 85 ms.
In the browser it is loaded over the same link, before the crowd comes and after it has gone. The network time of a load
is from asking for the document to the last byte of the last object. A figure is the median page time of a run's crowd
in units of the median network time. A browser asks for what it finds while the document arrives, a user when all of it
is there: how much later that is, is told, and the figure without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import common
from benchmarks.link import Row, Setting, program
from harness.capacity.crowdtrial import CrowdOptions, run_crowd_trial
from harness.capacity.k6 import COLLECT_PERCENT, K6, SOURCES, build, built, crowd_by, k6_version, program_path
from harness.capacity.loadtool import UserGenerator
from harness.capacity.recipe import PageRecipe, in_the_browser, network_ms, proved_recipe
from harness.capacity.resources import allotted_here, connections_per_host, starting_on
from harness.engines.browserlog import Request
from harness.errors import Outcome, TestbedFailed
from harness.lab.testbed import testbed
from harness.model.condition import Condition
from harness.model.engine import Engine, speaking
from harness.model.kind import Kind, Users
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.serversettings import Tuning
from harness.model.settings import Replay
from harness.model.underload import CrowdObservation
from harness.probes.harentry import asked_ms
from harness.probes.probe import TrialOptions
from harness.probes.timeline import load_requests
from harness.system.accounts import proportional_bytes
from harness.system.enclosure import WORKSPACE
from harness.system.folders import cache_folder, made_folder
from harness.system.processtree import cpu_seconds, family
from harness.system.program import Command, run
from harness.trial.trial import BrowserLab, browser_lab, run_observed
from sites.archive import Archive, archives_root, open_archive
from sites.recipes import RECIPES, package_cache

PAGE = "icons-2013"
LINK = replace(Link.of(20, 85, 20, delays_ms=(40, 45)), per_client=True)
CPU_MS = {Protocol.HTTP1: 6, Protocol.HTTPS1: 12, Protocol.H2: 6, Protocol.H3: None}  # a page at most
FEW = Users(steps=(30,), step_s=20, think_s=1, page_timeout_s=20, bucket_s=5)
START_S, LOOK_S = 4.0, 1.0
# As many pages a second as two cores carry, so that users think and are there at once.
MANY = Users(start=1, to=1000, over_s=60, think_s=25, page_timeout_s=60, bucket_s=5)
MEMORY_MB = 1500


@dataclass(frozen=True)
class Cost:
    """Of a crowd after its start: pages that ended, their CPU and the server's, and the most memory at any time."""

    pages: int
    failed: int
    cpu_ms_per_page: float
    memory_mb: float
    server_ms_per_page: float


def cost(setting: Setting, protocol: Protocol, users: Users, generator: UserGenerator = K6) -> Cost:
    """What a crowd cost a generator."""
    with TemporaryDirectory(dir=WORKSPACE) as folder, testbed(device=setting.device) as made:
        files = Path(folder)
        archive = RECIPES[PAGE].archive(files / "archives", package_cache())
        made.serve(archive, [protocol])
        endpoint = made.endpoint_of(PAGE, protocol)
        scheme = endpoint.start_url.partition(":")[0]
        urls = [entry.url.replace("http://", f"{scheme}://", 1) for entry in archive.entries]
        with made.client(LINK, count=users.most) as client, starting_on(allotted_here().generator):
            plan = {
                "document": endpoint.start_url,
                "objects": [{"url": url} for url in urls if url != endpoint.start_url],
                "resolver": endpoint.address,
                "protocol": protocol.value,
                "connections_per_host": connections_per_host(protocol),
                "timeout_ms": 1000 * users.page_timeout_s,
                "tls": endpoint.replay.tls,
                "ca": str(made.authority.certificate_file),
                "addresses": list(client.addresses),
                "think_ms": 1000 * users.think_s,
                "users": users.to_json(),
                "lines": str(files / "pages.jsonl"),
                "epoch_ns": time.monotonic_ns(),
            }
            with generator.generating(plan, client.host, files) as running:
                running.wait_until((files / "pages.jsonl").exists, 60)
                time.sleep(START_S)
                before, cpu = pages(files), cpu_seconds(running.pid) or 0.0
                served = served_by = endpoint.server.cpu_seconds() or 0.0
                most, now = 0, cpu
                while not running.ends_within(LOOK_S):
                    now = cpu_seconds(running.pid) or now
                    served_by = endpoint.server.cpu_seconds() or served_by
                    after = pages(files)
                    most = max(most, proportional_bytes(family(running.pid)) or 0)
                running.check_ended_well()
    counted = after[len(before) :]
    failed = sum(page["ms"] is None for page in counted)
    per_page = 1000 / len(counted)
    return Cost(len(counted), failed, (now - cpu) * per_page, most / 1e6, (served_by - served) * per_page)


def pages(files: Path) -> list[dict[str, Any]]:
    """The lines that are whole."""
    return [
        json.loads(line) for line in (files / "pages.jsonl").read_text().splitlines(True) if line[-1] == "\n"
    ]


def cpu(setting: Setting) -> Iterator[Row | str]:
    """CPU of a page by each protocol."""
    for protocol, limit in CPU_MS.items():
        taken = [cost(setting, protocol, FEW) for _ in range(setting.runs)]
        yield f"{protocol}: {sum(run.pages for run in taken)} pages, {sum(run.failed for run in taken)} failed"
        costs_ms = [run.cpu_ms_per_page for run in taken]
        reached = limit is None or sorted(costs_ms)[len(costs_ms) // 2] <= limit
        target = "" if limit is None else f"at most {limit}"
        yield Row(f"{protocol}, generator's CPU of a page", costs_ms, "ms", target, reached)


# HTTP/2 by three clients.
REPOSITORY = Path(__file__).parent.parent
FLOOR = Path(__file__).with_name("floor.go")
# The last commit whose users of HTTP/2 had the client of golang.org/x/net.
WITH_X_NET = "7dbd94601f21f86aa0fbb4ae7fc28dc1b856293e"


def with_x_net() -> UserGenerator:
    """The generator of that commit."""
    folder = made_folder(cache_folder() / "benchmark-crowd" / WITH_X_NET)
    module = folder / SOURCES.relative_to(REPOSITORY)
    if not module.is_dir():
        packed = folder / "sources.zip"
        words = ("archive", f"--output={packed}", WITH_X_NET, SOURCES.relative_to(REPOSITORY))
        git = ("git", "-C", REPOSITORY)
        try:
            run(Command.of(*git, "cat-file", "-e", WITH_X_NET))
        except TestbedFailed:  # a clone of the newest commit alone
            run(Command.of(*git, "fetch", "--quiet", "--depth=1", "origin", WITH_X_NET))
        run(Command.of(*git, *words))
        shutil.unpack_archive(packed, folder)
    return UserGenerator("k6", partial(crowd_by, built(folder / "k6", module), module), k6_version)


def floor() -> UserGenerator:
    """The program that only counts frames, built by the modules of the generator."""
    sources = hashlib.sha256(FLOOR.read_bytes() + program_path().parent.name.encode()).hexdigest()
    counter = cache_folder() / "benchmark-crowd" / f"floor-{sources[:16]}"
    built(counter, SOURCES, FLOOR.resolve())

    def command(plan: Path, _: Path) -> Command:
        return Command.of(counter).with_environment(PLAN=str(plan), GOGC=COLLECT_PERCENT)

    return UserGenerator("floor", command, k6_version)


def clients(setting: Setting) -> Iterator[Row | str]:
    """CPU of a page over HTTP/2 by three clients, which take turns."""
    build()
    generators = {"x/net": with_x_net(), "now": K6, "floor": floor()}
    names = list(generators)
    taken: dict[str, list[Cost]] = {name: [] for name in names}
    for number in range(setting.runs):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            seen = cost(setting, Protocol.H2, FEW, generators[name])
            yield f"run {number + 1}, {name}: {seen.pages} pages, {seen.failed} failed, {seen.memory_mb:.0f} MB"
            taken[name].append(seen)
    for whose in ("generator", "server"):
        costs_ms = {
            name: [seen.cpu_ms_per_page if whose == "generator" else seen.server_ms_per_page for seen in runs]
            for name, runs in taken.items()
        }
        for name, values in costs_ms.items():
            limit = CPU_MS[Protocol.H2] if (whose, name) == ("generator", "now") else None
            reached = limit is None or statistics.median(values) <= limit
            target = "" if limit is None else f"at most {limit}"
            yield Row(f"h2 by {name}, {whose}'s CPU of a page", values, "ms", target, reached)
        for name in names[1:]:
            ratios = [one / other for one, other in zip(costs_ms[name], costs_ms[names[0]], strict=True)]
            yield Row(f"h2, {whose}'s, {name} over {names[0]}, run by run", ratios, "", "", reached=True)


def memory(setting: Setting) -> Iterator[Row | str]:
    """Memory of a thousand users."""
    for protocol in (Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2):
        taken = [cost(setting, protocol, MANY) for _ in range(setting.runs)]
        yield f"{protocol}: {sum(run.pages for run in taken)} pages, {sum(run.failed for run in taken)} failed"
        sizes_mb = [run.memory_mb for run in taken]
        target, reached = f"below {MEMORY_MB}", max(sizes_mb) < MEMORY_MB
        yield Row(f"{protocol}, memory of {MANY.most} users", sizes_mb, "MB", target, reached)
        spent = [run.cpu_ms_per_page for run in taken]
        yield Row(f"{protocol}, generator's CPU of a page", spent, "ms", "", reached=True)


# Page times.
TIMED_PAGE = "dummy-2012"
PROTOCOLS = (Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2, Protocol.H3, Protocol.SPDY)
TIMED_LINK = replace(Link.of(5, 85), per_client=True)
USERS = Users(steps=(20,), step_s=20, think_s=5, page_timeout_s=60, bucket_s=5)
ON_THE_GATEWAY = 5  # users
LOADS = 3  # before the crowd, and after it
WITHIN = 0.1


def crowd(protocol: Protocol) -> Condition:
    """The users of the page by a protocol."""
    engine = speaking(protocol, Kind.USERS)[0]
    many = USERS if engine is Engine.K6 else replace(USERS, steps=(ON_THE_GATEWAY,))
    return replace(
        common.condition(TIMED_PAGE, protocol, TIMED_LINK, engine.traits.drivers[0]), workload=many
    )


def in_lab(archive: Archive, condition: Condition) -> contextlib.AbstractContextManager[BrowserLab]:
    """Where the browser that the users are like loads the page."""
    return browser_lab(
        {TIMED_PAGE: archive},
        [condition.protocol],
        server=condition.server,
        engine=condition.engine.browser,
    )


@dataclass(frozen=True)
class InBrowser:
    """The network time of a load in the browser, and how long before the document's end it asked for an object."""

    network_ms: float
    early_ms: float


def in_browser(opened: BrowserLab, condition: Condition, first: int) -> list[InBrowser]:
    """Some loads that count."""
    loads: list[InBrowser] = []
    for number in range(first, first + LOADS):
        planned = common.planned(number, in_the_browser(condition))
        record, evidence = run_observed(
            opened.testbed, opened.browsers, planned, TrialOptions(), WORKSPACE / "loads"
        )
        if record.outcome is Outcome.OK and evidence is not None:
            requests = load_requests(evidence)
            loads.append(InBrowser(network_ms(requests), early_ms(requests)))
    return loads


def early_ms(load: Sequence[Request]) -> float:
    """How long before the document's end the page asked for its first object; 0 where it asked after it."""
    *_, document = (request for request in load if request.main_frame)  # its last hop
    asked = min(asked_ms(request) for request in load if not request.main_frame)
    return max((document.ended_ms or 0) - asked, 0)


def by_crowd(
    setting: Setting, archive: Archive, condition: Condition, recipe: PageRecipe
) -> tuple[float, str]:
    """The median page time of a crowd, and how its trial ended."""
    with TemporaryDirectory(dir=WORKSPACE) as folder, testbed(device=setting.device) as made:
        tuning = Tuning(status=True, name=condition.server)
        replay = Replay.usual(condition.engine)
        made.serve(archive, [condition.protocol], replay, condition.server, condition.engine, tuning)
        planned = common.planned(1, condition)
        record = run_crowd_trial(made, planned, CrowdOptions(recipe), Path(folder))
    seen = record.observation
    if not isinstance(seen, CrowdObservation) or seen.page_ms is None:
        raise AssertionError(f"{record.outcome}: {record.reason}")
    return seen.page_ms, f"{record.outcome}, limited by {seen.limited_by}"


def times(setting: Setting) -> Iterator[Row | str]:
    """Page times of users over network times in the browser."""
    archive = open_archive(archives_root(), TIMED_PAGE)
    for protocol in PROTOCOLS:
        condition, shares, early, without = crowd(protocol), list[float](), list[float](), list[float]()
        with in_lab(archive, condition) as opened:
            recipe = proved_recipe(opened, condition, WORKSPACE / "recipe")
            taken = in_browser(opened, condition, 1)
        for number in range(setting.runs):
            page_ms, ended = by_crowd(setting, archive, condition, recipe)
            with in_lab(archive, condition) as opened:
                after = in_browser(opened, condition, 1 + (number + 1) * LOADS)
            network = statistics.median(load.network_ms for load in taken + after)
            early.append(statistics.median(load.early_ms for load in taken + after))
            said = (
                f"crowd {page_ms:,.0f} ms ({ended}), browser {network:,.0f} ms of {len(taken + after)} loads"
            )
            yield f"{protocol}: {said}"
            shares.append(page_ms / network)
            without.append((page_ms - early[-1]) / network)
            taken = after
        reached = abs(statistics.median(shares) - 1) <= WITHIN
        yield Row(f"{protocol}, page time over network time", shares, "", f"1 within {WITHIN:g}", reached)
        yield Row(f"{protocol}, the browser's first object before the document's end", early, "ms", "", True)
        yield Row(f"{protocol}, page time without that, over network time", without, "", "", True)


MEASUREMENTS = {"cpu": cpu, "clients": clients, "memory": memory, "times": times}


def main() -> int:
    return program("crowd", __doc__, MEASUREMENTS, Engine.K6)


if __name__ == "__main__":
    sys.exit(main())
