"""The replay-quality table: pages that may be passed on, over every scheme and protocol, desktop and mobile."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from harness.errors import Outcome
from harness.model.engine import DEVICES, MOBILE
from harness.model.protocol import Protocol
from harness.probes.loadedpage import PageConsole
from harness.probes.probe import TrialOptions
from harness.probes.timeline import page_requests
from harness.system.enclosure import WORKSPACE
from harness.trial.trial import browser_lab, run_observed
from harness.verify.verification import ReplayQuality, Verification, verifications
from sites.archive import Archive, open_archive, write_archive
from sites.recipes import RECIPES, package_cache
from sites.response import Response
from sites.warc import About
from tests.facts import tells
from tests.system.conftest import CHROMIUMS, Coldload, condition, inside, picture, planned, small_site

pytestmark = pytest.mark.side_by_side

PROTOCOLS = (Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2)
START = "https://quality.example/"
CDN = "https://static.quality.example/"
BODY = """<!doctype html><html><head><meta name=viewport content="width=device-width">
<link rel=icon href=/never-recorded.ico><link rel=stylesheet href="https://static.quality.example/s.css?v=1&amp;x="></head>
<body style="font-family: face">text &#x1200;&#x1208; &#x6f22;&#x3042;&#xd55c; &#x1f600; &#x627; &#x0d85; &#x0915;
<p style="font-family: serif, own">&#x1210;</p>
<picture><source media="(max-width: 600px)" srcset="narrow.png"><img src="wide.png"></picture>
<img srcset="one.png 1x, two.png 2x"><script>
const device = innerWidth > 500 ? 'desktop' : ['mobile', innerWidth, innerHeight, devicePixelRatio,
  navigator.maxTouchPoints, navigator.userAgentData.mobile, /Android.*Mobile/.test(navigator.userAgent)].join('-');
