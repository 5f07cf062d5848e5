"""What a load waits for at an instant. The order is that of precedence: of what goes on at once, the first counts."""

from __future__ import annotations

from enum import StrEnum


class Waiting(StrEnum):
    """One class of waiting; docs/methodology.md, "Where the time goes", says what it takes for each."""

    DOWN = "down"
    UP = "up"
    HANDSHAKES = "handshakes"
    SERVER = "server"
    ROUND_TRIPS = "round_trips"
    MAIN_THREAD = "main_thread"
    UNKNOWN = "unknown"

    @property
    def key(self) -> str:
        """Of a record: how many ms of the load were of this class."""
        return f"waited_{self.value}_ms"
