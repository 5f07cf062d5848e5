"""What the server answered during a load, and which of it a request of the browser got. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass

from harness.engines.browserlog import Request
from sites.servers.servedrequest import ServedRequest


@dataclass(frozen=True)
class ServerAnswers:
    """The requests that the server answered; None when its log was not read."""

    requests: tuple[ServedRequest, ...] | None = None

    @property
    def by_protocol(self) -> tuple[ServedRequest, ...]:
        """What the server answered by the protocol of the condition: all but WebSockets."""
        return tuple(request for request in self.requests or () if not request.websocket)

    @property
    def pipelining_depth(self) -> int | None:
        """The most requests of a connection that were at the server at once; None where no server tells."""
        return max((request.depth for request in self.by_protocol if request.depth is not None), default=None)


class Answers:
    """What the server logged, for what a browser does not tell: URL by URL, in its order."""

    def __init__(self, served: Iterable[ServedRequest]) -> None:
        self._left: defaultdict[tuple[str, str], deque[ServedRequest]] = defaultdict(deque)
        for each in sorted(served, key=lambda answer: answer.started_us):
            self._left[each.method, each.url].append(each)

    def take(self, request: Request) -> ServedRequest | None:
        """The answer to a request that travelled; None when the server knows of none."""
        left = self._left.get((request.method, request.url.partition("#")[0]))
        return left.popleft() if left and request.protocol is not None else None
