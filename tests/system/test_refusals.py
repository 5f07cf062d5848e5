"""What would make a browser refuse or wait in a replay, and did not when recorded: passwords, policies, names."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from harness.errors import Outcome
from harness.model.engine import Driver, Engine
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.records import Record
from harness.trial.trial import browser_lab
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.servers.server import Match, served_to
from sites.warc import About
from tests.system.conftest import condition, inside, picture, trial
from tests.system.test_other_engines import missing

pytestmark = pytest.mark.side_by_side

START = "https://site.example/"
HTML, PNG = (("Content-Type", "text/html"),), (("Content-Type", "image/png"),)
SCRIPT, JSON = (("Content-Type", "text/javascript"),), (("Content-Type", "application/json"),)
MARK = "<script>function mark(name) { new Image().src = '/m/' + name + '.png' }</script>"
QUESTIONS = {
    "basic": ('Basic realm="x"',),
    "digest": ('Digest realm="x", nonce="n", qop="auth"',),
    "several": ("Negotiate", "NTLM", 'Basic realm="y"'),
}
NAMES = """
const ask = url => { new Image().src = url };
const scheme = location.protocol + '//';
ask(scheme + 'never' + '.recorded.example/a.png');
ask('ht' + 'tps://deep.er.never' + '.recorded.example/b.png');
fetch(scheme + 'api.never' + '.recorded.example/').then(
    answer => mark('status-' + answer.status), () => mark('refused'));
