"""What a browser brings along from an earlier visit to the page."""

from __future__ import annotations

from enum import StrEnum


class CacheState(StrEnum):
    """The HTTP cache of a load: empty, or as an earlier load of the page has left it."""

    COLD = "cold"
    WARM = "warm"
