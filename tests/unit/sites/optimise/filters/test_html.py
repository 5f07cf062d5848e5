"""What is done to the HTML itself, and what must not be: comments stay where somebody reads them."""

from __future__ import annotations

import pytest

from harness.model.filtersettings import DEFAULTS
from sites.optimise.filters import Apply, html
from sites.optimise.filters.html import reads_comments
from sites.optimise.page import Page
from tests.facts import tells
from tests.unit.sites.optimise.pages import html_of, page


def changed(apply: Apply, source: str, **files: str) -> str:
    made, _ = apply(page(source, {name.replace("_", "."): text for name, text in files.items()}), DEFAULTS)
    return html_of(made)


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("<p>a  b\n\n  c\td</p>", "<p>a b\nc d</p>"),
        ("<pre> a  b </pre>  <p>", "<pre> a  b </pre> <p>"),
        ("<textarea>  a\n\n</textarea>", "<textarea>  a\n\n</textarea>"),
        ("<script>  a  </script><style>  b  </style>", "<script>  a  </script><style>  b  </style>"),
        ("<meta charset=utf-8><p>a\u00a0\u00a0b  c", "<meta charset=utf-8><p>a\u00a0\u00a0b c"),
        ('<p title="a  b">', '<p title="a  b">'),
        (
            "<svg><text>a  b</text><script>'a  b'</script></svg>  <p>",
            "<svg><text>a  b</text><script>'a  b'</script></svg> <p>",
        ),
    ],
)
def test_white_space_collapses_outside_of_what_is_preformatted(source: str, result: str) -> None:
    assert changed(html.collapse_whitespace, source) == result


def test_default_attributes_go_unless_a_selector_asks_for_them() -> None:
    source = '<script type="text/javascript">1</script><input type="text" checked="checked"><form method=get>'
    assert changed(html.elide_attributes, source) == "<script>1</script><input checked><form>"
    assert 'type="text"' in changed(html.elide_attributes, source, a_css="input[type=text]{a:b}")
    for rule in ("[checked=checked]{a:b}", "[checked*=check]{a:b}", '[checked ~= "checked"]{a:b}'):
        assert 'checked="checked"' in changed(html.elide_attributes, source, a_css=rule)


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ('<input checked="checked"name="q">', '<input checked="checked"name="q">'),
        ('<input checked="checked"/>', "<input checked/>"),
        ('<input type="text"name="q">', '<input name="q">'),
        ('<input name=q type="text"/>', "<input name=q />"),
    ],
)
def test_attributes_stay_apart(source: str, result: str) -> None:
    assert changed(html.elide_attributes, source) == result


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ('<script type="text/javascript" language="JavaScript1.8">', None),
        ('<script type="text/javascript" language="text/javascript">', None),
        ('<script type="text/javascript" language="JavaScript">', "<script>"),
        ('<a target="_self">', "<a>"),
        ('<base target="_blank"><a target="_self">', None),
        ('<a target="_self"><base href="x" target>', None),
        ('<base href="x"><a target="_self">', '<base href="x"><a>'),
    ],
)
def test_attributes_stay_where_another_would_count_in_their_place(source: str, result: str | None) -> None:
    assert changed(html.elide_attributes, source) == (source if result is None else result)


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("//input[@type='text']", "type"),
        ("//input[ @checked and not( @type )]", "type checked"),
        ("//input/attribute::type", "type"),
        ("@checked", "checked"),
        ("//input[@id='type']", ""),
        ("//@typeface", ""),
    ],
)
def test_attributes_that_a_path_asks_for_stay(path: str, asked: str) -> None:
    script = f'/** @type {{x}}\n * @checked */ document.evaluate("{path}", document, null, 9, null)'
    result = changed(html.elide_attributes, '<input type="text" checked="checked">', a_js=script)
    kept = {"type": 'type="text"', "checked": 'checked="checked"'}
    assert {name for name, attribute in kept.items() if attribute in result} == set(asked.split())


def test_a_path_in_an_event_handler_counts() -> None:
    source = """<p onclick="find('//input[@type]')"><input type="text">"""
    assert changed(html.elide_attributes, source) == source


