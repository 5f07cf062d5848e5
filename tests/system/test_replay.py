"""A page that a careless replay breaks, loaded in Chromium: HSTS, other schemes, chance and date, origins.

Its host is on the browser's HSTS preload list, and it was recorded over https from three server addresses.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import Outcome
from harness.model.condition import Compression, Origins
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.records import Record
from harness.trial.trial import browser_lab
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.servers.server import Match, served_to
from sites.warc import About
from tests.system.conftest import condition, inside, picture, trial

pytestmark = pytest.mark.side_by_side

PROTOCOLS = (Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2)
START = "https://en.wikipedia.org/"
SCRIPT = """
const ask = url => { new Image().src = url };
if (document.scripts[0] == document.currentScript && document.head.firstElementChild.rel == 'icon') ask('/first.png');
ask('/token.png?t=' + Date.now() + '-' + Math.random() + '-' + crypto.getRandomValues(new Uint8Array(8)).join());
const name = 'jsonp_' + Math.floor(Math.random() * 1e8);
window[name] = () => ask('/called.png');
document.head.append(Object.assign(document.createElement('script'), {src: '/data?callback=' + name}));
ask('/day.png?d=' + new Date().toISOString().slice(0, 10));
ask(('https:' == document.location.protocol ? 'https://ssl.' : 'http://www.') + 'wikipedia.org/branch.png');
document.head.append(Object.assign(document.createElement('script'), {src: 'http:' + '//cdn.example/upgraded.js'}));
if (isSecureContext) ask('/secure-' + crypto.randomUUID().length + '.png');
if (location.protocol == 'http:') location.href = location.href.replace('http:', 'https:');
"""
HTML = (
    ("Content-Type", "text/html"),
    ("Content-Security-Policy", "upgrade-insecure-requests; script-src 'none'"),
)
SCRIPTED = (("Content-Type", "text/javascript"),)


def recording(root: Path) -> Archive:
    page = (
        '<!doctype html><html><head><link rel=icon href="data:,"><meta http-equiv="Content-Security-Policy" '
        "content=\"upgrade-insecure-requests; script-src 'unsafe-inline'\"></head>"
        f'<body><script>{SCRIPT}</script><iframe src="//frame.example/"></iframe><img src="http://cdn.example/mixed.png">'
    )
    frame = "<!doctype html><body><script>new Image().src = '/in-frame.png?r=' + Math.random()</script>"
    png = (("Content-Type", "image/png"),)

    def response(url: str, body: bytes, headers: tuple[tuple[str, str], ...], ip: str) -> Response:
        return Response(url, 200, headers, body, ip=ip)

    own, others = "192.0.2.1", "192.0.2.2"
    return write_archive(
        root,
        "page",
        About(START, "test", "test", ()),
        [
            response(START, page.encode(), HTML, own),
            *(
                response(START + name, picture(), png, own)
                for name in (
                    "token.png?t=1661947200000-0.1-1,2",
                    "day.png?d=1970-01-01",
                    "first.png",
                    "secure-36.png",
                )
            ),
            response(f"{START}data?callback=jsonp_70287273", b"jsonp_70287273({})", SCRIPTED, own),
            response(f"{START}called.png", picture(), png, own),
            response("https://ssl.wikipedia.org/branch.png", picture(), png, "192.0.2.3"),
            response("https://frame.example/", frame.encode(), HTML[:1], others),
            response("https://frame.example/in-frame.png?r=0.123", picture(), png, others),
            response("https://cdn.example/mixed.png", picture(), png, others),
            response("https://cdn.example/upgraded.js", b"0", SCRIPTED, others),
        ],
    )


class Load:
    """One trial, and what the server saw of it."""

    def __init__(self, record: Record, asked: dict[str, Match], addresses: dict[str, str]) -> None:
        self.record = record
        self.asked = asked
        self.addresses = addresses


def loads(archive: Archive, replay: Replay, protocols: tuple[Protocol, ...], times: int) -> list[Load]:
    made = []
    with browser_lab({"page": archive}, protocols, replay=replay) as opened:
        for number, protocol in enumerate(protocols * times, 1):
            cell = condition("page", protocol, origins=replay.origins, compression=replay.compression)
            server = opened.testbed.endpoint(cell).server
            offset = server.log_offset
            record = trial(opened, number, cell)
            seen = served_to(server.requests(offset), f"10.64.0.{number}")
            asked = {request.url.partition("://")[2]: request.match for request in seen}
            made.append(Load(record, asked, {request.host: request.server_address for request in seen}))
    return made


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> list[Load]:
    """Two loads by each protocol, everything at its default."""
    archive = recording(tmp_path_factory.mktemp("archives"))
    return inside(lambda: loads(archive, Replay(), PROTOCOLS, 2))


def test_the_page_loads_whole_over_every_scheme_under_its_own_name(twice: list[Load]) -> None:
    for load in twice:
        assert (load.record.outcome, load.record.reason) == (Outcome.OK, None)
        seen = load.record.observation
        assert (seen.requests, seen.missed, seen.failed_requests) == (12, (), 0), load.record
        assert {
            "en.wikipedia.org/first.png",  # nothing of ours stands before what is the page's own
            "en.wikipedia.org/secure-36.png",
            "ssl.wikipedia.org/branch.png",
            "cdn.example/mixed.png",
            "cdn.example/upgraded.js",  # by a script, under http: the page's policy makes it https
            "en.wikipedia.org/called.png",  # by a script that called the function it was asked for
        } <= set(load.asked)


def test_every_load_asks_for_the_same_urls(twice: list[Load]) -> None:
    first = {url for url in twice[0].asked if "favicon" not in url}
    assert all({url for url in load.asked if "favicon" not in url} == first for load in twice)


def test_what_the_closest_response_answered_stands_in_the_record(twice: list[Load]) -> None:
    for load in twice:
        fuzzy = {url for url, match in load.asked.items() if match is Match.CLOSEST}
        assert {url.partition("?")[0] for url in fuzzy} == {
            "en.wikipedia.org/token.png", "en.wikipedia.org/day.png", "en.wikipedia.org/data",
            "frame.example/in-frame.png",
        }  # fmt: skip
        assert {url.partition("://")[2] for url in load.record.observation.fuzzy} == fuzzy
        assert load.record.observation.fuzzy_requests == 4
        assert set(load.addresses.values()) == {
            "10.0.0." + load.addresses["frame.example"].rpartition(".")[2]
        }


def test_recorded_origins_have_addresses_of_their_own_and_chance_is_a_setting(tmp_path: Path) -> None:
    archive = recording(tmp_path)
    replay = Replay(Origins.RECORDED, determinism=False, compression=Compression.parse("gzip-9"))
    one, other, *_ = made = inside(lambda: loads(archive, replay, (Protocol.HTTP1, Protocol.H2), 2))
    for load in made:
        assert (load.record.outcome, load.record.reason) == (Outcome.OK, None)
        assert load.addresses["frame.example"] == load.addresses["cdn.example"]
        assert len(set(load.addresses.values())) == 3
        assert load.record.observation.missed == ()
    assert {url for url in one.asked if "token" in url} != {url for url in other.asked if "token" in url}
