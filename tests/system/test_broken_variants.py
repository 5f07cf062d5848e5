"""Each filter without its guard breaks a page, and `verify --variant` sees it; with its guards it does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from harness.model.engine import DEVICES
from harness.model.protocol import Protocol
from harness.model.variant import FILTERS, parse_variant
from harness.verify.likeness import Likeness
from harness.verify.mending import Where, check_variants
from sites.archive import Archive, write_archive
from sites.optimise.filters.html import needs_no_quotes
from sites.optimise.page import Note
from sites.response import Response
from sites.warc import About
from tests.system.conftest import inside

pytestmark = pytest.mark.side_by_side

URL = "https://traps.example/"
LOST, NEW = f"no longer asks for {URL}m/", f"asks for what the original does not: {URL}m/"
WHERE = Where(Protocol.H2, (DEVICES["desktop"],))
TYPES = {"css": "text/css", "js": "text/javascript", "png": "image/png", "jpg": "image/jpeg"}
FILTERS_AT = "sites.optimise.filters"


def nothing(*_: object, **__: object) -> None:
    return None


def yes(*_: object) -> bool:
    return True


def no(*_: object) -> bool:
    return False


def all_of_them(_page: object, _tokens: object, changes: Iterable[object]) -> tuple[list[object], list[Note]]:
    return list(changes), []


def image(kind: str, size: tuple[int, int], **options: object) -> bytes:
    """A picture that is another one when it is turned or mirrored."""
    file = BytesIO()
    picture = Image.radial_gradient("L").resize(size).convert("RGB")
    picture.paste("black", (0, 0, size[0], size[1] // 3))
    picture.save(file, kind, **options)
    return file.getvalue()


def animated() -> bytes:
    """An APNG whose one frame is not the picture that a reader without animation sees."""
    file = BytesIO()
    frame = Image.new("RGB", (160, 160), "black")
    other = Image.new("RGB", (160, 160), "white")
    other.paste("red", (40, 40, 120, 120))
    other.save(file, "PNG", save_all=True, default_image=True, append_images=[frame], compress_level=0)
    return file.getvalue()


def turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return image("JPEG", (240, 120), quality=98, exif=exif.tobytes())


def cut_short() -> bytes:
    file = BytesIO()
    Image.effect_noise((220, 220), 90).convert("RGB").save(file, "JPEG", quality=95)
    return file.getvalue()[: len(file.getvalue()) // 3]


@dataclass(frozen=True)
class Trap:
    """What of a page a filter breaks without its guard: `guards` are taken out by these replacements, by dotted name.

    `seen` stands in what is said of the broken page.
    """

    guards: Mapping[str, object]
    seen: str = "similarity 0."
    head: str = ""
    body: str = ""
    files: Mapping[str, str | bytes] = field(default_factory=dict)


def ask(name: str) -> str:
    """A script that shows how far it came."""
    return f"new Image().src = 'm/' + {name} + '.png';"


# Whatever selectors of the page may notice of a change.
UNNOTICED: Mapping[str, object] = {"sites.optimise.document.unnoticed": all_of_them}
# Pillow reads a file as far as it goes.
CUT_SHORT: Mapping[str, object] = {"PIL.ImageFile.LOAD_TRUNCATED_IMAGES": True}
TURNED = "sites.optimise.picture.refuse_exif_that_shows"
TRAPS: Mapping[str, Trap] = {
    "inline_import_to_link": Trap(
        {f"{FILTERS_AT}.files.is_style_element": yes},
        seen=f"{NEW}never.png",
        head='<style type="text/x-sheet">@import "never.css";</style>',
        files={"never.css": "h1 { background: url(m/never.png) }"},
    ),
    "flatten_css_imports": Trap(
        {"sites.optimise.stylesheet.is_well_formed": yes},
        seen=f"{LOST}flat.png",
        head="<link rel=stylesheet href=flat.css>",
        body="<div id=flat>flat</div>",
        files={
            "flat.css": "@import 'open.css'; #flat { background: url(m/flat.png) }",
            "open.css": "#x { color: red",
        },
    ),
    "move_css_to_head": Trap(
        {f"{FILTERS_AT}.files.is_style_element": yes, **UNNOTICED},
        seen="(reading 'textContent')",
        body='<div><style type="text/x-template">m</style></div>'
        "<script>document.querySelector('div style').textContent.trim()</script>",
    ),
    "rewrite_css": Trap(
        {"sites.optimise.cssminify._tight_in_selector": yes},
        seen=f"{LOST}inner.png",
        head="<link rel=stylesheet href=inner.css>",
        body="<div class=outer><div class=inner>inner</div></div>",
        files={"inner.css": ".outer .inner { background: url(m/inner.png) }"},
    ),
    "rewrite_javascript": Trap(
        {"sites.optimise.script.shortened": lambda *_: ""},
        seen=f"{LOST}14.png",
        body=f"<script>{ask('(`${1 ? `template  text` : ``}`).length')}</script>",
    ),
    "combine_css": Trap(
        {f"{FILTERS_AT}.combine.are_adjacent": yes},
        seen=f"{NEW}between.png",
        head="<link rel=stylesheet href=near.css><style>#near { background: url(m/between.png) }</style>"
        "<link rel=stylesheet href=far.css>",
        body="<div id=near>near</div>",
        files={"near.css": "#near { color: blue }", "far.css": "#near { background: url(m/far.png) }"},
    ),
    "combine_javascript": Trap(
        {"sites.optimise.script.is_strict": no},
        seen="undeclared is not defined",
        body="<script src=strict.js></script><script src=sloppy.js></script>",
        files={"strict.js": "'use strict'; var one = 1;", "sloppy.js": f"undeclared = 2; {ask('`sloppy`')}"},
    ),
    "resize_images": Trap(
        {f"{FILTERS_AT}.images._is_named_elsewhere": no},
        head="<style>#both { width: 320px; height: 200px; background: url(m/both.png) }</style>",
        body="<div id=both></div><img src=m/both.png width=32 height=20>",
        files={"m/both.png": image("PNG", (160, 100))},
    ),
    "strip_image_meta_data": Trap({TURNED: nothing}),
    "recompress_jpeg": Trap(CUT_SHORT),
    "convert_jpeg_to_progressive": Trap(
        CUT_SHORT, body="<img src=m/cut.jpg>", files={"m/cut.jpg": cut_short()}
    ),
    "convert_jpeg_to_webp": Trap(
        {TURNED: nothing}, body="<img src=m/turned.jpg>", files={"m/turned.jpg": turned()}
    ),
    "convert_png_to_webp": Trap(
        {"sites.optimise.picture.refuse_animated": nothing},
        body="<img src=m/animated.png>",
        files={"m/animated.png": animated()},
    ),
    "convert_to_avif": Trap({TURNED: nothing}),
    "inline_css": Trap(
        {f"{FILTERS_AT}.delivery.is_named": no, **UNNOTICED},
        seen="'URL': Invalid URL",
        head='<link rel=stylesheet id="theme" href=theme.css>',
        body="<script>new URL(document.getElementById('theme').href)</script>",
        files={"theme.css": "h1 { color: green }"},
    ),
    "inline_javascript": Trap(
        {"sites.optimise.script.looks_around": no},
        seen=f"{LOST}here.png",
        body="<script src=js/here.js></script>",
        files={"js/here.js": "new Image().src = new URL('../m/here.png', document.currentScript.src)"},
    ),
    "inline_images": Trap(
        UNNOTICED,
        seen="(setting 'id')",
        body="<img src=m/logo.png>"
        f"<script>document.querySelector('img[src$=\"logo.png\"]').id = 'logo'; {ask('`logo-2`')}</script>",
    ),
    "defer_javascript": Trap(
        {
            "sites.optimise.script.looks_around": no,
            "sites.optimise.script.writes": no,
            f"{FILTERS_AT}.files._why_called": nothing,  # by the handler of another trap
        },
        seen=f"{LOST}written.png",
        body="<script>document.write('<img src=m/written.png>')</script>",
    ),
    "lazyload_images": Trap(
        {f"{FILTERS_AT}.delivery.may_wait": yes},
        seen=f"{LOST}loaded.png",
        body=f'<img hidden loading=eager src=m/hidden.png onload="{ask("`loaded`")}">',
    ),
    "shard": Trap(
        {f"{FILTERS_AT}.delivery.reads_pixels": no},
        seen="tainted by cross-origin data",
        body="<canvas hidden></canvas><img id=drawn src=m/drawn.png><script>onload = () => {"
        "const canvas = document.querySelector('canvas').getContext('2d');"
        "canvas.fillStyle = canvas.createPattern(drawn, 'repeat'); canvas.fillRect(0, 0, 1, 1);"
        f"canvas.getImageData(0, 0, 1, 1); {ask('`read`')} }}</script>",
    ),
    "hint_preload_subresources": Trap(
        {"sites.optimise.script.holds_up": yes},
        seen=f"asks for what the original does not: {URL}old.js",
        body="<script nomodule src=old.js></script>",
        files={"old.js": "old()"},
    ),
    "remove_comments": Trap(
        {f"{FILTERS_AT}.html.why_comments_stay": nothing},
        seen="(reading 'data')",
        body="<div id=marked><!-- ko --></div>"
        f"<script>{ask('document.getElementById(`marked`).firstChild.data.trim()')}</script>",
    ),
    "collapse_whitespace": Trap(
        {f"{FILTERS_AT}.html.is_preformatted": no},
        seen=f"{LOST}12.png",
        body="<pre id=pre>one\n\n    two</pre>"
        f"<script>{ask('document.getElementById(`pre`).textContent.length')}</script>",
    ),
    "elide_attributes": Trap(
        {f"{FILTERS_AT}.html.is_selected": no},
        seen=f"{LOST}field.png",
        head="<style>input[type=text] { background: url(m/field.png) }</style>",
        body="<input type=text>",
    ),
    "remove_quotes": Trap(
        {f"{FILTERS_AT}.html.needs_no_quotes": lambda value: needs_no_quotes(value.replace(" ", ""))},
        seen=f"{LOST}words.png",
        head="<style>.two.words { background: url(m/words.png) }</style>",
        body='<p class="two words">quoted</p>',
    ),
}
# One for each way in which a page is seen to be broken: by its look, by what is lost, by what is new, by an error.
EACH_WAY = ("resize_images", "rewrite_css", "combine_css", "combine_javascript")
HARMLESS: Mapping[str, str] = {
    "recompress_png": "every pixel stays, of whatever file",
    "extend_cache": "a cold load never asks its cache; each URL has one answer in an archive",
}
PICTURES = (
    *("flat", "between", "far", "sloppy", "here", "logo", "logo-2", "written", "hidden", "loaded", "never"),
    *("drawn", "read", "ko", "field", "words", "inner", "14", "12"),
)


def trapped_page(root: Path) -> Archive:
    """A page with all the traps."""
    head = "".join(trap.head for trap in TRAPS.values())
    body = "".join(trap.body for trap in TRAPS.values())
    head += "<style>* { float: left; margin: 2px }</style>"  # all of it on one screen
    text = f"<!doctype html><html><head><title>t</title>{head}</head><body><h1>Traps</h1>{body}</body></html>"
    small = image("PNG", (12, 12))
    files: dict[str, str | bytes] = {f"m/{name}.png": small for name in PICTURES}
    for trap in TRAPS.values():
        files |= trap.files
    responses = [Response(URL, 200, (("Content-Type", "text/html"),), text.encode())]
    for path, content in files.items():
        mime = TYPES[path.rpartition(".")[2]]
        data = content.encode() if isinstance(content, str) else content
        responses.append(Response(URL + path, 200, (("Content-Type", mime),), data))
    return write_archive(root, "traps", About(URL, "test", "", ()), responses)


def test_each_filter_can_break_a_page_or_is_said_not_to() -> None:
    assert TRAPS.keys() | HARMLESS.keys() == FILTERS.keys()
    assert not TRAPS.keys() & HARMLESS.keys()


@pytest.mark.parametrize(
    "names",
    [EACH_WAY, pytest.param(tuple(TRAPS), marks=pytest.mark.lengthy)],
    ids=["each way", "every filter"],
)
def test_a_filter_without_its_guard_is_seen_to_break_the_page(tmp_path: Path, names: Sequence[str]) -> None:
    archive = trapped_page(tmp_path)
    guarded = ",".join(FILTERS)

    def check() -> dict[str, Likeness]:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(
                "harness.verify.mending.LOADS", 1
            )  # what is seen in the first load is what is tested
            found: dict[str, Likeness] = {}
            findings = check_variants(archive, variants, WHERE, mend=False)
            for name in (guarded, *names):
                with pytest.MonkeyPatch.context() as without:
                    for guard, replacement in TRAPS[name].guards.items() if name in TRAPS else ():
                        without.setattr(guard, replacement)
                    (found[name],) = next(findings).asked
            return found

    variants = [parse_variant(name) for name in (guarded, *names)]
    found = inside(check)
    whole = found.pop(guarded)
    assert whole.ok, str(whole)
    unseen = [str(each) for name, each in found.items() if each.ok or TRAPS[name].seen not in str(each)]
    assert unseen == []
