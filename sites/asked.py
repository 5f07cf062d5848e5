"""What a URL asks for, without what the clock and chance put into it. Pure.

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
LONG_NUMBER = "[0-9]{10,}"  # the time in seconds or milliseconds, the digits of a random fraction
ANY = "*"
_LONG_NUMBER = re.compile(LONG_NUMBER)
_LEFT_OUT = frozenset(name.encode() for name in LEFT_OUT)
_CALLBACKS = frozenset(name.encode() for name in CALLBACKS)
_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})|;")  # pairs with these are no parameters to Go, thus to Caddy


def normalised(url: str) -> str:
    """Host, path and query of a URL as they count: `host/path?a=1&b=*`. The scheme is that of the replay."""
    host, slash, target = url.partition("://")[2].partition("#")[0].partition("/")
    return host.lower() + normal_target(slash + target).removesuffix("?")


def normal_target(target: str) -> str:
    """Path and query as they count, always with a question mark between them."""
    path, _, query = target.partition("?")
    return _LONG_NUMBER.sub(ANY, f"{path}?{_sorted(query)}")


def normal_path(target: str) -> str:
    """The path alone, as it counts."""
    return _LONG_NUMBER.sub(ANY, target.partition("?")[0])


def _sorted(query: str) -> str:
    """The parameters that count, sorted by name and in one spelling: as Go writes them, which is Caddy's language."""
    pairs = [pair.partition("=") for pair in query.split("&") if pair and not _BROKEN.search(pair)]
    read = [(_decoded(name), _decoded(value)) for name, _, value in pairs]
    return "&".join(
        f"{quote_plus(name)}={quote_plus(ANY if name in _CALLBACKS else value)}"
        for name, value in sorted(read, key=lambda each: each[0])
        if name not in _LEFT_OUT
    )


def _decoded(text: str) -> bytes:
    return unquote_to_bytes(text.replace("+", " "))
