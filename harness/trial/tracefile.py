"""The events of a trace that Chromium wrote of a page: of unknown origin, as the page's scripts name some of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LARGEST_BYTES = 150_000_000  # of a trace, unpacked: its reading takes some ten times that


def read_trace(path: Path) -> Sequence[Mapping[str, Any]]:
    """None of a file that is cut off or too large."""
    try:
        with gzip.open(path, "rb") as file:
            text = file.read(LARGEST_BYTES + 1)
        events: Sequence[Mapping[str, Any]] = (
            json.loads(text)["traceEvents"] if len(text) <= LARGEST_BYTES else []
        )
    except (OSError, EOFError, ValueError, KeyError):
        return []
    return events
