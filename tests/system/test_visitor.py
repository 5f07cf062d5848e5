"""A live page archived as a person sees it: signed in, with a header, once something has come; and no secret kept."""

from __future__ import annotations

import gzip
import http.server
import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sites.archive import Archive, open_archive
from tests.facts import tells
from tests.system.conftest import Coldload, picture, wait_until

pytestmark = pytest.mark.side_by_side

SESSION, TOKEN = "s3ss10n-of-ours", "t0k3n" * 60  # longer than addresses in notes
SIGN_IN = """
def before(page):
    page.fill("#name", "somebody")
    page.click("#go")
    page.wait_for_selector("#account")
    page.evaluate("localStorage.setItem('banner', 'away')")
"""
OUT = (
    "<!doctype html><form method=post action=/login><input id=name name=name><button id=go>go</button></form>"
)
IN = """<!doctype html><p id=account>hello<script>
fetch('/token'); fetch('/leads-away'); fetch('/said-back'); fetch('/api?at=' + (localStorage.banner ?? 'shown'));
fetch('/api?token=' + 't0k3n'.repeat(60), {method: 'POST'});
const late = Object.assign(document.createElement('b'), {id: 'late', innerText: 'b'});
setTimeout(() => document.body.append(late), 900);
</script>"""
TEXT = b"a line of text that shrinks well\n" * 100


