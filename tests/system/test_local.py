"""Recordings of somebody's own servers (localhost, IP addresses, ports of their own) load over every protocol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.errors import Outcome
from harness.model.condition import Origins
from harness.model.engine import Driver, Engine
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.records import Record
from harness.trial.trial import browser_lab
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.servers.server import served_to
from sites.warc import About
from tests.system.conftest import condition, inside, picture, trial

pytestmark = pytest.mark.side_by_side

START = "http://localhost:3000/"
PICTURES = (
    "http://localhost:3000/own.png",
    "http://localhost/plain.png",
    "http://app.localhost:3000/below.png",
    "http://127.0.0.1:8000/number.png",
    "http://[::1]:8080/six.png",
    "http://192.168.1.20/near.png",
    "http://site.example:8443/named.png",
)
SPOKEN = {
    Driver.PLAYWRIGHT: (Protocol.HTTP1_CLOSE, Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2, Protocol.H3),
    Driver.MARIONETTE: (Protocol.HTTP1_CLOSE, Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2),
    Driver.WEBKITGTK: (Protocol.HTTP1_CLOSE, Protocol.HTTP1, Protocol.HTTPS1),  # no HTTP/2 by a hop
    Driver.PYQT: (
        Protocol.HTTP1,
        Protocol.HTTP1_PIPELINED,
        Protocol.HTTPS1,
        Protocol.SPDY,
        Protocol.SPDY_PLAIN,
    ),
}


def recording(root: Path, pictures: Sequence[str]) -> Archive:
    """A page of one's own machine; it asks for one picture more where the context is secure, as it was."""
    images = "".join(f'<img src="{url}">' for url in pictures)
    script = "if (window.isSecureContext !== false) new Image().src = '/secure.png'"
    page = f'<!doctype html><link rel=icon href="data:,"><body><script>{script}</script>{images}'
    png = (("Content-Type", "image/png"),)
    return write_archive(
        root,
        "page",
        About(START, "test", "test", ()),
        [
            Response(START, 200, (("Content-Type", "text/html"),), page.encode(), ip="127.0.0.1"),
            *(
                Response(url, 200, png, picture(), ip="127.0.0.1")
                for url in (*pictures, f"{START}secure.png")
            ),
        ],
    )


def mark(driver: Driver, origins: Origins) -> tuple[pytest.MarkDecorator, ...]:
    """One address for all hosts is the server's affair, so one engine shows it."""
    one_shows_it = origins is Origins.SINGLE and driver is not Driver.PLAYWRIGHT
    return (pytest.mark.lengthy,) if one_shows_it else ()


@pytest.mark.parametrize(
    ("driver", "origins"),
    [pytest.param(driver, origins, marks=mark(driver, origins)) for origins in Origins for driver in SPOKEN],
)
def test_local_hosts_and_ports_load(tmp_path: Path, driver: Driver, origins: Origins) -> None:
    engine = driver.engines[0]
    six = engine is Engine.CHROMIUM
    archive = recording(tmp_path, PICTURES if six else [url for url in PICTURES if "[" not in url])
    protocols, server = SPOKEN[driver], engine.traits.server

    def loads() -> list[tuple[Record, set[str]]]:
        made = []
        replay = Replay(origins, tls="1.3" if driver is Driver.PLAYWRIGHT else "1.2")
        with browser_lab({"page": archive}, protocols, server=server, engine=engine, replay=replay) as opened:
            for number, protocol in enumerate(protocols, 1):
                cell = condition("page", protocol, driver, server=server, origins=origins)
                log = opened.testbed.endpoint(cell).server
                offset = log.log_offset
                record = trial(opened, number, cell)
                seen = served_to(log.requests(offset), f"10.64.0.{number}")
                made.append((record, {each.host + each.target for each in seen}))
        return made

    recorded = {entry.url.partition("://")[2] for entry in archive.entries}
    for record, asked in inside(loads):
        assert (record.outcome, record.reason) == (Outcome.OK, None), record.planned.condition.protocol
        assert asked == recorded
        assert record.observation.failed == ()
