"""Variants in the real browser: they load, ask for less, look alike; one that breaks the page is seen."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from io import BytesIO, StringIO
from pathlib import Path

import pytest
from PIL import Image
from rich.console import Console

from harness.browser.screens import taken
from harness.cli.verify import verify_variants
from harness.model.device import DEVICES
from harness.model.engine import AVIF, BROWSERS, LAZY_IMAGES, PRELOAD, WEBP, Engine
from harness.model.observation import Observation
from harness.model.protocol import Protocol
from harness.model.variant import parse_variant
from harness.outcome import Outcome
from harness.records import Record
from harness.system.enclosure import WORKSPACE
from harness.trial.bench import bench
from harness.trial.trial import TrialOptions, run_observed
from harness.verify.mending import Where, check_variants
from sites.archive import Archive, Response, write_archive
from sites.optimise.derive import derive, variant_of
from sites.warc import About
from tests.system.conftest import condition, html, inside, picture, planned, trial
from tests.unit.sites.optimise.pages import png

pytestmark = pytest.mark.side_by_side

URL = "https://look.example/"
ICON = "/favicon.ico"
DESKTOP_ONLY = Where(Protocol.H2, (DEVICES["desktop"],))
# Every filter that moves, joins or rewrites something, together.
EVERYTHING = (
    "core,minify,move_css_to_head,defer_javascript,hint_preload_subresources,shard,convert_png_to_webp"
)
BODY = """<link rel=stylesheet href="css/a.css"><link rel=stylesheet href="css/b.css">
<script src="a.js"></script><script src="b.js"></script>
<h1>A  page</h1><p id=said>nothing yet</p><img src=a.png width=64 height=64><img src=b.png width=300 height=300>
<script>document.getElementById("said").textContent += first + second</script>"""


def small_page(root: Path) -> Archive:
    """A page whose look depends on two style sheets with an image, and on three scripts in their order."""

    def file(path: str, mime: str, body: str | bytes) -> Response:
        data = body.encode() if isinstance(body, str) else body
        return Response(URL + path, 200, (("Content-Type", mime),), data)

    responses = [
        html(URL, BODY),
        file("css/a.css", "text/css", "body { background : #ffe url('../a.png') }  h1 { color : #c00 }"),
        file("css/b.css", "text/css", "/* over a.css */ h1 { color : #00c; font : 80px serif }"),
        file("a.js", "text/javascript", "var first = 'one ' ;"),
        file("b.js", "text/javascript", "var second = first + 'two' ;"),
        file("a.png", "image/png", picture()),
        file("b.png", "image/png", picture()),
    ]
    return write_archive(root, "look", About(URL, "test", "", ()), responses)


def load(archive: Archive, names: list[str]) -> list[Record]:
    """One trial of each variant, all on one bench as a run has them."""
    variants = [parse_variant(name) for name in names]
    archives = {each.served_name("look"): variant_of(archive, each) for each in variants}
    with bench(archives, [Protocol.H2]) as opened:
        cell = condition("look", Protocol.H2)
        return [trial(opened, number, replace(cell, variant=each)) for number, each in enumerate(variants, 1)]


def asked(record: Record) -> int:
    """The requests of a load without the icon's, which is asked for about when the load ends."""
    seen: Observation = record.observation
    return (seen.requests or 0) - sum(url.endswith(ICON) for url in seen.missed)


def test_a_variant_is_served_beside_its_original_and_asks_for_less(tmp_path: Path) -> None:
    archive = small_page(tmp_path)
    plain, core, everything = inside(lambda: load(archive, ["plain", "core", EVERYTHING]))
    for record in (plain, core, everything):
        assert (record.outcome, record.reason) == (Outcome.OK, None)
        assert [url for url in record.observation.missed if not url.endswith(ICON)] == []
    assert asked(plain) == 7
    assert asked(core) == 3  # the page and two images; its files are small enough to be inlined
    assert core.archive_digest != plain.archive_digest
    assert core.planned.condition.variant.name == "core"


@pytest.mark.lengthy
def test_a_filter_that_breaks_the_page_is_found_and_switched_off(tmp_path: Path) -> None:
    poem = "body { font: 60px monospace } #poem { white-space: pre }"
    body = (
        f"<style>{poem}</style><!-- by nobody --><div id=poem>one\n\n\n\n          two\n\n\n     three</div>"
    )
    archive = write_archive(tmp_path, "poem", About(URL, "test", "", ()), [html(URL, body)])

    def check(variant: str) -> tuple[int, str]:
        said = StringIO()
        out = Console(file=said, width=300)
        chosen = [parse_variant(variant)]
        code = verify_variants(archive, chosen, DESKTOP_ONLY, out, mend=True, keep=None)
        return code, said.getvalue()

    some = "rewrite_css,remove_comments,collapse_whitespace"
    code, said = inside(lambda: check(some))
    assert code == 0, said
    assert "DIFFERS" in said
    assert "switched off for this page: collapse_whitespace; without: like the original" in said
    left = derive(archive, parse_variant(some)).report
    assert [each.filter for each in left.off] == ["collapse_whitespace"]
    assert "collapse_whitespace" not in [step.filter for step in left.steps]
    code, said = inside(lambda: check(some))
    assert (code, "is switched off already" in said, "DIFFERS" in said) == (0, True, False), said


