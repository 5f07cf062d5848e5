"""What a virtual user costs beside k6's own module http: processor time of a page, by one k6 and the same plan.

A turn is a crowd of each, one after the other (`benchmarks.crowd`): 30 users load 51 objects from Caddy, each over a
link of its own, and think for a second. Both come without connections and TLS sessions, and check certificates. By the
module a script asks for the document, then for all objects at once, over HTTP/1.1 for six at a time. It has no HTTP/3.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.crowd import FEW, Cost, cost
from benchmarks.headline.row import Figure, Found, Size, in_enclosure, in_order, needed
from benchmarks.link import Setting
from harness.capacity.k6 import COLLECT_PERCENT, K6, QUIETLY, k6_program, k6_version
from harness.capacity.loadtool import UserGenerator
from harness.model.protocol import Protocol
from harness.system.program import Command

TITLE, TURNS, MINUTES = "A virtual user", 5, 15
PROTOCOLS = (Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2)
SCRIPT = Path(__file__).with_name("users.js")
SHORT = replace(FEW, step_s=8)
MOST_FAILED = 0.01  # of the pages of a crowd that counts


def by_the_module(plan: Path, files: Path) -> Command:
    """k6 with its own module, by the plan of our crowd and with where its hosts are."""
    asked = json.loads(plan.read_text())
    urls = [asked["document"], *(resource["url"] for resource in asked["objects"])]
    hosts = {str(urlsplit(url).hostname): asked["resolver"] for url in urls}
    plan.write_text(json.dumps(asked | {"hosts": hosts}))
    words = Command.of(
        k6_program(),
        "run",
        *QUIETLY,
        f"--local-ips={','.join(asked['addresses'])}",
        f"--console-output={asked['lines']}",
        "--log-format=raw",
        SCRIPT,
    )
    return words.with_environment(
        PLAN=str(plan), SSL_CERT_FILE=asked["ca"], XDG_CONFIG_HOME=str(files), GOGC=COLLECT_PERCENT
    )


MODULE_HTTP = UserGenerator("k6-http", by_the_module, k6_version)


def whole(taken: Cost) -> bool:
    return taken.failed <= MOST_FAILED * taken.pages


def measure(size: Size) -> Mapping[str, object]:
    needed(k6_program)
    users = SHORT if size.quick else FEW

    def inside() -> Found:
        setting, figures = Setting(None, 1), []
        left_out: list[str] = []
        for protocol in PROTOCOLS:
            pairs = []
            for turn in range(size.turns):
                by = {"here": K6, "there": MODULE_HTTP}
                costs = {side: cost(setting, protocol, users, tool) for side, tool in in_order(by, turn)}
                here, there = costs["here"], costs["there"]
                if whole(here) and whole(there):
                    pairs.append((here.cpu_ms_per_page, there.cpu_ms_per_page))
                else:
                    failed = (
                        f"{here.failed} of {here.pages} pages here, {there.failed} of {there.pages} there"
                    )
                    left_out.append(f"a turn of {protocol}, in which pages failed: {failed}")
            what = f"processor time of a page, {protocol}"
            figures.append(Figure(what, "ms", "k6's module http", pairs, front=True))
        return Found(figures, {"k6": k6_version()}, left_out)

    return in_enclosure(inside)
