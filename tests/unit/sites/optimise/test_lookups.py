"""An element stays as it is where a style sheet or script of the page would miss it, and only there."""

from __future__ import annotations

import time

import pytest

from sites.optimise import lookups
from sites.optimise.derive import optimise
from sites.optimise.lookups import reduced
from tests.facts import tells
from tests.unit.sites.optimise.pages import START, html_of, page, photo

FILES: dict[str, str | bytes] = {
    "theme.css": "a{b:c}",
    "b.css": "d{e:f}",
    "a.js": "a()",
    "b.js": "b()",
    "i.png": photo("PNG", (8, 8)),
}
LINKS = "<link rel=stylesheet href=theme.css><link rel=stylesheet href=b.css>"
SCRIPTS = "<script src=a.js></script><script src=b.js></script>"
IMAGE = "<img class=hero src=i.png>"
IMAGES = IMAGE * 5
BOX = "<div><script src=a.js></script><script src=b.js></script><p>x</p></div>"
# The filter, the element, and by what it is looked for.
LOOKED_FOR = [
    ("inline_css", LINKS, "document.querySelector('link[href*=theme]')"),
    ("combine_css", LINKS, "document.querySelector('link[href*=b]')"),
    ("combine_css", LINKS, "document.styleSheets[1].href"),
    ("inline_css", LINKS, "[].filter.call(document.styleSheets, f)"),
    ("inline_css", LINKS, "document.querySelectorAll('style').length"),
    ("inline_css", LINKS, "document.evaluate('//link', document, null, 9)"),
    ("combine_javascript", SCRIPTS, "$('script[src$=\"b.js\"]')"),
    ("inline_javascript", SCRIPTS, "for (s of document.scripts) f(s.src)"),
    ("inline_javascript", SCRIPTS, "document.getElementsByTagName('script')[0].getAttribute('src')"),
    ("shard", SCRIPTS, "document.querySelector('script[src^=\"a\"]')"),
    ("inline_images", IMAGE, "document.querySelector('.hero').src"),
    ("inline_images", IMAGE, "document.images[0].src"),
    ("inline_images", IMAGE, "$('img[src$=\"' + end + '\"]').attr('src')"),
    ("inline_images", IMAGE, "img[src$='.png']{outline:1px solid}"),
    ("shard", IMAGE, "img[src^=i]{outline:1px solid}"),
    ("lazyload_images", IMAGES, "img:not([loading]){outline:1px solid}"),
    ("defer_javascript", SCRIPTS, "script:not([defer])+p{color:red}"),
    ("combine_javascript", BOX, "p:nth-child(3){color:red}"),
    ("combine_javascript", BOX, ".x>*+*,*+*+p{color:red}"),
    ("move_css_to_head", f"<div>{LINKS}<p>x</p></div>", "div>*+*{margin:9px}"),
    (
        "inline_import_to_link",
        "<style>@import 'b.css';</style>",
        "document.getElementsByTagName('style').length",
    ),
]
ALONE = {
    "document.querySelector('link[href*=theme]')": "<link rel=stylesheet href=theme.css>",
    "document.getElementsByTagName('script')[0].getAttribute('src')": "<script src=a.js></script>",
    "document.querySelector('script[src^=\"a\"]')": "<script src=a.js></script>",
}


def applied(name: str, source: str, looking: str) -> tuple[str, list[str]]:
    """The page with an element, and with what looks for it in another file."""
    kind = "z.css" if looking.endswith("}") else "z.js"
    markup = f"<!doctype html><head></head><body>{source}"
    made, report = optimise(page(markup, {**FILES, kind: looking}), [name])
    return html_of(made).removeprefix("<!doctype html><head></head><body>"), [
        note.reason for note in report.steps[0].notes
    ]


@pytest.mark.parametrize(("name", "source", "looking"), LOOKED_FOR)
def test_what_is_looked_for_stays(name: str, source: str, looking: str) -> None:
    if name == "defer_javascript":
        source += "<p>x"
    made, reasons = applied(name, source, looking)
    assert ALONE.get(looking, source) in made  # of several, those that nobody looks for may go
    assert any("looks for the element" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("name", "source", "looking"),
    [
        ("inline_css", LINKS, "document.querySelector('link[href*=other]')"),
        ("inline_css", LINKS, "a[href$='.css'],link::before,p:hover + p{color:red}"),
        (
            "combine_javascript",
            SCRIPTS,
            "s = document.getElementsByTagName('script')[0]; s.parentNode.insertBefore(g, s)",
        ),
        ("inline_javascript", SCRIPTS, "s = document.querySelector('script'); s.before(g); g.src = 'x'"),
        ("combine_javascript", BOX, "li:nth-child(3),div:first-child,script+p{color:red}"),
        ("inline_images", IMAGE, "$('img').addClass('seen')"),
        ("inline_images", IMAGE, "document.querySelector('.other').src"),
        ("lazyload_images", IMAGES, "$('img').attr('src')"),
        ("move_css_to_head", f"<div>{LINKS}<p>x</p></div>", "p+p{margin:9px}"),
    ],
)
def test_what_others_look_for_is_no_reason(name: str, source: str, looking: str) -> None:
    made, reasons = applied(name, source, looking)
    assert made != source
    assert not [reason for reason in reasons if "looks for" in reason]


