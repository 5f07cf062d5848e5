"""A live page beside its replay, in a web of a dozen hosts at known distances and a known rate."""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.lab.testbed import testbed
from harness.model.condition import Origins
from harness.model.device import DESKTOP
from harness.model.distance import Distances
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import Replay, ThinkTime
from harness.system.enclosure import MARK, WORKSPACE
from harness.verify.live import Turn, Wanted, beside, counted
from harness.verify.survey import Survey, Web
from sites.archive import Archive, write_archive
from sites.archiving import Tool, archive_page
from sites.httrack import Visit
from sites.response import Response
from sites.warc import About
from tests.system.conftest import inside, picture, timed

START = "https://site.example/"
LINK = Link.of(16, 24)
THINK_MS = 30.0
HOSTS = ["site.example", *(f"h{number}.example" for number in range(1, 12))]
BEYOND_MS = {host: 7.5 * number for number, host in enumerate(HOSTS)}
TURNS = 4


def web(root: Path) -> Archive:
    """A page of a dozen hosts, each at an address of its own: a style sheet, a script that asks for more, pictures."""
    png, js, css = ((("Content-Type", f"{kind}"),) for kind in ("image/png", "text/javascript", "text/css"))
    head = f'<link rel="stylesheet" href="https://{HOSTS[1]}/s.css"><script src="https://{HOSTS[2]}/a.js"></script>'
    body = "".join(f'<img src="https://{host}/{n}.png">' for host in HOSTS for n in range(3))
    late = f"new Image().src = 'https://{HOSTS[-1]}/late.png'"
    sizes = {0: 128, 1: 64, 2: 96}
    return write_archive(
        root, "origin", About(START, "test", "", ()), [
            Response(START, 200, (("Content-Type", "text/html"),), f"<!doctype html>{head}<p>text</p>{body}".encode(), ip="192.0.2.1"),
            Response(f"https://{HOSTS[1]}/s.css", 200, css, b"p { color: #333 }" * 900, ip="192.0.2.2"),
            Response(f"https://{HOSTS[2]}/a.js", 200, js, late.encode(), ip="192.0.2.3"),
            Response(f"https://{HOSTS[-1]}/late.png", 200, png, picture(128), ip="192.0.2.12"),
            *(
                Response(f"https://{host}/{n}.png", 200, png, picture(sizes[n]), ip=f"192.0.2.{number}")
                for number, host in enumerate(HOSTS, 1)
                for n in range(3)
            ),
        ],
    )  # fmt: skip


@dataclass(frozen=True)
class Measured:
    survey: Survey
    link: Link
    turns: list[Turn]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """The page served by Apache as the live web, recorded there, and replayed by nginx beside it."""
    root = tmp_path_factory.mktemp("live")
    origin = web(root / "web")
    known = Replay(
        Origins.RECORDED,
        determinism=False,
        think_time=ThinkTime(THINK_MS),
        distance=Distances(tuple(BEYOND_MS.items())),
    )

    def measure() -> Measured:
        with testbed() as made:
            made.serve(origin, [Protocol.HTTPS1], known, "apache")
            endpoint = made.endpoint_of("origin", Protocol.HTTPS1)
            made.resolver.use(endpoint.address)
            with made.client(LINK, distances_ms=endpoint.distances_ms) as client:
                visit = Visit(WORKSPACE / "visit", "desktop", client.host.path, made.trust)
                page = archive_page(START, root / "archives", "page", Tool.BROWSER, visit)
                del os.environ[
                    MARK
                ]  # the laboratory has an enclosure of its own, as it has beside a live page
                wanted = Wanted(DESKTOP, TURNS, rate_s=1.5)
                here = Web(client.host.path, made.trust)
                with beside(page, START, here, wanted, root / "work", print) as opened:
                    return Measured(opened.survey, opened.study.links[0], list(opened.turns()))

    (root / "work").mkdir()
    return inside(measure)


@timed("packets wait for the emulator's core")
def test_hosts_are_measured_as_far_as_they_are(measured: Measured) -> None:
    print(
        measured.link,
        [(h.host, h.least_ms, h.median_ms) for h in measured.survey.hosts],
        measured.survey.rates,
        measured.survey.look_up_ms,
        measured.survey.protocols,
        sorted(measured.survey.think_ms.values()),
    )
    assert {each.host for each in measured.survey.hosts} == set(HOSTS)
    for each in measured.survey.hosts:
        assert each.least_ms == pytest.approx(LINK.rtt_ms + BEYOND_MS[each.host], abs=0.5)
    assert measured.link.down.rate.mean_mbps == pytest.approx(16, rel=0.06)


@timed("a starved browser loads late")
def test_the_replay_takes_as_long_as_the_live_page(measured: Measured) -> None:
    kept, left_out = counted(measured.turns)
    print(left_out)
    for t in measured.turns:
        print(
            *[
                (r.outcome, r.left_out, o.plt_ms, o.ttfb_ms, o.fcp_ms, o.requests, o.bytes_body, o.protocols)
                for r in (t.live, t.replay)
                for o in (r.observation,)
            ]
        )
    assert len(kept) >= 2, left_out
    ratios = [turn.replay.observation.plt_ms / turn.live.observation.plt_ms for turn in kept]
    assert statistics.median(ratios) == pytest.approx(1, abs=0.08)