@pytest.mark.parametrize(
    "read", ["e.getAttribute('type')", "e.hasAttribute('checked')", "$(e).attr('method')"]
)
def test_attributes_that_a_script_reads_stay(read: str) -> None:
    source = '<input type="text" checked="checked"><form method=get>'
    kept = {"type": 'type="text"', "checked": 'checked="checked"', "method": "method=get"}
    result = changed(html.elide_attributes, source, a_js=read)
    assert [attribute in result for attribute in kept.values()] == [name in read for name in kept]


def test_what_only_looks_like_a_boolean_attribute_keeps_its_value() -> None:
    source = '<marquee loop="3"></marquee><p hidden="until-found"></p><x-y open="soft" checked="no"></x-y>'
    assert changed(html.elide_attributes, source) == source


def test_types_that_are_no_default_stay() -> None:
    source = '<script type="application/json">{}</script><script type="module">1</script><svg><style type="text/css">'
    assert changed(html.elide_attributes, source) == source


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("<a href=\"/x\" id='b'>", "<a href=/x id=b>"),
        ('<a title="a b" alt="" x="a=b" y="`">', '<a title="a b" alt="" x="a=b" y="`">'),
        ('<a href="x"/>', '<a href="x"/>'),
        ('<a href="x" />', "<a href=x />"),
        ('<a href="x"id="y">', '<a href="x"id=y>'),
        ('<a href="?a=1&amp;b">', '<a href="?a=1&amp;b">'),
    ],
)
def test_quotes_go_where_the_value_needs_none(source: str, result: str) -> None:
    assert changed(html.remove_quotes, source) == result


def test_a_document_keeps_its_encoding() -> None:
    head = "<meta charset=windows-1251>"
    body = f"{head}<p>при  вет".encode("windows-1251")
    made, _ = html.collapse_whitespace(page(body), DEFAULTS)
    assert html_of_bytes(made) == f"{head}<p>при вет".encode("windows-1251")


def test_a_document_that_names_its_encoding_late_goes_on_to() -> None:
    head = f"<title>{'x' * 2000}</title><meta charset=windows-1251>"
    body = f"{head}<p>при  вет".encode("windows-1251")
    made, notes = html.collapse_whitespace(page(body), DEFAULTS)
    assert html_of_bytes(made) == f"{head}<p>при вет".encode("windows-1251")
    assert made.resources[made.start_url].header("Content-Type") == "text/html"
    assert notes == ()


def test_a_document_that_names_no_encoding_is_left_alone() -> None:
    for charset, text in (("windows-1251", "привет"), ("euc-kr", "안녕"), ("utf-8", "é")):
        before = page(f"<p>a  {text}".encode(charset))
        made, (note,) = html.collapse_whitespace(before, DEFAULTS)
        assert made == before
        assert "encoding" in note.reason


def test_a_document_in_no_clear_encoding_is_left_alone() -> None:
    body = b"<p>a  \xff\xfe\x81"
    made, notes = html.collapse_whitespace(page(body, kind="text/html; charset=shift_jis"), DEFAULTS)
    assert html_of_bytes(made) == body
    assert "encoding" in notes[0].reason


def test_stray_bytes_in_utf8_are_carried_through() -> None:
    made, notes = html.collapse_whitespace(
        page(b"<p>a  \xc3 \xc3\xa9", kind="text/html; charset=utf-8"), DEFAULTS
    )
    assert html_of_bytes(made) == b"<p>a \xc3 \xc3\xa9"
    assert notes == ()


def html_of_bytes(made: Page) -> bytes:
    return made.resources[made.start_url].body


