"""All that was seen of one load, before anything is said of it: what each probe saw, by the type of what that is.

More than one probe asks what the server answered, and when the page's threads ran, so these stand here, too.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeVar

from harness.engines.browserlog import Request
from harness.errors import Outcome
from harness.input.shown import clipped, shortened
from harness.model.condition import CacheState
from harness.model.protocol import Protocol
from sites.servers.server import ServedRequest

LONGEST_NAMED = 300
LONGEST_URL = 2000  # characters; what real pages ask for is shorter
# Of a list of texts, as JSON; some 10,000 usual URLs. No reader takes a line of 20 MB (`harness.input.jsontext`).
LONGEST_LIST_BYTES = 1_000_000
SeenValue = TypeVar("SeenValue")


@dataclass(frozen=True)
class LoadSetup:
    """What the load should have been: the page and its hosts, the protocol, the link's round trip, the cache.

    `distances_ms` are what a round trip to a server address takes longer than the link's, where it does.
    `delay_down_ms` is that of the link, `way_up_ms` the longest that its delay and jitter up take.
    `since_1970_us` makes a time of CLOCK_MONOTONIC in us one since 1970.
    `live`: others serve the page, by whatever protocols, over a link that is not ours.
    """

    protocol: Protocol
    start_url: str
    page_hosts: frozenset[str]
    rtt_ms: float
    tls: str = "1.3"
    tls_resumption: bool = False
    h2_stream_window_bytes: int | None = None
    cache: CacheState = CacheState.COLD
    delay_down_ms: float = 0.0
    way_up_ms: float = 0.0
    since_1970_us: int = 0
    distances_ms: Mapping[str, float] = field(default_factory=dict)
    live: bool = False

    def round_trip_ms(self, remote: str) -> float:
        """To a server, as a connection names its end: `10.0.0.1:443`."""
        return self.rtt_ms + self.distances_ms.get(remote.rpartition(":")[0], 0.0)

    def delay_from_ms(self, address: str) -> float:
        """How long a packet takes from a server to the client, by the server's address."""
        return self.delay_down_ms + self.distances_ms.get(address, 0.0) / 2

    @property
    def longest_way_up_ms(self) -> float:
        """To the farthest server of the page, for a packet that waits for no other."""
        return self.way_up_ms + max(self.distances_ms.values(), default=0.0) / 2

    @property
    def longest_round_trip_ms(self) -> float:
        """To the farthest server of the page."""
        return self.rtt_ms + max(self.distances_ms.values(), default=0.0)


@dataclass(frozen=True)
class Evidence:
    """What one load left behind. A probe that did not get to see anything left nothing."""

    setup: LoadSetup
    seen: Mapping[type, object] = field(default_factory=dict)

    def get(self, kind: type[SeenValue]) -> SeenValue | None:
        """What was seen of that type; None when nothing was."""
        seen = self.seen.get(kind)
        return seen if isinstance(seen, kind) else None

    def of(self, kind: type[SeenValue]) -> SeenValue:
        """The same of a type whose fields may all be empty: empty when nothing was seen."""
        return self.get(kind) or kind()


class Blame(IntEnum):
    """What is blamed for a load that does not count: the first of these for which there is a reason."""

    STOOD_STILL = 1
    CRASHED = 2
    OTHER_PAGE = 3
    OTHER_TRAFFIC = 4
    LINK = 5
    PAGE = 6
    PROTOCOL = 7
    CACHE = 8
    LOST = 9


@dataclass(frozen=True)
class Fault:
    """Why a load that reached its load event does not count: `find` puts it into words, or returns None.

    `of_replay`: it is asked of replayed pages alone, by what is known of their servers and their link.
    `of_time_outs`: it is asked of a load that timed out, too, by what was seen until then.
    """

    blame: Blame
    outcome: Outcome
    find: Callable[[Evidence], str | None]
    of_replay: bool = False
    of_time_outs: bool = False


def listed(what: str, items: Iterable[str]) -> str | None:
    """A reason that names the first few of some things; None without any."""
    names = list(items)
    if not names:
        return None
    return f"{what} {shortened([clipped(name, LONGEST_NAMED) for name in names], 3)}"


def clipped_url(url: str) -> str:
    """A URL as a record holds it: a page can ask for one of a megabyte, a thousand times."""
    return clipped(url, LONGEST_URL)


def fitting(texts: Iterable[str]) -> tuple[str, ...]:
    """The first of some texts, as many as a line of a file of the run has room for."""
    every = list(texts)
    sizes = itertools.accumulate(len(json.dumps(text)) for text in every)
    return tuple(text for text, size in zip(every, sizes, strict=True) if size <= LONGEST_LIST_BYTES)


@dataclass(frozen=True)
class ServerAnswers:
    """The requests that the server answered; None when its log was not read."""

    requests: tuple[ServedRequest, ...] | None = None

    @property
    def by_protocol(self) -> tuple[ServedRequest, ...]:
        """What the server answered by the protocol of the condition: all but WebSockets."""
        return tuple(request for request in self.requests or () if not request.websocket)

    @property
    def answered(self) -> tuple[ServedRequest, ...]:
        """All but what the browser gave up, which says nothing of the archive: QtWebKit asks for some again."""
        return tuple(request for request in self.requests or () if not request.given_up)

    @property
    def pipelining_depth(self) -> int | None:
        """The most requests of a connection that were at the server at once; None where no server tells."""
        return max((request.depth for request in self.by_protocol if request.depth is not None), default=None)


@dataclass(frozen=True)
class Stretch:
    """From one instant to another, in us of CLOCK_MONOTONIC, and for how many us of it a thread ran or was ready to."""

    began_us: int
    ended_us: int
    ran_us: int


class Answers:
    """What the server logged, for what a browser does not tell: URL by URL, in its order."""

    def __init__(self, served: Iterable[ServedRequest]) -> None:
        self._left: defaultdict[tuple[str, str], deque[ServedRequest]] = defaultdict(deque)
        for request in sorted(served, key=lambda answer: answer.started_us):
            self._left[request.method, request.url].append(request)

    def take(self, request: Request) -> ServedRequest | None:
        """The answer to a request that travelled; None when the server knows of none."""
        left = self._left.get((request.method, request.url.partition("#")[0]))
        # WebKit tells no protocol of a redirect.
        answered = request.status is not None and not request.from_cache
        travelled = request.protocol is not None or answered
        return left.popleft() if left and travelled else None
