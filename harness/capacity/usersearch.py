"""How many users a server stands: numbers of users are held one after the other until pages take too long. Pure.

A number is too high when the median page takes longer than the bound, or fails. The first round goes up from a first
number in steps of ROUGH, or down, until two neighbours lie on either side of the bound. Each further round starts where
the rounds before met it and goes in steps of FINE, with crowds of its own. Between the two neighbours the page time is
taken to be a line: in a crowd that thinks between pages it grows with the users once something has run out (the law of
response times, Denning and Buzen 1978). The limit is the geometric mean of the fine rounds, its interval Student's t on
their logarithms. Rounds that agree tell no more than their neighbours do, so the interval spans at least from the
greatest number within the bound to the least over it.

What a page needs of a part stays the same whatever else runs out (the utilisation law). So a part that is used by a
share at the limit would run out at limit / share users, if what limited were no more: the next limit is the part with
the largest share.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scipy import stats

from harness.capacity.limit import SPOILING, Bottleneck

ROUGH, FINE = 2.0, 1.2
CONFIDENCE = 0.95
SEEN = 0.01  # the least share of a part from which something can be told


@dataclass(frozen=True, kw_only=True)
class Held:
    """A number of users that was held. `page_ms`: the median page once the crowd had settled, infinite when none came.

    `used` is the share of each part that was used then. `disturbed` names what the machine did to the crowd, `refused`
    why the machine cannot hold it at all.
    """

    users: int
    page_ms: float = math.inf
    pages_per_s: float = 0.0
    used: Mapping[Bottleneck, float] = field(default_factory=dict)
    limited_by: Bottleneck = Bottleneck.NOTHING
    disturbed: str | None = None
    refused: str | None = None

    @property
    def unknown(self) -> str | None:
        """Why nothing is known of the server with so many users; None where it is."""
        if self.refused is None and self.limited_by in SPOILING:
            part = (
                "what makes the users" if self.limited_by is Bottleneck.GENERATOR_CPU else "the link emulator"
            )
            return f"{part} ran out of CPU"
        return self.refused

    def to_json(self) -> dict[str, Any]:
        """A page time that is infinite is null."""
        return {
            "users": self.users,
            "page_ms": self.page_ms if math.isfinite(self.page_ms) else None,
            "pages_per_s": self.pages_per_s,
            "limited_by": self.limited_by.value,
            "used": {part.value: round(share, 4) for part, share in self.used.items()},
            "disturbed": self.disturbed,
            "refused": self.refused,
        }


Hold = Callable[[int], Held]


@dataclass(frozen=True)
class UserLimit:
    """The limit in users with its 95 % interval, what limited, and what would be next, at so many users.

    No `users`: it was not met, `why` says by what, and `at_least` so many stay within the bound (None: not even one).
    """

    users: float | None = None
    low: float | None = None
    high: float | None = None
    limited_by: Bottleneck = Bottleneck.NOTHING
    next_limit: Bottleneck | None = None
    next_users: float | None = None
    at_least: int | None = None
    why: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            **{key: getattr(self, key) for key in ("users", "low", "high", "at_least", "why")},
            "limited_by": self.limited_by.value,
            "next_limit": self.next_limit.value if self.next_limit else None,
            "next_users": self.next_users,
        }


@dataclass(frozen=True)
class _Pair:
    """Two numbers of users on either side of the bound."""

    within: Held
    over: Held

    def crossing(self, bound_ms: float) -> float:
        """Where the line between them meets the bound; the geometric middle where no page came beyond it."""
        low, high = self.within, self.over
        if math.isinf(high.page_ms):
            return math.sqrt(low.users * high.users)
        share = (bound_ms - low.page_ms) / (high.page_ms - low.page_ms)
        return low.users + share * (high.users - low.users)


def find_limit(hold: Hold, bound_ms: float, *, start: int, rounds: int) -> UserLimit:
    """The users from which on the median page takes longer than `bound_ms`, by so many fine rounds (2 at least)."""
    met = _pair(hold, bound_ms, start, ROUGH)
    if isinstance(met, UserLimit):
        return met
    at, pairs = met.crossing(bound_ms), []
    for _ in range(rounds):
        met = _pair(hold, bound_ms, max(1, round(at)), FINE)
        if isinstance(met, UserLimit):
            return met
        pairs.append(met)
        at = statistics.geometric_mean([pair.crossing(bound_ms) for pair in pairs])
    return _told(pairs, bound_ms)


def _pair(hold: Hold, bound_ms: float, start: int, step: float) -> _Pair | UserLimit:
    """The neighbours of the bound on the way from a number of users, no further apart than a step.

    Steps grow on the way, up to ROUGH; what they leap over is halved afterwards. So is the way to a number of which
    nothing is known: the bound may lie before it.
    """

    def is_within(held: Held) -> bool:
        return held.unknown is None and held.page_ms <= bound_ms

    held, factor = hold(start), step
    if is_within(held):
        within, over = held, hold(_higher(held.users, factor))
        while is_within(over):
            factor = min(factor**2, ROUGH)
            within, over = over, hold(_higher(over.users, factor))
    else:
        within, over = held, held
        while not is_within(within):
            if within.users == 1:
                return _none(within)
            over, within = within, hold(_lower(within.users, factor))
            factor = min(factor**2, ROUGH)
    while over.users > _higher(within.users, FINE if over.unknown else step):
        middle = hold(round(math.sqrt(within.users * over.users)))
        within, over = (middle, over) if is_within(middle) else (within, middle)
    if over.unknown is not None:
        return UserLimit(at_least=within.users, why=f"with {over.users:,} users {over.unknown}")
    return _Pair(within, over)


def _higher(users: int, factor: float) -> int:
    return max(users + 1, round(users * factor))


def _lower(users: int, factor: float) -> int:
    return min(users - 1, round(users / factor))


def _none(alone: Held) -> UserLimit:
    told = "fails" if math.isinf(alone.page_ms) else f"takes {alone.page_ms / 1000:.2f} s"
    return UserLimit(why=alone.unknown or f"one user alone waits too long: the page {told}")


def _told(pairs: Sequence[_Pair], bound_ms: float) -> UserLimit:
    """The limit by the fine rounds."""
    logs = [math.log(pair.crossing(bound_ms)) for pair in pairs]
    mean, n = statistics.fmean(logs), len(logs)
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)) * statistics.stdev(logs) / math.sqrt(n)
    users = math.exp(mean)
    limited_by = _limit(pairs)
    next_limit, share = _next(pairs, limited_by)
    return UserLimit(
        users,
        min(math.exp(mean - half), max(pair.within.users for pair in pairs)),
        max(math.exp(mean + half), min(pair.over.users for pair in pairs)),
        limited_by,
        next_limit,
        users / share if next_limit else None,
    )


def _limit(pairs: Sequence[_Pair]) -> Bottleneck:
    """What ran out beyond the bound in half of the rounds or more; where nothing did, just within it."""
    for held in ([pair.over for pair in pairs], [pair.within for pair in pairs]):
        limits = Counter(crowd.limited_by for crowd in held if crowd.limited_by is not Bottleneck.NOTHING)
        for limit, rounds in limits.most_common(1):
            if 2 * rounds >= len(pairs):
                return limit
    return Bottleneck.NOTHING


def _next(pairs: Sequence[_Pair], limited_by: Bottleneck) -> tuple[Bottleneck | None, float]:
    """The part, of those that did not limit, that was used most around the bound, with its share."""
    crowds = [held for pair in pairs for held in (pair.within, pair.over)]
    parts = {part for held in crowds for part in held.used} - {limited_by}
    used = {part: statistics.fmean(held.used[part] for held in crowds if part in held.used) for part in parts}
    most = max(sorted(used), key=lambda part: used[part], default=None)
    return (most, used[most]) if most is not None and used[most] >= SEEN else (None, 0.0)
