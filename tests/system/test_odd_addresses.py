"""A page whose addresses are odd loads from every server: each of them is answered as recorded or is an ordinary miss,
and the same from all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from harness.errors import Outcome
from harness.model.engine import Driver
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.records import Record
from harness.trial.trial import browser_lab
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About
from tests.system.conftest import condition, inside, picture, trial

pytestmark = pytest.mark.side_by_side

START = "http://odd.example./"
SERVED = (
    "//a///b.png", "/100%25.png", "/a%2eb.png", "/a;v=1.png", "/%ff.png", "/\u00e9.png", f"/{'l' * 5000}.png",
    "/a%2Fb.png", "/a%5cb.png", "/a/..%2fb.png", "/a|b^c.png", "/a?x=%zz|", "/a%0ab.png", "/.png", "/a./b.png",
    "/x%3Fy.png",
)  # fmt: skip
REFUSED = ("/save-50%-now.png", "/%zz.png", "/%.png", "/a%00b.png", "/..%2f..%2fx.png", "/%2e%2e%2fq.png")
SPELLED = {
    "/s%2Cp~.png": "/s,p%7e.png",
    "/%74.png": "/t.png",
}  # what the page asks for, and what was recorded
OTHER_HOSTS = ("http://a-.example/i.png", "http://fa\u00df.example/i.png", "http://end.example./i.png")
SPOKEN = {
    "caddy": (Driver.PLAYWRIGHT, (Protocol.HTTP1, Protocol.H2, Protocol.H3)),
    "nginx": (Driver.PLAYWRIGHT, (Protocol.HTTP1, Protocol.H2)),
    "apache": (Driver.PLAYWRIGHT, (Protocol.HTTP1, Protocol.H2)),
    "spdy-gateway": (Driver.PYQT, (Protocol.HTTP1,)),
}


# Caddy takes no TLS to a name that ends in a dot, as Go refuses it in the handshake; QtWebKit spells hosts as of old.
HOSTS = {"caddy": OTHER_HOSTS[:2], "nginx": OTHER_HOSTS, "apache": OTHER_HOSTS, "spdy-gateway": ()}


def recording(root: Path, start: str, hosts: Sequence[str]) -> Archive:
    """A page without a favicon."""
    asked = [*SERVED, *REFUSED, *SPELLED, *hosts]
    page = '<!doctype html><meta charset=utf-8><link rel=icon href="data:,">' + "".join(
        f'<img src="{path if path.startswith("http") else start[:-1] + path}">' for path in asked
    )
    recorded = [SPELLED.get(path, path) for path in asked]
    return write_archive(
        root,
        "page",
        About(start, "test", "test", ()),
        [
            Response(start, 200, (("Content-Type", "text/html"),), page.encode()),
            *(
                Response(
                    path if path.startswith("http") else start[:-1] + path,
                    200,
                    (("Content-Type", "image/png"),),
                    picture(),
                )
                for path in recorded
            ),
        ],
    )


def loads(archive: Archive, server: str) -> list[Record]:
    driver, protocols = SPOKEN[server]
    replay = Replay(tls="1.3" if driver is Driver.PLAYWRIGHT else "1.2")
    with browser_lab(
        {"page": archive}, protocols, server=server, engine=driver.engines[0], replay=replay
    ) as opened:
        return [
            trial(opened, number, condition("page", protocol, driver, server=server))
            for number, protocol in enumerate(protocols, 1)
        ]


@pytest.mark.parametrize("server", SPOKEN)
def test_odd_addresses_are_answered_alike_by_every_server(tmp_path: Path, server: str) -> None:
    start = START if "http://end.example./i.png" in HOSTS[server] else START.replace(".example.", ".example")
    archive = recording(tmp_path, start, HOSTS[server])
    for record in inside(partial(loads, archive, server)):
        seen = record.observation
        assert (record.outcome, record.reason) == (Outcome.OK, None), record.planned.condition.protocol
        missed = {url.partition("odd.example")[2].removeprefix(".") for url in seen.missed}
        if server == "spdy-gateway":  # QtWebKit escapes some of them anew, and sends one slash for two
            assert len(missed) == len(REFUSED) + 1
        else:
            assert missed == set(REFUSED)
            assert seen.fuzzy_requests == 0
