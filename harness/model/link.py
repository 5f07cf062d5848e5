"""An emulated access link, and a direction of it, as frozen, self-validating values.

Units stand in the names: `_ms`, `_mbps` (10^6 bit/s), `_bytes` (IP bytes on the link). RTT is the full round trip.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.keys import NAME_PATTERN
from harness.input.shown import shown
from harness.model.rate import MAX_RATE_MBPS, MIN_RATE_MBPS, ConstantRate, Rate, RateFormat, RecordedRate

MTU_BYTES = 1500
LEAST_DELAY_MS, MAX_DELAY_MS = 0.01, 60_000.0
LOSS_PERCENT = 0.0001, 99.9999  # or none
LEAST_CHANCE = 1e-6  # of the emulator's probabilities: what is smaller would be none, what is nearer to 1 all


class Way(StrEnum):
    """Down is to the client, up from it."""

    DOWN = "down"
    UP = "up"


class Discipline(StrEnum):
    """What a queue does with packets it has no room or no patience for."""

    DROP_TAIL = "droptail"
    CODEL = "codel"  # RFC 8289, target 5 ms, interval 100 ms; drop-tail when its bytes are full
    UNLIMITED = "unlimited"


@dataclass(frozen=True)
class Queue:
    """What waits for the transmitter. `limit_bytes` does not count the packet in transmission; None: no limit."""

    discipline: Discipline
    limit_bytes: int | None


@dataclass(frozen=True)
class RandomLoss:
    """Each packet is lost by itself with the same probability."""

    percent: float = 0.0

    @property
    def mean_percent(self) -> float:
        return self.percent

    @property
    def correlation(self) -> float:
        """Of the fates of two packets in a row."""
        return 0.0


@dataclass(frozen=True)
class GilbertElliott:
    """Bursty loss by a channel of two states (Hasslinger and Hohlfeld, MMB 2008; netem takes 1-h and 1-k).

    Per packet, `p` is the probability to go from the good state to the bad one and `r` the one back; `h` and `k` are
    the probabilities that a packet gets through in the bad and in the good state.
    """

    p: float
    r: float
    h: float = 0.0
    k: float = 1.0

    @property
    def mean_percent(self) -> float:
        return 100 * (self.r * (1 - self.k) + self.p * (1 - self.h)) / (self.p + self.r)

    @property
    def correlation(self) -> float:
        """Of the states of two packets in a row; an upper bound for that of their fates."""
        return max(0.0, 1 - self.p - self.r)


Loss = RandomLoss | GilbertElliott


@dataclass(frozen=True)
class Direction:
    """How packets travel one way. Raises StudyError that names the key and the value that is wrong.

    `delay_ms` is None where the link says its round-trip time alone: then it is half of that.
    """

    way: Way
    rate: Rate
    queue: Queue
    loss: Loss = RandomLoss()
    jitter_ms: float = 0.0
    delay_ms: float | None = None

    def __post_init__(self) -> None:
        limit = self.queue.limit_bytes
        keys.positive(f"{self.way}_mbps", self.rate.mean_mbps, MIN_RATE_MBPS, MAX_RATE_MBPS)
        if (limit is None) != (self.queue.discipline is Discipline.UNLIMITED):
            raise StudyError(
                f"queue_{self.way} is {self.queue.discipline}; its size in bytes cannot be {limit}"
            )
        if limit is not None and limit < MTU_BYTES:
            raise StudyError(f"queue_{self.way}_bytes is {limit}; it must hold one packet ({MTU_BYTES})")
        keys.positive(f"jitter_{self.way}_ms", self.jitter_ms, LEAST_DELAY_MS, MAX_DELAY_MS, zero=True)
        if self.delay_ms is not None:
            keys.positive(f"delay_{self.way}_ms", self.delay_ms, LEAST_DELAY_MS, MAX_DELAY_MS, zero=True)
        self._check_loss()

    def _check_loss(self) -> None:
        if isinstance(self.loss, RandomLoss):
            keys.positive(f"loss_{self.way}_percent", self.loss.percent, *LOSS_PERCENT, zero=True)
            return
        key = f"gilbert_elliott_{self.way}"
        for name, value in asdict(self.loss).items():
            keys.positive(f"{key}: the probability {name}", value, LEAST_CHANCE, 1, zero=True)
        if self.loss.p + self.loss.r == 0:
            raise StudyError(f"{key}: p and r are both 0, so the state would never change")
        if self.loss.mean_percent > LOSS_PERCENT[1]:
            raise StudyError(f"{key}: all packets would be lost; some must get through")

    def to_json(self) -> dict[str, Any]:
        """The keys of a record and of a study, each with the way in its name; a delay only where it is given."""
        way, recorded = self.way, self.rate if isinstance(self.rate, RecordedRate) else None
        bursty = asdict(self.loss) if isinstance(self.loss, GilbertElliott) else None
        return {
            f"{way}_mbps": self.rate.mean_mbps,
            **{
                f"{form}_{way}": recorded.to_json() if recorded and recorded.format is form else None
                for form in RateFormat
            },
            f"queue_{way}": self.queue.discipline.value,
            f"queue_{way}_bytes": self.queue.limit_bytes,
            f"loss_{way}_percent": self.loss.mean_percent,
            f"gilbert_elliott_{way}": bursty,
            f"jitter_{way}_ms": self.jitter_ms,
            **({} if self.delay_ms is None else {f"delay_{way}_ms": self.delay_ms}),
        }

    @classmethod
    def from_json(cls, way: Way, data: Mapping[str, Any]) -> Direction:
        """Inverse of `to_json`, but for the text of a trace or step list."""
        mbps, bursty = data[f"{way}_mbps"], data[f"gilbert_elliott_{way}"]
        rate: Rate = ConstantRate(mbps)
        for form in RateFormat:
            if data[f"{form}_{way}"] is not None:
                rate = RecordedRate.from_json(form, data[f"{form}_{way}"], mbps)
        queue = Queue(Discipline(data[f"queue_{way}"]), data[f"queue_{way}_bytes"])
        loss = GilbertElliott(**bursty) if bursty else RandomLoss(data[f"loss_{way}_percent"])
        return cls(way, rate, queue, loss, data[f"jitter_{way}_ms"], data.get(f"delay_{way}_ms"))


MAX_RTT_MS = 60_000.0
MAX_SEED = 2**32
QUEUE_FLOOR_BYTES = 1000 * MTU_BYTES  # the default limit of Linux netem, so what other tools' links have


@dataclass(frozen=True)
class Link:
    """An emulated access link: a description of each direction and the full round-trip time.

    The delays of the directions sum up to `rtt_ms`; where they have none of their own, half of it is added in each.
    `seed` is that of random loss and jitter, which each trial moves on (`PlannedTrial.draw`).

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
    def changes(self) -> bool:
        """Whether a rate of the link changes with time."""
        return any(isinstance(direction.rate, RecordedRate) for direction in self.directions)

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


@dataclass(frozen=True)
class LinkAccount:
    """When packets waited or were in transmission each way, as spans in us of CLOCK_MONOTONIC.

    Spans down are later by the link's delay: the client waits for what comes down until it is there.
    """

    down: tuple[tuple[int, int], ...]
    up: tuple[tuple[int, int], ...]