@pytest.mark.lengthy
def test_a_page_that_differs_by_itself_is_blamed_on_no_filter(tmp_path: Path) -> None:
    body = """<p>a  b</p><script>
    let mixed = 0;
    for (const each of JSON.stringify(performance.getEntriesByType("navigation")[0])) {
      mixed = Math.imul(mixed ^ each.charCodeAt(0), 16777619);
    }
    for (let bit = 0; bit < 30; bit++) {
      const colour = mixed >> bit & 1 ? "black" : "white";
      document.write(`<p style="float: left; width: 20%; height: 15vh; background: ${colour}">`);
    }
    </script>"""
    archive = write_archive(tmp_path, "fickle", About(URL, "test", "", ()), [html(URL, body)])

    def check() -> tuple[int, str]:
        said = StringIO()
        chosen = [parse_variant("collapse_whitespace")]
        out = Console(file=said, width=300)
        code = verify_variants(archive, chosen, DESKTOP_ONLY, out, mend=True, keep=None)
        return code, said.getvalue()

    code, said = inside(check)
    assert (code, "so does the original" in said, "nothing is switched off" in said) == (1, True, True), said
    assert derive(archive, parse_variant("collapse_whitespace")).report.off == ()


def test_what_scripts_put_off_comes_once_and_later(tmp_path: Path) -> None:
    script = """<script>
    const say = (what) => console.error(what);
    const show = (what) => { say(what); document.body.style.background = "black"; setTimeout(say, 900, "again"); };
    setTimeout(say, 20000, "much later");
    setTimeout(show, 3000, "pop-up");
    setInterval(say, 1500, "turn");
    const gone = setTimeout(say, 1000, "cleared");
    setTimeout(() => clearInterval(gone), 700);
    setTimeout(clearTimeout, 600, setInterval(say, 650, "cleared"));
    setTimeout("say('text')", "800");
    setTimeout(say, 100, "soon");
    </script>"""
    archive = write_archive(tmp_path, "clock", About(URL, "test", "", ()), [html(URL, "x" + script)])

    def look() -> tuple[list[str], list[str]]:
        cell = condition("clock", Protocol.H2)
        options = TrialOptions(timeout_s=20, keep=("screens",), linger_s=0.5)
        files = WORKSPACE / "kept"
        with bench({"clock": archive}, [Protocol.H2]) as opened:
            _, evidence = run_observed(opened.testbed, opened.drivers, planned(1, cell), options, files)
        said = [each for each in (evidence and evidence.console_errors) or () if "404" not in each]
        shown = [
            f"{screenful}: {Image.open(path).convert('L').getpixel((600, 400))}"
            for screenful, path in taken(files / "screens").items()
        ]
        return said, shown

    said, shown = inside(look)
    assert said == ["soon", "text", "turn", "pop-up"]
    assert shown == ["1: 255", "1 (later): 0"]


def test_what_moves_and_joins_everything_looks_like_the_original(tmp_path: Path) -> None:
    archive = small_page(tmp_path)

    def check() -> list[str]:
        where = Where(Protocol.H2, tuple(DEVICES.values()))
        findings = check_variants(archive, [parse_variant(EVERYTHING)], where)
        return [str(each) for finding in findings for each in finding.asked]

    desktop, mobile = inside(check)
    assert "desktop: like the original" in desktop
    assert "mobile: like the original" in mobile


STRANGE = """<!doctype html><link rel=stylesheet href=css/lend.css><link rel=stylesheet href=theme/use.css>
<style>body { margin: 0 } p { height: 100vh; margin: 0; background: lime } img { height: auto }</style>
<p><img src=gamma.png width=900 height=600><p><img src=key.png width=900><p><img src=turned.png width=300>
<p><img src=face.png width=400 height=400 style="object-fit: cover"><p class=a><div class=b></div>"""
STRANGE_SHEETS = {
    "css/lend.css": ":root { --i: url(p.png) }",
    "theme/use.css": "@import 'one.css'; @new x; @import 'two.css'; .a.a { background: var(--i) }",
    "theme/one.css": "@scope ( body ) { .b { height: 50vh; & { background: white } } }",
    "theme/two.css": ".b.b.b { background: black; @media ( width > 1px ) { margin-left: calc( 10vw + 5% ) } }",
}