class Live(http.server.BaseHTTPRequestHandler):
    """One host of the live web; `asked` are path and headers of what came."""

    def log_message(self, *_: object) -> None:
        return

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/api"):
            self._answer(200, TEXT, ("Content-Type", "text/plain"))
        else:
            self._answer(303, b"", ("Location", "/"), ("Set-Cookie", f"session={SESSION}; HttpOnly; Path=/"))

    def do_GET(self) -> None:
        web = self.server
        assert isinstance(web, Web)
        web.asked.append((self.path, dict(self.headers)))
        signed_in = f"session={SESSION}" in self.headers.get("Cookie", "")
        if self.path == "/":
            self._answer(200, (IN if signed_in else OUT).encode(), ("Content-Type", "text/html"))
        elif self.path == "/leads-away":
            self._answer(
                302, b"", ("Location", f"{web.other}elsewhere"), ("Access-Control-Allow-Origin", "*")
            )
        elif self.path == "/said-back":
            said = f"{self.headers.get('Cookie')} {self.headers.get('X-Token')}"
            squeezed = gzip.compress(said.encode())
            typed = (("Content-Type", "text/plain"), ("Content-Encoding", "gzip"), ("X-Yours", said))
            self._answer(200, squeezed, *typed)
        elif self.path in ("/token", "/elsewhere") or self.path.startswith("/api"):
            self._answer(200, TEXT, ("Content-Type", "text/plain"), ("Access-Control-Allow-Origin", "*"))
        else:
            self._answer(404, picture(), ("Content-Type", "image/png"))

    def _answer(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class Web(http.server.ThreadingHTTPServer):
    """A host; `other` is the URL of a host that it leads to."""

    def __init__(self, other: str = "") -> None:
        super().__init__(("127.0.0.1", 0), Live)
        self.other = other
        self.asked: list[tuple[str, dict[str, str]]] = []

    def headers_of(self, path: str) -> list[dict[str, str]]:
        return [headers for asked, headers in self.asked if asked == path]


@pytest.fixture
def web() -> Iterator[tuple[Web, Web]]:
    """The page's host, and another one, which has another name."""
    with Web() as other, Web(f"http://localhost:{other.server_port}/") as page:
        threads = [threading.Thread(target=each.serve_forever) for each in (page, other)]
        for thread in threads:
            thread.start()
        yield page, other
        for each in (page, other):
            each.shutdown()
        for thread in threads:
            thread.join()


def url_of(page: Web) -> str:
    return f"http://127.0.0.1:{page.server_port}/"


def all_of(archive: Archive) -> bytes:
    """Everything an archive has on disk, the bodies as they travelled."""
    files = [path.read_bytes() for path in archive.folder.iterdir()]
    return b"".join([*files, *(gzip.decompress(each) for each in files if each.startswith(b"\x1f\x8b"))])


def test_a_script_signs_in_and_no_secret_is_kept(coldload: Coldload, web: tuple[Web, Web]) -> None:
    page, other = web
    script = coldload.folder / "in.py"
    script.write_text(SIGN_IN)
    code, out, err = coldload.run(
        *("archive", url_of(page), "--name", "account", "--before", str(script), "--wait-for", "#late"),
        *("--header", f"X-Token: {TOKEN}"),
    )
    assert code == 0, err
    archive = open_archive(coldload.folder / "archives", "account")
    urls = {entry.url.partition(f":{page.server_port}")[2] for entry in archive.entries}
    assert {"/", "/token", "/said-back", "/api?at=away"} <= urls  # storage came along with the cookie
    assert b"id=account" in archive.read(archive.entries[0]).body
    # The header went to the host of the page, and by no redirect to another one.
    assert [sent["X-Token"] for sent in page.headers_of("/token")] == [TOKEN] * len(page.headers_of("/token"))
    assert page.headers_of("/token")
    assert [sent for sent in other.headers_of("/elsewhere") if "X-Token" in sent] == []
    assert other.headers_of("/elsewhere")
    assert SESSION.encode() not in all_of(archive)
    assert b"t0k3nt0k3n" not in all_of(archive)
    assert any("to POST kept" in note and "token=(hidden)" in note for note in archive.notes)
    said_back = next(r for r in archive.responses() if r.url.endswith("/said-back"))
    assert said_back.header("X-Yours") is None
    assert SESSION.encode() in gzip.decompress(said_back.body)  # which the user is told of
    told = f"{out}{err}"
    assert tells(told, "bodies", "cookie or header", ": 1 (")
    assert "text came uncompressed: " in told
    assert tells(told, "Recorded", "headers of the visitor (X-Token)", "cookies (1)", "what in.py had done")
    assert SESSION not in told
    assert TOKEN not in told
    assert [entry.connect_ms for entry in archive.entries if entry.connect_ms is not None]


@pytest.mark.parametrize(
    ("prefix", "number", "code"),
    [
        (("env", "--ignore-signal=HUP"), signal.SIGHUP, 0),
        ((), signal.SIGHUP, 130),
        ((), signal.SIGINT, 130),
        ((), signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_a_signal_to_the_group_ends_all_or_under_nohup_nothing(
    prefix: tuple[str, ...],
    number: signal.Signals,
    code: int,
    coldload: Coldload,
    web: tuple[Web, Web],
) -> None:
    """As of a terminal that is closed, Ctrl-C in it, `kill -9` of a job."""
    page, _ = web
    process = coldload.start("archive", url_of(page), "--with", "browser", "--name", "x", prefix=prefix)
    wait_until(lambda: bool(page.headers_of("/")), "the browser")
    os.killpg(process.pid, number)
    _, err = process.communicate()
    assert process.returncode == code, err
    wait_until(lambda: coldload.left_behind() == [], "the end of the browser")


def test_pages_of_a_list_are_recorded_side_by_side(coldload: Coldload, web: tuple[Web, Web]) -> None:
    page, other = web
    urls = (url_of(page), url_of(page) + "token", url_of(other) + "token")
    pages = coldload.folder / "pages.txt"
    pages.write_text("".join(f"{url} page-{number}\n" for number, url in enumerate(urls)))
    code, out, err = coldload.run("archive", "--list", str(pages), "--with", "browser", "--jobs", "3")
    assert code == 0, err
    assert all(f"page-{number}: " in out for number in range(3))
    assert "failed" not in out


def test_a_script_that_fails_keeps_what_it_saw(coldload: Coldload, web: tuple[Web, Web]) -> None:
    script = coldload.folder / "in.py"
    script.write_text("def before(page):\n    page.click('#none', timeout=300)\n")
    code, out, err = coldload.run("archive", url_of(web[0]), "--name", "account", "--before", str(script))
    assert (code, out) == (2, "")
    assert "in.py, line 2, failed:" in err.splitlines()[-1]  # before it, perhaps its progress
    assert "Timeout 300ms exceeded" in err
    (shot,) = re.findall(r"is in (\S+\.png)", err)
    assert Path(shot).read_bytes().startswith(b"\x89PNG")
    assert Path(shot).stat().st_mode & 0o077 == 0
    Path(shot).unlink()
    assert not (coldload.folder / "archives").exists()
    script.write_text("def after(page): pass\n")
    code, _, err = coldload.run("archive", url_of(web[0]), "--name", "account", "--before", str(script))
    assert (code, "has no function before(page)" in err) == (2, True)


def test_cookies_of_a_file_sign_in_and_a_second_crawl_is_compared(
    coldload: Coldload, web: tuple[Web, Web]
) -> None:
    page, _ = web
    jar = coldload.folder / "cookies.txt"
    jar.write_text(
        f"# Netscape HTTP Cookie File\n#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\t{SESSION}\n"
    )
    code, out, err = coldload.run("archive", url_of(page), "--name", "first", "--with", "browser")
    assert (code, "only in" in out) == (0, False), err
    code, out, err = coldload.run("archive", url_of(page), "--name", "in", "--cookie", str(jar))
    assert code == 0, err
    assert "only in this one" in out
    archive = open_archive(coldload.folder / "archives", "in")
    assert b"id=account" in archive.read(archive.entries[0]).body
    assert SESSION.encode() not in all_of(archive)


def test_a_recording_in_one_file_comes_back_with_times_and_addresses(
    coldload: Coldload, web: tuple[Web, Web]
) -> None:
    script = coldload.folder / "in.py"
    script.write_text(SIGN_IN)
    words = ("record", url_of(web[0]), "--out", "account.wacz", "--before", str(script))
    code, out, err = coldload.run(*words)
    assert code == 0, err
    assert "round trips: 127.0.0.1 " in out
    assert SESSION.encode() not in (coldload.folder / "account.wacz").read_bytes()
    code, _, err = coldload.run(*words)
    assert (code, "there is a file account.wacz already" in err) == (2, True)
    code, out, err = coldload.run("import", "account.wacz")
    assert code == 0, err
    archive = open_archive(coldload.folder / "archives", "account")
    assert archive.start_url == url_of(web[0])
    assert archive.captured_with.startswith("wacz by coldload")
    assert b"id=account" in archive.read(archive.entries[0]).body
    assert {entry.ip for entry in archive.entries} == {"127.0.0.1"}
    assert all(entry.wait_ms is not None for entry in archive.entries)
    assert {entry.host for entry in archive.entries if entry.connect_ms} == {"127.0.0.1", "localhost"}
    code, out, err = coldload.run("pages", "account")
    assert (code, "round trip ms" in out) == (0, True)


def test_only_chromium_records_and_a_window_needs_a_display(coldload: Coldload) -> None:
    code, _, err = coldload.run("archive", "https://site.example/", "--engine", "firefox")
    assert (code, err.count("\n"), "Firefox cannot record a live page" in err) == (2, 1, True)
    code, _, err = coldload.run(
        "record",
        "https://site.example/",
        "--visible",
        prefix=("env", "-u", "DISPLAY", "-u", "WAYLAND_DISPLAY"),
    )
    assert (code, err.count("\n"), "there is no display" in err) == (3, 1, True)
    code, _, err = coldload.run("archive", "https://site.example/", "--with", "httrack", "--header", "A: b")
    assert (code, "HTTrack cannot sign in" in err) == (2, True)
