"""What a study measures, and which metric it is about unless it says otherwise. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Kind(StrEnum):
    """The kinds of measurement; which lab measures each: `harness.run.laboratory`."""

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
