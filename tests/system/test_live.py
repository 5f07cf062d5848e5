"""A live page beside its replay, in a web of a dozen hosts at known distances and a known rate."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.errors import Outcome
from harness.lab.testbed import testbed
from harness.model.condition import Origins
from harness.model.engine import DESKTOP
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import Distances, Replay, ThinkTime
from harness.system.enclosure import MARK
from harness.verify.live import BesideOptions, Turn, beside
from harness.verify.survey import Survey, Web
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About
from tests.system.conftest import inside, picture, timed

START = "https://site.example/"
LINK = Link.of(16, 24)
THINK_MS = 30.0
HOSTS = ["site.example", *(f"h{number}.example" for number in range(1, 12))]
BEYOND_MS = {host: 7.5 * number for number, host in enumerate(HOSTS)}
TURNS = 3
OBJECTS = 4 + 3 * len(HOSTS)
WITHIN_MS = 0.5


def web(root: Path) -> Archive:
    """A page of a dozen hosts, each at an address of its own: a style sheet, a script that asks for more, pictures."""

    def response(url: str, kind: str, body: bytes) -> Response:
        number = HOSTS.index(url.split("/")[2]) + 1
        return Response(url, 200, (("Content-Type", kind),), body, ip=f"192.0.2.{number}")

    style, script, late = (
        f"https://{HOSTS[n]}/{name}" for n, name in ((1, "s.css"), (2, "a.js"), (-1, "late.png"))
    )
    head = f'<!doctype html><link rel="stylesheet" href="{style}"><script src="{script}"></script><p>text</p>'
    pictures = [(f"https://{host}/{side}.png", side) for host in HOSTS for side in (64, 96, 128)]
    page = head + "".join(f'<img src="{url}">' for url, _ in pictures)
    return write_archive(
        root,
        "page",
        About(START, "test", "", ()),
        [
            response(START, "text/html", page.encode()),
            response(style, "text/css", b"p { color: #333 }" * 900),
            response(script, "text/javascript", f"new Image().src = '{late}'".encode()),
            response(late, "image/png", picture(128)),
            *(response(url, "image/png", picture(side)) for url, side in pictures),
        ],
    )


pytestmark = pytest.mark.lengthy  # each side is loaded many times, and waits for a calm machine


@dataclass(frozen=True)
class Measured:
    survey: Survey
    link: Link
    turns: list[Turn]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """The page as Apache serves it in the web of the test, and as nginx replays it beside that."""
    root = tmp_path_factory.mktemp("live")
    page = web(root / "archives")
    known = Replay(
        Origins.RECORDED,
        determinism=False,
        think_time=ThinkTime(THINK_MS),
        distance=Distances(tuple(BEYOND_MS.items())),
    )

    def measure() -> Measured:
        with testbed() as made:
            made.serve(page, [Protocol.HTTPS1], known, "apache")
            endpoint = made.endpoint_of("page", Protocol.HTTPS1)
            made.resolver.use(endpoint.address)
            with made.client(LINK, distances_ms=endpoint.distances_ms) as client:
                del os.environ[MARK]  # the lab has an enclosure of its own, as it has beside a live page
                wanted = BesideOptions(DESKTOP, TURNS, rate_s=1.5, patient=False)
                here = Web(client.host.path, made.trust)
                with beside(page, START, here, wanted, root / "work", print) as opened:
                    return Measured(opened.survey, opened.study.links[0], list(opened.turns()))

    (root / "work").mkdir()
    return inside(measure)


@timed("packets wait for the emulator's core")
def test_hosts_are_measured_as_far_and_as_fast_as_they_are(measured: Measured) -> None:
    assert measured.survey.unmeasured == ()
    assert {each.host for each in measured.survey.hosts} == set(HOSTS)
    for each in measured.survey.hosts:
        assert each.least_ms == pytest.approx(LINK.rtt_ms + BEYOND_MS[each.host], abs=WITHIN_MS)
    assert measured.link.rtt_ms == pytest.approx(LINK.rtt_ms, abs=WITHIN_MS)
    assert measured.link.down.rate.mean_mbps == pytest.approx(LINK.down.rate.mean_mbps, rel=0.05)
    assert min(measured.survey.think_ms[f"https://{host}/64.png"] for host in HOSTS) > THINK_MS - 1


@timed("a starved browser loads late")
def test_the_replay_takes_as_long_as_the_live_page(measured: Measured) -> None:
    """The least disturbed of either: a busy machine only adds to a load."""
    for turn in measured.turns:
        assert turn.live.outcome is turn.replay.outcome is Outcome.OK, (turn.live.reason, turn.replay.reason)
        assert turn.live.observation.requests == turn.replay.observation.requests == OBJECTS
        assert set(turn.live.observation.protocols) == {"http/1.1"}
    for key, within in (("plt_ms", 0.1), ("ttfb_ms", 0.2), ("fcp_ms", 0.2)):
        live, replay = (
            min(getattr(getattr(turn, side).observation, key) for turn in measured.turns)
            for side in ("live", "replay")
        )
        assert replay == pytest.approx(live, rel=within), key
