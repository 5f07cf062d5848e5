"""One recorded response: the noun everything else in `sites` is about."""

from __future__ import annotations

import ipaddress
import math
import re
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from harness.errors import ArchiveError
from harness.model.protocol import Headers
from sites.mediatype import mime_of
from sites.urls import canonical_url

# An archive is of one page: far above what any page holds, far below what would fill a machine.
BODY_LIMIT_BYTES = 100_000_000
LATEST_MS = 1e14  # some 3000 years
PARTIAL = 206


_RANGE = re.compile(r"bytes ([0-9]{1,15})-([0-9]{1,15})/([0-9]{1,15}|\*)")


def header_of(headers: Headers, name: str) -> str | None:
    """The value of the first header of that name, in any case."""
    return next((value for key, value in headers if key.lower() == name.lower()), None)


@dataclass(frozen=True)
class ByteRange:
    """Which bytes of a body an answer holds: the first, and the one after the last. `total`: how many the body has."""

    first: int
    end: int
    total: int | None

    @property
    def is_whole(self) -> bool:
        return self.first == 0 and self.end == self.total


class WithHeaders:
    """What has a status and headers, as its headers say."""

    status: int
    headers: Headers

    def header(self, name: str) -> str | None:
        """The first header of that name, in any case."""
        return header_of(self.headers, name)

    @property
    def mime(self) -> str:
        """The media type without its parameters; "" when none was recorded."""
        return mime_of(self.header("Content-Type"))

    @property
    def location(self) -> str | None:
        """What a redirect names as its target, as recorded; None for everything else."""
        return self.header("Location") if 300 <= self.status < 400 else None

    @property
    def byte_range(self) -> ByteRange | None:
        """Of an answer that is one part of a body (206), which; None for everything else."""
        told = (
            _RANGE.fullmatch((self.header("Content-Range") or "").strip()) if self.status == PARTIAL else None
        )
        if told is None:
            return None
        first, last = int(told[1]), int(told[2])
        total = None if told[3] == "*" else int(told[3])
        return (
            ByteRange(first, last + 1, total)
            if first <= last < (last + 1 if total is None else total)
            else None
        )


@dataclass(frozen=True)
class Response(WithHeaders):
    """One recorded response. `body` is as it travelled: Content-Encoding applied, transfer coding removed.

    `ip` is the address of the server that gave it, `wait_ms` the time from the request to the first byte of its answer
    (one round trip, and what the server took), `connect_ms` the time from the first packet of the connection that was
    made for it to the server's first (one round trip); None where the recording does not tell, and for a connection
    that there was already.
    """

    url: str
    status: int
    headers: Headers
    body: bytes
    date: datetime | None = None
    reason: str = ""
    ip: str | None = None
    wait_ms: float | None = None
    connect_ms: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", canonical_url(self.url))
        if not 200 <= self.status <= 599:
            raise ArchiveError(
                f"{self.url} was recorded with status {self.status}; leave it out, 200 to 599 can be archived"
            )
        if self.ip is not None:
            try:
                object.__setattr__(self, "ip", ip_text(self.ip))
            except ValueError as error:
                raise ArchiveError(
                    f"{self.ip[:60]!r}, where {self.url} came from, is no IP address; correct it"
                ) from error
        for name, took_ms in (("wait_ms", self.wait_ms), ("connect_ms", self.connect_ms)):
            if took_ms is None:
                continue
            if not (math.isfinite(took_ms) and took_ms >= 0):
                raise ArchiveError(f"{self.url} cannot have taken {took_ms} ms; correct the recording")
            object.__setattr__(self, name, float(took_ms))  # as it is read back; digests are of its text


def ip_text(text: str) -> str:
    """An IP address in its one spelling; ValueError when it is none.

    The zone that an IPv6 address may end in (`%eth0`) is left out: it can be any text, also line breaks, and means
    something only on the machine that recorded.
    """
    return str(ipaddress.ip_address(text.partition("%")[0]))


@dataclass(frozen=True)
class RecordedRequest:
    """When a request of a recorded load was asked for by the page, sent, first answered and over, in ms since the
    navigation began.
    """

    host: str
    asked_ms: float
    sending_ms: float
    answered_ms: float
    ended_ms: float


@dataclass(frozen=True)
class RecordedLoad:
    """When a recorded page had loaded, and what its requests waited for, in ms since the navigation began.

    `requests` are those that were over by then; what a cache answered is none. `handshakes` are look-ups of names and
    connections in the making.
    """

    took_ms: float
    requests: tuple[RecordedRequest, ...]
    handshakes: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        times = [
            (request.asked_ms, request.sending_ms, request.answered_ms, request.ended_ms)
            for request in self.requests
        ]
        if not is_load_time(self.took_ms) or any(
            not abs(ms) <= LATEST_MS for ms in chain(*times, *self.handshakes)
        ):
            raise ValueError("a recorded load has times that no clock shows")


def is_load_time(took_ms: float) -> bool:
    """Whether a page can have loaded after so many ms."""
    return 1 <= took_ms <= LATEST_MS
