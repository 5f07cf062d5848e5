"""What a live page is archived with."""

from __future__ import annotations

from enum import StrEnum


class Tool(StrEnum):
    """HTTrack's mirror, a load in the browser, or the mirror completed by a load."""

    BOTH = "both"
    HTTRACK = "httrack"
    BROWSER = "browser"
