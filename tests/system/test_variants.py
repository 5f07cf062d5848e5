"""Variants in the real browser: they load, ask for less, look alike; one that breaks the page is seen."""

from __future__ import annotations

import base64
import contextlib
import hashlib
from dataclasses import replace
from functools import partial
from io import BytesIO, StringIO
from pathlib import Path

import pytest
from PIL import Image

import harness
from harness.cli.verify import verify_variants
from harness.errors import Outcome
from harness.model.engine import AVIF, BROWSERS, DEVICES, LAZY_IMAGES, PRELOAD, WEBP, Engine
from harness.model.protocol import Protocol
from harness.model.variant import parse_variant
from harness.probes.loadedpage import PageConsole, taken
from harness.probes.probe import TrialOptions
from harness.probes.registry import Observation
from harness.records import Record
from harness.system.enclosure import WORKSPACE
from harness.trial.trial import browser_lab, run_observed
from harness.verify.likeness import Likeness
from harness.verify.mending import Where, check_variants
from sites.archive import Archive, write_archive
from sites.optimise import findings
from sites.optimise.derive import derive, variant_of
from sites.response import Response
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
    """One trial of each variant, all on one lab as a run has them."""
    variants = [parse_variant(name) for name in names]
    archives = {each.served_name("look"): variant_of(archive, each) for each in variants}
    with browser_lab(archives, [Protocol.H2]) as opened:
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
def test_a_filter_that_breaks_the_page_is_found_and_changes_no_variant(tmp_path: Path) -> None:
    poem = "body { font: 60px monospace } #poem { white-space: pre }"
    body = (
        f"<style>{poem}</style><!-- by nobody --><div id=poem>one\n\n\n\n          two\n\n\n     three</div>"
    )
    archive = write_archive(tmp_path, "poem", About(URL, "test", "", ()), [html(URL, body)])

    def check(variant: str) -> tuple[int, str]:
        said = StringIO()
        chosen = [parse_variant(variant)]
        with contextlib.redirect_stdout(said):
            code = verify_variants(archive, chosen, DESKTOP_ONLY, mend=True, keep=None)
        return code, said.getvalue()

    some = "rewrite_css,remove_comments,collapse_whitespace"
    code, said = inside(lambda: check(some))
    assert code == 1, said
    assert "DIFFERS" in said
    assert "without collapse_whitespace: like the original" in said
    assert 'in a study: without = {poem = ["collapse_whitespace"]}' in said
    assert f"--variant {some},-collapse_whitespace" in said
    (seen,) = findings.broken_by(archive, parse_variant(some), Engine.CHROMIUM)
    assert (seen.filter, seen.variant, seen.device) == ("collapse_whitespace", some, "desktop")
    assert (seen.archive_digest, seen.coldload) == (archive.digest, harness.__version__)
    assert "collapse_whitespace" in [
        step.filter for step in derive(archive, parse_variant(some)).report.steps
    ]
    # What is no longer so is forgotten.
    findings.record(archive, [replace(seen, variant="remove_comments", filter="remove_comments")])
    code, said = inside(lambda: check("remove_comments"))
    assert (code, "remove_comments no longer breaks it" in said) == (0, True), said
    assert findings.breakages(archive) == (seen,)


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
        with contextlib.redirect_stdout(said):
            code = verify_variants(archive, chosen, DESKTOP_ONLY, mend=True, keep=None)
        return code, said.getvalue()

    code, said = inside(check)
    assert (code, "so does the original" in said, "no finding is kept" in said) == (1, True, True), said
    assert findings.breakages(archive) == ()


@pytest.mark.parametrize("engine", [Engine.CHROMIUM, Engine.FIREFOX, Engine.WEBKIT])
def test_what_scripts_put_off_comes_once_and_later(engine: Engine, tmp_path: Path) -> None:
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
        protocol, driver = Protocol.HTTPS1, engine.traits.drivers[0]
        cell = condition("clock", protocol, driver, server=engine.traits.server)
        options = TrialOptions(timeout_s=20, keep=("screens",), linger_s=0.5)
        files = WORKSPACE / "kept"
        with browser_lab({"clock": archive}, [protocol], engine=engine) as opened:
            _, evidence = run_observed(opened.testbed, opened.browsers, planned(1, cell), options, files)
        said = [each for each in (evidence and evidence.of(PageConsole).errors) or () if "404" not in each]
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


