"""Bodies as text in the encoding a browser would use, only where encoding gives the same bytes back. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

import webencodings  # type: ignore[import-untyped, unused-ignore]  # has no types

from sites.mediatype import PRESCAN_BYTES, charset_of, charset_within

UNREADABLE = "its encoding cannot be told for certain"
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_STRAY = re.compile("[\udc80-\udcff]")
_CSS_CHARSET = re.compile(rb'@charset "([^"]{1,60})";')


@dataclass(frozen=True)
class Text:
    """A decoded body: `mark` is its byte order mark, `encoding` the standard's name of its encoding.

    `declared` tells whether something outside the text names the encoding (header or mark).
    """

    text: str
    encoding: str
    mark: bytes
    declared: bool

    def encoded(self, text: str) -> bytes | None:
        """Another text in the same encoding; None when it has a character the encoding lacks."""
        codec = webencodings.lookup(self.encoding)
        try:
            return self.mark + codec.codec_info.encode(text, _errors(self.encoding))[0] if codec else None
        except UnicodeError:
            return None


def text_of(body: bytes, content_type: str | None, kind: str, fallback: str = "") -> Text | None:
    """A body of `kind` html, css or javascript as text, None when it is not cleanly in its encoding.

    `fallback` is the encoding of the document that refers to it.
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return _decoded(body[len(mark) :], name, mark, declared=True)
    header = _known(charset_of(content_type))
    if header:
        return _decoded(body, header, b"", declared=True)
    inside = _inside(body, kind) or _known(fallback)
    if inside:
        return _decoded(body, inside, b"", declared=False)
    return _decoded(body, "utf-8", b"", declared=False) if body.isascii() or kind != "html" else _guess(body)


def is_whole(text: str) -> bool:
    """Whether a decoded text is nothing but characters: none of its bytes had to be carried through."""
    return _STRAY.search(text) is None


def still_declared(text: Text, body: bytes) -> bool:
    """Whether a browser finds the same encoding in a changed document."""
    return text.declared or _inside(body, "html") == text.encoding or body.isascii()


def _guess(body: bytes) -> Text | None:
    """A document that names no encoding: UTF-8 if it is valid, as browsers detect it, else windows-1252."""
    try:
        body.decode("utf-8")
    except UnicodeError:
        return _decoded(body, "windows-1252", b"", declared=False)
    return _decoded(body, "utf-8", b"", declared=False)


def _inside(body: bytes, kind: str) -> str | None:
    if kind == "html":
        meta = charset_within(body[:PRESCAN_BYTES].decode("latin-1"))
        name = _known(meta[1]) if meta else None
        return "utf-8" if name in ("utf-16le", "utf-16be") else name
    found = _CSS_CHARSET.match(body) if kind == "css" else None
    return _known(found[1].decode("latin-1")) if found else None


def _known(label: str | None) -> str | None:
    found = webencodings.lookup(label) if label else None
    return found.name if found else None


def _errors(encoding: str) -> str:
    """A page in UTF-8 may hold a few bytes that are none; they are carried through as they are."""
    return "surrogateescape" if encoding == "utf-8" else "strict"


def _decoded(body: bytes, name: str, mark: bytes, *, declared: bool) -> Text | None:
    codec = webencodings.lookup(name)
    if codec is None:
        return None
    try:
        text = Text(codec.codec_info.decode(body, _errors(name))[0], name, mark, declared)
    except UnicodeError:
        return None
    return text if text.encoded(text.text) == mark + body else None
