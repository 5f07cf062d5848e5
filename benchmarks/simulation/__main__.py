"""How good the report's statistics are, by simulation: which simulations there are, and how many of each.

    .venv/bin/python -m benchmarks.simulation [--quick] [--seed 2012] [--only PART]

Prints coverage of intervals, false verdicts and power as tables in per cent, with the Monte Carlo error. A figure that
misses what it has to reach by more than three Monte Carlo errors is marked `!` and told in a line that begins with
FAILED; the exit code is then 1. Many studies are reckoned at once, in arrays; the functions that the report calls are
asked for some of every array and have to give the same, from records, too. `--quick` makes a 50th of the simulations
and proves nothing but that the program runs.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

import numpy as np

from benchmarks.simulation import asrecords, coverage, families, telling
from benchmarks.simulation.shares import Table

Part = Callable[[np.random.Generator, int], Table | tuple[Table, ...]]
QUICK = 50
SEED = 2012
PARTS: dict[str, tuple[Part, int]] = {  # with the number of simulations
    "coverage": (coverage.of_ratios, 20_000),
    "medians": (coverage.of_medians, 10_000),
    "false": (families.false_verdicts, 10_000),
    "power": (families.power, 5_000),
    "change": (families.at_the_change, 20_000),
    "plain": (families.plain_to_see, 5_000),
    "told": (telling.sizes, 4_000),
    "largest": (telling.largest, 10_000),
    "floor": (telling.equal_conditions, 1_000),
    "bias": (asrecords.bias, 100_000),
    "time-outs": (asrecords.time_outs, 2_000),
    "published": (asrecords.published_range, 400),
    "bound": (asrecords.published_bound, 400),
    "runs": (coverage.of_runs, 5_000),
    "pages": (coverage.of_pages, 3_000),
    "many-pages": (coverage.many_pages, 1_000),
    "looks": (families.coverage_at_looks, 20_000),
    "levels-looks": (coverage.over_levels_at_looks, 3_000),
    "medians-looks": (coverage.of_medians_at_looks, 10_000),
    "false-looks": (families.false_at_looks, 4_000),
    "alternatives": (coverage.others, 10_000),
}


def tables(name: str, seed: int, *, quick: bool) -> Iterable[Table]:
    """The tables of a part; each part draws its own numbers."""
    part, times = PARTS[name]
    found = part(np.random.default_rng(seed), max(times // QUICK, 10) if quick else times)
    return found if isinstance(found, tuple) else (found,)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="How good the report's statistics are.")
    parser.add_argument("--quick", action="store_true", help="a 50th of the simulations")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", choices=PARTS, action="append", metavar="PART", help=", ".join(PARTS))
    chosen = parser.parse_args(arguments)
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, NumPy {np.__version__}, seed {chosen.seed}\n"
    )
    failures = asrecords.disagreements(np.random.default_rng(chosen.seed))
    print(
        "\n".join(failures)
        or "The functions of the report, and records, give the same numbers as the arrays that are simulated.",
        "\n",
    )
    for name in chosen.only or PARTS:
        begun = time.perf_counter()
        for table in tables(name, chosen.seed, quick=chosen.quick):
            print(f"{table}\n", flush=True)
            failures += table.failures
        print(f"({name}: {time.perf_counter() - begun:.0f} s)\n", file=sys.stderr, flush=True)
    print(f"{len(failures)} figures miss what they have to reach." if failures else "All is reached.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
