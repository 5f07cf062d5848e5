"""The recording that every replay server is asked for: odd targets, hosts, statuses, headers; and what is not in it."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator

from harness.system.enclosure import WORKSPACE
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About

SITE = "https://site.example"
HTML = (("Content-Type", "text/html; charset=utf-8"),)
TEXT = (("Content-Type", "text/plain"),)
LONG_TARGET = "/q?" + "x" * 4000
LARGE_BODY = bytes(range(256)) * 12_000  # 3 MB
TARGETS = (
    "/a/b", "/a%2Fb", "/a%2fb", "/A/b", "/dir//x", "/;p=1", "/x", "/x?", "/x?y=1", "/x?y=2",
    "/x?y=1&y=%27%20",
    "/100%", "/%zz", "/%00x", "/%C3%A9", "/..%2f..%2fetc%2fpasswd", "/a\\b|^`", '/q"uote', "/.htaccess",
    "/miss", "/path/http://other.example/", LONG_TARGET,
    "/t?a=1&_=16&b=%C3%A9+x", "/t?a=2&_=17&b=%C3%A9+x", "/t?a=%26&rnd=x&c=%7E-._*", "/t?1700000000000", "/t?c=1",
    "/at/1700000000000/2000000000001/x", "/at/1/x",
    "/s,(1)!'*:@$&=+;~", "/s%2c2%7e", "/s?f=%2C,|&g=%2F", "/s%C3%a9%0a", "/.s/..x", "/%ff", "//a///b.png",
)  # fmt: skip
# What some server refuses, recorded or not (sites.asked.refused).
REFUSED = ("/100%", "/%zz", "/%00x", "/..%2f..%2fetc%2fpasswd")
SPELLED = {  # another spelling of the same address: whose answer is given
    "/s%2C%281%29%21%27%2a%3A%40%24%26%3d%2b%3B%7e": "/s,(1)!'*:@$&=+;~",
    "/%73,2~": "/s%2c2%7e",
    "/s%2C2%7E": "/s%2c2%7e",
    "/s?f=,%2c%7C&%67=/": "/s?f=%2C,|&g=%2F",
    "/s%c3%A9%0A": "/s%C3%a9%0a",
    "/%2es/%2E.x": "/.s/..x",
    "/%FF": "/%ff",
    "//a///b%2epng": "//a///b.png",
}
MISSES = (
    "/nowhere",
    "/objects",
    "/a%2FB",
    "/S,2~",
    "/s%252c2%7e",
    "/a///b.png",
    "/100%25",
    "/x/",
    "/nowhere?y=1",
    "/jsonp?f=alert(1)//&u=1",
    "/jsonp?u=1",
    "/jsonp?f=a%22b&u=1",
    "/jsonp?f=a&f=b&u=1",  # name nothing to call
)
CLOSEST = {  # what is asked for: whose answer is given
    "/x?y=3": "/x?y=1",
    "/x?y=1&": "/x?y=1",
    "/x?y=1&y=%27+&_=17": "/x?y=1&y=%27%20",
    "/t?b=%c3%a9%20x&a=2": "/t?a=2&_=17&b=%C3%A9+x",  # parameters in another order and spelling
    "/t?_=17&a=1&b=%C3%A9+x": "/t?a=1&_=16&b=%C3%A9+x",
    "/t?c=%7e-._%2A&a=%26": "/t?a=%26&rnd=x&c=%7E-._*",
    "/t?1711111111111": "/t?1700000000000",
    "/t?c=1&%zz&;": "/t?c=1",
    "/at/1711111111111/2000000000009/x?": "/at/1700000000000/2000000000001/x",
    "/x?y=22": "/x?y=2",
    "/x?z": "/x?",
    "/a%2Fb?": "/a%2Fb",
    "/s?f=,,|%26g=/": "/s?f=%2C,|&g=%2F",  # what parts parameters is not what stands in one
    "/%73%2C2~?more": "/s%2c2%7e",
    "/q": LONG_TARGET,
    LONG_TARGET[:-1] + "y": LONG_TARGET,
    "/q?" + "x" * 60_000: LONG_TARGET,
}
TAG, DATE = '"tag"', "Wed, 21 Oct 2015 07:28:00 GMT"
KEPT_BODY = bytes(range(100))  # of /kept and its like, whose answers a browser may keep

RENAMED = {  # scripts that call the function they are asked for (JSONP)
    "/jsonp?f=new&u=1": b"/**/ typeof new === 'function' && new({'a': '\xe9{http.request.host}{{1}}'});",
    "/jsonp?_=1&f=a.%24b%5B0%5D.c_&u=1": b"/**/ typeof a.$b[0].c_ === 'function' && "
    b"a.$b[0].c_({'a': '\xe9{http.request.host}{{1}}'});",
    "/jsonp?f=new&u=3": b"other(3)".replace(b"other", b"new"),
}


def recording() -> Iterator[Response]:
    page = b'<img src="https://cdn.example/i.png"><a href="https://elsewhere.example/">'
    yield Response(f"{SITE}/", 200, (*HTML, ("Content-Encoding", "gzip")), gzip.compress(page))
    for number, target in enumerate(TARGETS):
        yield Response(SITE + target, 200, (*TEXT, ("X-Number", str(number))), f"answer {number}".encode())
    script = b"/**/ typeof old === 'function' && old({'a': '\xe9{http.request.host}{{1}}'});"
    coded = (
        ("Content-Type", "text/javascript; charset=latin1"),
        ("Content-Encoding", "gzip"),
        ("X-Number", "j"),
    )
    yield Response(f"{SITE}/jsonp?f=old&u=1", 200, coded, gzip.compress(script))
    yield Response(f"{SITE}/jsonp?f=other&u=3", 200, coded[:1], b"other(3)")
    yield Response("https://cdn.example/i.png", 200, (("Content-Type", "image/png"),), LARGE_BODY)
    yield Response("https://under_score.example/", 200, TEXT, b"underscore")
    yield Response("https://cdn.example:8443/x", 200, TEXT, b"other port")
    yield Response(f"{SITE}/relative", 302, (("Location", "/x?y=1"),), b"")
    yield Response(f"{SITE}/absolute", 301, (("Location", "https://cdn.example/i.png"),), b"moved")
    yield Response(f"{SITE}/gone", 404, HTML, b"<h1>recorded error page</h1>")
    yield Response(f"{SITE}/broken", 503, (("Retry-After", "5"),), b"later")
    yield Response(f"{SITE}/odd", 599, TEXT, b"odd status")
    yield Response(f"{SITE}/refused", 405, (("Allow", "GET"),), b"")
    yield Response(f"{SITE}/nothing", 204, (), b"")
    yield Response(f"{SITE}/empty", 200, (("Content-Type", "text/css"),), b"")
    yield Response(f"{SITE}/untyped", 200, (), b"no type")
    many = (
        ("Link", "</a>; rel=preload"),
        ("Link", "</b>; rel=preload"),
        ("ETag", '"e"'),
        ("Cache-Control", "no-store"),
    )
    dated = (
        ("Last-Modified", DATE),
        ("Expires", "-1"),
        ("Content-Language", "de"),
    )
    yield Response(
        f"{SITE}/headers", 200, (*TEXT, *many, *dated, ("Status", "500"), ("Server", "other")), b"h"
    )

    weak = ("ETag", f"W/{TAG}")
    yield Response(f"{SITE}/kept?tag", 200, (*TEXT, ("ETag", TAG), ("Last-Modified", DATE)), KEPT_BODY)
    yield Response(f"{SITE}/kept/date?x", 200, (*TEXT, ("Last-Modified", DATE)), KEPT_BODY)
    yield Response(f"{SITE}/kept/weak?x", 200, (*TEXT, weak), KEPT_BODY)


def site_of(recorded: Iterable[Response]) -> Archive:
    """An archive of responses of SITE."""
    return write_archive(WORKSPACE / "a", "site", About(f"{SITE}/", "test", "test", ()), recorded)
