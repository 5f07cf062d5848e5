"""Archiving with the real HTTrack: a small site of three hosts, which are addresses of this machine."""

from __future__ import annotations

import gzip
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from harness.errors import ArchiveError, EnvironmentLacks
from sites.archive import BEHIND_HASH
from sites.archiving import Tool, archive_page
from sites.htcache import url_key
from sites.httrack import (
    LONGEST_USER_AGENT,
    NOTES,
    USER_AGENTS,
    Mirror,
    Visit,
    mirror,
    responses_of,
)
from sites.requisites import missing
from sites.response import Response

pytestmark = pytest.mark.thorough

DATA = Path(__file__).parents[2] / "data" / "httrack"
Answer = tuple[int, dict[str, str], bytes]

PAGE = """<!DOCTYPE html><html><head><title>Café</title>
<link rel="stylesheet" href="/style.css?v=3"><link rel="stylesheet" href="{cdn}/css?family=Serif:400&amp;x=1">
<script src="{cdn}/lib.js"></script></head><body style="background: url('/bg.png')">
<a href="/other.html">another page</a>
<img src="/a%20b.png"><img src="/café.png"><img src="/photo?id=7&amp;w=%c3%a9">
<img src="/s.png" srcset="/s.png 1x, /l.png 2x"><img src="/moved.png"><img src="/empty?x"><img src="/gone.png">
<iframe src="{ads}/frame?slot=1"></iframe>
<script>document.write('<img src="/by-' + 'script.png">')</script></body></html>"""


@dataclass
class Site:
    """A site that is up: `www`, `cdn` and `ads` are its origins, `answers` what each URL gives."""

    origins: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    @property
    def page(self) -> str:
        return self.origins["www"] + "/"

    def fill(self) -> None:
        www, cdn, ads = (self.origins[name] for name in ("www", "cdn", "ads"))
        gz = {"Content-Encoding": "gzip"}
        css, html, png = (
            {"Content-Type": "text/css"},
            {"Content-Type": "text/html; charset=utf-8"},
            {"Content-Type": "image/png"},
        )
        picture = b"\x89PNG\r\n\x1a\n picture "
        self.answers |= {
            f"{www}/": (200, html | gz | {"ETag": '"1"'}, gzip.compress(PAGE.format(**self.origins).encode(), mtime=0)),
            f"{www}/old": (302, html | {"Location": f"{www}/new"}, b""),
            f"{www}/new": (301, html | {"Location": "/"}, b""),
            f"{www}/style.css?v=3": (200, css, b"@import 'more.css'; .hero { background: url(/hero?w=6) }"),
            f"{www}/more.css": (200, css, f"@font-face {{ src: url({cdn}/x.woff2) }}".encode()),
            f"{cdn}/css?family=Serif:400&x=1": (200, css, f"@font-face {{ src: url({cdn}/y.woff2) }}".encode()),
            f"{cdn}/lib.js": (200, {"Content-Type": "text/javascript"} | gz, gzip.compress(b"f(); " * 99, mtime=0)),
            f"{www}/moved.png": (301, html | {"Location": f"{cdn}/target.png"}, b"moved"),
            f"{www}/empty?x": (200, {"Content-Type": "image/gif"}, b""),
            f"{www}/gone.png": (404, html, b"<p>gone</p>"),
            f"{ads}/frame?slot=1": (200, html, b'<link rel="stylesheet" href="ad.css"><img src="/pixel?u">'),
            f"{ads}/ad.css": (200, css, b"b { color: red }"),
            f"{ads}/pixel?u": (200, {"Content-Type": "image/gif"}, b"GIF89a"),
            f"{www}/other.html": (200, html, b"<img src=/not-on-the-page.png>"),
        }  # fmt: skip
        for path in (
            "bg.png",
            "a%20b.png",
            "caf%C3%A9.png",
            "photo?id=7&w=%c3%a9",
            "s.png",
            "l.png",
            "hero?w=6",
        ):
            self.answers[f"{www}/{path}"] = (200, png, picture + path.encode())
        for path in ("x.woff2", "y.woff2", "target.png"):
            self.answers[f"{cdn}/{path}"] = (200, {"Content-Type": "font/woff2"}, picture + path.encode())

    def answer(self, url: str, agent: str) -> Answer:
        self.asked.append((url, agent))
        keys = {url_key(known): known for known in self.answers}
        return self.answers.get(keys.get(url_key(url), ""), (404, {"Content-Type": "text/plain"}, b""))