"""
Loads = dict[
    str, list[tuple[Record, dict[str, Match]]]
]  # by page: records, and how the server answered what was asked
SPOKEN = {
    Driver.PLAYWRIGHT: (Protocol.HTTP1, Protocol.H2, Protocol.H3),
    Driver.SELENIUM: (Protocol.H2,),
    # NTLM makes it leave HTTP/2, which is refused as `wrong-protocol`.
    Driver.MARIONETTE: (Protocol.HTTP1, Protocol.HTTPS1),
    Driver.WEBKITGTK: (Protocol.HTTP1, Protocol.HTTPS1),  # by HTTP/2 it reaches no IP address
    Driver.PYQT: (Protocol.HTTPS1, Protocol.SPDY, Protocol.SPDY_PLAIN),
}


def digest(body: str) -> str:
    return "sha384-" + base64.b64encode(hashlib.sha384(body.encode()).digest()).decode()


def written(
    root: Path, name: str, body: str, *others: Response, headers: tuple[tuple[str, str], ...] = ()
) -> Archive:
    page = f'<!doctype html><head><link rel=icon href="data:,">{MARK}</head><body>{body}'
    document = Response(START, 200, (*HTML, *headers), page.encode())
    return write_archive(root, name, About(START, "test", "test", ()), [document, *others])


def text(name: str, body: str, headers: tuple[tuple[str, str], ...]) -> Response:
    return Response(START + name, 200, headers, body.encode())


def marks(*names: str) -> list[Response]:
    return [Response(f"{START}m/{name}.png", 200, PNG, picture(4)) for name in names]


def asking(root: Path) -> Archive:
    """Pictures, scripts and frames that ask for a password, and a script that reads such an answer."""
    refused = [
        Response(
            START + name + kind, 401, (*HTML, *(("WWW-Authenticate", each) for each in questions)), b"no"
        )
        for name, questions in QUESTIONS.items()
        for kind in (".png", ".js", ".html", ".json")
    ]
    objects = "".join(
        f"<img src=/{name}.png><script src=/{name}.js></script><iframe src=/{name}.html></iframe>"
        for name in QUESTIONS
    )
    script = (
        "const ask = new XMLHttpRequest(); ask.open('GET', '/basic.json', false); ask.send();"
        "mark(ask.status + (ask.getResponseHeader('WWW-Authenticate') || '').slice(0, 5))"
    )
    return written(root, "asking", f"{objects}<script>{script}</script>", *refused, *marks("401Basic"))


def strict(root: Path) -> Archive:
    """Everything is protected: what the replay changes, too."""
    code, data = "mark('script'); 'https://site.example/'", '{"at": "https://site.example/"}'
    frame = '<!doctype html><img src="/m/frame.png">'
    digests = '{"data.json": "' + digest(data).replace("+", "\\u002B") + '"}'
    reading = (
        "fetch('/digests.json').then(answer => answer.json())"
        ".then(digests => fetch('/data.json', {integrity: digests['data.json']}))"
        ".then(answer => answer.json()).then(() => mark('data'))"
    )
    escaped = digest(code).replace("+", "&#43;")
    body = (
        f"<script src=/escaped.js integrity='{escaped}'></script><script src=/digested.js></script>"
        f"<script type=module src=/module.js></script><script>{reading}</script>"
        "<iframe src=/frame.html csp=\"img-src 'none'\"></iframe>"
    )
    module = f'</module.js>; rel=modulepreload; integrity="{digest(code.replace("script", "module"))}"'
    sha256 = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    return written(
        root,
        "strict",
        body,
        text("escaped.js", code, SCRIPT),
        text(
            "digested.js",
            code.replace("script", "digested"),
            (*SCRIPT, ("Unencoded-Digest", f"sha-256=:{sha256}:")),
        ),
        text("module.js", code.replace("script", "module"), SCRIPT),
        text("digests.json", digests, JSON),
        text("data.json", data, JSON),
        text("frame.html", frame, HTML),
        *marks("script", "digested", "module", "data", "frame"),
        headers=(("Link", module), ("Integrity-Policy", "blocked-destinations=(script)")),
    )


UNRECORDED = ("203.0.113.9", "[2001:db8::7]")


def unknown(root: Path) -> Archive:
    """Names of which no text tells, and IP addresses: two that are not archived, and one that sorts behind one of the
    archive's names.
    """
    address = "https://192.0.2.57/own.png"
    pictures = [Response(url, 200, PNG, picture(4)) for url in (address, "https://0.site.example/first.png")]
    others = "".join(f"<img src=https://{other}/no.png>" for other in UNRECORDED)
    body = f"<script>{NAMES}</script><img src={address}>{others}<img src=https://0.site.example/first.png>"
    return written(root, "unknown", body, *pictures, *marks("status-404"))


DRIVERS = [
    pytest.param(each, marks=pytest.mark.skipif(bool(why), reason=why))
    for each in SPOKEN
    for why in [missing(each.engines[0])]
]
TRUSTING = (Engine.CHROMIUM, Engine.QTWEBKIT)  # a substitute for a certificate, which the others do not take


@pytest.fixture(scope="module", params=DRIVERS)
def loads(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Loads:
    root = tmp_path_factory.mktemp("archives")
    archives = {archive.name: archive for archive in (asking(root), strict(root), unknown(root))}
    driver: Driver = request.param
    engine, protocols = driver.engines[0], SPOKEN[driver]

    def made() -> Loads:
        found: Loads = {name: [] for name in archives}
        replay = Replay(tls="1.2" if driver is Driver.PYQT else "1.3")
        cells = [
            condition(name, protocol, driver, server=engine.traits.server)
            for protocol in protocols
            for name in archives
        ]
        with browser_lab(
            archives, protocols, server=engine.traits.server, engine=engine, replay=replay
        ) as opened:
            for number, cell in enumerate(cells, 1):
                log = opened.testbed.endpoint(cell).server
                offset = log.log_offset
                record = trial(opened, number, cell)
                seen = served_to(log.requests(offset), f"10.64.0.{number}")
                found[cell.page].append((record, {each.host + each.target: each.match for each in seen}))
        return found

    return inside(made)


def test_nobody_is_asked_for_a_password(loads: Loads) -> None:
    for record, asked in loads["asking"]:
        assert (record.outcome, record.reason) == (Outcome.OK, None), record.planned.condition
        if record.planned.condition.engine is not Engine.QTWEBKIT:  # whose scripts get no answer that way
            assert "site.example/m/401Basic.png" in asked
        refused = {f"site.example/{name}{kind}" for name in QUESTIONS for kind in (".png", ".js", ".html")}
        assert refused <= asked.keys()


def test_what_the_replay_changes_is_not_refused(loads: Loads) -> None:
    for record, asked in loads["strict"]:
        assert (record.outcome, record.reason) == (Outcome.OK, None), record.planned.condition
        today = record.planned.condition.engine is not Engine.QTWEBKIT
        for name in ("script", "digested", "frame", *(("module", "data") if today else ())):
            assert f"site.example/m/{name}.png" in asked, record.planned.condition


def test_names_that_scripts_put_together_are_answered_and_counted_as_misses(loads: Loads) -> None:
    for record, asked in loads["unknown"]:
        assert (record.outcome, record.reason) == (Outcome.OK, None), record.planned.condition
        engine, protocol = record.planned.condition.engine, record.planned.condition.protocol
        reached = engine in TRUSTING or not protocol.encrypted
        missed = {"never.recorded.example/a.png"} if reached else set()
        if engine in TRUSTING:
            missed.add("deep.er.never.recorded.example/b.png")
        if engine is Engine.CHROMIUM or not (engine is Engine.QTWEBKIT or protocol.encrypted):
            missed |= {f"{other}/no.png" for other in UNRECORDED}
        assert missed <= {url for url, match in asked.items() if match is Match.MISS}
        assert {"192.0.2.57/own.png", "0.site.example/first.png"} <= {
            url for url, match in asked.items() if match is Match.EXACT
        }
        if reached and engine is not Engine.QTWEBKIT:
            assert "site.example/m/status-404.png" in asked
        assert record.observation.missed_requests >= 2
