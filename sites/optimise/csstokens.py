"""CSS as tokens that keep every character, in linear time (CSS Syntax Module Level 3, section 4). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_ESCAPE = r"\\(?:[0-9A-Fa-f]{1,6}(?:\r\n|[ \t\n\r\f])?|[^\n\r\f0-9A-Fa-f])"
_NAME_CHAR = rf"(?:[\w-]|[^\x00-\x7f]|{_ESCAPE})"
_IDENT = rf"(?:--|-?(?:[A-Za-z_]|[^\x00-\x7f]|{_ESCAPE})){_NAME_CHAR}*+"
_NUMBER = r"[+-]?(?:\d*\.\d+|\d+)(?:[eE][+-]?\d+)?"
_TOKEN = re.compile(
    rf"""
    (?P<space>[ \t\n\r\f]++)
    |(?P<comment>/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/)
    |(?P<string>"(?:[^"\\\n\r\f]|\\(?:\r\n|[^\r]|\r))*+"|'(?:[^'\\\n\r\f]|\\(?:\r\n|[^\r]|\r))*+')
    |(?P<url>[uU][rR][lL]\([ \t\n\r\f]*+(?:[^"'()\\ \t\n\r\f\x00-\x1f\x7f]|{_ESCAPE})++[ \t\n\r\f]*+\))
    |(?P<bad_url>[uU][rR][lL]\((?![ \t\n\r\f]*+["')])(?:[^)\\]|\\.)*+\))
    |(?P<bad>\x00|/\*.*+|[uU][rR][lL]\((?![ \t\n\r\f]*+["')]).*+
        |"(?:[^"\\\n\r\f]|\\(?:\r\n|[^\r]|\r))*+|'(?:[^'\\\n\r\f]|\\(?:\r\n|[^\r]|\r))*+)
    |(?P<cd><!--|-->)
    |(?P<number>{_NUMBER})(?P<unit>%|{_IDENT})?
    |(?P<at>@{_IDENT})
    |(?P<hash>\#{_NAME_CHAR}++)
    |(?P<function>{_IDENT}\()
    |(?P<ident>{_IDENT})
    |(?P<delim>.)
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)
CLOSING = {"}": "{", ")": "(", "]": "["}


class Token(NamedTuple):
    """A token: its kind, as the groups of the pattern are named, and how it is written."""

    kind: str
    text: str

    @property
    def opens(self) -> str:
        """The bracket it opens, "" if none."""
        return "(" if self.kind == "function" else self.text if self.text in ("{", "(", "[") else ""


def tokens(css: str) -> Iterator[Token]:
    """The tokens of a text; joined they are the text. `bad` is a string, comment or url() that is not closed.

    A `bad_url` is closed, but no URL: `url(var(--a)`.
    """
    for match in _TOKEN.finditer(css):
        yield Token(match.lastgroup or "", match[0])
