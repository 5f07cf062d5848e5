"""Character sets: where a browser finds the one of a body, bodies as text, and texts as bodies. Pure.

Labels mean what the Encoding Standard says (`iso-8859-1` is windows-1252), and are found where a browser finds them:
byte order mark, header, then `<meta>`, `@charset` or the XML declaration.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass

import webencodings  # type: ignore[import-untyped, unused-ignore]  # has no types

from sites.mediatype import SCRIPT_TYPES

PRESCAN_BYTES = 1024  # where browsers look for <meta charset>
HEAD_CHARACTERS = 65536  # Chromium reads a <meta> that comes late, as long as the head has not ended
UTF_8 = "utf-8"
MARK = "\ufeff"
UNREADABLE = "its encoding cannot be told for certain"
_WIDE = ("utf-16le", "utf-16be")
_MARKS = ((b"\xef\xbb\xbf", UTF_8), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_PARAMETER = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:+-]+)", re.ASCII | re.IGNORECASE)
_META = re.compile(r"<meta[\s/](?:[^>\"']|\"[^\"]*\"|'[^']*')*+", re.ASCII | re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([^\s/>\"'=]+)\s*+(?:=\s*(\"[^\"]*\"?|'[^']*'?|[^\s>]+))?")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
# A piece of what Chromium and WebKit take for a head, and search for a late <meta>: any other tag ends it.
_HEAD_PIECE = re.compile(
    r"[^<]+|<!--.*?-->|<[!?](?!--)[^>]*>|<(script|style|title|noscript)(?=[\s/>]).*?</\1(?=[\s/>])[^>]*>"
    r"|<(?:html|head|/?(?:base|link|meta|object))(?=[\s/>])(?:[^>\"']|\"[^\"]*\"|'[^']*')*+>",
    re.ASCII | re.DOTALL | re.IGNORECASE,
)
_CSS_CHARSET = re.compile(r'@charset "([^"]{1,60})";')
_XML_ENCODING = re.compile(r"<\?xml\s[^>]{0,200}?encoding\s*=\s*[\"']([\w.:+-]{1,60})[\"']")
_SURROGATE = re.compile("[\ud800-\udfff]")
_STRAY = re.compile("[\udc80-\udcff]")
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


def charset_of(content_type: str | None) -> str | None:
    """The character set that a Content-Type names."""
    named = _PARAMETER.search(content_type or "")
    return named[1] if named else None


def with_charset(content_type: str, charset: str) -> str:
    """A Content-Type that names this character set."""
    mime, *parameters = content_type.split(";")
    kept = [parameter for parameter in parameters if not parameter.strip().lower().startswith("charset")]
    return ";".join([mime.strip(), *kept, f" charset={charset}"])


def charset_within(document: str, characters: int = PRESCAN_BYTES) -> re.Match[str] | None:
    """The `<meta>` element that tells a browser the character set, up to its name, which is group 1.

    The document is decoded as latin-1, so that an index into it is one into its bytes.
    """
    start = _COMMENT.sub(lambda found: " " * len(found[0]), document[:characters])
    return next(filter(None, (_label(meta) for meta in _META.finditer(start))), None)


def _label(meta: re.Match[str]) -> re.Match[str] | None:
    """The character set that a `<meta>` element tells, as group 1."""
    attributes: dict[str, re.Match[str]] = {}
    for attribute in _ATTRIBUTE.finditer(meta.string, meta.start() + len("<meta"), meta.end()):
        attributes.setdefault(attribute[1].lower(), attribute)
    pragma = attributes.get("http-equiv")
    is_type = pragma is not None and (pragma[2] or "").strip("\"' ").lower() == "content-type"
    telling = attributes.get("charset") or (attributes.get("content") if is_type else None)
    return _PARAMETER.search(meta.string, telling.start(), telling.end()) if telling else None


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
    """A body of `kind` html, css or javascript in the encoding a browser would use, None when it is not cleanly in
    that: encoding must give the same bytes back. None also of a document that names none and is not ASCII: browsers
    guess there.

    `fallback` is the encoding of the document that refers to it.
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return _decoded(body[len(mark) :], name, mark, declared=True)
    header = standard_name(charset_of(content_type))
    if header:
        return _decoded(body, header, b"", declared=True)
    inside = _within(body, kind) or standard_name(fallback)
    if inside:
        return _decoded(body, inside, b"", declared=False)
    return None if kind == "html" and not body.isascii() else _decoded(body, UTF_8, b"", declared=False)


