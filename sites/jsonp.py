"""Scripts that call the function their own address names (JSONP), and where in them its name stands. Pure.

A page makes up the name for each request, so that a recorded script calls a function that the page does not have today.
The name is exchanged for the asked one as the server answers (pywb and wabac do so, too). The parameter that holds it
can have any name: it is the one whose recorded value is what the recorded body begins by calling.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl

from sites.coding import coding_of, decode
from sites.mediatype import HTML_TYPES, SCRIPT_TYPES
from sites.served import Headers, ServedObject

# What a name may look like, recorded or asked for: it goes into a script. Servers check it with this very pattern (RE2,
# and in Lua by the words of asked.lua).
NAME = r"^[A-Za-z_$](?:[A-Za-z0-9_$.]|\[[0-9]+\])*$"
HEAD_BYTES = 2000  # comments and tests for the function may come before the call
LIMIT_BYTES = 4_000_000
_NAME = re.compile(NAME)
_TYPES = SCRIPT_TYPES | HTML_TYPES | {"application/json", "text/json", "text/plain", ""}
# What may stand before the call: comments, and questions whether there is such a function.
_CALL = (
    rb"(?s)(?:\xef\xbb\xbf)?(?:(?!%(name)s\s*\()(?:\s|;|/\*.*?\*/|//[^\n]*\n|%(name)s(?![\w$.\[])|typeof\b|"
    rb"window\b\.?|self\b\.?|try\b|if\b|[!=]==?|&&|[(){!]|([\"'])(?:function|undefined)\1))*+%(name)s\s*\("
)


@dataclass(frozen=True)
class Callback:
    """A script whose function's name comes from `parameter` of its query.

    `marked` is the decoded body with `mark`, which stands nowhere else in it, in place of each name; `headers` are
    those of the response but for its content coding.
    """

    parameter: str
    mark: str
    marked: bytes
    headers: Headers


def callback_of(served: ServedObject) -> Callback | None:
    """The place of the name in a response; None where there is none."""
    if served.status != 200 or served.mime not in _TYPES:
        return None
    named = [
        (key, value) for key, value in parse_qsl(served.query[1:]) if _NAME.match(value) and key.isascii()
    ]
    body = _text(served) if named else None
    if body is None:
        return None
    for parameter, name in named:
        places = _places(body, name.encode())
        if places:
            mark = f"coldload{hashlib.sha256(body).hexdigest()[:24]}"
            marked = b"".join(_around(body, places, len(name), mark.encode()))
            headers = tuple(each for each in served.headers if each[0].lower() != "content-encoding")
            return Callback(parameter, mark, marked, headers)
    return None


def _text(served: ServedObject) -> bytes | None:
    coding = next((value for name, value in served.headers if name.lower() == "content-encoding"), None)
    try:
        body = decode(served.body, coding_of(coding))
    except ValueError:  # it is served as it was recorded
        return None
    return body if len(body) <= LIMIT_BYTES else None


def _places(body: bytes, name: bytes) -> list[int]:
    """Where the name stands up to and with the call the body begins with."""
    quoted = re.escape(name)
    call = re.match(_CALL % {b"name": quoted}, body[:HEAD_BYTES])
    if call is None:
        return []
    return [found.start() for found in re.finditer(rb"(?<![\w$])%s(?![\w$.\[])" % quoted, call[0])]


def _around(body: bytes, places: list[int], length: int, mark: bytes) -> list[bytes]:
    """The body in pieces, with the mark between them."""
    pieces, end = [], 0
    for place in places:
        pieces += [body[end:place], mark]
        end = place + length
    return [*pieces, body[end:]]
