"""Which answer of the server's log a request of the browser got. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable

from harness.browser.browserlog import Request
from sites.servers.server import ServedRequest


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
