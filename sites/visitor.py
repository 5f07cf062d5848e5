"""What a person brings to a live page: headers, cookies, a script that signs in. None of it is ever stored.

Headers go to the host of the page alone: no third party learns them. Cookies go where a browser sends them. Neither
travels by way of a command line, so HTTrack gets none of it: such pages are recorded in the browser.
"""

from __future__ import annotations

import base64
import re
import runpy
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from http.cookiejar import LoadError, MozillaCookieJar
from pathlib import Path
from typing import Any

from harness.errors import ArchiveError, UsageError
from harness.input.shown import clipped, one_line
from harness.input.textfile import read_file
from harness.model.protocol import Headers
from sites.response import Response

COOKIE_FILE_BYTES = 10_000_000
SHORTEST_SECRET = 8  # characters: what is shorter stands in any text by chance
ENTRY = "before"  # the function of a script
HIDDEN = "(hidden)"
# What one character may stand as: a space as in a form, and what is not alike in the two alphabets of base64.
_IN_TEXT: Mapping[str, str] = {" ": " +", "+": " +"}
_IN_BASE64: Mapping[str, str] = {"+": "+- ", "/": "/_"}
_CHARACTER = re.compile(r"(?s)%[0-9A-Fa-f]{2}|.")
_NAME, _VALUE = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"), re.compile(r"[\x20-\x7e\x80-\xff]*")
_ELSEWHERE: Mapping[str, str] = {"cookie": "--cookie", "user-agent": "--user-agent"}
_OF_BROWSER = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "range"}
)

Cookie = Mapping[str, Any]
"""A cookie as Playwright takes it."""


