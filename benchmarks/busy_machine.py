"""What other programs on the machine do to a load, and what the record says of them.

    .venv/bin/python benchmarks/busy_machine.py [--rounds 7]

The dummy page over h2 at 10 Mbit/s, 100 ms, beside programs that keep so many cores busy; the loads take turns. Prints
medians with ranges of `foreign_cpu_share`, of `server_late_ms`, and of the ratio of `plt_ms` to that of the undisturbed
load of the same round. The limits of analysis/exclude.py follow from it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

COLDLOAD = Path(sys.executable).parent / "coldload"
LOAD = (COLDLOAD, "load", "dummy-2012", "--protocol", "h2", "--down-mbps", "10", "--rtt-ms", "100", "--json")
BUSY = """
import time
while True:
    until = time.monotonic() + 0.1 * {share}
    while time.monotonic() < until: pass
    time.sleep(0.1 * (1 - {share}))
"""


@dataclass(frozen=True)
class Disturbance:
    """`programs` that each keep a core busy for `share` of the time."""

    name: str
    programs: int
    share: float = 1.0
    prefix: tuple[str, ...] = ()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        code = BUSY.format(share=self.share)
        started = [subprocess.Popen([*self.prefix, sys.executable, "-c", code]) for _ in range(self.programs)]
        try:
            yield
        finally:
            for process in started:
                process.kill()
                process.wait()


DISTURBANCES = (
    Disturbance("nothing else", 0),
    Disturbance("1 program, 1/4 of the time", 1, 0.25),
    Disturbance("1 program, 1/2 of the time", 1, 0.5),
    Disturbance("1 program", 1),
    Disturbance("2 programs", 2),
    Disturbance("4 programs", 4),
    Disturbance("4 programs at nice 19", 4, prefix=("nice", "-n", "19")),
)


def measure(rounds: int) -> dict[Disturbance, list[tuple[float, float, float]]]:
    """`foreign_cpu_share`, `server_late_ms` and `plt_ms` per disturbance and round."""
    found: dict[Disturbance, list[tuple[float, float, float]]] = {each: [] for each in DISTURBANCES}
    for _ in range(rounds):
        for disturbance, loads in found.items():
            with disturbance.running():
                done = subprocess.run(LOAD, stdout=subprocess.PIPE, text=True, check=True)
            record = json.loads(done.stdout)
            loads.append((record["foreign_cpu_share"], record["server_late_ms"], record["plt_ms"]))
    return found


def spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    print(f"{os.cpu_count()} cores, load average at the start {os.getloadavg()[0]:.1f}, {rounds} rounds")
    found = measure(rounds)
    undisturbed = [plt for _, _, plt in found[DISTURBANCES[0]]]
    print(f"{'beside the load':28} {'foreign_cpu_share':>24} {'server_late_ms':>24} {'plt_ms, ratio':>24}")
    for disturbance, loads in found.items():
        shares, waits = [share for share, _, _ in loads], [wait for _, wait, _ in loads]
        ratios = [plt / quiet for (_, _, plt), quiet in zip(loads, undisturbed, strict=True)]
        print(f"{disturbance.name:28} {spread(shares):>24} {spread(waits):>24} {spread(ratios):>24}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
