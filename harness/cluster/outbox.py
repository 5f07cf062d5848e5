"""What a worker tells, sent together when it is much: every message costs the scheduler and the coordinator time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

EVERY_S = 0.05  # messages are sent no more often


class Outbox:
    """Sends what is put in, in its order: at once, or as soon as the latest message is long enough ago.

    `later` calls a function after so many seconds. Any thread may put things in.
    """

    def __init__(
        self, send: Callable[[list[Any]], None], later: Callable[[float, Callable[[], None]], object]
    ) -> None:
        self._send = send
        self._later = later
        self._lock = threading.Lock()
        self._waiting: list[Any] = []
        self._sent_s = -EVERY_S

    def put(self, told: Any) -> None:
        with self._lock:
            self._waiting.append(told)
            if len(self._waiting) > 1:
                return  # it goes with the one before it
        wait_s = self._sent_s + EVERY_S - time.monotonic()
        if wait_s > 0:
            self._later(wait_s, self._flush)
        else:
            self._flush()

    def _flush(self) -> None:
        with self._lock:  # until all is sent, so that nothing later overtakes it
            self._sent_s = time.monotonic()
            self._send(self._waiting)
            self._waiting = []