def is_whole(text: str) -> bool:
    """Whether a decoded text is nothing but characters: none of its bytes had to be carried through."""
    return _STRAY.search(text) is None


def still_declared(text: Text, before: bytes, after: bytes) -> bool:
    """Whether browsers find the encoding of a document also in its changed body, and early if they did before."""
    if text.declared or after.isascii() or _prescanned(after, "html") == text.encoding:
        return True
    return _prescanned(before, "html") != text.encoding and _within(after, "html") == text.encoding


def _within(body: bytes, kind: str) -> str | None:
    """What a body says of its own encoding, a document also late in its head."""
    name = _prescanned(body, kind)
    return name or (_in_head(body[:HEAD_CHARACTERS].decode("latin-1")) if kind == "html" else None)


def _prescanned(body: bytes, kind: str) -> str | None:
    """What its first bytes say of its encoding."""
    return _inside(body[:PRESCAN_BYTES].decode("latin-1"), f"text/{kind}")


def _in_head(document: str) -> str | None:
    """What a `<meta>` says that no element of a body stands before."""
    at = 0
    while piece := _HEAD_PIECE.match(document, at):
        at = piece.end()
        label = _label(piece) if _META.match(piece[0]) else None
        name = meta_name(label[1]) if label else None
        if name:
            return name
    return None


def _errors(encoding: str) -> str:
    """A page in UTF-8 may hold a few bytes that are none; they are carried through as they are."""
    return "surrogateescape" if encoding == UTF_8 else "strict"


def _decoded(body: bytes, name: str, mark: bytes, *, declared: bool) -> Text | None:
    codec = webencodings.lookup(name)
    if codec is None:
        return None
    try:
        text = Text(codec.codec_info.decode(body, _errors(name))[0], name, mark, declared)
    except UnicodeError:
        return None
    return text if text.encoded(text.text) == mark + body else None


@dataclass(frozen=True)
class Encoded:
    """A text as bytes. `charset` is the label that its header must get; "": the recorded headers tell it."""

    body: bytes
    charset: str = ""


def encoded(text: str, mime: str, content_type: str | None, *, utf_8_around: bool) -> Encoded:
    """A text of which there are no bytes (of a HAR) in the encoding that a browser would take it to be in, so that it
    reads the same text again; where that lacks a character, in UTF-8.

    `utf_8_around`: every document of the recording is in UTF-8, which then holds for scripts and style sheets that
    name nothing.
    """
    text = _SURROGATE.sub("\ufffd", text)
    named = standard_name(charset_of(content_type))
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
    return standard_name(charset_of(content_type)) or _inside(text, mime, HEAD_CHARACTERS)


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


def _inside(text: str, mime: str, characters: int = PRESCAN_BYTES) -> str | None:
    """What a text says of its own encoding. It can be read as ASCII, so that it is not UTF-16, whatever it says."""
    if mime == "text/html":
        declaration = charset_within(text, characters)
    elif mime == "text/css":
        declaration = _CSS_CHARSET.match(text)
    else:
        declaration = _XML_ENCODING.match(text) if mime.endswith("xml") else None
    if declaration is None:
        return None
    name = meta_name(declaration[1]) if mime == "text/html" else standard_name(declaration[1])
    return UTF_8 if name in _WIDE else name


def meta_name(label: str) -> str | None:
    """The standard's name of the encoding that a label means in a `<meta>`: not always the one it means in a header."""
    name = standard_name(label)
    return {"utf-16le": UTF_8, "utf-16be": UTF_8, "x-user-defined": "windows-1252"}.get(name or "", name)


def standard_name(label: str | None) -> str | None:
    """The standard's name of the encoding that a label means; None when it means none."""
    encoding = webencodings.lookup(label) if label else None
    return encoding.name if encoding else None


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
