"""Chromium's own trace of what the page's threads do and the tab shows, for both drivers: recorded light, read as
gzipped JSON.

The format is the Trace Event Format, which Perfetto (ui.perfetto.dev) and Chrome's DevTools open.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.browser.world import Send
from harness.outcome import Outcome, TrialFailed

# What tells tasks, scripts, style, layout, paint, parsing, garbage collection and the marks of the load. No pictures,
# no stacks, no samples: those are what costs time.
TASKS = (
    "blink.user_timing",
    "devtools.timeline",
    "disabled-by-default-devtools.timeline",
    "loading",
    "v8",
)
PICTURES = (
    "disabled-by-default-devtools.screenshot",
)  # of the tab whenever something changes, 60 a second at most
PICTURE_SIDE = 320  # pixels, of the longer side
# As many as Chromium allows of that size, 18 s of a page in which something always moves: it keeps them as they are, in
# 450 MB at most, until the trace ends.
MOST_PICTURES = 450_000_000 // (4 * PICTURE_SIDE**2)
BUFFER_KB = 200_000
LARGEST_BYTES = 200_000_000  # gzipped; a page that fills this in a minute wants to
GZIP = 16 + zlib.MAX_WBITS
FIRST_STREAM = "1"  # how Chromium names the first stream of a process


def start(send: Send, categories: Sequence[str]) -> None:
    """Record what is of these categories from now on."""
    config: dict[str, Any] = {
        "recordMode": "recordAsMuchAsPossible",
        "traceBufferSizeInKb": BUFFER_KB,
        "includedCategories": list(categories),
        "excludedCategories": ["*"],
    }
    asked = {
        "transferMode": "ReturnAsStream",
        "streamCompression": "gzip",
        "screenshotMaxSize": PICTURE_SIDE,
        "screenshotMaxCount": MOST_PICTURES,
        "traceConfig": config,
    }
    send("Tracing.start", asked)


def read(send: Send, stream: str, path: Path) -> bool:
    """Write what a stream holds to a file; whether that is a whole trace, which it is not before the browser has ended
    it. TrialFailed when it is too large.
    """
    unpacking, size = zlib.decompressobj(GZIP), 0
    told: dict[str, Any] = {"eof": False}
    with path.open("wb") as file:
        while not told["eof"]:
            told = dict(send("IO.read", {"handle": stream, "offset": size}))
            data = base64.b64decode(told["data"]) if told.get("base64Encoded") else told["data"].encode()
            unpacking.decompress(data)
            size += file.write(data)
            if size > LARGEST_BYTES:
                raise TrialFailed(Outcome.PAGE_ERROR, f"the trace is larger than {LARGEST_BYTES:,} bytes")
    return unpacking.eof
