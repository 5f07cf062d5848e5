"""Pages that are odd as answers: redirects, kinds, codings and lengths that lie."""

from __future__ import annotations

import gzip

from benchmarks.hostile.site import ANY, LOADED, LOST, START, Page, html, made_of, picture, text, weight
from harness.errors import Outcome
from sites.response import Response

OTHER = "http://other.example/"
ERROR = frozenset({Outcome.PAGE_ERROR})


# Who asks for a password, by the status, and how: nobody is there to give one, so the question is cancelled.
ASKING = {401: "WWW_Authenticate", 407: "Proxy_Authenticate"}
QUESTIONS = {
    "basic": 'Basic realm="x"',
    "digest": 'Digest realm="x", nonce="y", qop="auth", algorithm=SHA-256',
    "negotiate": "Negotiate",
    "ntlm": "NTLM",
    "several": 'Negotiate, NTLM, Digest realm="x", nonce="y", Basic realm="z"',
    "nonsense": '\u00e9=;,,"',
    "none": "",
}


def asking(status: int, question: str) -> Page:
    """A page with a picture, a script, a style sheet and a frame that ask for a password."""
    asked = {ASKING[status]: QUESTIONS[question]} if QUESTIONS[question] else {}
    others = [
        text(START + name, "no", kind, status, **asked)
        for name, kind in (
            ("a.png", "image/png"),
            ("a.js", "text/javascript"),
            ("a.css", "text/css"),
            ("a", "text/html"),
        )
    ]
    body = '<img src="/a.png"><script src="/a.js"></script><iframe src="/a"></iframe>'
    head = '<link rel="stylesheet" href="/a.css">'
    return made_of(f"asks-{status}-{question}", head, body, others, may=LOADED, weighs=True)


def redirect(url: str, target: str) -> Response:
    return Response(url, 302, (("Location", target), ("Content-Type", "text/html")), b"")


def chain(length: int) -> tuple[Response, ...]:
    """That many redirects, then a page."""
    urls = [START, *(f"{START}r{number}" for number in range(1, length + 1))]
    hops = [redirect(urls[number], urls[number + 1]) for number in range(length)]
    return (*hops, text(urls[-1], html()), weight())


def alone(name: str, response: Response, may: frozenset[Outcome] = ANY) -> Page:
    return Page(name, (response, weight()), may)


