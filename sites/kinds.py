"""Whether an answer is of the kind that was asked for. Pure."""

from __future__ import annotations

import re

# What a request may get, by its Sec-Fetch-Dest or by how its Accept begins. Only what a browser would not take, or what
# shows that another thing was meant, is another kind: servers name the types of scripts and fonts in many ways.
_DOCUMENT = re.compile(r"(?!text/css|(?:text|application)/(?:x-)?javascript|font/).*")
_TAKEN = {
    "image": re.compile(r"image/.*|application/octet-stream|binary/octet-stream"),
    "style": re.compile(r"text/css"),
    "script": re.compile(r"(?!text/(?:html|css)|image/|font/|audio/|video/).*"),
    "font": re.compile(r"(?!text/(?:html|css)|(?:text|application)/(?:x-)?javascript|image/(?!svg)).*"),
    "document": _DOCUMENT,
    "iframe": _DOCUMENT,
}
_BY_ACCEPT = {"image/": "image", "text/css": "style", "text/html": "document"}


def fits(accepts: str, mime: str) -> bool:
    """Whether an answer of the type `mime` may be for a request that `accepts` this; unknown ones fit."""
    kind = next((name for start, name in _BY_ACCEPT.items() if accepts.startswith(start)), accepts)
    return not mime or kind not in _TAKEN or _TAKEN[kind].fullmatch(mime) is not None
