"""An emulated access link as a frozen, self-validating value.

Units stand in the names: `_ms`, `_mbps` (10^6 bit/s), `_bytes` (IP bytes on the link). RTT is the full round trip.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.keys import NAME_PATTERN
from harness.input.shown import shown
from harness.model.direction import LEAST_DELAY_MS, MTU_BYTES, Direction, Discipline, Queue, Way
from harness.model.rate import MAX_RATE_MBPS, MIN_RATE_MBPS, ConstantRate

MAX_RTT_MS = 60_000.0
MAX_SEED = 2**32
QUEUE_FLOOR_BYTES = 1000 * MTU_BYTES  # the default limit of Linux netem, so what other tools' links have


@dataclass(frozen=True)
class Link:
    """An emulated access link: a description of each direction and the full round-trip time.

    The delays of the directions sum up to `rtt_ms`; where they have none of their own, half of it is added in each.
    `seed` is that of random loss and jitter: each block of a run draws anew from it, all conditions of a block alike.

    With `per_client` each client address has all this to itself, and all of them share a common link of these rates,
    where there are any.

    What is not `emulated` is no link at all, `NO_LINK`: client and server side by side.
    """

    name: str
    rtt_ms: float
    down: Direction
    up: Direction
    seed: int = 1
    per_client: bool = False
    shared_down_mbps: float | None = None
    shared_up_mbps: float | None = None
    emulated: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if not NAME_PATTERN.fullmatch(self.name):
            raise StudyError(
                f"link name {shown(self.name)}: it may hold up to 100 letters, digits, '.', '_' and '-' only"
            )
        keys.positive(f"link {self.name}: rtt_ms", self.rtt_ms, LEAST_DELAY_MS, MAX_RTT_MS, zero=True)
        self._check_delays()
        self._check_sharing()

    def _check_delays(self) -> None:
        down, up = self.down.delay_ms, self.up.delay_ms
        if down is None and up is None:
            return
        if down is None or up is None:
            raise StudyError(
                f"link {self.name} has a delay {'up' if down is None else 'down'} only; give delay_down_ms and "
                "delay_up_ms, or rtt_ms"
            )
        if not math.isclose(down + up, self.rtt_ms):
            raise StudyError(
                f"link {self.name}: rtt_ms is {self.rtt_ms:g}, but its delays sum up to {down + up:g} ms"
            )

    def _check_sharing(self) -> None:
        for direction in self.directions:
            key, rate = f"shared_{direction.way}_mbps", self.shared_mbps(direction.way)
            if rate is not None:
                keys.positive(key, rate, MIN_RATE_MBPS, MAX_RATE_MBPS)
                if rate < direction.rate.mean_mbps:
                    raise StudyError(
                        f"{key} is {rate:g}: less than the {direction.rate.mean_mbps:g} Mbit/s of each client; "
                        "give at least that"
                    )
            if rate is not None and not self.per_client:
                raise StudyError(
                    f"{key} needs per_client = true: without it there is one link, shared by all"
                )
            if self.per_client and direction.queue.discipline is Discipline.UNLIMITED:
                raise StudyError(
                    f"queue_{direction.way} is unlimited; with per_client it needs a size: many would fill memory"
                )

    @classmethod
    def of(
        cls,
        down_mbps: float,
        rtt_ms: float,
        up_mbps: float | None = None,
        *,
        delays_ms: tuple[float, float] | tuple[None, None] = (None, None),
        name: str | None = None,
    ) -> Link:
        """A link of constant rates with the defaults filled in: symmetric, default queues, no loss, no jitter.

        `delays_ms` are those down and up; by default half of `rtt_ms` each.
        """
        rates = (float(down_mbps), float(down_mbps if up_mbps is None else up_mbps))
        down, up = (
            Direction(way, ConstantRate(rate), default_queue(rate, rtt_ms), delay_ms=delay)
            for way, rate, delay in zip(Way, rates, delays_ms, strict=True)
        )
        return cls(name or default_name(down, up, rtt_ms), float(rtt_ms), down, up)

    @property
    def directions(self) -> tuple[Direction, Direction]:
        return self.down, self.up

    @property
    def has_own_delays(self) -> bool:
        """Whether the link says its delay each way, instead of its round-trip time alone."""
        return self.down.delay_ms is not None

    def delay_ms(self, way: Way) -> float:
        """What is added in a direction."""
        own = (self.down if way is Way.DOWN else self.up).delay_ms
        return self.rtt_ms / 2 if own is None else own

    def shared_mbps(self, way: Way) -> float | None:
        """The rate that all clients share in a direction; None without limit."""
        return self.shared_down_mbps if way is Way.DOWN else self.shared_up_mbps

    def limit_mbps(self, way: Way) -> float | None:
        """The rate that all of its traffic in a direction cannot pass; None where nothing limits that."""
        if self.per_client:
            return self.shared_mbps(way)
        return (self.down if way is Way.DOWN else self.up).rate.mean_mbps if self.emulated else None

    def to_json(self) -> dict[str, Any]:
        """The keys of a record; those of many clients only where the link is one per client."""
        shared = {f"shared_{way}_mbps": self.shared_mbps(way) for way in Way}
        return {
            "name": self.name,
            "rtt_ms": self.rtt_ms,
            **self.down.to_json(),
            **self.up.to_json(),
            "seed": self.seed,
            **({"per_client": True, **shared} if self.per_client else {}),
            **({} if self.emulated else {"emulated": False}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Link:
        down, up = (Direction.from_json(way, data) for way in Way)
        return cls(
            data["name"],
            data["rtt_ms"],
            down,
            up,
            int(keys.checked_number("seed", data["seed"], 0, MAX_SEED, whole=True)),
            data.get("per_client", False),
            data.get("shared_down_mbps"),
            data.get("shared_up_mbps"),
            emulated=data.get("emulated", True),
        )


def default_name(down: Direction, up: Direction, rtt_ms: float) -> str:
    """A name made of the link's numbers: `5-1mbps-28ms`, with delays of their own `5mbps-40-45ms`."""
    fast, slow = down.rate.mean_mbps, up.rate.mean_mbps
    rate = f"{fast:g}mbps" if fast == slow else f"{fast:g}-{slow:g}mbps"
    delay = f"{rtt_ms:g}" if down.delay_ms is None else f"{down.delay_ms:g}-{up.delay_ms:g}"
    return f"{rate}-{delay}ms"


def default_queue(rate_mbps: float, rtt_ms: float) -> Queue:
    """Drop-tail of one bandwidth-delay product, at least QUEUE_FLOOR_BYTES.

    A page load alone then loses no packet to its own bursts; a smaller queue is a setting of the study, not a hidden
    source of noise. Tolerates values that `Link` will refuse.
    """
    product = rate_mbps * 1e6 / 8 * rtt_ms / 1e3
    size = max(QUEUE_FLOOR_BYTES, math.ceil(product)) if math.isfinite(product) else QUEUE_FLOOR_BYTES
    return Queue(Discipline.DROP_TAIL, size)


# Nothing is limited: its rates are the highest that a link can have, and nothing keeps to them.
_FASTEST, _UNLIMITED = ConstantRate(MAX_RATE_MBPS), Queue(Discipline.UNLIMITED, None)
NO_LINK = Link(
    "none",
    0.0,
    Direction(Way.DOWN, _FASTEST, _UNLIMITED),
    Direction(Way.UP, _FASTEST, _UNLIMITED),
    emulated=False,
)
