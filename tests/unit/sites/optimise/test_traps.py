"""What has broken pages before: each trap goes through every filter, alone and with all others."""

from __future__ import annotations

import base64

import pytest

from harness.model.variant import FILTERS
from sites.optimise.derive import optimise
from sites.optimise.page import Page
from tests.facts import tells
from tests.unit.sites.optimise.pages import START, html_of, page, photo

SMALL = photo("PNG", (8, 8))
DATA = base64.b64encode(SMALL).decode()
FILES: dict[str, str | bytes] = {
    "a.css": "a { b : url(i.png) }",
    "b.css": "c { d : e }",
    "a.js": "var a = 1 ;",
    "b.js": "var b = 2 ;",
    "i.png": SMALL,
}


def applied(made: Page, *names: str) -> tuple[Page, list[str]]:
    result, report = optimise(made, names or tuple(FILTERS))
    return result, [note.reason for step in report.steps for note in step.notes]


# Each of these must come out of every filter as it went in.
UNTOUCHED = {
    "a conditional comment": '<!--[if lt IE 9]><script src="a.js"></script>  <![endif]-->',
    "a conditional comment that others see": "<!--[if !IE]><!--><b>x</b><!--<![endif]-->",
    "JSON": '<script type=application/json id=d>{ "a" :  "</b>" }</script>',
    "a template in a script": "<script type=text/x-handlebars><b>  {{ x }}  </b></script>",
    "a template": "<template><img src=i.png><script src=a.js></script><link rel=stylesheet href=a.css></template>",
    "what only browsers without scripts see": "<noscript><img src=i.png>  <style> a { } </style></noscript>",
    "SVG": '<svg viewBox="0 0 9 9"><style> a { b : c } </style><script> f ( 1 ) </script><image href="i.png"/></svg>',
    "a style for a script": '<style type=text/less>@import "a.css"; .a { .b ; }</style>',
    "a module": "<script type=module src=a.js></script>",
    "a text area": "<textarea>  <script src=a.js></script> </textarea>",
    "preformatted text": "<pre>a  <b>b</b>\n\n  c</pre>",
}


@pytest.mark.parametrize("trap", list(UNTOUCHED))
def test_what_nobody_may_touch_stays(trap: str) -> None:
    source = UNTOUCHED[trap]
    for names in ((), *((name,) for name in FILTERS)):
        made, _ = applied(page(f"<!doctype html><p>x {source} y", FILES), *names)
        assert source in html_of(made), names


BROKEN = (
    "<p <b>x</p",
    "<div><span></div><script>if (",
    "<style>a { b",
    '<img src="i.png <p class=x>',
    "<a href='x",
    "</html></body><link rel=stylesheet href=a.css>x",
    "<script src=a.js>",
    "<head><head><body><body><table><tr><form></table>",
    "\x00<p>\x00</p>",
    "<![CDATA[ <p> ]]><?php ?>",
    "",
)


@pytest.mark.parametrize("source", BROKEN)
def test_broken_html_is_survived(source: str) -> None:
    for text in (source, f"<!doctype html><p>a  b</p>{source}"):
        made, _ = applied(page(text, FILES))
        assert "<p>a b</p>" in html_of(made) or text == source


def test_a_base_moves_what_is_relative() -> None:
    files: dict[str, str | bytes] = {
        "x/a.css": "a{b:url(i.png)}",
        "x/a.js": "a()",
        "x/i.png": SMALL,
        "x/y/k.png": photo("PNG", (400, 300), compress_level=0),
    }
    source = (
        '<base href="/x/"><link rel=stylesheet href="a.css"><script src="a.js"></script><img src="i.png">'
        '<img src="y/k.png" width=40 height=30>'
    )
    made, _ = applied(
        page(source, files), "inline_css", "inline_javascript", "inline_images", "resize_images"
    )
    html = html_of(made)
    assert "<style>a{b:url(i.png)}</style>" in html  # under the same base, which is the document's, too
    assert "<script>a()</script>" in html
    assert f"data:image/png;base64,{DATA}" in html
    assert len(made.resources[START + "x/y/k.png"].body) < len(files["x/y/k.png"])


def test_a_choice_of_images_stays() -> None:
    choice = '<img src="i.png" srcset="i.png 1x, j.png 2x" width="4" height="4">'
    picture = f'<picture><source srcset="j.png" media="(min-width:9px)">{choice}</picture>'
    names = ("inline_images", "resize_images", "shard")
    made, reasons = applied(page(picture, {"i.png": SMALL, "j.png": SMALL}), *names)
    assert html_of(made) == picture
    assert made.resources[START + "i.png"].body == SMALL
    assert any("srcset" in each for each in reasons)


