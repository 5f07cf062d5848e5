"""What a report costs: time and memory by the number of records.

    .venv/bin/python benchmarks/report.py [--conditions 400] [--blocks 13 25 50] [--keep DIR]

Makes up runs of ten pages, plain and optimised, by four protocols over five links, and reports each in a process of its
own. Prints CPU time, wall time, the largest memory, and the CPU time per record. Nothing in these runs was measured.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from harness.model.kind import Kind
from harness.model.link import Link
from harness.model.trials import Trials
from harness.records import SCHEMAS

PROTOCOLS = ("http1-close", "http1", "https1", "h2")
RTTS_MS = (20.0, 50.0, 100.0, 150.0, 200.0)
RATE_MBPS = 10.0
VARIANTS = {"plain": 1.0, "core": 0.8}
PER_PAGE = len(PROTOCOLS) * len(RTTS_MS) * len(VARIANTS)


def conditions(number: int) -> list[dict[str, Any]]:
    """Conditions of as many pages as give at least that number."""
    pages = [f"page-{page}" for page in range(1, math.ceil(number / PER_PAGE) + 1)]
    return [
        {
            "page": page,
            "variant": variant,
            "compression": "none",
            "protocol": protocol,
            "link": Link.of(RATE_MBPS, rtt).to_json(),
            "engine": "chromium",
            "driver": "playwright",
            "origins": "single",
            "server": "caddy",
            "device": "desktop",
        }
        for page, variant, protocol, rtt in product(pages, VARIANTS, PROTOCOLS, RTTS_MS)
    ]


def records(cells: list[dict[str, Any]], blocks: int) -> Iterator[dict[str, Any]]:
    random = np.random.default_rng(2012)
    trial = 0
    for block in range(1, blocks + 1):
        drift = random.normal(0, 0.01)
        for place in random.permutation(len(cells)):
            trial += 1
            ms = usual_ms(cells[place]) * math.exp(drift + random.normal(0, 0.02))
            head = {
                "schema": SCHEMAS[Kind.LOAD],
                "trial": f"{trial:06d}",
                "attempt": 1,
                "block": block,
                "order": trial,
            }
            yield head | {"condition": cells[place]} | seen(ms)


def usual_ms(condition: Mapping[str, Any]) -> float:
    """Something like a page-load time."""
    trips = 5 + 3 * PROTOCOLS[::-1].index(condition["protocol"])
    return VARIANTS[condition["variant"]] * (400 + trips * float(condition["link"]["rtt_ms"]))


def seen(ms: float) -> dict[str, Any]:
    """What a load told, about as much as a real record holds."""
    way = {"packets_out": 820, "bytes_out": 1_150_000, "drops_queue": 2, "stalled_us": 40.0}
    return {
        "outcome": "ok",
        "reason": None,
        "left_out": None,
        "started_utc": "2026-01-01T00:00:00.000Z",
        **{name: ms * share for name, share in (("navigate_ms", 1.01), ("plt_ms", 1.0), ("dcl_ms", 0.4))},
        **{name: ms * share for name, share in (("ttfb_ms", 0.1), ("fcp_ms", 0.45), ("lcp_ms", 0.9))},
        **{
            "requests": 24,
            "failed_requests": 0,
            "missed_requests": 0,
            "connections": 6,
            "pipelining_depth": 1,
        },
        **{"server_requests": 24, "server_connections": 6, "console_error_count": 0, "fuzzy_requests": 0},
        **{"bytes_down": 1_150_000, "bytes_up": 40_000, "bytes_body": 1_120_000},
        **{"client_cpu_s": 1.4, "server_cpu_s": 0.03, "foreign_cpu_share": 0.01, "overhead_ms": 820.0},
        "protocols": {"http/1.1": 24},
        "missed": [],
        "fuzzy": [],
        "link_reading": {"backend": "tun", "down": way, "up": way},
    }


def write(folder: Path, number: int, blocks: int) -> int:
    """A run directory; the number of its records."""
    folder.mkdir(parents=True)
    cells = conditions(number)
    counts = {"trials": blocks * len(cells), "blocks": blocks, "conditions": len(cells)}
    made_of = {"per_condition": Trials.of(blocks).to_json()}
    header = {"schema": 1, "study": "made up", "seed": 2012, **counts, **made_of}
    with (folder / "plan.jsonl").open("w") as plan, (folder / "records.jsonl").open("w") as found:
        plan.write(json.dumps(header) + "\n")
        for record in records(cells, blocks):
            planned = {key: record[key] for key in ("trial", "block", "order", "condition")}
            plan.write(json.dumps(planned) + "\n")
            found.write(json.dumps(record) + "\n")
    return blocks * len(cells)


def reported(folder: Path) -> tuple[float, float, float]:
    """CPU seconds, wall seconds and the most memory (MB) of a report in a process of its own."""
    began = time.monotonic()
    pid = subprocess.Popen(
        [sys.executable, "-m", "harness.cli", "report", str(folder), "--out", str(folder / "out")],
        stdout=subprocess.DEVNULL,
    ).pid
    _, status, used = os.wait4(pid, 0)
    if status != 0:
        raise SystemExit(f"the report of {folder} ended with {status}")
    return used.ru_utime + used.ru_stime, time.monotonic() - began, used.ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--conditions", type=int, default=400, help="about so many (default 400)")
    parser.add_argument("--blocks", type=int, nargs="+", default=[13, 25, 50])
    parser.add_argument("--keep", type=Path, help="keep the runs and reports here")
    chosen = parser.parse_args()
    print(f"load average before: {os.getloadavg()[0]:.1f}")
    print("records  CPU (s)  wall (s)  memory (MB)  CPU ms per record")
    with tempfile.TemporaryDirectory() as temporary:
        for blocks in chosen.blocks:
            folder = (chosen.keep or Path(temporary)) / f"blocks-{blocks}"
            number = write(folder, chosen.conditions, blocks)
            cpu, wall, memory = reported(folder)
            print(
                f"{number:7,}  {cpu:7.1f}  {wall:8.1f}  {memory:11.0f}  {1000 * cpu / number:17.2f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