# Each of its files and elements is missed by a script, which says so on the console, or by a style sheet.
MISSED = """<style>
img[src$='.png'] { outline: 40px solid red; margin: 60px } .stack > * + * { margin-top: 200px }
</style>
<link rel=stylesheet href="css/theme.css"><link rel=stylesheet href="css/b.css">
<script src="js/a.js"></script><script src="lib/imports.js"></script><script src="js/config.js"></script>
<script src="c.js" integrity="DIGEST"></script><img src=a.png width=64 height=64>
<p id=box>one<!-- place -->two</p><form><input type=text></form>
<div class=stack><script src="js/d.js"></script><script src="js/e.js"></script><p>three</p></div>
<script>
const need = (what, there) => there || console.error("without " + what);
need("the link", document.querySelector("link[href*=theme]"));
need("the style sheet", [...document.styleSheets].some((sheet) => /theme/.test(sheet.href)));
need("the script", document.querySelector("script[src$='config.js']"));
need("the comment", document.createTreeWalker(document.getElementById("box"), NodeFilter.SHOW_COMMENT).nextNode());
need("the attribute", document.querySelector("input").getAttribute("type"));
import("./inline.js").catch(() => need("the module of the document"));
fetch("/boot.json").then((answer) => answer.json()).then(({ digest }) => fetch("/c.js", { integrity: digest }))
  .catch(() => need("the digest in JSON"));
</script>"""


def test_what_others_would_miss_is_still_there(tmp_path: Path) -> None:
    script = b"window . signed = 1 ;  // by its digest"
    digest = "sha256-" + base64.b64encode(hashlib.sha256(script).digest()).decode()

    def file(path: str, kind: str, body: str | bytes) -> Response:
        data = body.encode() if isinstance(body, str) else body
        return Response(URL + path, 200, (("Content-Type", kind),), data)

    responses = [
        html(URL, MISSED.replace("DIGEST", digest)),
        file("css/theme.css", "text/css", "p { font : 60px serif }"),
        file("css/b.css", "text/css", "p { color : #00c }"),
        *(
            file(f"js/{name}.js", "text/javascript", f"var {name} = 1 ;")
            for name in ("a", "config", "d", "e")
        ),
        file(
            "lib/imports.js",
            "text/javascript",
            "import('./own.js').catch(() => console.error('without its module'))",
        ),
        file("lib/own.js", "text/javascript", "export default 1"),
        file("inline.js", "text/javascript", "export default 1"),
        file("c.js", "text/javascript", script),
        file("boot.json", "application/json", f'{{"digest": "{digest}"}}'),
        file("a.png", "image/png", small_picture()),
    ]
    archive = write_archive(tmp_path, "missed", About(URL, "test", "", ()), responses)

    def check() -> list[str]:
        chosen = [parse_variant(EVERYTHING)]
        return [
            str(each)
            for found in check_variants(archive, chosen, DESKTOP_ONLY, mend=False)
            for each in found.asked
        ]

    (said,) = inside(check)
    assert "desktop: like the original" in said


def small_picture() -> bytes:
    """A PNG that is small enough to be inlined."""
    file = BytesIO()
    Image.new("RGB", (8, 8), (0, 160, 0)).save(file, "PNG")
    return file.getvalue()


