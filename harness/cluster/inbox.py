"""What comes from workers while they are at work. Dask calls with it in a thread of its own."""

from __future__ import annotations

import contextlib
import pickle
import queue
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from harness.cluster.messages import Ended

NOTHING_S = 0.2  # that one waits for the first of what comes
MOST_TOGETHER = 2000


class Arrived(NamedTuple):
    """Something that a worker tells: what kind it is of, as `harness.cluster.worker` calls it, and what it says."""

    sender: str
    kind: str
    content: Any


class Inbox:
    """Attempts with kept files wait for whoever goes with their worker and fetches the files; all else is in order."""

    def __init__(self) -> None:
        self._all: queue.SimpleQueue[list[Arrived]] = queue.SimpleQueue()
        self._with_files: defaultdict[str, queue.SimpleQueue[Ended]] = defaultdict(queue.SimpleQueue)

    def arrive(self, event: tuple[float, dict[str, Any]]) -> None:
        """An event of Dask: a message of a worker."""
        _, message = event
        sender, others = message["sender"], []
        for kind, content in of_bytes(message["told"]):
            if isinstance(content, Ended) and content.files:
                self._with_files[sender].put(content)
            else:
                others.append(Arrived(sender, kind, content))
        self._all.put(others)

    def put(self, arrived: Arrived) -> None:
        """Something that was fetched, or is told from here."""
        self._all.put([arrived])

    def with_files(self, sender: str) -> Iterator[Ended]:
        """The attempts of a worker whose files are to be fetched."""
        with contextlib.suppress(queue.Empty):
            while True:
                yield self._with_files[sender].get_nowait()

    def gathered(self, seconds: float) -> list[Arrived]:
        """What has come, once there is something, and so long after that; [] when there is nothing for a while."""
        found: list[Arrived] = []
        with contextlib.suppress(queue.Empty):
            found += self._all.get(timeout=NOTHING_S)
            until = time.monotonic() + seconds
            while len(found) < MOST_TOGETHER:
                found += self._all.get(timeout=max(0.0, until - time.monotonic()))
        return found


def to_bytes(told: list[tuple[str, Any]]) -> bytes:
    """What a worker tells, each with its kind, for a message."""
    return pickle.dumps(told, pickle.HIGHEST_PROTOCOL)


def of_bytes(data: bytes) -> list[tuple[str, Any]]:
    """Inverse of `to_bytes`; of a member of the cluster, who could do anything here anyway."""
    told: list[tuple[str, Any]] = pickle.loads(data)  # noqa: S301
    return told
