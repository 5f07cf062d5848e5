"""One direction of a link as one frozen description: rate, queue, loss and jitter, each kind a value of its own.

Loss strikes first, then the queue, then the transmitter, then the delay and jitter: the model of harness/linkem. Sizes
are IP bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from harness.errors import StudyError
from harness.input import keys
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