def certificate(folder: Path) -> ssl.SSLContext:
    """A certificate that no system trusts."""
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ads")]),
    )
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(1)
    )
    made = builder.sign(key, hashes.SHA256())
    pem = folder / "ads.pem"
    pem.write_bytes(
        made.public_bytes(Encoding.PEM) + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


def serve(site: Site, address: str, context: ssl.SSLContext | None) -> ThreadingHTTPServer:
    scheme = "https" if context else "http"

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 5

        def do_GET(self) -> None:
            url = f"{scheme}://{self.headers['Host']}{self.path}"
            status, headers, body = site.answer(url, self.headers.get("User-Agent", ""))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None: ...  # HTTrack hangs up when it has what it wants

    server = Server((address, 0), Handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site()
    context = certificate(tmp_path_factory.mktemp("certificate"))
    servers = []
    for name, address in (("www", "127.0.0.1"), ("cdn", "127.0.0.2"), ("ads", "127.0.0.3")):
        server = serve(made, address, context if name == "ads" else None)
        scheme = "https" if name == "ads" else "http"
        made.origins[name] = f"{scheme}://{address}:{server.server_address[1]}"
        servers.append(server)
    made.fill()
    yield made
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def mirrored(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Mirror:
    return mirror(f"{site.origins['www']}/old", Visit(tmp_path_factory.mktemp("mirror")), polite=False)


def test_all_that_the_page_needs_is_there_byte_for_byte(site: Site, mirrored: Mirror) -> None:
    recorded = {response.url: response for response in responses_of(mirrored.folder)}
    needed = {url: answer for url, answer in site.answers.items() if not url.endswith("/other.html")}
    assert recorded.keys() == needed.keys()
    for url, (status, headers, body) in needed.items():
        response = recorded[url]
        assert (url, response.status) == (url, status)
        assert (url, response.header("Content-Encoding")) == (url, headers.get("Content-Encoding"))
        plain = (gzip.decompress if "Content-Encoding" in headers else bytes)(body)
        found = (gzip.decompress if "Content-Encoding" in headers else bytes)(response.body)
        assert (url, found) == (url, plain)
        for name in ("Content-Type", "Location", "ETag"):
            assert (url, name, response.header(name)) == (url, name, headers.get(name))
    assert mirrored.unanswered == ()


def test_links_are_not_followed_and_robots_not_asked_for(site: Site, mirrored: Mirror) -> None:
    assert len([*mirrored.folder.glob("round-*")]) > 1
    paths = {url.rpartition("/")[2] for url, _ in site.asked}
    assert not paths & {"other.html", "not-on-the-page.png", "robots.txt"}


def test_the_page_comes_first_in_page_order(site: Site, mirrored: Mirror) -> None:
    www, cdn = site.origins["www"], site.origins["cdn"]
    urls = [response.url for response in responses_of(mirrored.folder)]
    assert urls[:5] == [
        f"{www}/old",
        f"{www}/new",
        f"{www}/",
        f"{www}/style.css?v=3",
        f"{cdn}/css?family=Serif:400&x=1",
    ]


def test_user_agent_progress_and_notes(site: Site, tmp_path: Path) -> None:
    site.asked.clear()
    seen: list[tuple[int, str]] = []
    site.answers[site.page], page = (
        (200, {"Content-Type": "text/html"}, b'<img src="http://127.0.0.1:9/x.png">'),
        site.answers[site.page],
    )
    try:
        archive = archive_page(
            f"{site.page}#/view",
            tmp_path / "archives",
            "small",
            Tool.HTTRACK,
            Visit(tmp_path / "work", "mobile", progress=lambda _what, count, url: seen.append((count, url))),
        )
    finally:
        site.answers[site.page] = page
    assert archive.user_agent == USER_AGENTS["mobile"]
    assert {agent for _, agent in site.asked} == {USER_AGENTS["mobile"]}
    assert archive.captured_with == "httrack"
    assert archive.start_url == site.page
    view, *usual, unanswered = archive.notes
    assert view == BEHIND_HASH
    assert (tuple(usual), "nobody answered: http://127.0.0.1:9/x.png" in unanswered) == (NOTES, True)
    assert archive.captured_utc is not None
    assert (1, site.page) in seen


def test_a_page_that_is_not_there_is_refused(site: Site, tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match=r"could not fetch http://\S+/none: .* 404 Not Found"):
        mirror(site.page + "none", Visit(tmp_path), polite=False)


def test_a_server_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match=r"could not fetch http://127\.0\.0\.1:9/: no answer \(.+\)"):
        mirror("http://127.0.0.1:9/", Visit(tmp_path), polite=False)


def test_a_redirect_into_nothing_is_refused(site: Site, tmp_path: Path) -> None:
    site.answers[site.page + "away"] = (302, {"Location": "http://127.0.0.1:9/"}, b"")
    with pytest.raises(ArchiveError, match=r"http://127\.0\.0\.1:9/, to which http://\S+away leads"):
        mirror(site.page + "away", Visit(tmp_path), polite=False)


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "something").touch()
    with pytest.raises(ArchiveError, match="it is not empty; give a new folder"):
        mirror("http://127.0.0.1:9/", Visit(tmp_path))


@pytest.mark.parametrize("agent", ["", "x" * (LONGEST_USER_AGENT + 1), "line\nbreak", "café"])
def test_an_impossible_user_agent_is_refused(agent: str, tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="at most 125 printable ASCII characters"):
        mirror("http://127.0.0.1:9/", Visit(tmp_path, agent))


def test_what_is_no_url_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="is no absolute URL"):
        mirror("--help", Visit(tmp_path))


