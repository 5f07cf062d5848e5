"""Pages whose objects have odd paths, by every server and protocol: what each answers is the same."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.hostile.site import LOADED, START, Page, html, text, weight
from harness.model.engine import Engine
from harness.model.protocol import Protocol
from sites.response import Response

SMALL = b"<svg xmlns='http://www.w3.org/2000/svg' width='4' height='4'/>"
ANSWERED = (
    "/100%25.svg", "//a///b.svg", "/a%2eb.svg", "/a;v=1.svg", "/%ff.svg", "/\u00e9.svg", f"/{'l' * 5000}.svg",
    "/a%2Fb.svg", "/a%5cb.svg", "/a/..%2fb.svg", "/a|b^c.svg", "/a?x=%zz|", "/a%0ab.svg", "/a%0d%0aX:%20y.svg", "/.svg",
    "/a./b.svg", "/x%3Fy.svg", "/x%23y.svg", "/...svg", "/.../a.svg", "/.well-known/a.svg", "/.htaccess",
    "/%E2%80%AE.svg", "/con.svg", "/a%7Fb.svg", "/a~1.svg", "/{uri}.svg", "/{$HOME}.svg", "/$uri.svg", "/${host}.svg",
    "/%25%7BHTTP_HOST%7D.svg", "/a'b.svg", "/a%22b.svg", "/a%3Cb%3E.svg", "/a%20b.svg", "/a+b.svg", "/*.svg",
    "/[a].svg", "/index.html", "/a.svg/", "/a.svg/b.svg", "/a.svg?", "/a.svg??a=b?c", "/a.svg?a=/../b", "/a.svg;",
    "/A.svg", "/a.SVG",
)  # fmt: skip
# No server takes them, or each takes them for something else: they are ordinary misses by all.
MISSED = ("/save-50%-now.css", "/%zz.svg", "/%.svg", "/a%00b.svg", "/..%2f..%2fx.svg", "/%2e%2e%2fq.svg")
# The same as QtWebKit spells them: it escapes some anew, and sends one slash for several, which nobody recorded.
MISSED_BY_QTWEBKIT = (
    "/save-50%25-now.css", "/%25zz.svg", "/%25.svg", "/a%00b.svg", "/..%2F..%2Fx.svg", "/..%2Fq.svg", "/a///b.svg",
    "/a?x=%25zz%7C",
)  # fmt: skip

SERVERS = {
    "caddy": (Protocol.HTTP1, Protocol.H2, Protocol.H3),
    "nginx": (Protocol.HTTP1, Protocol.H2),
    "apache": (Protocol.HTTP1, Protocol.H2),
    "spdy-gateway": (Protocol.HTTP1, Protocol.SPDY_PLAIN),
}


def responses() -> Iterable[Response]:
    """The page and all its objects."""
    paths = (*ANSWERED, *MISSED)
    body = "".join(f'<img src="{START[:-1]}{path.replace("&", "&amp;")}">' for path in paths)
    head = '<meta charset=utf-8><link rel=icon href="data:,">'
    yield text(START, html(head, body), "text/html; charset=utf-8")
    yield weight()
    for path in paths:
        yield text(START[:-1] + path, SMALL, "image/svg+xml")


def pages() -> list[Page]:
    made = tuple(responses())
    return [
        Page(
            f"odd-paths-{server}-{protocol}",
            made,
            LOADED,
            weighs=True,
            objects=len(made) - len(MISSED_BY_QTWEBKIT),
            engine=Engine.QTWEBKIT if server == "spdy-gateway" else Engine.CHROMIUM,
            server=server,
            protocol=protocol,
            missed=frozenset(MISSED_BY_QTWEBKIT if server == "spdy-gateway" else MISSED),
        )
        for server, protocols in SERVERS.items()
        for protocol in protocols
    ]
