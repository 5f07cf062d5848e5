"""What a busy program beside a crowd does to its figures, where CPU is left and where it ran out.

    .venv/bin/python -m benchmarks.crowddisturbance [--blocks 5] [--out FILE] [--into DIR]
    .venv/bin/python -m benchmarks.crowddisturbance --from FILE

Two crowds load text that Apache compresses as it sends: one leaves half of the CPU idle, the other fills the server's
core. Beside each runs nothing, or a program that wants a core for half of the time, or all of it. The six take turns
in blocks, in random order. Each figure is held against that of the undisturbed crowd of its block. The limit of
`busy-machine` for a server under load follows from them (harness/model/soundness.py).
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
from harness.model.engine import Engine

CROWDS = {"CPU left": ("text-50k", 80), "CPU ran out": ("text-100k", 160)}
DISTURBANCES = (UNDISTURBED, steady(0.5), steady(1))
HOW = "--compression gzip-6-dynamic --server apache --determinism false --think 1s --down-mbps 5 --rtt-ms 10"
EVIDENCE = ("foreign_cpu_share", "cpu_idle_share")
FIGURES = ("pages_per_s", "page_ms", "server_cpu_ms_per_page", "bytes_down_per_page")
SECONDS = 20


def measure(blocks: int) -> Iterator[dict[str, Any]]:
    """A row for each crowd and disturbance of each block."""
    keeper = Keeper()
    try:
        for block in range(1, blocks + 1):
            turns = [(crowd, disturbance) for crowd in CROWDS for disturbance in DISTURBANCES]
            random.Random(block).shuffle(turns)  # noqa: S311  # an order, no secret
            for crowd, disturbance in turns:
                keeper.run(disturbance)
                record = json.loads(printed(*CROWDS[crowd]))  # it stands in the row, and is read from there
                keeper.run(UNDISTURBED)
                yield {"block": block, "crowd": crowd, "beside": disturbance.name, "record": record}
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
    for crowd in CROWDS:
        for disturbance in DISTURBANCES:
            its = {
                block: seen
                for (its, beside, block), seen in facts.items()
                if (its, beside) == (crowd, disturbance.name)
            }
            if its:
                calm = [facts[crowd, UNDISTURBED.name, block] for block in its]
                yield {"crowd": crowd, "beside": disturbance.name, **_told(list(its.values()), calm)}


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
