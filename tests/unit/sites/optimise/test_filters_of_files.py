"""Style sheets and scripts: minified, combined, inlined, moved. URLs, order and meaning stay."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from dataclasses import replace

import pytest

from harness.model.protocol import Headers
from harness.model.variant import parse_variant
from sites.optimise import stylesheet
from sites.optimise.derive import optimise
from sites.optimise.page import Page, Resource
from sites.response import Response
from tests.facts import tells
from tests.unit.sites.optimise.pages import START, html_of, page, photo


def applied(name: str, made: Page) -> tuple[Page, str, list[str]]:
    result, report = optimise(made, [name])
    return result, html_of(result), [note.reason for note in report.steps[0].notes]


def css(href: str, rest: str = "") -> str:
    return f'<link rel="stylesheet" href="{href}"{rest}>'


def js(src: str, rest: str = "") -> str:
    return f'<script src="{src}"{rest}></script>'


def joint(made: Page) -> str:
    return next(each.body.decode() for url, each in made.resources.items() if "combined-" in url)


def test_broken_files_are_left_alone_and_noted() -> None:
    files = {"a.css": "a { b : c", "b.js": "if ( {", "c.css": "/* d */ e { f : g }", "d.js": "h ( 1 ) // i"}
    made, _, reasons = applied("rewrite_css", page("<p>", files))
    assert made.resources[START + "a.css"].body == files["a.css"].encode()
    assert made.resources[START + "c.css"].body == b"e{f:g}"
    (reason,) = reasons
    assert tells([reason], "style sheet", "cannot be minified")
    made, _, reasons = applied("rewrite_javascript", page("<p>", files))
    assert made.resources[START + "b.js"].body == files["b.js"].encode()
    assert made.resources[START + "d.js"].body == b"h(1)"
    (reason,) = reasons
    assert tells([reason], "script", "cannot be minified")


@pytest.mark.parametrize(
    "value",
    ["color:transparent", "flex:1 0 0%", "background:none", "font-family:'monospace'", "color:rgba(255,0,0,.5)",
     "width:calc(1px + 2px*(3 - 1))", "--a:1, 2", "transition:all 0ms", "content:' /* a */ '", "color:red!important",
     "background:url( 'data:image/png;base64,AA==' )", "grid-template-areas:'a  b' 'c  d'"],
)  # fmt: skip
def test_values_in_style_sheets_stay_as_they_were_written(value: str) -> None:
    made, _, _ = applied("rewrite_css", page("<p>", {"a.css": f"/* c */\n\n a > b , c {{ {value} ; }}\n"}))
    body = made.resources[START + "a.css"].body.decode()
    assert body.startswith("a>b,c{")
    assert re.sub(r"\s", "", value) in re.sub(r"\s", "", body)
    assert all(each in body for each in re.findall(r"'.*?'", value))


def test_only_scripts_are_minified_inline() -> None:
    data = '<script type="application/ld+json">{ "a" : 1 }</script><script type="text/template"><b>  x </b></script>'
    _, html, reasons = applied("rewrite_javascript", page(f"{data}<script>a ( '<\\/script>' )</script>"))
    assert html == f"{data}<script>a('<\\/script>')</script>"
    assert reasons == []


def test_ascii_scripts_stay_ascii() -> None:
    made, _, _ = applied("rewrite_javascript", page("<p>", {"a.js": r"x = '\u00e9\ud83d\ude00' ; "}))
    assert made.resources[START + "a.js"].body.isascii()


def test_style_sheets_are_combined_across_folders() -> None:
    files = {
        "x/a.css": '@charset "utf-8";a{b:url(i.png)}',
        "y/b.css": "c{d:url('../z/j.png?k#l') no-repeat,url(data:image/png;base64,AA==),url(#m)}",
    }
    made, html, _ = applied(
        "combine_css", page(f"<head>{css('x/a.css')}\n<!-- n --> {css('y/b.css')}</head>", files)
    )
    assert html.count("<link") == 1
    assert joint(made) == (
        'a{b:url(i.png)}\nc{d:url("/z/j.png?k#l") no-repeat,url(data:image/png;base64,AA==),url(#m)}'
    )
    assert next(url for url in made.resources if "combined" in url).startswith(START + "x/")


@pytest.mark.parametrize(
    "between",
    [
        "<script>1</script>",
        "<style>x{}</style>",
        "<!--[if IE]><link><![endif]-->",
        "text",
        css("c.css", ' media="print"'),
        css("http://other.example/d.css"),
        css("e.css", ' title="x"'),
    ],
)
def test_what_stands_between_keeps_style_sheets_apart(between: str) -> None:
    files = {f"{name}.css": "a{b:c}" for name in "abce"} | {"http://other.example/d.css": "a{b:c}"}
    _, html, _ = applied("combine_css", page(css("a.css") + between + css("b.css"), files))
    assert 'href="a.css"' in html
    assert 'href="b.css"' in html


def test_a_style_sheet_that_imports_or_is_broken_is_not_appended() -> None:
    files = {"a.css": "a{b:c}", "b.css": "@import 'x.css';", "c.css": "d{", "e.css": "@namespace x url(y);"}
    source = "".join(css(name) for name in files)
    _, html, reasons = applied("combine_css", page(source, files))
    assert html == source
    assert len(reasons) == 3


def test_scripts_are_combined_in_order() -> None:
    files = {"a.js": "var a=1 // no line break", "b.js": "(function(){})()", "c.js": "let d"}
    made, html, _ = applied("combine_javascript", page(js("a.js") + " " + js("b.js") + js("c.js"), files))
    assert html.count("<script") == 1
    assert joint(made) == "var a=1 // no line break\n;\n(function(){})()\n;\nlet d"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("'use strict';x()", "strict"),
        ("document.currentScript.src", "looks for script"),
        ("import('./m.js')", "imports modules"),
        ("let a", "declare the same name"),
        ("if(", "rejects"),
        ("x('" + "y" * 92_200 + "')", "larger than"),
    ],
)
def test_scripts_that_must_stand_alone(script: str, reason: str) -> None:
    source = js("a.js") + js("b.js")
    _, html, reasons = applied("combine_javascript", page(source, {"a.js": "let a", "b.js": script}))
    assert html == source
    assert any(reason in each for each in reasons)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("function init(){a()} init();", "function init(){b()} init();"),
        ("if(!window.track){track=a}", "function track(){}"),
        ("window['$x']=a", "async function $x(){}"),
        ("x=a", "y();function*x(){}"),
        ("if(typeof Menu==='undefined')a()", "class Menu{}"),
        ("options={a:1}", "let options"),
        ("a(typeof b)", "const {a:b}=c"),
    ],
)
def test_what_a_script_declares_is_not_there_before_it(first: str, second: str) -> None:
    source = js("a.js") + js("b.js")
    _, html, reasons = applied("combine_javascript", page(source, {"a.js": first, "b.js": second}))
    assert html == source
    (reason,) = reasons
    assert tells([reason], "declares a name", "before")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("function init(){}", "init()"),
        ("init2();$init()", "function init(){}"),
        ("init()", "(function(){function init(){}})()"),
        ("Menu2()", "class Menu{}"),
        ("use(options)", "{let options}"),
    ],
)
def test_names_that_nothing_before_them_uses_are_combined(first: str, second: str) -> None:
    files = {"a.js": first, "b.js": second}
    made, _, _ = applied("combine_javascript", page(js("a.js") + js("b.js"), files))
    assert joint(made) == f"{first}\n;\n{second}"


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (" crossorigin", ' crossorigin="Anonymous" integrity="sha256-x"', " crossorigin"),
        (' fetchpriority="low"', ' fetchpriority="LOW"', ' fetchpriority="low"'),
        ("", ' fetchpriority="auto" referrerpolicy="origin"', ""),
        (" crossorigin", "", None),
        (' crossorigin="use-credentials"', " crossorigin", None),
        ("", ' fetchpriority="high"', None),
    ],
)
def test_files_are_joined_that_are_fetched_alike_and_so_is_the_joint_one(
    first: str, second: str, kept: str | None
) -> None:
    there = "http://cdn.example/"
    bodies = {"css": "a{b:c}", "js": "a()"}
    files = {f"{there}{name}.{kind}": body for kind, body in bodies.items() for name in "ab"}
    for element, kind, name in ((css, "css", "combine_css"), (js, "js", "combine_javascript")):
        source = element(f"{there}a.{kind}", first) + element(f"{there}b.{kind}", second)
        made, html, _ = applied(name, page(source, files))
        new = [url for url in made.resources if "combined-" in url]
        assert html == (source if kept is None else element(new[0], kept))


@pytest.mark.parametrize("name", ["a.js", "sent-as.txt"])
def test_an_element_stays_that_a_script_names(name: str) -> None:
    source = css("a.css", ' id="theme"') + css("b.css")
    files = {"a.css": "a{b:c}", "b.css": "d{e:f}"}
    assert applied("combine_css", page(source, files))[1] != source
    for filter_name in ("combine_css", "inline_css"):
        _, html, reasons = applied(filter_name, page(source, {**files, name: "f('theme')"}))
        assert css("a.css", ' id="theme"') in html
        assert tells(reasons, "by its id")


@pytest.mark.parametrize("attributes", [" async", ' type="module"', " nomodule", " onload=x()", " defer"])
def test_scripts_of_another_kind_are_not_combined(attributes: str) -> None:
    source = js("a.js") + js("b.js", attributes)
    assert applied("combine_javascript", page(source, {"a.js": "a()", "b.js": "b()"}))[1] == source


def test_small_style_sheets_move_into_the_document_with_their_urls() -> None:
    files = {"x/a.css": "a{b:url(i.png)}", "big.css": "a{b:c}" * 400, "evil.css": "a{b:'</style>'}"}
    source = css("x/a.css", ' media="print" integrity="x"') + css("big.css") + css("evil.css")
    _, html, reasons = applied("inline_css", page(f'<base href="http://cdn.example/">{source}', files))
    assert html == f'<base href="http://cdn.example/">{source}'  # nothing there under this base
    _, html, reasons = applied("inline_css", page(source, files))
    assert html.startswith('<style media="print">a{b:url(/x/i.png)}</style>' + css("big.css"))
    large, closing = reasons
    assert tells([large], "larger than 2,048 bytes", "inline_css.max_bytes")
    assert tells([closing], "style sheet", "cannot stand in the document")


def test_small_scripts_move_into_the_document() -> None:
    files = {"a.js": "a()", "b.js": "x='</script>'", "c.js": "document.currentScript", "d.js": "d()"}
    files["e.js"] = "import('./m.js')"
    source = "".join(js(name) for name in ("a.js", "b.js", "c.js", "e.js")) + js("d.js", " async")
    _, html, reasons = applied("inline_javascript", page(source, files))
    assert html == source.replace(' src="a.js"></script>', ">a()</script>")
    assert len(reasons) == 3


def test_a_script_that_does_not_fit_the_encoding_stays_outside() -> None:
    source = "<meta charset=iso-8859-2>" + js("a.js")
    made = page(source, {"a.js": "\ufeffx='\u65e5'"})
    assert applied("inline_javascript", made)[1] == source


@pytest.mark.parametrize("label", ["UTF-8", " utf8 "])
def test_an_element_may_name_the_encoding_of_its_file(label: str) -> None:
    head = '<meta charset="iso-8859-1">'
    said = f' charset="{label}"'
    files = {"a.js": "a('\u00e9')", "b.js": "b()", "a.css": "a{content:'\u00e9'}", "b.css": "b{c:d}"}
    links, scripts = css("a.css", said) + css("b.css"), js("a.js", said) + js("b.js")
    for name, source in (("combine_css", links), ("combine_javascript", scripts)):
        made, html, _ = applied(name, page(head + source, files))
        assert "charset" not in html.removeprefix(head)
        assert "\u00e9" in joint(made)
        assert [
            each.header("Content-Type") for url, each in made.resources.items() if "combined-" in url
        ] == ["text/css; charset=utf-8" if name == "combine_css" else "text/javascript; charset=utf-8"]
    for name, source in (("inline_css", links), ("inline_javascript", scripts)):
        made, html, _ = applied(name, page(head + source, files))
        assert b"'\xe9'" in made.resources[START].body
        assert "charset" not in html.removeprefix(head)


@pytest.mark.parametrize("said", ["", ' charset="no-such-thing"'])
def test_a_file_is_else_in_the_encoding_of_its_document(said: str) -> None:
    source = f'<meta charset="iso-8859-1">{js("a.js", said)}'
    made, _, _ = applied("inline_javascript", page(source, {"a.js": b"a('\xe9')"}))
    assert b"'\xe9'" in made.resources[START].body
    made, _, _ = applied(
        "combine_javascript", page(source + js("b.js"), {"a.js": b"a('\xe9')", "b.js": "b()"})
    )
    assert joint(made).startswith("a('\u00e9')")


SVG = "<svg xmlns='http://www.w3.org/2000/svg'><text>{}</text></svg>"


@pytest.mark.parametrize(
    ("body", "parameter", "stays"),
    [
        (SVG.format("\u00e9").encode("latin-1"), "; charset=iso-8859-1", True),
        (SVG.format("\u00e9").encode(), "; charset=iso-8859-1", True),
        (SVG.format("e").encode(), "; charset=iso-8859-1", False),
        (SVG.format("\u00e9").encode(), "", False),
        (SVG.format("\u00e9").encode(), "; charset=utf-8", False),
        (SVG.format("\u00e9").encode("utf-16"), "; charset=iso-8859-1", False),
        (
            b"<?xml version='1.0' encoding='iso-8859-1'?>" + SVG.format("\u00e9").encode("latin-1"),
            "; charset=iso-8859-1",
            False,
        ),
    ],
)
def test_an_svg_file_that_its_header_explains_stays_outside(
    body: bytes, parameter: str, *, stays: bool
) -> None:
    source = '<img src="a.svg">'
    image = Response(START + "a.svg", 200, (("Content-Type", f"image/svg+xml{parameter}"),), body)
    _, html, reasons = applied("inline_images", page(source).with_resources([Resource.of(image)]))
    assert (html == source) == stays
    assert [tells([reason], "header", "encoding") for reason in reasons] == [True] * stays


def test_images_become_data_urls_once() -> None:
    small = photo("PNG", (8, 8))
    source = '<img src="a.png"><img src="b.png"><img src="b.png"><img src="c.png" srcset="d.png 2x"><img src="x.png">'
    _, html, reasons = applied(
        "inline_images", page(source, dict.fromkeys(("a.png", "b.png", "c.png"), small))
    )
    assert html == source.replace("a.png", "data:image/png;base64," + base64.b64encode(small).decode())
    assert len(reasons) == 3


def test_an_image_that_a_picture_may_show_is_not_inlined() -> None:
    choice = '<picture><source type="image/webp" srcset="a.webp"><img src="a.png"></picture>'
    source = f'{choice}<picture></picture><img src="b.png">'
    small = photo("PNG", (8, 8))
    _, html, reasons = applied("inline_images", page(source, {"a.png": small, "b.png": small}))
    assert html == source.replace("b.png", "data:image/png;base64," + base64.b64encode(small).decode())
    (reason,) = reasons
    assert tells([reason], "chooses among several")


def test_imports_are_flattened_with_urls_and_media() -> None:
    files = {
        "a.css": "@charset 'x';@import url(sub/b.css) screen and (min-width:1px);@import 'c.css';z{y:x}",
        "sub/b.css": "@import url('../c.css');b{c:url(d.png)}",
        "c.css": "c{d:e}",
        "e.css": "@import 'gone.css';@import 'c.css';",
        "f.css": "@import 'f.css';",
        "g.css": "@import 'c.css' layer(x);",
    }
    made, _, reasons = applied("flatten_css_imports", page("<p>", files))
    assert made.resources[START + "a.css"].body.decode() == (
        "@media screen and (min-width:1px){c{d:e}\nb{c:url(/sub/d.png)}}\nc{d:e}\nz{y:x}"
    )
    assert len(reasons) == 3
    assert tells(reasons, "a condition other than media", "behind a rule", "cannot be read")
    assert tells(reasons, "nested too deeply")
    assert tells(reasons, "imports", "not in the archive")


@pytest.mark.parametrize(
    ("sheet", "imported"),
    [
        ("@import 'b.css';@new x;@import 'c.css';z{y:x}", ""),
        ("@import 'b.css';@new{}@import 'c.css';", ""),
        ("@layer l;@import 'b.css';", ""),
        ("@import 'b.css';x{y:z}@import 'c.css';", ""),
        ("@import 'b.css';", "@new;@import 'c.css';"),
        ("@import 'b.css';", "x{y:z}@import 'c.css';"),
        ("@import 'b.css';", "x{y:z}@\\69mport 'c.css';"),
        ("@import 'b.css' scope((a) to (b));", ""),
        ("@import 'b.css' layer;", ""),
        ("@import 'b.css' supports(display:grid) print;", ""),
        ("@import 'b.css' {a{b:c}}", ""),
        ("@import 'b.css';x{y:z}", "a{b:c}@layer l"),
        ("@import 'b.css';x{y:z}", "a{b:c};"),
        ("@import 'b.css';@namespace s url(http://www.w3.org/2000/svg);s|a{y:z}", "a{b:c}"),
    ],
)
def test_imports_that_another_order_would_revive_stay(sheet: str, imported: str) -> None:
    files = {"a.css": sheet, "b.css": imported, "c.css": "c{d:e}"}
    made, _, reasons = applied("flatten_css_imports", page("<p>", files))
    assert made.resources[START + "a.css"].body == sheet.encode()
    assert reasons


def test_a_sheet_that_ends_within_a_rule_swallows_nothing() -> None:
    for first in (
        "a{b:c}d",
        "@import 'x.css'",
        "a{b:c}@layer l",
        "a{b:c}\\",
        "a{b:c};",
        "@layer l;; /* m */",
    ):
        source = css("a.css") + css("b.css")
        _, html, reasons = applied("combine_css", page(source, {"a.css": first, "b.css": "e{f:g}"}))
        assert html == source
        assert tells(reasons, "style sheet", "not well formed")


@pytest.mark.parametrize(
    "first", ["@layer l; ", "a{b:c};d{e:f}", "<!-- a{b:c;} --> /* d */", "@media x{a{b:c};}"]
)
def test_a_sheet_that_ends_with_a_rule_is_joined(first: str) -> None:
    files = {"a.css": first, "b.css": "g{h:i}"}
    made, _, _ = applied("combine_css", page(css("a.css") + css("b.css"), files))
    assert joint(made) == f"{first}\ng{{h:i}}"


LENDING = {
    "a url": ":root{--i:url(p.png)}",
    "a quoted url": ":root{color:red;--i : no-repeat url( 'p.png' )}",
    "an image set": ".b{--i:image-set('p.png' 1x)}",
    "a default": "@property --i{syntax:'*';inherits:true;initial-value:url(p.png)}",
    "an escape": r":root{--i:url(\70.png)}",
}
USING = {
    "var": ".a{background:var(--i)}",
    "a default of var": ".a{background:var(--j,var(--i))}",
    "a function": ".a{background:--i()}",
}


@pytest.mark.parametrize("filter_name", ["combine_css", "inline_css", "flatten_css_imports"])
@pytest.mark.parametrize("lending", list(LENDING))
def test_sheets_that_lend_or_borrow_a_url_keep_their_base(filter_name: str, lending: str) -> None:
    for using in USING.values():
        files = {
            "x/lend.css": LENDING[lending],
            "y/use.css": using,
            "z/a.css": "@import '../x/lend.css';",
            "z/b.css": "@import '../y/use.css';",
        }
        source = "".join(css(name) for name in files)
        made, html, reasons = applied(filter_name, page(source, files))
        assert [made.resources[START + each].body.decode() for each in files] == list(files.values())
        assert css("x/lend.css") + css("y/use.css") in html
        assert sum("custom property" in each for each in reasons) == (
            1 if filter_name == "combine_css" else 2
        )


def test_only_urls_that_follow_their_sheet_hold_it_back() -> None:
    files = {
        "x/a.css": ":root{--i:url(data:image/png;base64,AA==);--j:url(#p);--k:url(http://one.example/p.png)}",
        "y/b.css": ".a{background:var(--i);border-image:url(p.png)}",
    }
    made, html, _ = applied("combine_css", page(css("x/a.css") + css("y/b.css"), files))
    assert html.count("<link") == 1
    assert joint(made).endswith("border-image:url(/y/p.png)}")
    for lender in ("<p style='--i:url(p.png)'>", "<script>e.style.setProperty('--i','url(p.png)')</script>"):
        source = css("x/a.css") + css("y/b.css") + lender
        _, html, reasons = applied("combine_css", page(source, files))
        assert (html, len(reasons)) == (source, 1)


def test_a_line_of_many_dashes_takes_no_square_of_the_time() -> None:
    started = time.process_time()
    stylesheet.refuse_lent_urls("-" * 200_000, lent=True)
    assert time.process_time() - started < 5


def test_imports_that_multiply_end_at_the_limit() -> None:
    """Ten sheets of ten imports each, of the next one, would be 10^9 rules."""
    files = {f"s{n}.css": f'@import "s{n + 1}.css";\n' * 10 for n in range(9)} | {"s9.css": "a{b:c}"}
    made, _, reasons = applied("flatten_css_imports", page("<p>", files))
    first = next(each for url, each in made.resources.items() if url.endswith("/s0.css"))
    assert first.body == files["s0.css"].encode()
    assert any("larger than" in reason for reason in reasons)


def test_a_flattened_sheet_keeps_its_encoding() -> None:
    sheet = '@charset "iso-8859-2";@import "b.css";a{content:"\u0159"}'.encode("iso-8859-2")
    made, _, _ = applied("flatten_css_imports", page("<p>", {"a.css": sheet, "b.css": "c{d:e}"}))
    found = made.resources[START + "a.css"]
    assert found.body.decode("iso-8859-2") == 'c{d:e}\na{content:"\u0159"}'
    assert found.header("Content-Type") == "text/css; charset=iso-8859-2"


def test_sheets_that_name_no_encoding_are_flattened_in_that_of_the_document() -> None:
    files: dict[str, str | bytes] = {
        "a.css": b'@import "b.css";a{content:"\xe9"}',
        "b.css": b'b{content:"\xc3\xa9"}',
        "c.css": '@import "d.css";',
        "d.css": b'd{content:"\xe9"}',
    }
    made, _, _ = applied("flatten_css_imports", page("<meta charset=iso-8859-1>", files))
    sheets = [made.resources[START + name] for name in ("a.css", "c.css")]
    assert [sheet.body for sheet in sheets] == [
        b'b{content:"\xc3\xa9"}\na{content:"\xe9"}',
        b'd{content:"\xe9"}\n',
    ]
    assert {sheet.header("Content-Type") for sheet in sheets} == {"text/css; charset=windows-1252"}
    made, _, reasons = applied("flatten_css_imports", page("<meta charset=utf-8>", files))
    assert [made.resources[START + name].body.decode("latin-1") for name in files] == [
        content if isinstance(content, str) else content.decode("latin-1") for content in files.values()
    ]
    assert len(reasons) == 2
    assert all(tells([reason], "encoding") for reason in reasons)


def test_a_style_that_only_imports_becomes_links() -> None:
    source = (
        '<style media="print">@import "a.css"; @import url(b.css);</style><style>@import "a.css";x{}</style>'
    )
    _, html, _ = applied("inline_import_to_link", page(source))
    assert html == (
        '<link rel="stylesheet" href="a.css" media="print"><link rel="stylesheet" href="b.css" media="print">'
        '<style>@import "a.css";x{}</style>'
    )


def test_style_sheets_of_the_body_move_to_the_head() -> None:
    rest = (
        f"<noscript>{css('n.css')}</noscript><template>{css('t.css')}</template><svg><style>s</style></svg>"
    )
    source = f"<head><title>x</title></head><body>{css('a.css')}<style>b{{}}</style><p>{rest}"
    _, html, _ = applied("move_css_to_head", page(source))
    assert html == f"<head><title>x</title>{css('a.css')}<style>b{{}}</style></head><body><p>{rest}"


def test_integrity_follows_what_is_changed() -> None:
    script = b"f ( 1 ) ;"
    digest = "sha384-" + base64.b64encode(hashlib.sha384(script).digest()).decode()
    made, html, _ = applied(
        "rewrite_javascript", page(js("a.js", f' integrity="{digest}"'), {"a.js": script})
    )
    body = made.resources[START + "a.js"].body
    assert body == b"f(1);"
    assert "sha384-" + base64.b64encode(hashlib.sha384(body).digest()).decode() in html


def digest_of(body: bytes) -> str:
    return "sha384-" + base64.b64encode(hashlib.sha384(body).digest()).decode()


def test_integrity_follows_in_headers_import_maps_json_and_of_json() -> None:
    script, module = b"f ( 1 ) ;", b"export default 1 ;"
    boot = json.dumps({"resources": {"a.js": digest_of(script)}}).encode()
    source = (
        f'<script type="importmap">{{"integrity": {{"/m.js": "{digest_of(module)}"}}}}</script>'
        f"<script>fetch('/boot.json', {{integrity: '{digest_of(boot)}'}})</script>"
    )
    start = Response(
        START,
        200,
        (
            ("Content-Type", "text/html"),
            ("Link", f'</a.js>; rel=preload; as=script; integrity="{digest_of(script)}"'),
        ),
        source.encode(),
    )
    data = Response(f"{START}boot.json", 200, (("Content-Type", "application/json"),), boot)
    made = page("", {"a.js": script, "m.js": module}).with_resources(map(Resource.of, (start, data)))
    result, html, _ = applied("rewrite_javascript", made)
    bodies = {name: result.resources[START + name].body for name in ("a.js", "m.js", "boot.json")}
    assert (bodies["a.js"], bodies["m.js"]) == (b"f(1);", b"export default 1;")
    assert json.loads(bodies["boot.json"]) == {"resources": {"a.js": digest_of(bodies["a.js"])}}
    assert digest_of(bodies["a.js"]) in (result.resources[START].header("Link") or "")
    assert digest_of(bodies["m.js"]) in html
    assert digest_of(bodies["boot.json"]) in html


def test_integrity_follows_through_a_script_that_is_changed_itself() -> None:
    inner = b"f ( 1 ) ;"
    outer = f"load ( '/inner.js' , '{digest_of(inner)}' ) ;".encode()
    source = js("outer.js", f' integrity="{digest_of(outer)}"')
    made, html, _ = applied("rewrite_javascript", page(source, {"outer.js": outer, "inner.js": inner}))
    assert digest_of(b"f(1);") in made.resources[START + "outer.js"].body.decode()
    assert digest_of(made.resources[START + "outer.js"].body) in html


def test_all_scripts_of_a_document_are_deferred_or_none() -> None:
    source = js("c.js", " async") + js("a.js") + "<script>b()</script>"
    _, html, _ = applied("defer_javascript", page(source, {"a.js": "a()", "c.js": "c()"}))
    data = base64.b64encode(b"b()").decode()
    assert html == js("c.js", " async") + (
        '<script src="a.js" defer></script>'
        f'<script defer src="data:text/javascript;charset=utf-8;base64,{data}"></script>'
    )
    for script in ("document.write('x')", "document.scripts"):
        assert applied("defer_javascript", page(source, {"a.js": script}))[1] == source
    in_place = js("a.js") + "<script>import('./m.js')</script>"
    assert (
        applied("defer_javascript", page(in_place, {"a.js": "a()"}))[1] == in_place
    )  # a data URL has no folder
    in_file = applied("defer_javascript", page(js("a.js"), {"a.js": "import('./m.js')"}))[1]
    assert in_file == js("a.js", " defer")


OVERTAKING = "a script that is deferred stands before one that is not"


@pytest.mark.parametrize(
    "deferred",
    [js("d.js", " defer"), js("d.js", " type=module"), "<script type=module>d()</script>"],
)
def test_scripts_are_deferred_only_in_their_order(deferred: str) -> None:
    files = {"a.js": "a()", "d.js": "d()"}
    for script in (js("a.js"), "<script>a()</script>"):
        source = deferred + script
        assert applied("defer_javascript", page(source, files))[1:] == (source, [OVERTAKING])
    for source, result in (
        (js("a.js") + deferred, js("a.js", " defer") + deferred),
        (deferred + "<script> </script>", deferred + "<script> </script>"),
    ):
        assert applied("defer_javascript", page(source, files))[1:] == (result, [])


@pytest.mark.parametrize("other", [js("d.js", " async"), "<script type=module async>d()</script>"])
@pytest.mark.parametrize("first", [js("a.js"), "<script>a()</script>"])
def test_a_script_that_waits_for_no_other_finds_what_stands_before_it(first: str, other: str) -> None:
    source = first + other
    _, html, reasons = applied("defer_javascript", page(source, {"a.js": "a()", "d.js": "d()"}))
    assert html == source
    assert tells(reasons, "waits for no other", "behind one that would be deferred")


def test_what_runs_at_any_time_is_no_order() -> None:
    source = "<script async type=module>d()</script>" + js("d.js", " async") + js("a.js")
    _, html, _ = applied("defer_javascript", page(source, {"a.js": "a()", "d.js": "d()"}))
    assert html == source.replace(js("a.js"), js("a.js", " defer"))


@pytest.mark.parametrize("attribute", ["defer", "async"])
def test_a_script_without_a_file_is_deferred_with_the_others(attribute: str) -> None:
    source = js("a.js") + f"<script {attribute}>b()</script>"
    _, html, _ = applied("defer_javascript", page(source, {"a.js": "a()"}))
    data = base64.b64encode(b"b()").decode()
    assert html == js("a.js", " defer") + (
        f'<script defer src="data:text/javascript;charset=utf-8;base64,{data}"></script>'
    )


SHOWN = "<script>function shown(image) {}</script>"


@pytest.mark.parametrize(
    ("behind", "left"),
    [
        ('<img src="p.png" onload="shown(this)">', True),
        ("<img src=p.png onerror='shown(this)'>", True),
        ("<video oncanplay='this.title = \"shown\"; shown(this)'></video>", True),
        ("<svg onload=shown(evt)></svg>", True),
        ("<link rel=preload as=style onload=\"this.onload=null;this.rel='stylesheet'\" href=a.css>", False),
        ("<body onload=shown()>", False),
        ("<img src=p.png onclick=shown(this)>", False),
        ("<script src=a.js onload=shown(this)></script>", False),
    ],
)
def test_an_event_handler_finds_the_scripts_before_it_run(behind: str, left: bool) -> None:
    for source, kept in ((SHOWN + behind, left), (behind + SHOWN, False)):
        _, html, reasons = applied("defer_javascript", page(source, {"a.js": "a()"}))
        assert (html == source) == kept
        assert tells(reasons, "event handler", "before the scripts") == kept


PRELOADS = {
    "an element": ("<link rel=preload href={}>", ""),
    "a module": ('<link rel="x ModulePreload" href={}>', ""),
    "a header": ("", "<other>; rel=preload, <{}>; as=x; rel=preload"),
    "a header in quotes": ("", '<{}>;media="a, b;c" ; rel = "next preload"'),
    "an element that asks later": ("<link rel=prefetch href={}>", "<{}>; rel=next, <other>; rel=preload"),
}


@pytest.mark.parametrize(
    "name", ["combine_css", "combine_javascript", "inline_css", "inline_javascript", "inline_images", "shard"]
)
@pytest.mark.parametrize("preload", list(PRELOADS))
def test_what_the_page_preloads_stays_the_file_it_asks_for(name: str, preload: str) -> None:
    files: dict[str, str | bytes] = {
        "a.css": "a{b:c}",
        "b.css": "d{e:f}",
        "a.js": "a()",
        "b.js": "b()",
        "a.png": photo("PNG", (8, 8)),
    }
    link, header = PRELOADS[preload]
    links = "".join(link.format(each) for each in files)
    source = f'{links}{css("a.css")}{css("b.css")}{js("a.js")}{js("b.js")}<img src="a.png">'
    made = page(source, files)
    start = made.resources[START]
    values = [("Link", header.format(each)) for each in files if header]
    start = replace(start, headers=(*start.headers, *values))
    _, html, reasons = applied(name, made.with_resources([start]))
    if preload == "an element that asks later":
        assert html != source
        assert reasons == []
    else:
        assert html == source
        assert set(reasons) == {"the page preloads it"}


JOINED = [
    "combine_css",
    "combine_javascript",
    "inline_css",
    "inline_javascript",
    "inline_images",
    "flatten_css_imports",
]
CHANGED = ["rewrite_css", "rewrite_javascript", "recompress_png", "collapse_whitespace"]
ALL_KINDS = css("b.css") + css("a.css") + js("a.js") + js("b.js") + '<img src="a.png">  <p>'


def sent_with(headers: Headers, document: Headers = ()) -> Page:
    """A page with something for each filter, whose files (and whose document) are sent with these headers."""
    files: dict[str, str | bytes] = {
        "a.css": "a { b : c }",
        "b.css": "@import 'a.css'; d { e : f }",
        "a.js": "a ( 1 )",
        "b.js": "b ( 2 )",
        "a.png": photo("PNG", (8, 8), compress_level=0),
    }
    made = page(ALL_KINDS, files)
    return made.with_resources(
        replace(each, headers=(*each.headers, *(document if url == START else headers)))
        for url, each in made.resources.items()
    )


def bodies(made: Page) -> dict[str, bytes]:
    return {url: each.body for url, each in made.resources.items()}


@pytest.mark.parametrize("name", JOINED + CHANGED)
@pytest.mark.parametrize(
    ("headers", "joined", "changed"),
    [
        ((("Cache-Control", "max-age=0, must-revalidate"),), True, True),
        ((("Cache-Control", "max-age=60, Private"),), False, True),
        ((("Cache-Control", "max-age=60"), ("cache-control", 'no-cache="Set-Cookie"')), False, True),
        ((("Cache-Control", "no-store"),), False, True),
        ((("Pragma", "no-cache"),), False, True),
        ((("Cache-Control", "public,no-transform"),), False, False),
    ],
)
def test_what_a_server_says_of_a_file_holds(name: str, headers: Headers, joined: bool, changed: bool) -> None:
    made = sent_with(headers, document=headers)
    result, _, reasons = applied(name, made)
    acts = joined if name in JOINED else changed
    assert (bodies(result) != bodies(made)) == acts
    assert tells(reasons, "its server") != acts


@pytest.mark.parametrize("name", JOINED)
def test_a_document_takes_up_files_whoever_it_is_for(name: str) -> None:
    made = sent_with((), document=(("Cache-Control", "private, no-store"),))
    assert bodies(applied(name, made)[0]) != bodies(made)


def test_hints_and_shards() -> None:
    source = css("a.css") + js("b.js") + js("c.js", " async") + '<img src="d.png">' * 5
    files: dict[str, str | bytes] = {"a.css": "a{}", "b.js": "b()", "c.js": "c()", "d.png": photo("PNG")}
    made, _, _ = applied("hint_preload_subresources", page(source, files))
    assert made.resources[START].header("Link") == (
        f"<{START}a.css>; rel=preload; as=style, <{START}b.js>; rel=preload; as=script"
    )
    _, html, _ = applied("lazyload_images", page(source, files))
    assert html.count("loading") == 2
    made, html, _ = applied("shard", page(source, files))
    shards = [url for url in made.resources if "shard" in url]
    assert len(shards) == 3
    assert all(f'src="{url}"' in html for url in shards)


def test_a_hint_says_what_its_element_says_and_where_the_file_is_in_the_end() -> None:
    source = (
        css("a.css", ' media="print"') + css("b.css", ' integrity="sha256-x"') + js("c.js", " crossorigin")
    )
    files: dict[str, str | bytes] = {"a.css": "a{}", "b.css": "b{}", "c.js": "c()", "d.js": "d()"}
    made, _ = optimise(
        page(source + js("d.js"), files), parse_variant("shard,hint_preload_subresources").filters
    )
    moved = next(url for url in made.resources if "shard" in url)
    assert made.resources[START].header("Link") == (
        f'<{START}a.css>; rel=preload; as=style; media="print", <{START}c.js>; rel=preload; as=script; crossorigin, '
        f"<{moved}>; rel=preload; as=script"
    )


def test_a_charset_pushed_out_of_sight_moves_into_the_header() -> None:
    source = css("a.css") + "<meta charset=windows-1252><p>\u00e9"
    made, _, _ = applied("inline_css", page(source.encode("windows-1252"), {"a.css": "a{b:c}" * 300}))
    assert made.resources[START].header("Content-Type") == "text/html; charset=windows-1252"
