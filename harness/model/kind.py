"""What a study measures: kinds, their main metrics, what a load waits for, what can be kept of a trial. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Kind(StrEnum):
    """The kinds of measurement; which lab measures each: `harness.run.openlab`."""

    LOAD = "load"  # one cold page load
    USERS = "users"  # a crowd that loads pages from one server
    REQUESTS = "requests"  # as many requests as a server answers


MAIN_METRIC, CROWD_METRIC, RATE_METRIC = "plt_ms", "pages_per_s", "requests_per_s"
MAIN_METRICS: Mapping[Kind, str] = {
    Kind.LOAD: MAIN_METRIC,
    Kind.USERS: CROWD_METRIC,
    Kind.REQUESTS: RATE_METRIC,
}

# What a visitor feels of a load, in its order: when something shows, when the page is there, what it costs.
FELT = ("fcp_ms", "lcp_ms", "plt_ms", "tbt_ms", "bytes_down", "requests")


def main_metric(kind: Kind) -> str:
    """What a report of a kind is about, unless it says otherwise."""
    return MAIN_METRICS[kind]


# What can be kept of a trial, by the words that a study has for it (`keep`).
HAR, BODIES, NETLOG, PCAP, SCREENSHOT = "har", "bodies", "netlog", "pcap", "screenshot"
TRACE, FILM = "trace", "filmstrip"
OUTPUT = "output"  # of the tool of a closed loop
PORTRAYED = (HAR, SCREENSHOT, FILM)  # of a load that is looked at and not measured
# By kind; the series of a crowd are kept anyway.
KEPT_FILES: Mapping[Kind, tuple[str, ...]] = {
    Kind.LOAD: (HAR, BODIES, NETLOG, PCAP, SCREENSHOT, TRACE, FILM),
    Kind.USERS: (),
    Kind.REQUESTS: (OUTPUT,),
}


class Waiting(StrEnum):
    """What a load waits for at an instant; of what goes on at once, the first counts.

    docs/methodology.md, "Where the time goes", says what it takes for each.
    """

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