new Image().src = '/device/' + device + '.png';
fetch('/answer.json?nonce=' + Math.random() + '&t=' + Date.now());
fetch('https://static.quality.example/log', {method: 'POST', body: 'hello', headers: {'X-Ours': '1'}});
</script></body></html>"""
STYLE = "@font-face { font-family: face; src: url(font.woff2?#iefix) } body { color: #234 }"
A_FONT = Path("/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf")
OWN_FONT = "@font-face { font-family: Own; src: url(own.ttf); unicode-range: U+1210 }"


def recording(root: Path) -> Archive:
    """Redirects, a style sheet with a query, a font, a closest query, a POST, pictures for two screens."""
    png = (("Content-Type", "image/png"),)
    moved = (("Location", "/home?lang=en"),)
    html, css = (("Content-Type", "text/html"),), (("Content-Type", "text/css"),)
    pictures = ("narrow", "wide", "one", "two", "device/desktop", "device/mobile-412-915-2.625-5-true-true")
    return write_archive(
        root,
        "quality",
        About(START, "test", "", ()),
        [
            Response(START, 302, moved, b""),
            Response(f"{START}home?lang=en", 301, (("Location", "./page"),), b""),
            Response(f"{START}page", 200, html, BODY.encode()),
            Response(f"{CDN}s.css?v=1&x=", 200, css, f"{STYLE}{OWN_FONT}".encode()),
            Response(f"{CDN}font.woff2?", 200, (("Content-Type", "font/woff2"),), b"wOF2"),
            Response(f"{CDN}own.ttf", 200, (("Content-Type", "font/ttf"),), A_FONT.read_bytes()),
            Response(f"{START}answer.json?nonce=0.5&t=1", 200, (("Content-Type", "text/json"),), b"{}"),
            Response(f"{CDN}log", 204, (), b""),
            *(Response(f"{START}{name}.png", 200, png, picture()) for name in pictures),
        ],
    )


def reports(archive: Archive, protocols: Sequence[Protocol] = PROTOCOLS) -> list[Verification]:
    devices = tuple(DEVICES.values())
    return inside(lambda: list(verifications(archive, protocols, devices, linger_s=1.5)))


def whole(quality: ReplayQuality) -> None:
    """The least a page of this table must reach."""
    assert (quality.outcome, quality.reason, quality.core_missed) == ("ok", None, ()), quality
    assert quality.core_percent == 100.0
    assert quality.answered_percent is not None


def test_what_makes_replay_hard_is_answered_alike_by_every_protocol(tmp_path: Path) -> None:
    made = [each.quality for each in reports(recording(tmp_path))]
    assert [(each.device, each.protocol) for each in made] == [
        (device, protocol) for device in DEVICES for protocol in PROTOCOLS
    ]
    for quality in made:
        whole(quality)
        assert (quality.asked, quality.exact) == (12, 10), quality
        assert [url.partition("?")[0].partition("://")[2] for url in quality.closest] == [
            "quality.example/answer.json"
        ]
        assert [url.partition("://")[2] for url in quality.missed] == ["quality.example/never-recorded.ico"]
        # No font but the page's own has Ethiopic; all the other scripts are there.
        assert quality.without_glyph == ("Ethiopic: 2 characters, U+1200 and 1 more",)


@pytest.mark.parametrize(
    ("name", "protocols"),
    [
        ("agency", (Protocol.H2,)),
        ("dummy-2012", (Protocol.HTTP1,)),
        pytest.param("agency", PROTOCOLS, marks=pytest.mark.lengthy),
    ],
)
def test_the_pages_that_ship_are_replayed_whole(
    name: str, protocols: Sequence[Protocol], tmp_path: Path
) -> None:
    archive = RECIPES[name].archive(tmp_path, package_cache())
    unknown = {"cdn.startbootstrap.com/sb-forms-latest.js"} if name == "agency" else set()
    for verification in reports(archive, protocols):
        quality = verification.quality
        assert quality.outcome == Outcome.OK, quality
        assert {url.partition("://")[2] for url in quality.core_missed} == unknown
        assert quality.answered_percent is not None
        assert quality.answered_percent >= 95
        assert verification.screenshot is not None
        width, height = Image.open(BytesIO(verification.screenshot)).size
        assert (height > width) == (quality.device == MOBILE.name)


def test_both_drivers_make_the_same_phone(tmp_path: Path) -> None:
    archive = recording(tmp_path)

    def load() -> list[str]:
        found = []
        with browser_lab({"quality": archive}, [Protocol.H2]) as opened:
            for number, driver in enumerate(CHROMIUMS, 1):
                cell = condition("quality", Protocol.H2, driver, device=MOBILE)
                record, seen = run_observed(
                    opened.testbed,
                    opened.browsers,
                    planned(number, cell),
                    TrialOptions(60, linger_s=2.0),
                    WORKSPACE / "kept",
                )
                assert (record.outcome, record.reason) == (Outcome.OK, None)
                assert seen is not None
                assert any(
                    "never-recorded" in text or "404" in text for text in seen.of(PageConsole).errors or ()
                )
                found += [url for url in map(str, (r.url for r in page_requests(seen))) if "/device/" in url]
        return found

    assert inside(load) == [f"{START}device/mobile-412-915-2.625-5-true-true.png"] * 2


def test_a_verification_is_kept_with_the_archive_and_says_what_is_missing(coldload: Coldload) -> None:
    root = coldload.folder / "archives"
    digest = small_site(root).digest
    code, out, err = coldload.run("verify", "small", "--device", "mobile", "--protocol", "http1")
    assert (code, err) == (1, ""), out
    assert "missed, core: http://cdn.example/missing.png" in out
    assert "core 10 of 11 (90.9 %)" in out
    assert tells(out, "recorded load", "does not tell its times")
    kept = {path.name for path in (root / "small" / "verify").iterdir()}
    assert kept == {"mobile-http1.json", "mobile-http1.png"}
    assert open_archive(root, "small").digest == digest
    code, out, _ = coldload.run("pages", "small")
    assert code == 0
    assert "90.9 %" in out


def test_what_a_load_asks_for_is_found_out_once_and_weighed_by_optimize(coldload: Coldload) -> None:
    root = coldload.folder / "archives"
    small_site(root, extra="<script>new Image().src = 'p0.png?by=script'</script>")
    for first in (True, False):
        code, out, err = coldload.run("optimize", "small", "--variant", "collapse_whitespace")
        assert (code, err) == (0, ""), out
        assert ("loading the page once in chromium by h2" in out) is first
        assert "what a load in chromium asks for: " in out
    report = json.loads((root / "small" / "verify" / "desktop-h2.json").read_text())
    assert any(url.endswith("p0.png?by=script") for url in report["answered"])
