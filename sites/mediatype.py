"""Types of content, as headers name them, and whether an answer is of the type that was asked for. Pure."""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
SCRIPT_TYPES = frozenset(
    f"{kind}/{name}"
    for kind in ("application", "text")
    for name in ("ecmascript", "javascript", "x-javascript")
)
_TEXT_TYPES = words(
    "application/json application/manifest+json application/xml text/cache-manifest text/css text/json text/plain "
    "text/x-component text/xml"
).union(HTML_TYPES, SCRIPT_TYPES)
# Not text, but not compressed by themselves either.
_COMPRESSIBLE_TYPES = words(
    "application/vnd.ms-fontobject application/wasm font/otf font/ttf "
    "image/bmp image/vnd.microsoft.icon image/x-icon"
)
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


def mime_of(content_type: str | None) -> str:
    """The media type that a Content-Type names, without its parameters; "" for none."""
    return (content_type or "").partition(";")[0].strip().lower()


def is_text(mime: str) -> bool:
    """Whether bodies of this type may hold links."""
    return mime in _TEXT_TYPES or mime.endswith(("+xml", "+json"))


def compressible(mime: str) -> bool:
    """Whether servers compress bodies of this type when they are told to compress."""
    return is_text(mime) or mime in _COMPRESSIBLE_TYPES


def sniffed_type(body: bytes) -> str:
    """The type browsers see in a body that was recorded without one, as far as it matters here."""
    return "text/html" if body[:512].lstrip().lower().startswith((b"<!doctype html", b"<html")) else ""


def fits(accepts: str, mime: str) -> bool:
    """Whether an answer of the type `mime` may be for a request that `accepts` this; unknown ones fit."""
    kind = next((name for start, name in _BY_ACCEPT.items() if accepts.startswith(start)), accepts)
    return not mime or kind not in _TAKEN or _TAKEN[kind].fullmatch(mime) is not None
