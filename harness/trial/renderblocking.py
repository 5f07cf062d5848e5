"""Which requests a page could not be painted without, as Chromium's trace of the load tells. Pure.

Blink decides when it sends a request, and again when a preload turns out to be needed at once. Neither NetLog nor the
priority of a request tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

CATEGORY = "devtools.timeline"  # a page can name marks of its own like any event, in another category
SENT, CHANGED = "ResourceSendRequest", "PreloadRenderBlockingStatusChange"
# What Chromium says of a request. Of the first, painting waits for it; of the second, parsing of what follows.
BEHAVIOURS = (
    "blocking",
    "in_body_parser_blocking",
    "non_blocking",
    "dynamically_injected_non_blocking",
    "potentially_blocking",
)


def render_blocking(events: Iterable[Mapping[str, Any]]) -> Mapping[str, str]:
    """By URL, what was last said of its first request."""
    found: dict[str, tuple[str, str]] = {}
    for event in events:
        if event.get("name") not in (SENT, CHANGED) or CATEGORY not in str(event.get("cat")).split(","):
            continue
        arguments = event.get("args")
        data = arguments.get("data") if isinstance(arguments, dict) else None
        said = data.get("renderBlocking") if isinstance(data, dict) else None
        if not isinstance(data, dict) or said not in BEHAVIOURS:
            continue
        url, request = str(data.get("url")).partition("#")[0], str(data.get("requestId"))
        if url not in found or found[url][0] == request:
            found[url] = request, said
    return {url: said for url, (_, said) in found.items()}
