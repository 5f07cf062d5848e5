"""Archiving with the real browser: what a load asks for comes out byte by byte as it went in."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import brotli  # type: ignore[import-untyped, unused-ignore]  # has no types
import pytest

from harness.errors import ArchiveError
from harness.lab.testbed import testbed
from harness.model.kind import Waiting
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.probes.waits import LoadAccount
from harness.system.enclosure import WORKSPACE
from sites.archive import Archive, open_archive, write_archive
from sites.archiveindex import round_trips
from sites.archiving import Tool, archive_page
from sites.coding import encode
from sites.httrack import Visit
from sites.response import Response
from sites.warc import About
from tests.facts import tells
from tests.system.conftest import Coldload, inside, picture

pytestmark = pytest.mark.side_by_side

START = "https://live.example/"
CDN = "https://files.example/"
PAGE = """<!doctype html><meta name=viewport content="width=device-width"><link rel=stylesheet href="s.css">
<p class=f>text<iframe src="https://files.example/frame"></iframe>
<picture><source media="(max-width: 600px)" srcset="narrow.png"><img src="wide.png"></picture>
<script src="app.js"></script>"""
SCRIPT = """new Image().src = '/built-' + 6 * 7 + '.png';
fetch('https://files.example/api', {method: 'POST', body: 'x', headers: {'X-Ours': '1'}});
new Worker('/worker.js'); // caf\xe9 in no character set that is named"""


def coded(coding: str, body: bytes) -> tuple[tuple[tuple[str, str], ...], bytes]:
    """Headers of a body in that coding, and the body; brotli of an unusual quality."""
    squeezed = brotli.compress(body, quality=2) if coding == "br" else encode(body, coding)
    return (("Content-Encoding", coding), ("Vary", "Accept-Encoding")), squeezed


def live(root: Path) -> Archive:
    """A page whose parts a crawler does not see, or an inspector shows otherwise than they travel."""
    png, js = (("Content-Type", "image/png"),), (("Content-Type", "text/javascript"),)
    brotli_headers, script = coded("br", SCRIPT.encode("latin-1"))
    gzip_headers, style = coded(
        "gzip", b"@font-face { font-family: f; src: url(f.woff2) } .f { font-family: f }"
    )
    html = (("Content-Type", "text/html"), ("Cache-Control", "max-age=7"))
    return write_archive(
        root,
        "live",
        About(START, "test", "", ()), [
            Response(START, 302, (("Location", "/page?a=b&c"),), b""),
            Response(f"{START}page?a=b&c", 200, html, PAGE.encode()),
            Response(f"{START}s.css", 200, (("Content-Type", "text/css"), *gzip_headers), style),
            Response(f"{START}f.woff2", 200, (("Content-Type", "font/woff2"),), b"wOF2\x00\xff"),
            Response(f"{START}app.js", 200, (*js, *brotli_headers), script),
            Response(f"{START}worker.js", 200, js, b"fetch('/from-worker.json')"),
            Response(f"{START}from-worker.json", 200, (("Content-Type", "application/json"),), b"{}"),
            Response(f"{CDN}frame", 200, html, b"<!doctype html><img src=in-frame.png>"),
            Response(f"{CDN}api", 200, (("Content-Type", "text/plain"),), b"\xef\xbb\xbfposted"),
            *(
                Response(f"{base}{name}.png", 200, png, picture())
                for base, name in (
                    (START, "wide"), (START, "narrow"), (START, "built-42"), (CDN, "in-frame"),
                )
            ),
        ],
    )  # fmt: skip


def bodies(archive: Archive) -> dict[str, tuple[int, str | None, bytes]]:
    """Status, coding and body as it travelled, by URL."""
    return {r.url: (r.status, r.header("Content-Encoding"), r.body) for r in archive.responses()}


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> tuple[Archive, Archive, Archive, str]:
    """The page as it is; with the browser, desktop; with both, mobile; the error for a page that is not there."""
    root = tmp_path_factory.mktemp("archives")
    origin = live(root)

    def capture() -> str:
        with testbed() as made:
            made.serve(origin, [Protocol.HTTPS1], Replay(determinism=False))
            made.resolver.use(made.endpoint_of("live", Protocol.HTTPS1).address)
            with made.client(Link.of(1000, 0)) as client:

                def archived(url: str, tool: Tool, agent: str) -> None:
                    archive_page(
                        url,
                        root,
                        tool,
                        tool,
                        Visit(WORKSPACE / tool / agent, agent, client.host.path, made.trust),
                    )

                archived(START, Tool.BROWSER, "desktop")
                archived(START, Tool.BOTH, "mobile")
                try:
                    archived(f"{START}nothing", Tool.BROWSER, "again")
                except ArchiveError as error:
                    return str(error)
                return "not noticed"

    said = inside(capture)
    return origin, open_archive(root, "browser"), open_archive(root, "both"), said


def test_what_the_load_asks_for_is_recorded_as_it_travels(
    copies: tuple[Archive, Archive, Archive, str],
) -> None:
    origin, browsed, _, _ = copies
    served, found = bodies(origin), bodies(browsed)
    del served[f"{START}narrow.png"]
    assert {url: answer for url, answer in found.items() if "favicon" not in url} == served
    assert next(iter(found)) == browsed.start_url == START
    page = next(r for r in browsed.responses() if r.url == f"{START}page?a=b&c")
    assert page.header("Cache-Control") == "max-age=7"
    assert page.ip is not None
    assert page.wait_ms is not None
    assert browsed.captured_with == "chromium"
    load = browsed.recorded_load()
    assert load is not None
    assert {"live.example", "files.example"} <= {each.host for each in load.requests}
    account = LoadAccount.of(load, round_trips(browsed.entries))
    assert sum(account.waited.values()) == round(1000 * load.took_ms)
    assert account.waited[Waiting.HANDSHAKES] > 0
    assert 0 <= account.waited[Waiting.UNKNOWN] < 1000 * load.took_ms
    assert not any("inspector" in note for note in browsed.notes)


def test_a_mirror_is_completed_by_the_load(copies: tuple[Archive, Archive, Archive, str]) -> None:
    origin, _, both, _ = copies
    served, found = bodies(origin), bodies(both)
    assert {url: answer for url, answer in found.items() if "favicon" not in url} == served
    assert both.captured_with == "httrack and chromium"
    assert "Mobile" in both.user_agent
    notes = "\n".join(both.notes)
    assert "HTTrack did not see: 4 (" in notes, notes
    assert f"{START}built-42.png" in notes
    assert "URLs that HTTrack alone fetched: 1." in notes  # the picture for wide screens


def test_an_error_page_is_no_page(copies: tuple[Archive, Archive, Archive, str]) -> None:
    assert tells(copies[3], f"could not load {START}nothing", "server", "an error")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """The URL of a page served on this machine, outside of any enclosure."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text("<!doctype html><script>new Image().src = 'x' + 1 + '.png'</script>")
    (folder / "x1.png").write_bytes(picture())
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_a_live_page_is_archived_from_outside(coldload: Coldload, site: str) -> None:
    code, out, err = coldload.run("archive", site, "--name", "live", "--with", "browser")
    assert code == 0, f"{out}{err}"  # it may tell its progress
    archive = open_archive(coldload.folder / "archives", "live")
    assert {f"{site}x1.png", site} <= {entry.url for entry in archive.entries}
    code, out, err = coldload.run("archive", f"{site}none", "--name", "none", "--with", "browser")
    assert code == 2
    assert "404" in err.splitlines()[-1]
    assert [path.name for path in (coldload.folder / "archives").iterdir()] == ["live"]
