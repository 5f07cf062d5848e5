"""Links that scripts put together, which no rewriting finds, load over every protocol alike."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.errors import Outcome
from harness.model.engine import BROWSERS, Driver, Engine
from harness.model.protocol import Protocol
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.trial.trial import browser_lab, run_trial
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.servers.server import served_to
from sites.warc import About
from tests.system.conftest import condition, inside, picture, planned

pytestmark = pytest.mark.side_by_side

OWN, THIRD, FRAME = "own.example", "third.example", "frame.example"
SERVICES = (
    "accounts.google.com",
    "clients2.google.com",
    "update.googleapis.com",
)  # which Chromium asks by itself
LINGER_S = 2.0  # for what the answers of XMLHttpRequest ask for
# Each scheme that a page was recorded under, and what it is loaded with.
CHROMIUMS = {
    "https": (
        (Driver.PLAYWRIGHT, Protocol.HTTP1_CLOSE),
        (Driver.SELENIUM, Protocol.HTTP1),
        (Driver.PLAYWRIGHT, Protocol.H2),
    ),
    "http": (
        (Driver.PLAYWRIGHT, Protocol.HTTP1),
        (Driver.SELENIUM, Protocol.HTTPS1),
        (Driver.PLAYWRIGHT, Protocol.H3),
    ),
}
QTWEBKITS = {
    "https": ((Driver.PYQT, Protocol.HTTP1), (Driver.PYQT, Protocol.HTTPS1)),
    "http": ((Driver.PYQT, Protocol.HTTP1_PIPELINED), (Driver.PYQT, Protocol.SPDY)),
}
WEBKITS = {
    "https": ((Driver.WEBKITGTK, Protocol.HTTP1), (Driver.WEBKITGTK, Protocol.H2)),
    "http": ((Driver.WEBKITGTK, Protocol.HTTP1_CLOSE), (Driver.WEBKITGTK, Protocol.HTTPS1)),
}
FIREFOXES = {
    "https": ((Driver.MARIONETTE, Protocol.HTTP1), (Driver.MARIONETTE, Protocol.H2)),
    "http": ((Driver.MARIONETTE, Protocol.HTTP1_CLOSE), (Driver.MARIONETTE, Protocol.H3)),
}
LOADED_WITH: Mapping[Engine, Mapping[str, tuple[tuple[Driver, Protocol], ...]]] = {
    Engine.CHROMIUM: CHROMIUMS,
    Engine.FIREFOX: FIREFOXES,
    Engine.WEBKIT: WEBKITS,
    Engine.QTWEBKIT: QTWEBKITS,
}
SCRIPT = """
var b = "%(scheme)s", c = b + "://", third = c + "third.example", own = c + location.host;
function add(name, key, url) {
  var made = document.createElement(name);
  made[key] = url;
  if (name == "link") made.rel = "stylesheet";
  document.head.appendChild(made);
}
function ask(url) {
  var asked = new XMLHttpRequest();
  asked.open("GET", url);
  asked.onload = function () { new Image().src = "/xhr-" + asked.responseText + ".png" };
  asked.send();
}
add("script", "src", own + "/own.js");
add("script", "src", third + "/third.js");
add("link", "href", third + "/style.css");
new Image().src = third + "/picture.png";
%(services)s.forEach(function (host) { new Image().src = c + host + "/mark.png" });
ask(own + "/own.txt");
ask(third + "/third.txt");
addEventListener("DOMContentLoaded", function () {
  var frame = document.createElement("iframe");
  frame.src = c + "frame.example/";
  document.body.appendChild(frame);
});
"""


def recording(root: Path, scheme: str) -> Archive:
    """A page of three hosts, of which a parser sees the first alone."""

    def response(url: str, kind: str, body: bytes | str) -> Response:
        content = body.encode() if isinstance(body, str) else body
        headers = (("Content-Type", kind), ("Access-Control-Allow-Origin", "*"))
        return Response(f"{scheme}://{url}", 200, headers, content)

    script = SCRIPT % {"scheme": scheme, "services": list(SERVICES)}
    icon = '<link rel=icon href="data:,">'
    page = f"<!doctype html><html><head>{icon}<script>{script}</script></head><body>text"
    frame = (
        f'<!doctype html><body><script src="{scheme}://{FRAME}/in-frame.js"></script>'
        f'<img src="{scheme}://{THIRD}/in-frame.png">'
    )
    png, js, text = "image/png", "text/javascript", "text/plain"
    return write_archive(
        root,
        "page",
        About(f"{scheme}://{OWN}/", "test", "test", ()),
        [
            response(f"{OWN}/", "text/html", page),
            response(f"{OWN}/own.js", js, 'new Image().src = "/by-own.png"'),
            response(f"{OWN}/own.txt", text, "own"),
            *(
                response(f"{OWN}/{name}.png", png, picture())
                for name in ("by-own", "by-third", "xhr-own", "xhr-third")
            ),
            response(f"{THIRD}/third.js", js, 'new Image().src = "/by-third.png"'),
            response(f"{THIRD}/third.txt", text, "third"),
            response(f"{THIRD}/style.css", "text/css", "body{background:url(ground.png)}"),
            *(response(f"{THIRD}/{name}.png", png, picture()) for name in ("picture", "ground", "in-frame")),
            *(response(f"{host}/mark.png", png, picture()) for host in SERVICES),
            response(f"{FRAME}/", "text/html", frame),
            response(f"{FRAME}/in-frame.js", js, 'new Image().src = "/by-frame.png"'),
            response(f"{FRAME}/by-frame.png", png, picture()),
        ],
    )


def loads(
    archive: Archive, engine: Engine, with_: tuple[tuple[Driver, Protocol], ...]
) -> list[tuple[Record, set[str]]]:
    """A record of each load, and the URLs without their scheme that the server was asked for."""
    made = []
    server, protocols = engine.traits.server, dict.fromkeys(protocol for _, protocol in with_)
    with browser_lab({"page": archive}, protocols, server=server, engine=engine) as opened:
        for number, (driver, protocol) in enumerate(with_, 1):
            cell = condition("page", protocol, driver, server=server)
            log = opened.testbed.endpoint(cell).server
            offset = log.log_offset
            options = TrialOptions(timeout_s=30.0, linger_s=LINGER_S)
            record = run_trial(opened.testbed, opened.browsers, planned(number, cell), options, Path("kept"))
            seen = served_to(log.requests(offset), f"10.64.0.{number}")
            made.append((record, {each.host + each.target for each in seen}))
    return made


@pytest.mark.parametrize("scheme", ["https", "http"])
@pytest.mark.parametrize("engine", BROWSERS)
def test_a_page_asks_for_the_same_by_every_protocol(tmp_path: Path, scheme: str, engine: Engine) -> None:
    archive = recording(tmp_path, scheme)
    by = LOADED_WITH[engine][scheme]
    recorded = {entry.url.partition("://")[2] for entry in archive.entries}
    for record, asked in inside(lambda: loads(archive, engine, by)):
        seen = record.observation
        protocol = record.planned.condition.protocol
        assert (record.outcome, record.reason) == (Outcome.OK, None), protocol
        assert asked == recorded, protocol
        assert seen.failed == ()
        if engine is not Engine.QTWEBKIT and protocol.scheme == "http":
            assert bool(seen.relayed_requests) is (scheme == "https"), protocol
