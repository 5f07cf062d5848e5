"""An emulated access link as a frozen, self-validating value.

Units stand in the names: `_ms`, `_mbps` (10^6 bit/s), `_bytes` (IP bytes on the link). RTT is the full round trip.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.keys import NAME_PATTERN
from harness.input.shown import shown
from harness.model.direction import LEAST_DELAY_MS, MTU_BYTES, Direction, Discipline, Queue, Way
from harness.model.rate import ConstantRate

MAX_RTT_MS = 60_000.0
QUEUE_FLOOR_BYTES = 1000 * MTU_BYTES  # the default limit of Linux netem, so what other tools' links have


class Backend(StrEnum):
    """What emulates the link and how packets get there; a run has one kind."""

    TUN = "tun"  # our emulator over TUN devices
    VETH = "veth"  # our emulator over veth pairs and packet sockets, for ordinary users
    NETEM = "netem"  # the kernel's own emulator, where it has one


@dataclass(frozen=True)
class Link:
    """An emulated access link: a description of each direction and the full round-trip time.

    Half of `rtt_ms` is added in each direction. `seed` is that of random loss and jitter: each block of a run draws
    anew from it, all conditions of a block alike.
    """

    name: str
    rtt_ms: float
    down: Direction
    up: Direction
    seed: int = 1

    def __post_init__(self) -> None:
        if not NAME_PATTERN.fullmatch(self.name):
            raise StudyError(
                f"link name {shown(self.name)}: it may hold up to 100 letters, digits, '.', '_' and '-' only"
            )
        keys.positive(f"link {self.name}: rtt_ms", self.rtt_ms, LEAST_DELAY_MS, MAX_RTT_MS, zero=True)

    @classmethod
    def of(
        cls, down_mbps: float, rtt_ms: float, up_mbps: float | None = None, *, name: str | None = None
    ) -> Link:
        """A link of constant rates with the defaults filled in: symmetric, default queues, no loss, no jitter."""
        down, up = (
            Direction(way, ConstantRate(rate), default_queue(rate, rtt_ms))
            for way, rate in (
                (Way.DOWN, float(down_mbps)),
                (Way.UP, float(down_mbps if up_mbps is None else up_mbps)),
            )
        )
        return cls(name or default_name(down, up, rtt_ms), float(rtt_ms), down, up)

    @property
    def directions(self) -> tuple[Direction, Direction]:
        return self.down, self.up

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "rtt_ms": self.rtt_ms,
            **self.down.to_json(),
            **self.up.to_json(),
            "seed": self.seed,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Link:
        down, up = (Direction.from_json(way, data) for way in Way)
        return cls(data["name"], data["rtt_ms"], down, up, data["seed"])


def default_name(down: Direction, up: Direction, rtt_ms: float) -> str:
    """A name made of the link's numbers."""
    fast, slow = down.rate.mean_mbps, up.rate.mean_mbps
    rate = f"{fast:g}mbps" if fast == slow else f"{fast:g}-{slow:g}mbps"
    return f"{rate}-{rtt_ms:g}ms"


def default_queue(rate_mbps: float, rtt_ms: float) -> Queue:
    """Drop-tail of one bandwidth-delay product, at least QUEUE_FLOOR_BYTES.

    A page load alone then loses no packet to its own bursts; a smaller queue is a setting of the study, not a hidden
    source of noise. Tolerates values that `Link` will refuse.
    """
    product = rate_mbps * 1e6 / 8 * rtt_ms / 1e3
    size = max(QUEUE_FLOOR_BYTES, math.ceil(product)) if math.isfinite(product) else QUEUE_FLOOR_BYTES
    return Queue(Discipline.DROP_TAIL, size)
