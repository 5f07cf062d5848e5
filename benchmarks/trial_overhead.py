"""What a trial costs beyond its load, and how noisy a load is. Prints medians with their spread, for each driver.

    .venv/bin/python -m benchmarks.trial_overhead [--trials 15] [--engine chromium] [--into DIR]

Overhead: dummy page, http1, 100 Mbit/s, 2 ms. Noise: coefficient of variation of plt_ms at 10 Mbit/s, 100 ms.
The drivers take turns, so that a disturbance of the machine meets all.
"""

from __future__ import annotations

import statistics
import sys

from benchmarks import common, quoted
from harness.errors import Outcome
from harness.model.engine import BROWSERS, DEFAULT_ENGINE, Driver, Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.system.enclosure import WORKSPACE, enclosed
from harness.trial.trial import browser_lab, run_trial
from sites.archive import archives_root, open_archive

PAGE = "dummy-2012"
FAST = Link.of(100, 2)
SLOW = Link.of(10, 100)


def measure(trials: int, engine: Engine) -> dict[tuple[Driver, Link], list[Record]]:
    """The records of `trials` loads per driver of an engine and link, taking turns."""
    cells = [(driver, link) for link in (FAST, SLOW) for driver in engine.traits.drivers]
    records: dict[tuple[Driver, Link], list[Record]] = {cell: [] for cell in cells}
    with browser_lab({PAGE: open_archive(archives_root(), PAGE)}, [Protocol.HTTP1], engine=engine) as opened:
        for number in range(1, trials + 2):  # the first round warms the machine's own caches and is dropped
            for driver, link in cells:
                planned = common.planned(number, common.condition(PAGE, Protocol.HTTP1, link, driver))
                record = run_trial(
                    opened.testbed, opened.browsers, planned, TrialOptions(), WORKSPACE / "kept"
                )
                if number > 1:
                    records[driver, link].append(record)
    return records


def report(records: dict[tuple[Driver, Link], list[Record]]) -> list[dict[str, str]]:
    """Print one line per driver and link; the same as documents quote it."""
    figures = []
    print(f"{'driver':11} {'link':14} {'n':>3}  {'overhead_ms':>24}  {'plt_ms':>24}  {'CV':>6}")
    for (driver, link), all_records in records.items():
        good = [record for record in all_records if record.outcome is Outcome.OK]
        overhead = common.spread((record.overhead_ms or 0 for record in good), 0)
        plt = [record.observation.plt_ms or 0 for record in good]
        taken, variation = common.spread(plt, 0), f"{statistics.stdev(plt) / statistics.mean(plt):.1%}"
        print(f"{driver:11} {link.name:14} {len(good):3}  {overhead:>24}  {taken:>24}  {variation:>6}")
        told = {
            "driver": driver.value,
            "down_mbps": f"{link.down.rate.mean_mbps:g}",
            "rtt_ms": f"{link.rtt_ms:g}",
        }
        figures.append(
            told | {"n": str(len(good)), "overhead_ms": overhead, "plt_ms": taken, "variation": variation}
        )
        for record in all_records:
            if record.outcome is not Outcome.OK:
                print(f"  not counted: {record.outcome}: {record.reason}")
    return figures


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument(
        "--engine", type=Engine, choices=BROWSERS, default=DEFAULT_ENGINE, help="whose drivers"
    )
    quoted.add_into(parser)
    options = parser.parse_args()
    print(common.machine())
    part = quoted.Part("overhead", options.engine.value, options.engine)

    def command() -> int:
        figures = report(measure(options.trials, options.engine))
        if options.into:
            part.keep(options.into, figures, ["driver", "down_mbps", "rtt_ms"])
        return 0

    return enclosed(command)


if __name__ == "__main__":
    sys.exit(main())