@dataclass(frozen=True)
class Visitor:
    """What is brought to a page. Values stand in no representation, so that no traceback shows them.

    `script` is a Python file with a function `before(page)`, which gets Playwright's page at the page's URL; what it
    leaves behind (cookies, storage) the recorded load finds. `attended` tells whether a person who acts in a visible
    window is done, and is asked again and again; None: there is nobody. `display` shows that window (`x11`, `wayland`).
    `wait_for` is a selector of an element that the recorded load goes on for.
    """

    headers: Headers = field(default=(), repr=False)
    cookies: tuple[Cookie, ...] = field(default=(), repr=False)
    script: Path | None = None
    attended: Callable[[], bool] | None = None
    display: str = ""
    wait_for: str = ""

    @property
    def is_nobody(self) -> bool:
        """Whether the page is visited as everybody visits it first."""
        return not (self.headers or self.cookies or self.acts or self.wait_for)

    @property
    def acts(self) -> bool:
        """Whether something is done before the load that is recorded."""
        return self.script is not None or self.attended is not None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What nobody may find in an archive: values of headers, also without their scheme, and of cookies."""
        values = [value for _, value in self.headers] + [str(cookie["value"]) for cookie in self.cookies]
        words = [*values, *(value.partition(" ")[2] for value in values)]
        return tuple(dict.fromkeys(word for word in words if len(word) >= SHORTEST_SECRET))

    def with_cookies(self, cookies: Iterable[Cookie]) -> Visitor:
        return replace(self, cookies=tuple(cookies))

    @property
    def note(self) -> str:
        """What an archive says of it, without any value; "" for nobody."""
        named = ", ".join(dict.fromkeys(name for name, _ in self.headers))
        parts = [
            f"headers of the visitor ({named})" if named else "",
            f"cookies ({len(self.cookies)})" if self.cookies else "",
            f"what {self.script.name} had done" if self.script else "",
            "what a person had done" if self.attended else "",
        ]
        return f"Recorded with {', '.join(filter(None, parts))}." if any(parts) else ""


NOBODY = Visitor()


def read_headers(lines: Iterable[str]) -> Headers:
    """Headers as `Name: value`; UsageError, which never quotes a value, for what cannot be sent."""
    headers = []
    for line in lines:
        name, colon, value = line.partition(":")
        name, value = name.strip(), value.strip()
        if not colon or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value) or not value:
            raise UsageError("--header takes 'Name: value' (the one given is not shown: it may be secret)")
        if name.lower() in _ELSEWHERE:
            raise UsageError(f"--header cannot set {name}; {_ELSEWHERE[name.lower()]} does")
        if name.lower() in _OF_BROWSER:
            raise UsageError(f"--header cannot set {name}: the browser writes it by itself")
        headers.append((name, value))
    return tuple(headers)


def read_cookies(path: Path) -> tuple[Cookie, ...]:
    """The cookies of a Netscape file that are valid now; UsageError, which quotes none of it, when there are none."""
    jar = MozillaCookieJar()
    try:
        read_file(path, COOKIE_FILE_BYTES)
        with warnings.catch_warnings(action="ignore"):  # they would quote the file
            jar.load(str(path), ignore_discard=True, ignore_expires=True)
    except LoadError:
        raise UsageError(
            f"{path} is no file of cookies in Netscape's format, which begins with '# Netscape HTTP Cookie File' and "
            "has seven fields a line, parted by tabs; export the cookies again"
        ) from None
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is no text"
        raise UsageError(f"cannot read the cookies in {path}: {why}") from None
    cookies = tuple(
        {
            "name": cookie.name,
            "value": cookie.value or "",
            "domain": cookie.domain,
            "path": cookie.path,
            "secure": cookie.secure,
            "httpOnly": cookie.has_nonstandard_attr("HTTPOnly"),
            "expires": cookie.expires or -1,
        }
        for cookie in jar
        if not (cookie.expires and cookie.is_expired())  # 0 is that of a session, as curl writes it
    )
    if not cookies:
        expired = f"the {len(jar)} cookies in {path} have expired" if len(jar) else f"{path} holds no cookie"
        raise UsageError(f"{expired}; export them again")
    return cookies


def run_script(path: Path, page: Any) -> None:
    """Have a script act on a page of Playwright; ArchiveError, on one line, when it fails."""
    try:
        act = runpy.run_path(str(path)).get(ENTRY)
        if act is not None:
            act(page)
    except (Exception, SystemExit) as error:
        said = (str(error).strip().splitlines() or [""])[0] or type(error).__name__
        raise ArchiveError(f"{path}{_line_of(path)} failed: {one_line(clipped(said, 300))}") from error
    if act is None:
        raise ArchiveError(f"{path} has no function {ENTRY}(page); see docs/pages.md")


def _line_of(path: Path) -> str:
    """Where in the script the error that is being handled came from."""
    at, line = sys.exc_info()[2], ""
    while at is not None:
        if at.tb_frame.f_code.co_filename == str(path):
            line = f", line {at.tb_lineno},"
        at = at.tb_next
    return line


def hidden(text: str, secrets: Iterable[str]) -> str:
    """The text without what is secret: as it is, as URLs have it (escaped also several times over), or in base64."""
    for secret in sorted(secrets, key=len, reverse=True):  # one may be a part of another
        for spelling in _spellings(secret):
            text = spelling.sub(HIDDEN, text)
    return text


def without_secrets(response: Response, secrets: tuple[str, ...]) -> Response | None:
    """The response without headers and words of its status that say what is secret; None when its address does."""

    def tells(text: str) -> bool:
        return hidden(text, secrets) != text

    if tells(response.url):
        return None
    kept = tuple((name, value) for name, value in response.headers if not tells(f"{name}: {value}"))
    reason = "" if tells(response.reason) else response.reason
    same = (kept, reason) == (response.headers, response.reason)
    return response if same else replace(response, headers=kept, reason=reason)


@cache
def _spellings(secret: str) -> tuple[re.Pattern[str], ...]:
    """Patterns of a secret as text and, wherever it begins within three bytes, as base64."""
    octets = secret.encode()
    patterns = [_pattern(secret, _IN_TEXT)]
    for before in range(3):
        code = base64.b64encode(bytes(before) + octets).decode()
        # Without the characters that also hold bits of what stands before or behind.
        own = code[-(-8 * before // 6) : 8 * (before + len(octets)) // 6]
        patterns.append(_pattern(own, _IN_BASE64))
    return tuple(patterns)


def _pattern(text: str, alike: Mapping[str, str]) -> re.Pattern[str]:
    """Finds the text with any of its characters escaped. The escapes that it has stay: what they stand for may be
    known to everybody, as the address of the page in a cookie is.
    """
    choices = (
        "|".join(_spelled(one) for one in alike.get(character, character))
        if len(character) == 1
        else _escape(character[1:])
        for character in _CHARACTER.findall(text)
    )
    return re.compile("".join(f"(?:{choice})" for choice in choices))


def _spelled(character: str) -> str:
    return f"{re.escape(character)}|{''.join(_escape(f'{octet:02x}') for octet in character.encode())}"


def _escape(octet: str) -> str:
    return f"%(?:25){{0,9}}(?i:{octet})"
