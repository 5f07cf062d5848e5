"""Whether Chromium acts on 103 Early Hints: what it asks for before a page's answer, with the hints and without.

    .venv/bin/python -m benchmarks.earlyhints

Caddy sends a 103 with a preload link over HTTP/2 and passes the request on to a server that answers half a second
later and tells when each request came. Everything is on the loopback of this machine, in both drivers of Chromium. A
style sheet that is asked for twice was not kept: Chromium keeps nothing that came with a certificate it does not know.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright
from selenium import webdriver

from sites.servers.caddy import program

HOST, THINKING_S = "site.example", 0.5
SHEET = "/a.css"
PAGE = f'<!doctype html><link rel=icon href="data:,"><link rel=stylesheet href={SHEET}><p>a page'.encode()
CHROMIUM, CHROMEDRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
FLAGS = ("--no-sandbox", "--ignore-certificate-errors", f"--host-resolver-rules=MAP {HOST} 127.0.0.1")


class SlowServer(ThreadingHTTPServer):
    """Answers the page late and its style sheet at once. `seen`: what came and what was answered, with the time."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.seen: list[tuple[float, str]] = []


class _Answer(BaseHTTPRequestHandler):
    server: SlowServer

    def do_GET(self) -> None:
        self.server.seen.append((time.monotonic(), f"asked for {self.path}"))
        is_page = self.path == "/"
        if is_page:
            time.sleep(THINKING_S)
            self.server.seen.append((time.monotonic(), "page answered"))
        body = PAGE if is_page else b"p { color: red }"
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if is_page else "text/css")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def configuration(port: int, behind: int, *, hints: bool) -> str:
    """Caddy's: a 103 for the page, then everything to the server behind."""
    hint = {
        "match": [{"path": ["/"]}],
        "handle": [
            {
                "handler": "static_response",
                "status_code": 103,
                "headers": {"Link": [f"<{SHEET}>; rel=preload; as=style"]},
            }
        ],
    }
    onward = {"handle": [{"handler": "reverse_proxy", "upstreams": [{"dial": f"127.0.0.1:{behind}"}]}]}
    server = {"listen": [f"127.0.0.1:{port}"], "protocols": ["h1", "h2"], "routes": [*[hint] * hints, onward]}
    server["automatic_https"] = {"disable_redirects": True}
    return json.dumps(
        {
            "admin": {"disabled": True},
            "apps": {
                "pki": {"certificate_authorities": {"local": {"install_trust": False}}},
                "tls": {
                    "automation": {"policies": [{"issuers": [{"module": "internal"}]}]},
                    "certificates": {"automate": [HOST]},
                },
                "http": {"https_port": port, "servers": {"site": server}},
            },
        }
    )


@contextlib.contextmanager
def caddy(port: int, behind: int, *, hints: bool) -> Iterator[None]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "caddy.json"
        file.write_text(configuration(port, behind, hints=hints))
        homes = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), folder)
        command = [str(program()), "run", "--config", str(file)]
        with (Path(folder) / "log").open("w") as log:
            process = subprocess.Popen(command, env={**os.environ, **homes}, stderr=log)
            try:
                while not _listens(port):
                    if process.poll() is not None:
                        raise RuntimeError((Path(folder) / "log").read_text())
                    time.sleep(0.05)
                yield
            finally:
                process.terminate()
                process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def by_playwright(url: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        browser.new_page().goto(url)
        browser.close()


def by_selenium(url: str) -> None:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, "--headless=new"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(CHROMEDRIVER))
    try:
        browser.get(url)
    finally:
        browser.quit()


DRIVERS: dict[str, Callable[[str], None]] = {"playwright": by_playwright, "selenium": by_selenium}


def main() -> None:
    slow = SlowServer()
    threading.Thread(target=slow.serve_forever, daemon=True).start()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for hints in (False, True):
        with caddy(port, slow.server_address[1], hints=hints):
            for name, load in DRIVERS.items():
                slow.seen.clear()
                load(f"https://{HOST}:{port}/")
                start = slow.seen[0][0]
                told = ", ".join(f"{what} at {1000 * (at - start):.0f} ms" for at, what in slow.seen)
                print(f"{name}, {'with' if hints else 'without'} hints: {told}", flush=True)
    slow.shutdown()


if __name__ == "__main__":
    main()