def pages() -> list[Page]:
    lost = '<img src="http://site.example:4242/lost.png">'
    lost_elsewhere = '<script src="http://unknown.example:4242/lost.js"></script>'
    final = text(START + "home", html(body=lost))
    zipped = gzip.compress(html().encode())
    return [
        Page("redirect-self", (redirect(START, START), text(START + "x", html())), ANY),
        Page("redirect-two", (redirect(START, START + "2"), redirect(START + "2", START)), ANY),
        Page("redirect-chain-5", chain(5), LOADED, weighs=True, objects=7),
        Page("redirect-chain-25", chain(25), ANY),
        Page(
            "redirect-home",
            (redirect(START, START + "home"), text(START + "home", html()), weight()),
            LOADED,
            True,
            3,
        ),
        Page(
            "redirect-other-host",
            (redirect(START, OTHER), text(OTHER, html(picture=False)), weight()),
            LOADED,
            objects=2,
        ),
        Page(
            "redirect-to-https",
            (redirect(START, "https://site.example/s"), text("https://site.example/s", html()), weight()),
            ANY,
        ),
        Page("redirect-then-lost", (redirect(START, START + "home"), final, weight()), LOST),
        Page(
            "redirect-nowhere",
            (
                redirect(START, START + "home"),
                text(START + "home", html()),
                redirect(START + "home2", "ftp://x/"),
            ),
            ANY,
        ),
        Page(
            "redirect-javascript",
            (text(START, html()), redirect(START + "weight.png", "javascript:alert(1)")),
            ANY,
        ),
        made_of("lost-port", body=lost, may=LOST),
        made_of("lost-port-elsewhere", body=lost_elsewhere, may=LOST | LOADED),
        *(asking(status, question) for status in ASKING for question in QUESTIONS),
        *(
            alone(
                f"asks-{status}",
                text(START, "no", status=status, **{ASKING[status]: QUESTIONS["several"]}),
                ERROR,
            )
            for status in ASKING
        ),
        alone("status-304", Response(START, 304, (("ETag", '"1"'),), b""), ERROR),
        made_of(
            "objects-304",
            body='<img src="/kept.png"><script src="/kept.js"></script>',
            others=[Response(START + f"kept.{kind}", 304, (("ETag", '"1"'),), b"") for kind in ("png", "js")],
            may=LOADED,
            weighs=True,
        ),
        made_of("honest-missing", body='<img src="/missing.png">', may=LOADED, weighs=True),
        alone("download", text(START, html(), Content_Disposition="attachment"), ERROR),
        alone("status-204", Response(START, 204, (), b""), ERROR),
        alone("status-404", text(START, html(), status=404), ERROR),
        alone("status-500", text(START, html(), status=500), ERROR),
        alone("status-403-empty", Response(START, 403, (), b""), ERROR),
        alone("empty", text(START, ""), ANY),
        alone("gzip-lies", text(START, html(), Content_Encoding="gzip"), ANY),
        alone("gzip-cut", text(START, zipped[:-20], Content_Encoding="gzip"), ANY),
        alone("gzip-twice", text(START, gzip.compress(zipped), Content_Encoding="gzip, gzip"), ANY),
        alone(
            "gzip-bomb", text(START, gzip.compress(b"<p>" + b" " * 300_000_000), Content_Encoding="gzip"), ANY
        ),
        alone("brotli-lies", text(START, html(), Content_Encoding="br"), ANY),
        alone("coding-unknown", text(START, html(), Content_Encoding="x-none"), ANY),
        alone("length-lies-long", text(START, html(), Content_Length="99999999"), ANY),
        alone("length-lies-short", text(START, html(), Content_Length="3"), ANY),
        alone("length-nonsense", text(START, html(), Content_Length="-1"), ANY),
        alone("chunked-lies", text(START, html(), Transfer_Encoding="chunked"), ANY),
        alone(
            "header-odd",
            Response(
                START,
                200,
                (("Content-Type", "text/html"), ("X-\u00e9", "\u00fc\t;\\\"'`${x}")),
                html().encode(),
            ),
            ANY,
        ),
        alone(
            "header-flood",
            Response(START, 200, tuple((f"X-{n}", "x" * 500) for n in range(100)), html().encode()),
            ANY,
        ),
        alone("charset", text(START, html().encode("utf-16"), "text/html; charset=iso-2022-kr"), ANY),
        alone("type-missing", Response(START, 200, (), html().encode()), ANY),
        alone("type-nonsense", text(START, html(), ";;;/\u2603"), ANY),
        alone(
            "xml",
            text(START, "<?xml version='1.0'?><!DOCTYPE r [<!ENTITY a 'aaaa'>]><r>&a;</r>", "text/xml"),
            ANY,
        ),
        alone("xml-broken", text(START, "<r><a></r>", "application/xhtml+xml"), ANY),
        alone(
            "svg",
            text(
                START,
                "<svg xmlns='http://www.w3.org/2000/svg'><script>while(0){}</script></svg>",
                "image/svg+xml",
            ),
            ANY,
        ),
        alone("pdf", text(START, b"%PDF-1.4\n%%EOF", "application/pdf"), ANY),
        alone("plain-text", text(START, "x" * 100_000, "text/plain"), ANY),
        alone("json", text(START, "{}", "application/json"), ANY),
        alone("image", Response(START, 200, (("Content-Type", "image/png"),), picture()), ANY),
        alone("video", text(START, b"\0\0\0\x18ftypmp42", "video/mp4"), ANY),
        alone("refresh-header", text(START, html(), Refresh="0;url=http://nowhere.example/"), ANY),
        alone("policy", text(START, html(), Content_Security_Policy="default-src 'none'; sandbox"), ANY),
        alone(
            "policy-worlds",
            text(
                START, html(), Content_Security_Policy="require-trusted-types-for 'script'; script-src 'none'"
            ),
            ANY,
        ),
        alone(
            "hsts",
            text(START, html(), Strict_Transport_Security="max-age=99999999; includeSubDomains; preload"),
            LOADED,
        ),
        alone("alt-svc", text(START, html(), Alt_Svc='h3="10.0.0.9:443"; ma=99999'), LOADED),
        alone("clear-site-data", text(START, html(), Clear_Site_Data='"*"'), ANY),
        alone(
            "early-link",
            text(
                START, html(), Link="</weight.png>; rel=preload; as=image, <http://p.example>; rel=preconnect"
            ),
            LOADED,
        ),
        alone(
            "cookies",
            Response(
                START,
                200,
                (("Content-Type", "text/html"), *(("Set-Cookie", f"c{n}={'x' * 500}") for n in range(50))),
                html().encode(),
            ),
            ANY,
        ),
    ]
