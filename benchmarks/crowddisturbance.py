"""What a busy program beside a crowd does to its figures, where CPU is left and where it ran out.

    .venv/bin/python -m benchmarks.crowddisturbance [--blocks 5] [--out FILE] [--into DIR]
    .venv/bin/python -m benchmarks.crowddisturbance --from FILE

Two crowds load text that Apache compresses as it sends: one is made larger until the server's CPU runs out, the other
has half of its users and text, so it needs a quarter of that. Beside each runs nothing, or a program that wants a core
for half of the time, or all of it. The six take turns in blocks, in random order. Each figure is held against that of
the undisturbed crowd of its block. The limit of `busy-machine` for a server under load follows from them
(harness/model/soundness.py).
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import common
from benchmarks.disturbance import UNDISTURBED, Keeper, steady
from harness.capacity.limit import Bottleneck
from harness.model.engine import Engine

LEFT, RAN_OUT = "CPU left", "CPU ran out"
PAGES = {LEFT: "text-50k", RAN_OUT: "text-100k"}
LEAST_USERS = 160  # with which CPU may run out; fewer leave much of it on every machine of ours
DISTURBANCES = (UNDISTURBED, steady(0.5), steady(1))
HOW = "--compression gzip-6-dynamic --server apache --determinism false --think 1s --down-mbps 5 --rtt-ms 10"
EVIDENCE = ("foreign_cpu_share", "cpu_idle_share")
FIGURES = ("pages_per_s", "page_ms", "server_cpu_ms_per_page", "bytes_down_per_page")
SECONDS = 20


def sizes() -> Mapping[str, int]:
    """How many users each crowd has on this machine; each size that is tried is a fourth larger.

    SystemExit where something else runs out before the server's CPU does.
    """
    users = LEAST_USERS
    while (limit := json.loads(printed(PAGES[RAN_OUT], users))["limited_by"]) == Bottleneck.NOTHING:
        users += users // 4
    if limit != Bottleneck.SERVER_CPU:
        raise SystemExit(f"with {users} users {limit} runs out before the server's CPU does")
    return {LEFT: users // 2, RAN_OUT: users}


def measure(blocks: int) -> Iterator[dict[str, Any]]:
    """A row for each crowd and disturbance of each block."""
    users = sizes()
    keeper = Keeper()
    try:
        for block in range(1, blocks + 1):
            turns = [(crowd, disturbance) for crowd in PAGES for disturbance in DISTURBANCES]
            random.Random(block).shuffle(turns)  # noqa: S311  # an order, no secret
            for crowd, disturbance in turns:
                keeper.run(disturbance)
                # it stands in the row, and is read from there
                record = json.loads(printed(PAGES[crowd], users[crowd]))
                keeper.run(UNDISTURBED)
                told = {"crowd": crowd, "users": users[crowd], "beside": disturbance.name}
                yield {"block": block, **told, "record": record}
    finally:
        keeper.close()


def printed(page: str, users: int) -> str:
    """The record of one crowd, as the command prints it."""
    program = [sys.executable, "-m", "harness.cli", "crowd", page, "--users", str(users)]
    words = [*program, "--for", f"{SECONDS}s", *HOW.split(), "--json"]
    return subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
    ).stdout


def report(rows: list[dict[str, Any]]) -> Iterator[Mapping[str, str]]:
    """A row for each crowd and disturbance: the median of the evidence, of each figure the median ratio to the
    undisturbed one of its block.
    """
    facts = {
        (row["crowd"], row["beside"], row["block"]): common.record_of(row["record"]).facts for row in rows
    }
    users = {row["crowd"]: str(row["users"]) for row in rows}
    for crowd in PAGES:
        for disturbance in DISTURBANCES:
            its = {
                block: seen
                for (its, beside, block), seen in facts.items()
                if (its, beside) == (crowd, disturbance.name)
            }
            if its:
                calm = [facts[crowd, UNDISTURBED.name, block] for block in its]
                told = {"crowd": crowd, "users": users[crowd], "beside": disturbance.name}
                yield {**told, **_told(list(its.values()), calm)}


def _told(records: Sequence[Mapping[str, Any]], calm: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
    evidence = {key: f"{statistics.median(record[key] for record in records):.2f}" for key in EVIDENCE}
    ratios = {
        key: common.spread([each[key] / other[key] for each, other in zip(records, calm, strict=True)], 3)
        for key in FIGURES
    }
    limits = ", ".join(sorted({record["limited_by"] for record in records}))
    return {"n": str(len(records)), **evidence, "limited_by": limits, **ratios}


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument("--blocks", type=int, default=5)
    common.add_rows(parser)
    given = parser.parse_args()

    def record(out: Path) -> int:
        common.keep_rows(measure(given.blocks), out)
        return 0

    rows = common.kept_rows(given, record)
    table = [*report(rows)]
    print(common.as_table(table, 2))
    if given.into:
        part = common.part_of("crowddisturbance", "crowds", rows, Engine.K6)
        part.keep(given.into, table, ["crowd", "beside"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
