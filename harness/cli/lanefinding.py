"""How far lanes disturb each other, estimated from loads alone and loads while all lanes are busy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from harness.model.observation import MAIN_METRIC
from harness.run.carrying import LaneLoad
from harness.run.knownlanes import LaneVerdict

MARGIN = 0.01  # of a load: what lanes may disturb each other
LEAST_COUNTED = 0.9  # of the rounds: attempts that a busy machine spoils are a disturbance, too
MOST_FORETOLD = 1000  # rounds
ALONE, BUSY = 0, 1
HEAD = ("protocol", "busy / alone", "95 % interval", "rounds", "")


class Told(StrEnum):
    """What is known of the loads of a protocol."""

    WITHIN = f"within {100 * MARGIN:g} %"
    BEYOND = f"more than {100 * MARGIN:g} % apart"
    LEFT_OUT = "too many loads left out while all lanes are busy"
    RESTLESS = "others disturb the machine: too many loads left out, also alone"
    UNKNOWN = "not known yet"


@dataclass(frozen=True)
class LaneFinding:
    """A protocol's loads while all lanes are busy, in units of those alone: estimate and 95 % interval of the ratio.

    `n` of the `rounds` hold both, `alone` the one alone. `why`: what most attempts that do not count were left out for.
    """

    protocol: str
    rounds: int
    alone: int
    n: int
    ratio: float
    low: float
    high: float
    why: str | None = None

    @property
    def told(self) -> Told:
        """The whole interval has to lie within the margin, over enough of the rounds."""
        if self.alone < LEAST_COUNTED * self.rounds:
            return Told.RESTLESS
        if self.n < LEAST_COUNTED * self.rounds:
            return Told.LEFT_OUT
        if self.low > 1 / (1 + MARGIN) and self.high < 1 + MARGIN:
            return Told.WITHIN
        if self.low >= 1 + MARGIN or self.high <= 1 / (1 + MARGIN):
            return Told.BEYOND
        return Told.UNKNOWN

    @property
    def rounds_needed(self) -> int | None:
        """About how many rounds would tell, in tens, were the estimate the truth; None when no number does."""
        reach, room = math.log(self.high / self.low) / 2, math.log1p(MARGIN) - abs(math.log(self.ratio))
        if math.isnan(reach) or room == 0:
            return None
        needed = math.ceil(self.rounds * (reach / room) ** 2 / 10) * 10
        return needed if self.rounds < needed <= MOST_FORETOLD else None

    def to_json(self) -> dict[str, Any]:
        """What is not known is null."""
        numbers = {key: getattr(self, key) for key in ("ratio", "low", "high")}
        known = {key: None if math.isnan(value) else value for key, value in numbers.items()}
        return {
            "protocol": self.protocol,
            "told": self.told.value,
            "rounds": self.rounds,
            "alone": self.alone,
            "n": self.n,
            **known,
        }

    def cells(self) -> Sequence[str]:
        """The finding as a row for a person, below HEAD."""
        told = str(self.told)
        if self.told in (Told.LEFT_OUT, Told.RESTLESS) and self.why:
            told += f" ({self.why})"
        if self.told is Told.UNKNOWN and self.rounds_needed:
            told += f": about {self.rounds_needed} rounds would tell"
        counted = f"{self.n} of {self.rounds}"
        if math.isnan(self.ratio):
            return self.protocol, "-", "-", counted, told
        bounds = "-" if math.isnan(self.low) else f"{_percent(self.low)} to {_percent(self.high)} %"
        return self.protocol, f"{_percent(self.ratio)} %", bounds, counted, told


def verdict_of(findings: Sequence[LaneFinding]) -> LaneVerdict:
    """Lanes are carried when no protocol is disturbed. Nothing is known where others disturb the machine."""
    told = {each.told for each in findings}
    if told == {Told.WITHIN}:
        return LaneVerdict.CARRIED
    if Told.RESTLESS not in told and told & {Told.BEYOND, Told.LEFT_OUT}:
        return LaneVerdict.NOT_CARRIED
    return LaneVerdict.UNKNOWN


def reason_of(findings: Sequence[LaneFinding]) -> str:
    """Why that is the verdict, and what to do."""
    margin = f"{100 * MARGIN:g} %"
    if any(each.told is Told.RESTLESS for each in findings):
        return "others use these cores; measure again when the machine is quiet"
    return {
        LaneVerdict.CARRIED: f"loads stay within {margin} while all lanes are busy",
        LaneVerdict.NOT_CARRIED: f"loads have to stay within {margin} while all lanes are busy",
        LaneVerdict.UNKNOWN: f"too few rounds to tell {margin}; measure again with more (--rounds)",
    }[verdict_of(findings)]


def findings_of(loads: Iterable[LaneLoad], protocols: Sequence[str], rounds: int) -> list[LaneFinding]:
    """A finding per protocol, by the statistic that reports compare conditions by."""
    import pandas as pd  # noqa: PLC0415  # not before the loads

    from analysis.statistics.compare import Blocks, Certainty, compare  # noqa: PLC0415

    rows = [
        {
            "run": "",
            "block": load.phase.round,
            "cell": BUSY if load.phase.busy else ALONE,
            "protocol": load.record.planned.condition.protocol.value,
            "left_out": load.record.left_out,
            MAIN_METRIC: getattr(load.record.observation, MAIN_METRIC),
        }
        for load in loads
    ]
    table = pd.DataFrame(rows, columns=["run", "block", "cell", "protocol", "left_out", MAIN_METRIC])
    found = []
    for protocol in protocols:
        mine = table[table["protocol"] == protocol]
        reasons = Counter(mine["left_out"].dropna()).most_common(1)
        blocks = Blocks(mine[mine["left_out"].isna()], MAIN_METRIC)
        seen = compare(blocks, BUSY, ALONE, Certainty(MARGIN))
        found.append(
            LaneFinding(
                protocol,
                rounds,
                blocks.values(ALONE).size,
                seen.n,
                seen.ratio,
                seen.low,
                seen.high,
                f"{reasons[0][0]}, {reasons[0][1]} attempts" if reasons else None,
            )
        )
    return found


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.2f}"