STRANGE = """<!doctype html><link rel=stylesheet href=css/lend.css><link rel=stylesheet href=theme/use.css>
<style>body { margin: 0 } p { height: 100vh; margin: 0; background: lime } img { height: auto }</style>
<p><img src=gamma.png width=450 height=300><p><img src=key.png width=900><p><img src=turned.png width=300>
<p><img src=face.png width=200 height=200 style="object-fit: cover"><p class=a><div class=b></div>"""
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
        "gamma.png": png(shade, (b"gAMA", (300_000).to_bytes(4, "big")), size=(900, 600)),
        "key.png": png(barred, (b"tRNS", b"\0\xff\0\0\0\xff"), size=(90, 60)),
        "turned.png": png(shade, turn, size=(300, 100)),
        "face.png": png(lambda x, y: (y % 256, y // 2 % 256, x % 9), size=(600, 1200)),
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
    driver = engine.traits.drivers[0]
    cell = condition("asks", Protocol.HTTP1, driver, server=engine.traits.server)

    def said() -> list[str]:
        options = TrialOptions(timeout_s=20, linger_s=0.1)
        with browser_lab({"asks": archive}, [Protocol.HTTP1], engine=engine) as opened:
            _, evidence = run_observed(
                opened.testbed, opened.browsers, planned(1, cell), options, WORKSPACE / "kept"
            )
        return [each for each in (evidence and evidence.of(PageConsole).errors) or () if "takes" in each]

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


LIVELY = """<h1>A page</h1><div style="height: 4000px"></div><img id=low loading=lazy alt=""><script>
low.src = "low-in-the-page.png";
fetch("recorded.json");
import("./module.js").then(() => { new Image().src = "imported.png"; });
setTimeout(() => { document.title = "a new title"; }, 2000);
setTimeout(() => { document.title = "another title"; }, 20);
Promise.resolve("nothing").then(String);
navigator.serviceWorker.register("worker.js");
addEventListener("pagehide", () => navigator.sendBeacon("bye", "x".repeat(9)));
console.error("an error of its own");
</script>"""
# What becomes of the script of that page; and what is seen of it, as which kind of difference.
WRONG = {
    'low.src = "low-in-the-page.png"': (";", "lost", "low-in-the-page.png"),
    '"recorded.json"': ('"other.json"', "failing", "other.json (404)"),
    '"./module.js"': ('"./mod.js"', "lost", "imported.png"),
    'document.title = "a new title"': ('throw Error("late")', "errors", "uncaught late"),
    'document.title = "another title"': ("so()", "errors", "uncaught so is not defined"),
    "then(String)": ("then(() => nil)", "errors", "uncaught nil is not defined"),
    'console.error("an error of its own")': ('fetch("unasked.txt")', "gone", "an error of its own"),
    '"worker.js"': ('"w.js"', "lost", "worker.js"),
}


def test_what_scripts_ask_for_and_throw_is_compared_until_the_page_rests(tmp_path: Path) -> None:
    files = {
        "low-in-the-page.png": ("image/png", picture()),
        "imported.png": ("image/png", picture()),
        "recorded.json": ("application/json", b"{}"),
        "module.js": ("text/javascript", b"export default 1"),
        "worker.js": ("text/javascript", b"addEventListener('fetch', () => {})"),
        "unasked.txt": ("text/plain", b"unasked"),
    }
    responses = [
        Response(URL + path, 200, (("Content-Type", mime),), body) for path, (mime, body) in files.items()
    ]
    archive = write_archive(tmp_path, "lively", About(URL, "test", "", ()), [html(URL, LIVELY), *responses])

    def wrong(script: str, **_: object) -> str:
        for right, (made, *_seen) in WRONG.items():
            script = script.replace(right, made)
        return script

    def check() -> list[Likeness]:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("harness.verify.mending.LOADS", 1)
            patched.setattr("sites.optimise.script.shortened", lambda *_: "")
            patched.setattr("rjsmin.jsmin", wrong)
            variants = [parse_variant("extend_cache"), parse_variant("rewrite_javascript")]
            findings = check_variants(archive, variants, DESKTOP_ONLY, mend=False)
            return [likeness for finding in findings for likeness in finding.asked]

    whole, broken = inside(check)
    assert whole.ok, whole
    overlooked = [
        seen
        for _, kind, seen in WRONG.values()
        if not any(seen in text for text in getattr(broken.differences, kind))
    ]
    assert overlooked == [], broken
    assert [url for url in broken.differences.new if url.endswith("unasked.txt")], broken