def test_half_a_character_in_a_script_is_no_selector() -> None:
    made, _ = optimise(page(SCRIPTS + "<script>$('\\uDEAD')</script>", FILES), ["combine_javascript"])
    assert html_of(made).count("<script src") == 1


def test_handlers_and_frames_are_scripts_of_the_page_too() -> None:
    frame = "<script>parent.document.querySelector('link[href*=theme]')</script>"
    for source, files in (
        (f"{LINKS}<body onclick=\"document.querySelector('link[href*=theme]')\">", {}),
        (f"{LINKS}<a href=\"javascript:void document.querySelector('link[href*=theme]')\">", {}),
        (f"{LINKS}<iframe src=f.html></iframe>", {"f.html": frame}),
    ):
        made, _ = optimise(page(source, {**FILES, **files}), ["inline_css"])
        assert "<link rel=stylesheet href=theme.css>" in html_of(made)


@pytest.mark.parametrize("identifier", ["id=me", "id='me'"])
def test_an_id_that_a_script_names_keeps_its_element(identifier: str) -> None:
    source = f"<script src=a.js {identifier}></script><script src=b.js></script>"
    named, _ = optimise(
        page(f"{source}<script>var k = 'me'; f(d.getElementById(k).src)</script>", FILES),
        ["combine_javascript"],
    )
    assert html_of(named).startswith(source)
    joined, _ = optimise(page(source, FILES), ["combine_javascript"])
    assert html_of(joined).count("<script") == 1


def test_imports_stay_where_a_script_looks_into_style_sheets() -> None:
    files: dict[str, str | bytes] = {
        **FILES,
        "in.css": "@import 'b.css';",
        "z.js": "f(d.styleSheets[0].cssRules)",
    }
    made, report = optimise(page("<link rel=stylesheet href=in.css>", files), ["flatten_css_imports"])
    assert made.resources[START + "in.css"].body == b"@import 'b.css';"
    (note,) = report.steps[0].notes
    assert tells([note.reason], "script", "style sheets of the document")


def test_an_image_whose_handler_names_its_address_stays() -> None:
    source = '<img src=i.png onload="f(this.src)">'
    for name in ("inline_images", "shard"):
        made, report = optimise(page(source, FILES), [name])
        assert html_of(made) == source
        assert [note.reason for note in report.steps[0].notes] == ["the image asks for its own address"]


def test_without_the_guard_the_element_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cases above fail by this guard, and by no other."""
    monkeypatch.setattr("sites.optimise.document.unnoticed", lambda _page, _tokens, changes: (changes, []))
    for name, source, looking in LOOKED_FOR:
        assert applied(name, source + ("<p>x" if name == "defer_javascript" else ""), looking)[0] != source, (
            name
        )


@pytest.mark.parametrize(
    ("selector", "result"),
    [
        ("a:hover + b::before", "a + b"),
        (":hover", ""),
        ("*", ""),
        (":not(.a):not([b])", ""),
        ("p:not(:hover)", "p"),
        ("> a + :focus", "* > a + *"),
        ("& + &", "* + *"),
        ("img[src^='data:image']", "img[src^='data:image']"),
        ("li:first-child:eq(2)", "li:first-child"),
        (".a\\:b", ".a\\:b"),
    ],
)
def test_selectors_lose_what_no_tree_tells(selector: str, result: str) -> None:
    assert reduced(selector) == result


def test_a_page_beyond_measure_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "MAX_WORK", 1)
    made, reasons = applied("combine_css", LINKS, "p+p,p:first-child{a:b}")
    assert made == LINKS
    (reason,) = reasons
    assert tells([reason], "page", "too large or too deep")


@pytest.mark.thorough
def test_a_page_that_is_nested_too_deep_is_left_alone() -> None:
    """The parser takes the square of the depth: this one would take 20 s."""
    source = LINKS + "<div>" * 60_000
    started = time.process_time()
    made, reasons = applied("combine_css", source, "p+p{a:b}")
    assert made == source
    assert len(reasons) == 1
    assert time.process_time() - started < 10


def test_a_style_sheet_without_rules_takes_no_square_of_the_time() -> None:
    started = time.process_time()
    made, _ = optimise(page(LINKS, {**FILES, "z.css": "a" * 200_000}), ["combine_css"])
    assert html_of(made).count("<link") == 1
    assert time.process_time() - started < 5


@pytest.mark.thorough
def test_many_elements_that_are_looked_for_take_no_square_of_the_time() -> None:
    images = "".join(f"<img src=i.png?{number}>" for number in range(4_000))
    files: dict[str, str | bytes] = {f"i.png?{number}": FILES["i.png"] for number in range(4_000)}
    started = time.process_time()
    made, report = optimise(page(images, {**files, "z.css": "img[src*='i.png']{a:b}"}), ["inline_images"])
    assert made.resources[START].body.decode() == images
    assert len(report.steps[0].notes) == 4_000
    assert time.process_time() - started < 30
