"""Documents in which chance and the date are the same at every load. Pure.

Scripts build URLs of random numbers and of the time. A small script, the first of every document, gives them
the same ones each time: `Math.random`, `crypto.getRandomValues` and `crypto.randomUUID` come from a generator with
a fixed seed. `Date` starts at the time of the recording when that script runs and goes on by what scripts wait for: a
timer that fires finds the clock at the time it was set for, a frame takes 16 ms. What the network takes, which is
never the same twice, passes unnoticed: names made of the time are the same in each load, and yet no script waits in
vain. (Web Page Replay's clock goes on by a step for every 25 readings; then timers and clock do not fit together.) The
clock goes in steps of 100 ms, so that what comes after one frame more or less reads the same (Firefox's
resistFingerprinting has steps of that size; pages bear it). It is never ahead of the browser's own and at most 30 s
behind. A script that asks again within a millisecond, waiting in a loop, sees the time pass, in steps of 10 ms.
`performance.timeOrigin` is the recording's, all else of `performance` is untouched. Workers, and empty documents that
scripts make (about:blank, srcdoc), have no such script.

The historical engine (of 2016) has neither `Proxy`, so that an ordinary function stands for `Date`, nor `Crypto`,
`crypto.randomUUID` and `performance.timeOrigin`, which it goes on without.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import resources

import rjsmin  # type: ignore[import-untyped, unused-ignore]  # has no types

from sites.charset import PRESCAN_BYTES, charset_within

UNDATED_MS = 1_704_067_200_000  # 2024-01-01: for an archive that does not know when it was recorded
_SOURCE = resources.files("sites").joinpath("determinism.js")
_SEED = 2012

_MISC = r"(?:\s|<!--(?:-?>|.*?--!?>)|<\?[^>]*>)*+"
_ATTRIBUTES = r"""(?:\s(?:[^>"']|"[^"]*"|'[^']*')*+)?>"""
_PROLOGUE = re.compile(
    rf"(?is)(?:\ufeff|\xef\xbb\xbf)?{_MISC}(?:<!doctype[^>]*>{_MISC})?(?:<html{_ATTRIBUTES}{_MISC})?(?:<head{_ATTRIBUTES})?"
)
_HEAD_CONTENT = re.compile(r"(?i)<(?:base|body|frameset|link|meta|noscript|script|style|title)[\s/>]")
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


@dataclass(frozen=True)
class Pinned:
    """A document with the script; `charset` is what the script pushed out of the browser's sight, else None."""

    body: bytes
    charset: str | None


def script(recorded: datetime | None) -> str:
    """The script element for an archive recorded at that time."""
    recorded_ms = round(recorded.timestamp() * 1000) if recorded else UNDATED_MS
    code = _code().replace("RECORDED_MS", str(recorded_ms)).replace("SEED", str(_SEED))
    return f"<script>{code}</script>"


@cache
def _code() -> str:
    """`determinism.js` in one line, as short as it can be without other names."""
    short: str = rjsmin.jsmin(_SOURCE.read_text(encoding="utf-8"))
    return "".join(short.splitlines())  # rjsmin keeps the line after a "}", where a semicolon may be missing


def pin(document: bytes, element: str, *, xml: bool) -> Pinned | None:
    """The document with `element` before all its other scripts; None when it does not look like a document.

    The place is right after <head>, <html> or the document type, whichever is last, so that nothing changes about
    how the rest is parsed. XML documents need a <head>.
    """
    encoding = next((name for mark, name in _WIDE.items() if document.startswith(mark)), "latin-1")
    text = document.decode(encoding, "surrogatepass" if encoding != "latin-1" else "strict")
    prologue = _PROLOGUE.match(text)
    at = prologue.end() if prologue else 0
    before = text[:at].lower()
    found = any(mark in before for mark in ("<head", "<html", "<!doctype")) or _HEAD_CONTENT.match(text, at)
    if not found or (xml and not before.rpartition("<")[2].startswith("head")):
        return None
    declared = charset_within(text) if encoding == "latin-1" else None
    pushed_out = declared is not None and declared.end() + len(element) > PRESCAN_BYTES
    body = (text[:at] + element + text[at:]).encode(
        encoding, "surrogatepass" if encoding != "latin-1" else "strict"
    )
    return Pinned(body, declared[1].lower() if declared and pushed_out else None)