READERS = [
    "if (n.nodeType === 8) f(n.nodeValue)",
    "8 == a.nodeType && b.push(a)",
    "n.nodeType === Node.COMMENT_NODE",
    "document.createTreeWalker(b, NodeFilter.SHOW_COMMENT)",
    "d.createTreeWalker(b, 128, null, false)",
    "d.createTreeWalker(b)",
    "document.createNodeIterator(b, what)",
    "if (n.nodeName == '#comment') f()",
    "$(e).contents().filter(function () { return this.length })",
    "for (i = 0; i < e.childNodes.length; i++) s += e.childNodes[i].nodeValue",
    "var n = e.firstChild; while (n) { s.push(n.data); n = n.nextSibling }",
    "e.childNodes[2].remove()",
    "e.innerHTML.match(/<!--(.*?)-->/)",
    "document.evaluate('//comment()', document, null, 9)",
]
OTHERS = [
    "document.createComment('x')",
    "if (e.nodeType === 3 || e.nodeType === 8) return",
    "3===a.nodeType||8===a.nodeType",
    "d.createTreeWalker(b, NodeFilter.SHOW_ELEMENT)",
    "d.createTreeWalker(b, 4)",
    "e.append('<!-- x --><p>')",
    "for (n = e.firstChild; n; n = n.nextSibling) if (n.nodeType == 1) f(n.data)",
    "<!--\nf()\n//-->",
]
MARKS = [
    "<p data-reactroot>",
    "<div data-v-app>",
    '<app-root ng-version="17.0.0">',
    '<p q:container="paused">',
    "<astro-island>",
    "<p data-hk=0>",
    "<div hx-get=/x>",
    "<div wire:id=a>",
    "<body data-turbo=false>",
    "<div id=__next>",
    "<span data-big-pipe-placeholder-id=x>",
    "<!--[-->",
    "<!--$-->",
    "<!---->",
    "<!--v-if-->",
    "<!-- ko if: a -->",
    "<!-- ngRepeat: a in b -->",
    '<!--Blazor:{"type":"server"}-->',
    "<!--qv q:key=x-->",
    "<!--frsh-A:0:0-->",
    "<!--M[1-->",
    '<!--#include file="a" -->',
    "<!--esi <p>x</p>-->",
    "<!--googleoff: all-->",
    "<!-- HTML_TAG_START -->",
]


@pytest.mark.parametrize("script", READERS)
def test_comments_stay_where_a_script_of_the_page_reads_some(script: str) -> None:
    assert reads_comments(script)
    for files, source in (
        ({"a.js": script}, "<p>a<!-- b -->c"),
        ({}, f"<p>a<!-- b -->c<script>{script}</script>"),
    ):
        made, notes = html.remove_comments(page(source, files), DEFAULTS)
        assert html_of(made) == source
        assert [note.reason for note in notes] == ["a script reads comments"]


@pytest.mark.parametrize("script", OTHERS)
def test_comments_go_where_scripts_read_none(script: str) -> None:
    source = f"<p>a<!-- b -->c<script>{script}</script>"
    made, notes = html.remove_comments(page(source), DEFAULTS)
    assert html_of(made) == source.replace("<!-- b -->", "")
    assert notes == ()


@pytest.mark.parametrize("mark", MARKS)
def test_comments_stay_in_a_document_that_a_framework_takes_over(mark: str) -> None:
    source = f"<p>a<!-- b -->c{mark}"
    made, notes = html.remove_comments(page(source), DEFAULTS)
    assert html_of(made) == source
    (note,) = notes
    assert tells([note.reason], "framework", "comments")


def test_conditional_comments_stay_and_are_no_marks() -> None:
    source = "<!--[if IE]>x<![endif]--><![if !IE]><!-- container --><script><!-- d --></script>"
    made, _ = html.remove_comments(page(f"{source}<!-- b -->"), DEFAULTS)
    assert html_of(made) == source.replace("<!-- container -->", "")


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("<pre><!-- a -->\nb</pre>", None),
        ("<LISTING><!-- a --><!-- b -->\r\nc", "<LISTING><!-- a -->\r\nc"),
        ("<pre><!-- a -->b\n<!-- c -->\n</pre><!-- d -->\n", "<pre>b\n\n</pre>\n"),
        ("<textarea><!-- a -->\nb</textarea>", None),  # which is text there
        ("<p>&am<!-- a -->p;", None),
        ("<p>&amp<!-- a -->;", None),
        ("<p>&<!-- a -->lt;", None),
        ("<p>&#<!-- a -->65;", None),
        ("<p>&#x<!-- a -->41;", None),
        ("<p><<!-- a -->b>", None),
        ("<p><<!-- a -->/p>", None),
        ("<p>a\r<!-- b -->\nc", None),
        ("<p>a & <!-- a -->b < <!-- c -->d&amp;<!-- e -->f\n<!-- g -->\nh", "<p>a & b < d&amp;f\n\nh"),
    ],
)
def test_a_comment_stays_that_keeps_texts_apart(source: str, result: str | None) -> None:
    assert changed(html.remove_comments, source) == (source if result is None else result)