def strange_pictures() -> dict[str, bytes]:
    """Pictures that show more than their pixels, and one of the same name in each folder."""

    def shade(x: int, y: int) -> tuple[int, int, int]:
        return (x * 4 % 256, y * 16 % 256, x * y % 256)

    def barred(x: int, y: int) -> tuple[int, int, int]:
        return (255, 0, 255) if x // 8 % 2 else shade(x, y)

    def stripe(width: int, x: int, _: int) -> tuple[int, int, int]:
        return (255 * (x // width % 2), 0, 99)

    turned = Image.Exif()
    turned[0x0112] = 6
    turn = b"eXIf", turned.tobytes().removeprefix(b"Exif\0\0")
    pictures = {
        "gamma.png": png(shade, (b"gAMA", (300_000).to_bytes(4, "big")), size=(1800, 1200)),
        "key.png": png(barred, (b"tRNS", b"\0\xff\0\0\0\xff"), size=(90, 60)),
        "turned.png": png(shade, turn, size=(300, 100)),
        "face.png": png(lambda x, y: (y % 256, y // 2 % 256, x % 9), size=(1200, 2400)),
    }
    for number, folder in enumerate(("", "css/", "theme/")):
        striped = partial(stripe, 8 << number)
        pictures[f"{folder}p.png"] = png(striped)
    return pictures


def test_what_shows_more_than_it_seems_looks_like_the_original(tmp_path: Path) -> None:
    files = {**strange_pictures(), **{name: css.encode() for name, css in STRANGE_SHEETS.items()}}
    kinds = {"png": "image/png", "css": "text/css"}
    responses = [
        Response(URL + name, 200, (("Content-Type", kinds[name[-3:]]),), body) for name, body in files.items()
    ]
    archive = write_archive(tmp_path, "strange", About(URL, "test", "", ()), [html(URL, STRANGE), *responses])
    variant = parse_variant("core,minify,convert_png_to_webp,convert_to_avif")
    where = Where(Protocol.H2, (DEVICES["desktop"],))
    (finding,) = inside(lambda: list(check_variants(archive, [variant], where)))
    assert finding.ok, finding.asked
    assert "similarity 1.000" in str(finding.asked[0])
    assert (
        derive(archive, variant).report.after.size.bytes < derive(archive, variant).report.before.size.bytes
    )


# Tells on the console what the engine takes of what filters may put into a page.
ASKS_THE_ENGINE = """<img id=webp src=a.webp><img id=avif src=a.avif><script>onload = function () {
  var list = document.createElement("link").relList;
  console.error("takes " + [
    document.getElementById("webp").naturalWidth > 0,
    document.getElementById("avif").naturalWidth > 0,
    "loading" in document.createElement("img"),
    Boolean(list && list.supports && list.supports("preload"))
  ].join());
}</script>"""


@pytest.mark.parametrize("engine", BROWSERS)
def test_engines_take_what_is_stated_of_them(engine: Engine, tmp_path: Path) -> None:
    def picture_as(kind: str) -> Response:
        file = BytesIO()
        Image.effect_noise((32, 32), 60).convert("RGB").save(file, kind)
        return Response(f"{URL}a.{kind}", 200, (("Content-Type", f"image/{kind}"),), file.getvalue())

    responses = [html(URL, ASKS_THE_ENGINE), picture_as("webp"), picture_as("avif")]
    archive = write_archive(tmp_path, "asks", About(URL, "test", "", ()), responses)
    driver = engine.drivers[0]
    cell = condition("asks", Protocol.HTTP1, driver, server=engine.traits.server)

    def said() -> list[str]:
        options = TrialOptions(timeout_s=20, linger_s=0.1)
        with bench({"asks": archive}, [Protocol.HTTP1], engine=engine) as opened:
            _, evidence = run_observed(
                opened.testbed, opened.drivers, planned(1, cell), options, WORKSPACE / "kept"
            )
        return [each for each in (evidence and evidence.console_errors) or () if "takes" in each]

    expected = [str(each in engine.traits.takes).lower() for each in (WEBP, AVIF, LAZY_IMAGES, PRELOAD)]
    (answer,) = inside(said)
    assert f"takes {','.join(expected)}" in answer


def test_the_historical_engine_runs_minified_scripts_and_is_watched_like_the_other(tmp_path: Path) -> None:
    script = """
    function half ( text ) { return Math.pow ( 2 , 3 ) / 2 == null ? 1 : text }  // and a comment
    var found = null
    try { JSON.parse ( "{" ) } catch ( error ) { found = half ( "caught" ) }
    document.write ( "<h1 style='font: 90px serif'>" + found + "</h1>" )
    setTimeout ( function () { document.body.style.background = "#08f" } , 900 )
    """
    responses = [
        html(URL, "<script src=a.js></script><!-- a comment -->"),
        Response(f"{URL}a.js", 200, (("Content-Type", "text/javascript"),), script.encode()),
    ]
    archive = write_archive(tmp_path, "old", About(URL, "test", "", ()), responses)
    where = Where(Protocol.HTTP1, (DEVICES["desktop"],), Engine.QTWEBKIT)
    (finding,) = inside(
        lambda: list(check_variants(archive, [parse_variant("minify")], where, keep=tmp_path))
    )
    assert finding.ok, finding.asked
    assert finding.asked[0].screens == 1
    pictures = sorted((tmp_path / "old--minify-desktop").glob("*.png"))
    blue = [Image.open(path).convert("RGB").getpixel((1000, 500)) == (0, 136, 255) for path in pictures]
    assert [(path.name, late) for path, late in zip(pictures, blue, strict=True)] == [
        ("01-later.png", True),
        ("01.png", False),
    ]
    derived = derive(archive, parse_variant("minify"), Engine.QTWEBKIT)
    assert derived.report.after.size.bytes < derived.report.before.size.bytes
