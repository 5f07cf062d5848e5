"""What a study measures. Pure."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """The kinds of measurement; which lab measures each: `harness.run.kinds`."""

    LOAD = "load"  # one cold page load
    USERS = "users"  # a crowd that loads pages from one server
    REQUESTS = "requests"  # as many requests as a server answers