def test_a_part_of_an_svg_file_stays_that_part() -> None:
    made, _ = applied(page('<img src="i.png#part">', FILES), "inline_images")
    assert html_of(made) == f'<img src="data:image/png;base64,{DATA}#part">'
    made, _ = applied(page('<img src="i.png#part">', FILES), "shard")
    assert '.page.example/i.png#part">' in html_of(made)


def test_a_script_that_writes_into_the_document_is_the_last_of_a_file() -> None:
    writer = "document.write('<script src=c.js></scr' + 'ipt>')"
    source = '<script src="a.js"></script><script src="w.js"></script><script src="b.js"></script>'
    made, reasons = applied(page(source, {**FILES, "w.js": writer}), "combine_javascript")
    joint = next(each for url, each in made.resources.items() if "combined-" in url)
    assert joint.body.decode().endswith(writer)
    assert html_of(made).endswith('<script src="b.js"></script>')
    assert tells(reasons, "script that writes into the document", "last")
    inlined, _ = applied(page(source, {**FILES, "w.js": "document.write('x')"}), "inline_javascript")
    assert "<script>var a = 1 ;</script><script>document.write('x')</script>" in html_of(inlined)


def test_a_script_that_asks_for_its_element_stays_in_its_file() -> None:
    source = '<script src="a.js"></script><script src="w.js"></script>'
    files = {**FILES, "w.js": "var me = document . currentScript . src"}
    made, reasons = applied(
        page(source, files), "combine_javascript", "inline_javascript", "defer_javascript"
    )
    assert '<script src="w.js"></script>' in html_of(made)
    assert tells(reasons, "script", "looks for script elements")


@pytest.mark.thorough
def test_giant_data_urls_pass_through() -> None:
    giant = "data:image/png;base64," + "iVBORw0KGgo" * 40_000
    source = f'<style>a{{b:url({giant})}}</style><img src="{giant}" width="9" height="9"><script>x="{giant}"</script>'
    files = {"x/a.css": f"c{{d:url('{giant}')}}"}
    made, _ = applied(page(source, files), *(name for name in FILTERS if name != "defer_javascript"))
    assert html_of(made).count(giant) == 3
    assert giant in made.resources[START + "x/a.css"].body.decode()


def test_a_script_with_the_end_of_one_in_its_text_stays() -> None:
    source = "<script>x  =  '<!-- <script>  </script> -->'</script>"
    for name in FILTERS:
        if name != "defer_javascript":
            assert html_of(applied(page(source), name)[0]) == source


DEEP = "a{b:" + "(" * 1200 + "url(x)" + ")" * 1200 + "}"


@pytest.mark.parametrize(
    "names",
    [
        tuple(FILTERS),
        *((name,) for name in ("flatten_css_imports", "inline_import_to_link", "combine_css", "inline_css")),
    ],
)
def test_what_is_nested_beyond_measure_is_left_alone(names: tuple[str, ...]) -> None:
    files: dict[str, str | bytes] = {
        **FILES,
        "x/deep.css": DEEP,
        "over.css": "@import 'x/deep.css';",
        "under.css": f"@import 'a.css';{DEEP}",
        "deep.js": "x=" + "(" * 5000 + ")" * 5000,
    }
    links = "".join(f"<link rel=stylesheet href={each}>" for each in files if each.endswith(".css"))
    source = f"{links}<style>@import 'b.css';{DEEP}</style><script src=deep.js></script>" + "<div>" * 300
    made, _ = applied(page(source, files), *names)
    assert made.resources[START + "x/deep.css"].body.decode() == DEEP


@pytest.mark.parametrize("name", list(FILTERS))
def test_bytes_that_are_no_text_are_carried_through(name: str) -> None:
    stray = b"\xe9 \xff"
    files: dict[str, str | bytes] = {**FILES, "stray.css": b"a{content:'" + stray + b"'}"}
    files["stray.js"] = b"var c='" + stray + b"'"
    source = (
        b"<meta charset=utf-8><link rel=stylesheet href=stray.css><link rel=stylesheet href=b.css><p>" + stray
    )
    source += b"<script src=stray.js></script><script src=b.js></script><script>d('" + stray + b"')</script>"
    made, reasons = applied(page(source, files), name)
    assert stray in made.resources[START].body
    assert all(stray in made.resources[START + each].body for each in ("stray.css", "stray.js"))
    if name.startswith(("rewrite_", "combine_", "inline_css", "inline_java", "defer_")):
        assert tells(reasons, "encoding")


def test_json_that_is_sent_as_a_script_stays_json() -> None:
    data = '[ { "name" : "one" } ,\n { "name" : "two" } ]'
    made, reasons = applied(
        page("<p>", {"list.js": data, "code.js": "[ { name : 1 } ]"}), "rewrite_javascript"
    )
    assert made.resources[START + "list.js"].body.decode() == data
    assert made.resources[START + "code.js"].body == b"[{name:1}]"
    assert reasons == []
