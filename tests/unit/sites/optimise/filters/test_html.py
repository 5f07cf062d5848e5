"""What is done to the HTML itself, and what must not be."""

from __future__ import annotations

import pytest

from harness.model.filtersettings import DEFAULTS
from sites.optimise.filters import html
from sites.optimise.page import Page
from sites.optimise.registry import Apply
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
        ("<p>a\u00a0\u00a0b", "<p>a\u00a0\u00a0b"),
        ('<p title="a  b">', '<p title="a  b">'),
    ],
)
def test_white_space_collapses_outside_of_what_is_preformatted(source: str, result: str) -> None:
    assert changed(html.collapse_whitespace, source) == result


def test_default_attributes_go_unless_a_selector_asks_for_them() -> None:
    source = '<script type="text/javascript">1</script><input type="text" checked="checked"><form method=get>'
    assert changed(html.elide_attributes, source) == "<script>1</script><input checked><form>"
    assert 'type="text"' in changed(html.elide_attributes, source, a_css="input[type=text]{a:b}")
    assert 'checked="checked"' in changed(html.elide_attributes, source, a_css="[checked=checked]{a:b}")


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
