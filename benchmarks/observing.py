"""What it costs to observe more of a load: HAR, vitals, trace, film. A quarter of an hour.

    .venv/bin/python -m benchmarks.observing [--blocks 20] [--page agency] [--only har vitals trace filmstrip]
                                             [--into DIR]

A page is loaded in blocks (nothing, nothing again, and each of what can be observed) in a random order, with both
drivers. Printed are the ratio of `plt_ms` to nothing with its 95 % interval, by the statistic of reports, and what a
trial takes longer beside its load: median (quartiles) of the differences in blocks. Vitals, trace and film wait until
the page rests. Loads count that ended well, also disturbed ones.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from analysis.statistics import LEAST_PAIRS
from benchmarks import common, quoted
from harness.model.engine import Driver
from harness.model.kind import FILM, HAR, TRACE
from harness.model.protocol import Protocol
from harness.probes.probe import TrialOptions
from harness.system.enclosure import enclosed
from harness.trial.trial import BrowserLab, browser_lab
from sites.archive import archives_root, open_archive

PAGE = "agency"
NOTHING = TrialOptions()
OBSERVED = {
    HAR: TrialOptions(keep=(HAR,)),
    "vitals": TrialOptions(vitals=True),
    # As a study that keeps one.
    TRACE: TrialOptions(keep=(TRACE,), vitals=True),
    FILM: TrialOptions(keep=(FILM,), vitals=True),
}


@dataclass(frozen=True)
class Took:
    """The times of a load that counts."""

    plt_ms: float
    overhead_ms: float


def took(opened: BrowserLab, page: str, driver: Driver, block: int, options: TrialOptions) -> Took | None:
    """None when the load does not count."""
    with TemporaryDirectory() as kept:
        cell = common.condition(page, driver=driver)
        record = common.load(opened, cell, block, Path(kept), options)
    if record is None or record.observation.plt_ms is None or record.overhead_ms is None:
        return None
    return Took(record.observation.plt_ms, record.overhead_ms)


def told(pairs: Sequence[tuple[Took, Took]]) -> Mapping[str, str]:
    """The figures of one thing; `pairs` are of it and of nothing, in a block each."""
    if len(pairs) < LEAST_PAIRS:
        return {"plt_ms": "too few loads count", "trial_longer_s": "", "n": str(len(pairs))}
    low, middle, high = (
        each / 1000
        for each in statistics.quantiles([one.overhead_ms - other.overhead_ms for one, other in pairs], n=4)
    )
    return {
        "plt_ms": common.ratio([(one.plt_ms, other.plt_ms) for one, other in pairs]),
        "trial_longer_s": f"{middle:.2f} ({low:.2f} to {high:.2f})",
        "n": str(len(pairs)),
    }


def measure(page: str, blocks: int, only: Sequence[str], into: Path | None) -> int:
    part, rows = quoted.Part("observing", page, common.ENGINE), list[Mapping[str, str]]()
    kinds: Mapping[str, TrialOptions] = {"nothing again": NOTHING, **{name: OBSERVED[name] for name in only}}
    source = random.Random(1)  # noqa: S311  # an order, not a secret
    with browser_lab({page: open_archive(archives_root(), page)}, [Protocol.H2]) as opened:
        for driver in common.DRIVERS:
            pairs: dict[str, list[tuple[Took, Took]]] = {name: [] for name in kinds}
            for block in range(1, blocks + 1):
                order = source.sample(["nothing", *kinds], len(kinds) + 1)
                seen = {name: took(opened, page, driver, block, kinds.get(name, NOTHING)) for name in order}
                for name in kinds:
                    if (one := seen[name]) and (other := seen["nothing"]):
                        pairs[name].append((one, other))
            for name in kinds:
                rows.append({"driver": driver, "observed": name, **told(pairs[name])})
                print(" | ".join(rows[-1].values()), flush=True)
    if into:
        part.keep(into, rows, ["driver", "observed"])
    return 0


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--page", default=PAGE)
    parser.add_argument("--only", nargs="+", choices=list(OBSERVED), default=list(OBSERVED))
    quoted.add_into(parser)
    arguments = parser.parse_args()
    print(common.machine())
    return enclosed(lambda: measure(arguments.page, arguments.blocks, arguments.only, arguments.into))


if __name__ == "__main__":
    sys.exit(main())
