"""Types of content and their character sets, as headers and documents name them. Pure."""

from __future__ import annotations

import re

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
SCRIPT_TYPES = frozenset(
    {
        "application/ecmascript",
        "application/javascript",
        "application/x-javascript",
        "text/ecmascript",
        "text/javascript",
        "text/x-javascript",
    }
)
_TEXT_TYPES = frozenset({"application/json", "application/manifest+json", "text/plain", "application/xml"})
# Not text, but not compressed by themselves either.
_COMPRESSIBLE_TYPES = frozenset(
    {
        "application/vnd.ms-fontobject",
        "application/wasm",
        "font/otf",
        "font/ttf",
        "image/bmp",
        "image/vnd.microsoft.icon",
        "image/x-icon",
    }
)

PRESCAN_BYTES = 1024  # where browsers look for <meta charset>
_NAMED = r"charset\s*=\s*[\"']?\s*([\w.:+-]+)"
_PARAMETER = re.compile(_NAMED, re.ASCII | re.IGNORECASE)
_META = re.compile(r"<meta[\s/](?:[^>\"']|\"[^\"]*\"|'[^']*')*+", re.ASCII | re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([^\s/>\"'=]+)\s*+(?:=\s*(\"[^\"]*\"?|'[^']*'?|[^\s>]+))?")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


def is_text(mime: str) -> bool:
    """Whether bodies of this type may hold links."""
    return (
        mime in HTML_TYPES
        or mime in SCRIPT_TYPES
        or mime in _TEXT_TYPES
        or mime in ("text/css", "text/xml", "text/json", "text/cache-manifest")
        or mime.endswith(("+xml", "+json"))
    )


def compressible(mime: str) -> bool:
    """Whether servers compress bodies of this type when they are told to compress."""
    return is_text(mime) or mime in _COMPRESSIBLE_TYPES


def sniffed_type(body: bytes) -> str:
    """The type browsers see in a body that was recorded without one, as far as it matters here."""
    return "text/html" if body[:512].lstrip().lower().startswith((b"<!doctype html", b"<html")) else ""


def charset_of(content_type: str | None) -> str | None:
    """The character set that a Content-Type names."""
    named = _PARAMETER.search(content_type or "")
    return named[1] if named else None


def charset_within(document: str, characters: int = PRESCAN_BYTES) -> re.Match[str] | None:
    """The `<meta>` element that tells a browser the character set, up to its name, which is group 1.

    The document is decoded as latin-1, so that places in it are places in its bytes.
    """
    start = _COMMENT.sub(lambda found: " " * len(found[0]), document[:characters])
    for meta in _META.finditer(start):
        attributes: dict[str, re.Match[str]] = {}
        for attribute in _ATTRIBUTE.finditer(start, meta.start() + len("<meta"), meta.end()):
            attributes.setdefault(attribute[1].lower(), attribute)
        pragma = attributes.get("http-equiv")
        is_type = pragma is not None and (pragma[2] or "").strip("\"' ").lower() == "content-type"
        telling = attributes.get("charset") or (attributes.get("content") if is_type else None)
        named = _PARAMETER.search(start, telling.start(), telling.end()) if telling else None
        if named:
            return named
    return None
