"""A closed loop as values: what a tool is to ask for, and what it says of the time that counts. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

from harness.model.protocol import Protocol


@dataclass(frozen=True)
class ClosedLoop:
    """One URL, asked for over so many `connections` by one protocol, each with `depth` requests under way.

    What is answered in `seconds` counts, after `warm_s` that do not. `codings` are what the answer may be coded by.
    """

    url: str
    protocol: Protocol
    connections: int
    depth: int
    seconds: float
    warm_s: float = 0.0
    codings: tuple[str, ...] = ()
    threads: int = 1

    @property
    def accepted(self) -> str:
        """The value of Accept-Encoding."""
        return ", ".join(self.codings) or "identity"


@dataclass(frozen=True)
class Latency:
    """From a request to the end of its answer, in ms."""

    p50_ms: float
    p90_ms: float
    p99_ms: float
    p999_ms: float


PERCENTILES = (50, 90, 99, 99.9)  # in the order of `Latency`


@dataclass(frozen=True)
class RateReading:
    """What a tool says of the seconds that count.

    `requests` are those answered with a status below 400, `errors` counts the others by kind. `bytes_read` are bytes on
    the sockets without TLS. None is what the tool does not tell: `bytes_body` without headers, `latency`, `under_way`
    (how many requests were under way at once on all connections, on the average), `protocol` by its ALPN name, `tls` as
    logs of servers name it.
    """

    seconds: float
    requests: int
    errors: Mapping[str, int]
    bytes_read: int
    bytes_body: int | None = None
    latency: Latency | None = None
    under_way: float | None = None
    protocol: str | None = None
    tls: str | None = None

    @property
    def requests_per_s(self) -> float:
        return self.requests / self.seconds


def percentiles(counts: Mapping[int, int]) -> Latency:
    """Of microseconds with how often there were so many: the least that the share of them does not exceed."""
    values = sorted(counts)
    reached = list(accumulate(counts[value] for value in values))
    wanted = [math.ceil(share / 100 * reached[-1]) for share in PERCENTILES]
    found = (next(v for v, total in zip(values, reached, strict=True) if total >= rank) for rank in wanted)
    return Latency(*(value / 1000 for value in found))


def there_were(**errors: int) -> dict[str, int]:
    """The kinds of errors without those that did not happen."""
    return {kind: count for kind, count in errors.items() if count}
