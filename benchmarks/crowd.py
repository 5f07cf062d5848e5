"""What a virtual user costs the generator: CPU of a page and memory of a user. Some minutes.

    .venv/bin/python benchmarks/crowd.py [--runs 3] [--only cpu memory]

The page is `icons-2013` (HTML of 9.5 kB and 50 icons), from Caddy, over a link to each user of 40 ms down and 45 ms up.
CPU is that of the generator while the crowd is there, without its start.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.link import Row, Setting, program
from harness.capacity.arrival import connections_per_host
from harness.capacity.cores import allotted_here, starting_on
from harness.capacity.usergenerators import K6
from harness.lab.testbed import testbed
from harness.model.kind import Users
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.system.accounts import proportional_bytes
from harness.system.enclosure import WORKSPACE
from harness.system.processtree import cpu_seconds, family
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
    """Of a crowd after its start: pages that ended, their CPU, and the most memory at any time."""

    pages: int
    failed: int
    cpu_ms_per_page: float
    memory_mb: float


def cost(setting: Setting, protocol: Protocol, users: Users) -> Cost:
    """What a crowd cost the generator."""
    with TemporaryDirectory(dir=WORKSPACE) as folder, testbed(device=setting.device) as made:
        files = Path(folder)
        archive = RECIPES[PAGE].archive(files / "archives", package_cache())
        made.serve(archive, [protocol])
        endpoint = made.endpoint_of(PAGE, protocol)
        scheme = endpoint.start_url.partition(":")[0]
        urls = [each.url.replace("http://", f"{scheme}://", 1) for each in archive.entries]
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
            with K6.generating(plan, client.host, files) as generator:
                generator.wait_until((files / "pages.jsonl").exists, 60)
                time.sleep(START_S)
                before, cpu = pages(files), cpu_seconds(generator.pid) or 0.0
                most, now = 0, cpu
                while not generator.ends_within(LOOK_S):
                    now = cpu_seconds(generator.pid) or now
                    after = pages(files)
                    most = max(most, proportional_bytes(family(generator.pid)) or 0)
                generator.check_ended_well()
    counted = after[len(before) :]
    failed = sum(each["ms"] is None for each in counted)
    return Cost(len(counted), failed, 1000 * (now - cpu) / len(counted), most / 1e6)


def pages(files: Path) -> list[dict[str, Any]]:
    """The lines that are whole."""
    return [
        json.loads(line) for line in (files / "pages.jsonl").read_text().splitlines(True) if line[-1] == "\n"
    ]


def cpu(setting: Setting) -> Iterator[Row | str]:
    """CPU of a page by each protocol."""
    for protocol, limit in CPU_MS.items():
        taken = [cost(setting, protocol, FEW) for _ in range(setting.runs)]
        yield f"{protocol}: {sum(each.pages for each in taken)} pages, {sum(each.failed for each in taken)} failed"
        found = [each.cpu_ms_per_page for each in taken]
        reached = limit is None or sorted(found)[len(found) // 2] <= limit
        target = "" if limit is None else f"at most {limit}"
        yield Row(f"{protocol}, generator's CPU of a page", found, "ms", target, reached)


def memory(setting: Setting) -> Iterator[Row | str]:
    """Memory of a thousand users."""
    for protocol in (Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2):
        taken = [cost(setting, protocol, MANY) for _ in range(setting.runs)]
        yield f"{protocol}: {sum(each.pages for each in taken)} pages, {sum(each.failed for each in taken)} failed"
        found = [each.memory_mb for each in taken]
        target, reached = f"below {MEMORY_MB}", max(found) < MEMORY_MB
        yield Row(f"{protocol}, memory of {MANY.most} users", found, "MB", target, reached)
        spent = [each.cpu_ms_per_page for each in taken]
        yield Row(f"{protocol}, generator's CPU of a page", spent, "ms", "", reached=True)


MEASUREMENTS = {"cpu": cpu, "memory": memory}


def main() -> int:
    return program(__doc__, MEASUREMENTS)


if __name__ == "__main__":
    sys.exit(main())
