"""The text of a HAR as bytes in which a browser reads the same text again. Pure.

A HAR has no bytes of text, only what the browser that recorded it had decoded. Labels mean what the Encoding Standard
says (`iso-8859-1` is windows-1252), and are found where a browser finds them: byte order mark, header, then `<meta>`,
`@charset` or the XML declaration. Python's codecs write a few characters in another way than the standard reads them.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass

import webencodings  # type: ignore[import-untyped, unused-ignore]  # has no types

from sites.mediatype import SCRIPT_TYPES, charset_of, charset_within

UTF_8 = "utf-8"
MARK = "\ufeff"
_WIDE = ("utf-16le", "utf-16be")
HEAD_CHARACTERS = 65536  # Chromium reads a <meta> that comes late, as long as the head has not ended
_CSS_CHARSET = re.compile(r'@charset "([^"]{1,60})";')
_XML_ENCODING = re.compile(r"<\?xml\s[^>]{0,200}?encoding\s*=\s*[\"']([\w.:+-]{1,60})[\"']")
_SURROGATE = re.compile("[\ud800-\udfff]")
# What Python encodes, and Chromium 156 decodes to another character (every character up to U+2FFFF was tried).
_READ_OTHERWISE: Mapping[str, re.Pattern[str]] = {
    "big5": re.compile("[\u00a2\u00a3\u00a5\u2022\u203e\u223c\u2609\u2641\uff0f\uff3c\uff64\ue000-\uf8ff]"),
    "euc-jp": re.compile("[\u00a2\u00a3\u00a5\u00ac\u2016\u203e\u2212\u301c\ue000-\uf8ff]"),
    "gb18030": re.compile("[\u1e3f\ue000-\uf8ff]"),
    "gbk": re.compile("[\u1e3f\ue000-\uf8ff]"),
    "iso-2022-jp": re.compile("[\x0e\x0f\x1b\u00a2\u00a3\u00ac\u2016\u2212\u301c\ue000-\uf8ff]"),
    "koi8-u": re.compile("[\u255d\u256c]"),
    "shift_jis": re.compile("[\u00a2\u00a3\u00ac\u2016\u2212\u301c\ue000-\uf8ff]"),
}


@dataclass(frozen=True)
class Encoded:
    """A text as bytes. `charset` is the label that its header must get; "": the recorded headers tell it."""

    body: bytes
    charset: str = ""


def encoded(text: str, mime: str, content_type: str | None, *, utf_8_around: bool) -> Encoded:
    """The text in the encoding that a browser would take it to be in; where that lacks a character, in UTF-8.

    `utf_8_around`: every document of the recording is in UTF-8, which then holds for scripts and style sheets that
    name nothing.
    """
    text = _SURROGATE.sub("\ufffd", text)
    named = _standard(charset_of(content_type))
    if text.startswith(MARK) and named not in _WIDE:
        return Encoded(text.encode())  # a mark is heeded before any label
    name = named or _inside(text, mime, HEAD_CHARACTERS)
    if name is None:
        inherits = mime in SCRIPT_TYPES or mime == "text/css"
        told = text.isascii() or (utf_8_around if inherits else mime not in ("text/html", "text/plain"))
        return Encoded(text.encode(), "" if told else UTF_8)
    body = _bytes(text, name)
    if body is None:
        return Encoded(text.encode(), UTF_8)
    seen = named or text.isascii() or _inside(body.decode("latin-1"), mime) == name
    return Encoded(body, "" if seen else name)


def encoding_of(text: str, mime: str, content_type: str | None) -> str | None:
    """The encoding that a document names, by the standard's name; None when it names none."""
    if text.startswith(MARK):
        return UTF_8
    return _standard(charset_of(content_type)) or _inside(text, mime, HEAD_CHARACTERS)


def with_charset(content_type: str, charset: str) -> str:
    """A Content-Type that names this character set."""
    mime, *parameters = content_type.split(";")
    kept = [each for each in parameters if not each.strip().lower().startswith("charset")]
    return ";".join([mime.strip(), *kept, f" charset={charset}"])


def _inside(text: str, mime: str, characters: int | None = None) -> str | None:
    """What a text says of its own encoding. It can be read as ASCII, so that it is not UTF-16, whatever it says."""
    if mime == "text/html":
        found = charset_within(text, characters) if characters else charset_within(text)
    elif mime == "text/css":
        found = _CSS_CHARSET.match(text)
    else:
        found = _XML_ENCODING.match(text) if mime.endswith("xml") else None
    name = _standard(found[1]) if found else None
    if mime == "text/html" and name == "x-user-defined":
        return "windows-1252"
    return UTF_8 if name in _WIDE else name


def _bytes(text: str, name: str) -> bytes | None:
    """The text in an encoding; None when a browser would read another text in it."""
    otherwise = _READ_OTHERWISE.get(name)
    if name == "replacement" or (otherwise and otherwise.search(text)):
        return None
    # Browsers decode gbk as gb18030, which has the euro sign.
    codec = webencodings.lookup("gb18030" if name == "gbk" else name).codec_info
    try:
        body: bytes = codec.encode(text, _CONTROLS if name.startswith("windows-") else "strict")[0]
    except UnicodeError:
        return None
    return body


def _standard(label: str | None) -> str | None:
    found = webencodings.lookup(label) if label else None
    return found.name if found else None


def _control(error: UnicodeError) -> tuple[bytes, int]:
    """In the standard's windows-125x and windows-874 a byte that means nothing is the control of its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    rest = error.object[error.start : error.end]
    if not all("\x80" <= character <= "\x9f" for character in rest):
        raise error
    return rest.encode("latin-1"), error.end


_CONTROLS = "coldload-controls"
codecs.register_error(_CONTROLS, _control)
