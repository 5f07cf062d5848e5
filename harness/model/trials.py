"""How many trials a condition gets (a number, or until its interval is narrow enough), how many attempts each, and how
long one takes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shown
from harness.model.condition import CacheState, Condition
from harness.model.kind import Requests, Users

MAX_TRIALS = 10_000  # of a condition
USUAL_TRIALS = 5
USUAL_MOST = 60  # where a half-width is asked for on the command line
USUAL_ATTEMPTS = 3
MAX_ATTEMPTS = 10
UNTIL_PERCENT = (0.1, 50.0)
MAX_LOOKS = 8
GROWTH = 1.25  # from one look to the next, where that makes no more looks
# A rough guess: the round trips that a load waits for.
TYPICAL_ROUND_TRIPS = 12
TYPICAL_REST_S = 2.5  # of a page that is observed until it comes to rest
TRIALS_KEYS = ("least", "most", "until", "attempts")
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,3})?) ?%")


@dataclass(frozen=True)
class Trials:
    """`least` to `most` trials of each condition, one in a block. Without `until` both are the same."""

    least: int
    """trials of each condition at least"""
    most: int
    """trials of each condition at most"""
    until: float | None = None
    """half-width of a ratio's interval that is enough, as a share; null: all conditions get `least`"""
    attempts: int = USUAL_ATTEMPTS
    """attempts at a trial at most"""

    def __post_init__(self) -> None:
        for key, value, highest in (
            ("least", self.least, MAX_TRIALS),
            ("most", self.most, MAX_TRIALS),
            ("attempts", self.attempts, MAX_ATTEMPTS),
        ):
            if not 1 <= value <= highest:
                raise StudyError(f"trials: {key} is {value}; it must be 1 to {highest}")
        if self.least > self.most:
            raise StudyError(
                f"trials: least is {self.least} and most {self.most}; raise most, or lower least"
            )
        if self.until is None and self.least != self.most:
            raise StudyError(
                f"trials: nothing says when to stop between {self.least} and {self.most}; "
                'add until = "2 %", or leave most out'
            )
        low, high = UNTIL_PERCENT
        if self.until is not None and not low <= round(self.until * 100, 6) <= high:
            raise StudyError(f"trials: until is {self.until * 100:g} %; it must be {low:g} to {high:g} %")

    @classmethod
    def of(cls, number: int) -> Trials:
        """Exactly so many."""
        return cls(number, number)

    @classmethod
    def parse(cls, value: Any) -> Trials:
        """A number, or a table of TRIALS_KEYS, as a study has it; StudyError with one line."""
        if not isinstance(value, dict):
            return cls.of(int(keys.checked_number("trials", value, 1, MAX_TRIALS, whole=True)))
        table = keys.table("trials", value, TRIALS_KEYS)
        least = _whole(table, "least", USUAL_TRIALS, MAX_TRIALS)
        until = parse_until("trials: until", table["until"]) if "until" in table else None
        if until is not None and "most" not in table:
            raise StudyError("trials has until but no most; say how many trials there may be at most")
        most = _whole(table, "most", least, MAX_TRIALS)
        return cls(least, most, until, _whole(table, "attempts", USUAL_ATTEMPTS, MAX_ATTEMPTS))

    @property
    def looks(self) -> tuple[int, ...]:
        """The blocks after which a condition may stop, fixed before the first trial; none without `until`.

        From `least` to `most` in about equal ratios, as the width of an interval goes by the root of the trials; few,
        because the interval has to allow for every look.
        """
        if self.until is None:
            return ()
        span = math.log(self.most / self.least)
        steps = min(MAX_LOOKS - 1, math.ceil(span / math.log(GROWTH)))
        blocks = (self.least * math.exp(span * step / steps) for step in range(1, steps + 1))
        return tuple(sorted({self.least, *map(round, blocks)}))

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "looks": list(self.looks)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Trials:
        """Inverse of `to_json`; StudyError for what it never gives."""
        until = data["until"]
        trials = cls(
            _whole(data, "least", None, MAX_TRIALS),
            _whole(data, "most", None, MAX_TRIALS),
            until if until is None else keys.checked_number("until", until, 0, 1),
            _whole(data, "attempts", None, MAX_ATTEMPTS),
        )
        if data["looks"] != list(trials.looks):
            raise StudyError(
                f"trials: looks are {shown(data['looks'])}; with {trials} trials they are {trials.looks}"
            )
        return trials

    def __str__(self) -> str:
        if self.until is None:
            return str(self.most)
        return f"{self.least} to {self.most}"


def parse_until(key: str, value: Any) -> float:
    """A percentage as a share: 0.02 from "2 %"; StudyError with one line."""
    match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise StudyError(f'{key} must be a text such as "2 %", found {shown(value)}')
    return round(float(match[1]) / 100, 8)


def _whole(table: Mapping[str, Any], key: str, default: int | None, most: int) -> int:
    value = table.get(key, default)
    return int(keys.checked_number(f"trials: {key}", value, 1, most, whole=True))


@dataclass(frozen=True)
class PlannedTrial:
    """One trial to come. A `portrait` is observed with all that takes its time."""

    trial: str
    """id of the trial"""
    block: int
    """round over all conditions, from 1"""
    order: int
    """place of the trial in the run, from 1"""
    condition: Condition
    """what is loaded, how and by what"""
    portrait: bool = False
    """true for a load that is looked at and not measured; absent for others"""
    own_draw: int | None = None
    """what its link's seed of loss and jitter is moved on by; absent where that is the number of the block"""

    @property
    def draw(self) -> int:
        """What the seed is moved on by: alike for what is compared in a block, other for each page, block and run."""
        return self.block if self.own_draw is None else self.own_draw

    def to_json(self) -> dict[str, Any]:
        return {
            "trial": self.trial,
            "block": self.block,
            "order": self.order,
            "condition": self.condition.to_json(),
            **({"portrait": True} if self.portrait else {}),
            **({} if self.own_draw is None else {"own_draw": self.own_draw}),
        }


def seconds_of(condition: Condition, page_bytes: int) -> float:
    """About how long a trial takes."""
    overhead, load = condition.driver.overhead_s, condition.workload
    if isinstance(load, Users):
        return overhead + load.seconds
    if isinstance(load, Requests):
        return overhead + load.warm_s + load.seconds
    on_the_link = page_bytes * 8 / (condition.link.down.rate.mean_mbps * 1e6)
    once = overhead + on_the_link + TYPICAL_ROUND_TRIPS * condition.link.rtt_ms / 1e3
    return once if condition.cache is CacheState.COLD else 2 * once + TYPICAL_REST_S
