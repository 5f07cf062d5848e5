"""What loads in Mahimahi take longer than here, split by cause: the section of the document and its data. Pure.

Each block has one load of each arm. A cause is the change of one thing, as a log ratio of two arms inside a block, so
causes add up, and what they leave is known:

  Mahimahi / here = observed (bare / here) + link + server + congestion control (Mahimahi / both)

Link and server are crossed: either can be ours or Mahimahi's, in four arms. The share of each is the mean of what it
makes with the server (the link) ours and Mahimahi's (Shapley's value), so that the two add up to what both make.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from analysis.statistics import CONFIDENCE
from analysis.statistics.contrast import contrast


class Arm(StrEnum):
    """What is loaded in each block, with how the document calls it."""

    _value_: str
    label: str

    def __new__(cls, value: str, label: str) -> Arm:
        member = str.__new__(cls, value)
        member._value_ = value
        member.label = label
        return member

    HERE = "here", "here: a trial, Apache"
    BARE = "bare", "here, without a trial's probes"
    LINK = "link", "Mahimahi's link, our server"
    SERVER = "server", "our link, Mahimahi's server"
    BOTH = "both", "Mahimahi's link and server, our congestion control"
    MAHIMAHI = "mahimahi", "Mahimahi"
    FAR = "far", "here, with its round trip"
    SLOW = "slow", "here, with its time of an answer"
    PROCESSES = "processes", "here, with its processes"


_ARMS: Mapping[str, Arm] = {arm.value: arm for arm in Arm}


@dataclass(frozen=True)
class Took:
    """The times of a load: the median and the longest wait of a request, the median of its connects.

    `lost` are the packets that the link's queue had no room for, where that is known.
    """

    plt_ms: float
    waited_ms: float
    longest_ms: float
    connect_ms: float
    lost: int | None = None


Block = Mapping[Arm, Took]
# A cause as the arms whose log ratios it is made of, each with its weight.
Weights = Mapping[Arm, float]


@dataclass(frozen=True)
class Cause:
    """What is changed between two sets of arms. One that is `within` is a part of the cause above it."""

    label: str
    weights: Weights
    within: bool = False


WHOLE = Cause("all", {Arm.MAHIMAHI: 1, Arm.HERE: -1})
LINK = {Arm.LINK: 0.5, Arm.BARE: -0.5, Arm.BOTH: 0.5, Arm.SERVER: -0.5}
SERVER = {Arm.SERVER: 0.5, Arm.BARE: -0.5, Arm.BOTH: 0.5, Arm.LINK: -0.5}
FAR = {Arm.FAR: 1.0, Arm.BARE: -1.0}
SLOW = {Arm.SLOW: 1.0, Arm.BARE: -1.0}
PROCESSES = {Arm.PROCESSES: 1.0, Arm.BARE: -1.0}


def less(whole: Weights, *parts: Weights) -> Weights:
    """What parts leave of a cause."""
    arms = dict.fromkeys(arm for weights in (whole, *parts) for arm in weights)
    return {arm: whole.get(arm, 0) - sum(part.get(arm, 0) for part in parts) for arm in arms}


CAUSES = (
    Cause("a trial's probes are not there", {Arm.BARE: 1, Arm.HERE: -1}),
    Cause("congestion control", {Arm.MAHIMAHI: 1, Arm.BOTH: -1}),
    Cause("the link", LINK),
    Cause("its longer round trip", FAR, within=True),
    Cause("all else of it", less(LINK, FAR), within=True),
    Cause("the server", SERVER),
    Cause("the time of an answer", SLOW, within=True),
    Cause("processes that start while the page loads", PROCESSES, within=True),
    Cause("all else of it", less(SERVER, SLOW, PROCESSES), within=True),
)


def logs(blocks: Sequence[Block], weights: Weights) -> list[float]:
    """The log ratio of a cause in each block."""
    return [sum(weight * math.log(block[arm].plt_ms) for arm, weight in weights.items()) for block in blocks]


@dataclass(frozen=True)
class Told:
    """A ratio with its 95 % interval, by the statistic of reports."""

    ratio: float
    low: float
    high: float

    @classmethod
    def of(cls, blocks: Sequence[Block], weights: Weights) -> Told:
        seen = contrast(np.array(logs(blocks, weights)))
        low, high = seen.interval(CONFIDENCE)
        return cls(*map(math.exp, (seen.centre, low, high)))

    def __str__(self) -> str:
        return f"{self.ratio:.3f} ({self.low:.3f} to {self.high:.3f})"


def share(blocks: Sequence[Block], cause: Cause) -> float | None:
    """How much of the whole difference a cause makes, in %, by mean log ratios: those of all causes add up to 100.

    None where the whole has no direction.
    """
    whole = Told.of(blocks, WHOLE.weights)
    if not (whole.low > 1 or whole.high < 1):
        return None
    return 100 * statistics.fmean(logs(blocks, cause.weights)) / statistics.fmean(logs(blocks, WHOLE.weights))


def blocks_of(data: Mapping[str, Any]) -> list[dict[Arm, Took]]:
    """The blocks of a data file."""
    return [{_ARMS[arm]: Took(**times) for arm, times in block.items()} for block in data["blocks"]]


def to_json(blocks: Sequence[Block]) -> list[dict[str, dict[str, Any]]]:
    return [{arm.value: asdict(times) for arm, times in block.items()} for block in blocks]


def arm_rows(blocks: Sequence[Block]) -> Iterator[tuple[str, ...]]:
    """A row for each arm: medians, CV, and the ratios of pairs to here and of Mahimahi to it."""
    yield (
        *("", "page-load time, ms", "CV, %", "a connect, ms", "a request waits, ms", "the longest, ms"),
        *("times here", "Mahimahi takes times as long"),
    )
    for arm in Arm:
        loads = [block[arm] for block in blocks]
        times = [load.plt_ms for load in loads]
        yield (
            arm.label,
            f"{statistics.median(times):,.0f}",
            f"{statistics.stdev(times) / statistics.mean(times) * 100:.1f}",
            *(
                f"{statistics.median(values):,.0f}"
                for values in (
                    [load.connect_ms for load in loads],
                    [load.waited_ms for load in loads],
                    [load.longest_ms for load in loads],
                )
            ),
            "" if arm is Arm.HERE else str(Told.of(blocks, {arm: 1, Arm.HERE: -1})),
            "" if arm is Arm.MAHIMAHI else str(Told.of(blocks, {Arm.MAHIMAHI: 1, arm: -1})),
        )


def cause_rows(blocks: Sequence[Block]) -> Iterator[tuple[str, ...]]:
    """A row for each cause, and for all."""
    yield "cause", "takes times as long", "share of the difference, %"
    for cause in (*CAUSES, WHOLE):
        label = f"- {cause.label}" if cause.within else cause.label
        part = share(blocks, cause)
        yield label, str(Told.of(blocks, cause.weights)), "-" if part is None else f"{part:.0f}"


def table(rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    """In Markdown."""
    head = next(rows)
    for cells in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(cells)} |"
