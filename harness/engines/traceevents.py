"""Traces of what a page's threads do and its tab shows, in the Trace Event Format.

Perfetto (ui.perfetto.dev) and Chrome's DevTools open it. A trace is of unknown origin: the page's scripts
name some of its events.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# What tells tasks, scripts, style, layout, paint, parsing, garbage collection and the marks of the load. No pictures,
# no stacks, no samples: those are what costs time.
TASKS = (
    "blink.user_timing",
    "devtools.timeline",
    "disabled-by-default-devtools.timeline",
    "loading",
    "v8",
)
# Pictures of the tab whenever something changes, 60 a second at most.
PICTURES = ("disabled-by-default-devtools.screenshot",)
PICTURE_SIDE = 320  # pixels, of the longer side
# As many as Chromium allows of that size, 18 s of a page in which something always moves: it keeps them as they are, in
# 450 MB at most, until the trace ends.
MOST_PICTURES = 450_000_000 // (4 * PICTURE_SIDE**2)
LARGEST_BYTES = 150_000_000  # of a trace, unpacked: its reading takes some ten times that


def read_trace(path: Path) -> Sequence[Mapping[str, Any]]:
    """The events of a trace; none of a file that is cut off or too large."""
    try:
        with gzip.open(path, "rb") as file:
            text = file.read(LARGEST_BYTES + 1)
        events: Sequence[Mapping[str, Any]] = (
            json.loads(text)["traceEvents"] if len(text) <= LARGEST_BYTES else []
        )
    except (OSError, EOFError, ValueError, KeyError):
        return []
    return events