def test_without_httrack_doctor_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentLacks, match="httrack is not installed; `coldload doctor`"):
        mirror("http://127.0.0.1:9/", Visit(tmp_path / "new"))


def test_mirrors_of_others_can_be_read() -> None:
    recorded = {response.url: response for response in responses_of(DATA / "plain")}
    style = recorded["http://cdn.example/lib.js"]
    assert style.header("Content-Encoding") == "gzip"
    assert recorded["http://www.shop.example/"].status == 200


def a_page(html: str, mime: str = "text/html", url: str = "http://a.example/d/p") -> dict[str, Response]:
    return {url: Response(url, 200, (("Content-Type", mime),), html.encode())}


@pytest.mark.parametrize(
    ("html", "needs"),
    [
        ('<img src="x.png"><IMG SRC=" y.png ">', ["d/x.png", "d/y.png"]),
        ('<img srcset="a.png, b,c.png 2x,d.png 3x">', ["d/a.png", "d/b,c.png", "d/d.png"]),
        ('<base href="/e/"><script src="s.js"></script>', ["e/s.js"]),
        ('<link rel="shortcut icon" href="i.ico"><link rel="alternate" href="feed">', ["d/i.ico"]),
        ('<link rel="preload" imagesrcset="l.png 2x"><a href="n.html">n</a>', ["d/l.png"]),
        ("<style>@import 'a.css'; p { background: url( \"b.png\" ) } /* url(c.png) */</style>", ["d/a.css", "d/b.png"]),
        ('<video poster="p.jpg"><source src="v.mp4"></video>', ["d/p.jpg", "d/v.mp4"]),
        ('<object data="o.svg"></object><embed src="e.swf">', ["d/o.svg", "d/e.swf"]),
        ('<img src="data:,x"><img src=""><img><script>var x = "<img src=no.png>"</script>', []),
        ('<img src="http://[bad/"><img src="x.png#f"><img src="x.png">', ["d/x.png"]),
        ("<style>@font-face { src: url(f.eot?#iefix), url(f.woff) }</style>", ["d/f.woff"]),
    ],
)  # fmt: skip
def test_needs_of_a_page(html: str, needs: list[str]) -> None:
    assert missing(a_page(html), "http://a.example/d/p") == [f"http://a.example/{need}" for need in needs]


def test_frames_are_read_as_pages_and_pictures_are_not() -> None:
    known = a_page('<iframe src="f"></iframe><img src="i">')
    known |= a_page('<img src="in-frame.png">', url="http://a.example/d/f")
    known |= a_page('<img src="in-picture.png">', url="http://a.example/d/i")
    assert missing(known, "http://a.example/d/p") == ["http://a.example/d/in-frame.png"]


def test_pages_that_frame_each_other_come_to_an_end() -> None:
    known = a_page('<iframe src="f"></iframe>') | a_page(
        '<iframe src="p"></iframe>', url="http://a.example/d/f"
    )
    assert missing(known, "http://a.example/d/p") == []


def test_an_unknown_charset_does_not_stop_the_reading() -> None:
    known = a_page('<img src="x.png">', mime="text/html; charset=klingon")
    assert missing(known, "http://a.example/d/p") == ["http://a.example/d/x.png"]
