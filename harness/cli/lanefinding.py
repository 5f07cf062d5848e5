"""How far lanes disturb each other, estimated from loads alone and loads while all lanes are busy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.model.observation import MAIN_METRIC
from harness.run.carrying import LaneLoad

MARGIN = 0.01  # of a load: what lanes may disturb each other
LEAST_COUNTED = 0.9  # of the rounds: attempts that a busy machine spoils are a disturbance, too
ALONE, BUSY = 0, 1


@dataclass(frozen=True)
class LaneFinding:
    """A protocol's loads while all lanes are busy, in units of those alone: estimate and 95 % interval of the ratio.

    `n` rounds hold both.
    """

    protocol: str
    rounds: int
    n: int
    ratio: float
    low: float
    high: float

    @property
    def carried(self) -> bool:
        """Whether the whole interval lies within the margin, over enough of the rounds."""
        within = self.low > 1 / (1 + MARGIN) and self.high < 1 + MARGIN
        return within and self.n >= LEAST_COUNTED * self.rounds

    def to_json(self) -> dict[str, Any]:
        """What is not known is null."""
        numbers = {key: getattr(self, key) for key in ("ratio", "low", "high")}
        known = {key: None if math.isnan(value) else value for key, value in numbers.items()}
        return {"protocol": self.protocol, "rounds": self.rounds, "n": self.n, **known}

    def cells(self) -> Sequence[str]:
        """The finding as a row for a person."""
        said = "carried" if self.carried else f"not within {MARGIN:.0%}"
        bounds = " to ".join(f"{100 * (bound - 1):+.2f}" for bound in (self.low, self.high))
        return self.protocol, f"{100 * (self.ratio - 1):+.2f} %", f"({bounds} %)", f"n = {self.n}", said


def findings_of(loads: Iterable[LaneLoad], protocols: Sequence[str], rounds: int) -> list[LaneFinding]:
    """A finding per protocol, by the statistic that reports compare conditions by."""
    import pandas as pd  # noqa: PLC0415  # not before the loads

    from analysis.statistics.compare import Blocks, Certainty, compare  # noqa: PLC0415

    table = pd.DataFrame(
        [
            {
                "run": "",
                "block": load.phase.round,
                "cell": BUSY if load.phase.busy else ALONE,
                "protocol": load.record.planned.condition.protocol.value,
                MAIN_METRIC: getattr(load.record.observation, MAIN_METRIC),
            }
            for load in loads
        ],
        columns=["run", "block", "cell", "protocol", MAIN_METRIC],
    )
    found = []
    for protocol in protocols:
        blocks = Blocks(table[table["protocol"] == protocol], MAIN_METRIC)
        seen = compare(blocks, BUSY, ALONE, Certainty(MARGIN))
        found.append(LaneFinding(protocol, rounds, seen.n, seen.ratio, seen.low, seen.high))
    return found
