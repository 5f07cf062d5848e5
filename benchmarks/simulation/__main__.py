"""How good the report's statistics are, by simulation, with the functions that reports and `coldload compare` call.

    .venv/bin/python -m benchmarks.simulation [--quick] [--seed 2012] [--only PART] [--jobs 2] [--keep]

Prints coverage of intervals, false verdicts and power as tables in per cent, with the Monte Carlo error. A figure that
misses what it has to reach by more than three Monte Carlo errors is marked `!` and told in a line that begins with
FAILED; the exit code is then 1. Where many studies are reckoned at once, in arrays, the functions that the report calls
are asked for some of every array and have to give the same, from records, too. `--quick` makes a 50th of the
simulations and proves nothing but that the program runs.

`--keep` keeps each part as it ends in docs/results/data/simulation.json, with seed, day and commit, and then renews the
documents that show it; what is not simulated stays as it is. The longest parts begin first, `--jobs` at a time.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from benchmarks import common
from benchmarks.publish.__main__ import renew
from benchmarks.publish.editions import RESULTS
from benchmarks.simulation import asrecords, keeping, properties
from benchmarks.simulation.parts import PARTS, SEED, TOP, tables
from benchmarks.simulation.shares import Table
from harness.lab.environment import processor
from harness.system.program import Command, run


@dataclass(frozen=True)
class Done:
    """A part that was simulated. `code`: the digest of what it rests on, as it began."""

    tables: tuple[Table, ...]
    seconds: float
    code: str

    @property
    def failures(self) -> list[str]:
        return [failure for table in self.tables for failure in table.failures]


def simulated(name: str, seed: int, *, quick: bool) -> Done:
    begun, code = time.perf_counter(), PARTS[name].code
    return Done(tables(name, seed, quick=quick), time.perf_counter() - begun, code)


def commit() -> str:
    """The commit of this tree, marked where files that it holds were changed."""
    return run(
        Command.of("git", "describe", "--always", "--abbrev=8", "--dirty", "--exclude=*"), cwd=TOP
    ).strip()


def kept(name: str, done: Done, of: str) -> keeping.KeptPart:
    """A part as it is kept, of a commit."""
    return keeping.KeptPart(
        studies=PARTS[name].studies,
        seed=SEED,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        commit=of,
        code=done.code,
        machine=f"{processor() or platform.machine()}, {os.cpu_count()} cores",
        seconds=round(done.seconds),
        tables=tuple(keeping.KeptTable.of(table) for table in done.tables),
        failures=tuple(done.failures),
    )


def main(arguments: list[str] | None = None) -> int:
    parser = common.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="a 50th of the simulations")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", choices=PARTS, action="append", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--jobs", type=int, default=2, help="parts at a time")
    parser.add_argument("--keep", action="store_true", help="keep the figures, and renew the documents")
    chosen = parser.parse_args(arguments)
    if chosen.keep and (chosen.quick or chosen.seed != SEED):
        parser.error(f"--keep keeps whole simulations of seed {SEED}; leave --quick and --seed out")
    of = commit() if chosen.keep else ""
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
    failures += _simulate(chosen, of)
    print(f"{len(failures)} figures miss what they have to reach." if failures else "All is reached.")
    return 1 if failures else 0


def _simulate(chosen: argparse.Namespace, of: str) -> list[str]:
    """Simulate parts, and print and keep each; what misses its bound."""
    failures: list[str] = []
    names = [name for name in PARTS if name in (chosen.only or PARTS)]
    with ProcessPoolExecutor(chosen.jobs) as pool:
        begun = {pool.submit(simulated, name, chosen.seed, quick=chosen.quick): name for name in names}
        for future in as_completed(begun):
            name, done = begun[future], future.result()
            for table in done.tables:
                print(f"{table}\n", flush=True)
            failures += done.failures
            print(f"({name}: {done.seconds:.0f} s)\n", file=sys.stderr, flush=True)
            if chosen.keep:
                keeping.keep(RESULTS.data, name, kept(name, done, of))
                told = properties.quoted(keeping.read(RESULTS.data))
                (RESULTS.data / properties.FILE).write_text(told, encoding="utf-8")
    if chosen.keep:
        renew(RESULTS)
    return failures


if __name__ == "__main__":
    sys.exit(main())
