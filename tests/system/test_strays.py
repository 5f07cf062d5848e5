"""Links that scripts put together, which no rewriting finds, load over every protocol and engine alike."""

from __future__ import annotations

from pathlib import Path

from harness.model import Driver
from harness.runner import bench
from harness.servers import DEFAULT_SERVERS
from harness.testbed import served_to
from harness.trial import TrialOptions, run_trial
from sites.archive import Archive, Response, write_archive
from tests.system.conftest import condition, picture, planned

OWN, THIRD, FRAME = "own.example", "third.example", "frame.example"
FONT = Path("/usr/share/fonts")
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

    page = f'<!doctype html><html><head><link rel=icon href="data:,"><script>{SCRIPT % {"scheme": scheme}}</script></head><body>text'
    frame = (
        f'<!doctype html><body><script src="{scheme}://{FRAME}/in-frame.js"></script>'
        f'<img src="{scheme}://{THIRD}/in-frame.png">'
    )
    png, js, text = "image/png", "text/javascript", "text/plain"
    return write_archive(
        root,
        "page",
        f"{scheme}://{OWN}/",
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
            response(f"{FRAME}/", "text/html", frame),
            response(f"{FRAME}/in-frame.js", js, 'new Image().src = "/by-frame.png"'),
            response(f"{FRAME}/by-frame.png", png, picture()),
        ],
        captured_with="test",
        user_agent="test",
    )


def loads(archive: Archive, driver: Driver, protocols):
    made = {}
    server = DEFAULT_SERVERS[driver.engine]
    with bench({"page": archive}, protocols, server=server, engine=driver.engine) as opened:
        for number, protocol in enumerate(protocols, 1):
            cell = condition("page", protocol, driver, server=server)
            log = opened.testbed.endpoint(cell).server
            offset = log.log_offset
            record = run_trial(
                opened.testbed,
                opened.drivers,
                planned(number, cell),
                TrialOptions(timeout_s=30.0, linger_s=1.0),
                Path("/tmp/x"),
            )
            seen = served_to(log.requests(offset), f"10.64.0.{number}")
            made[protocol] = (record, {r.host + r.target for r in seen})
    return made
