"""What a URL asks for: in one spelling, and without what the clock and chance put into it. Pure.

An address can be written in many ways: `/a,b` and `/a%2Cb` are the same, and so are `%c3` and `%C3`. SURT, by which web
archives look addresses up, takes them for one. So does the replay, but for the characters that part an address.

Pages write the time and random numbers into the addresses they ask for, against caches (`_=1700000000000`) and as the
name of the function that a script is to call with its data (JSONP, `callback=jQuery1720_1700000000000`). Two such
addresses ask for the same. Two loads of a page are compared by what this module leaves of their URLs, and requests that
were not recorded find their answer by it (`sites.match`).

The rules are those that general replay tools have (pywb's and wabac's fuzzy matching), without the ones for single
sites, and so simple that a web server can carry them out: parameters that only defeat caches are left out, the order of
the others does not matter, names of functions and long numbers count as `*`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import quote_plus, unquote_to_bytes

# What only keeps an answer from coming out of a cache, or tells where a visitor came from.
LEFT_OUT = (
    *("_", "__", "_t", "_ts", "ts", "timestamp", "rnd", "rand", "random", "ord", "correlator", "bust"),
    *("nocache", "noCache", "no_cache", "uncache", "cachebust", "cachebuster", "cacheBuster", "cache_buster"),
    *("_ga", "_gl", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "utm_id"),
)
# What names the function to call. That one is named matters, how does not.
CALLBACKS = (
    *("callback", "_callback", "cb", "jsonp", "_jsonp", "jsonp_callback", "jsonpcallback", "jsonpCallback"),
    *("json_callback", "jsoncallback", "jsonCallback"),
)
LONG_DIGITS = 10  # of the time in seconds; it has more in milliseconds, as has a random fraction
LONG_NUMBER = f"[0-9]{{{LONG_DIGITS},}}"
ANY = "*"
# Characters that mean something else when they are written as an escape: they part the path, and the parameters.
APART_IN_PATH, APART_IN_QUERY = "#%/?", "#%&+="
_LONG_NUMBER = re.compile(LONG_NUMBER)
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_LEFT_OUT = frozenset(name.encode() for name in LEFT_OUT)
_CALLBACKS = frozenset(name.encode() for name in CALLBACKS)
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_BROKEN = re.compile(
    rf"{_BROKEN_ESCAPE.pattern}|;"
)  # pairs with these are no parameters to Go, thus to Caddy


def normalised(url: str) -> str:
    """Host, path and query of a URL as they count: `host/path?a=1&b=*`. The scheme is that of the replay."""
    host, slash, target = url.partition("://")[2].partition("#")[0].partition("/")
    return normal_target(f"{host.lower()}{slash}{target}").removesuffix("?")


def normal_target(target: str, callbacks: Collection[str] = ()) -> str:
    """Path and query as they count, always with a question mark between them; a host may stand before the path.

    `callbacks` are parameters that are known to name functions, beside those of that use.
    """
    path, _, query = target.partition("?")
    naming = _CALLBACKS.union(name.encode() for name in callbacks)
    return _LONG_NUMBER.sub(ANY, f"{_spelled(path, APART_IN_PATH)}?{_sorted(query, naming)}")


def normal_path(target: str) -> str:
    """The path alone, as it counts."""
    return _LONG_NUMBER.sub(ANY, _spelled(target.partition("?")[0], APART_IN_PATH))


def in_one_spelling(target: str) -> str:
    """Path and query with escapes only of what would mean something else without one, or could not stand there."""
    path, mark, query = target.partition("?")
    return f"{_spelled(path, APART_IN_PATH)}{mark}{_spelled(query, APART_IN_QUERY)}"


def spelled_plainly(apart: str) -> list[int]:
    """The characters, as numbers, that are the same with and without an escape."""
    return [code for code in range(0x21, 0x7F) if chr(code) not in apart]


def refused(target: str) -> bool:
    """Whether a server refuses this path, before any rule of the replay and often without a line in its log.

    Go (Caddy) refuses a broken escape, nginx that, a NUL, and a path that leads out of the root once it is decoded. A
    host may stand before the path.
    """
    path = target.partition("?")[0]
    if "%" not in path:
        return False
    if _BROKEN_ESCAPE.search(path) or "%00" in path:
        return True
    depth = 0
    for segment in unquote_to_bytes(path).split(b"/")[1:]:
        depth += {b"..": -1, b".": 0}.get(segment, 1)
        if depth < 0:
            return True
    return False


def _spelled(text: str, apart: str) -> str:
    def one(escape: re.Match[str]) -> str:
        character = chr(int(escape[1], 16))
        return character if "!" <= character <= "~" and character not in apart else escape[0].upper()

    return _ESCAPE.sub(one, text)


def _sorted(query: str, naming: Collection[bytes]) -> str:
    """The parameters that count, sorted by name and in one spelling: as Go writes them, which is Caddy's language."""
    pairs = [pair.partition("=") for pair in query.split("&") if pair and not _BROKEN.search(pair)]
    read = [(_decoded(name), _decoded(value)) for name, _, value in pairs]
    return "&".join(
        f"{quote_plus(name)}={quote_plus(ANY if name in naming else value)}"
        for name, value in sorted(read, key=lambda each: each[0])
        if name not in _LEFT_OUT
    )


def _decoded(text: str) -> bytes:
    return unquote_to_bytes(text.replace("+", " "))
