"""Where the name of the function stands in scripts that call what their address names."""

from __future__ import annotations

import gzip
import re

import pytest

from sites.jsonp import NAME, Callback, callback_of
from sites.served import ServedObject

SCRIPT = "application/javascript; charset=utf-8"


def served(query: str, body: bytes, mime: str = SCRIPT, status: int = 200, coding: str = "") -> ServedObject:
    headers = (("Content-Type", mime), *((("Content-Encoding", coding),) if coding else ()))
    return ServedObject("site.example", f"/x{query}", status, headers, lambda: body)


def calling(callback: Callback, name: bytes) -> bytes:
    """The body as a server sends it to a page that names another function."""
    return callback.marked.replace(callback.mark.encode(), name)


@pytest.mark.parametrize(
    ("query", "body", "renamed"),
    [
        ("?callback=f", b"f({})", b"new({})"),
        (
            "?callback=jsonp_70287273&u=1",
            b'jsonp_70287273({"a":"jsonp_70287273("});',
            b'new({"a":"jsonp_70287273("});',
        ),
        ("?fn=jQuery172_1700", b"/**/jQuery172_1700([1])", b"/**/new([1])"),  # a parameter of any name
        ("?cb=f", b"/**/ typeof f === 'function' && f({});", b"/**/ typeof new === 'function' && new({});"),
        ("?cb=f", b"// API callback\nf ( 1 );", b"// API callback\nnew ( 1 );"),
        ("?cb=f", b"try{window.f(1)}catch(e){}", b"try{window.new(1)}catch(e){}"),
        ("?cb=f", b"if (window.f) { f(1) }", b"if (window.new) { new(1) }"),
        ("?cb=f", b";f && f(1)", b";new && new(1)"),
        ("?cb=window.%24_I.__spool%5B0%5D.h", b"window.$_I.__spool[0].h({})", b"new({})"),
        ("?cb=angular.callbacks._0", b"\xef\xbb\xbfangular.callbacks._0([])", b"\xef\xbb\xbfnew([])"),
        ("?cb=f", b"f('\xe9\xff')", b"f('\xe9\xff')".replace(b"f(", b"new(", 1)),  # not UTF-8
    ],
)
def test_the_called_name_is_exchanged_where_the_body_begins(query: str, body: bytes, renamed: bytes) -> None:
    callback = callback_of(served(query, body))
    assert callback is not None
    assert calling(callback, b"new") == renamed


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("?callback=f", b'{"json": 1}'),
        ("?callback=f", b"var x = 1; f(x)"),  # a script like any other
        ("?callback=f", b"ff(1)"),
        ("?callback=f", b"f.g(1)"),
        ("?callback=alert(1)//", b"alert(1)//(1)"),
        ("?lang=en", b"function en(x) {}"),
        ("", b"f(1)"),
    ],
)
def test_other_scripts_are_left_alone(query: str, body: bytes) -> None:
    assert callback_of(served(query, body)) is None


def test_only_text_that_was_found_is_looked_at() -> None:
    assert callback_of(served("?callback=f", b"f(1)", "image/png")) is None
    assert callback_of(served("?callback=f", b"f(1)", status=404)) is None
    assert callback_of(served("?callback=f", b"f(1)", coding="gzip")) is None  # it is not


def test_a_compressed_body_is_decoded() -> None:
    callback = callback_of(served("?callback=f", gzip.compress(b"f(1)"), coding="gzip"))
    assert callback is not None
    assert (calling(callback, b"g"), callback.headers) == (b"g(1)", (("Content-Type", SCRIPT),))


@pytest.mark.parametrize(
    "name", ["alert(1)//", "", "a b", "1a", "a-b", "a;b", "a[b]", "a[0", "<script>", "a\nb", "é"]
)
def test_what_is_no_name_calls_nothing(name: str) -> None:
    assert re.match(NAME, name) is None


def test_a_long_beginning_without_a_call_takes_no_time() -> None:
    for body in (b"/*" * 100_000, b"(" * 100_000, b"f " * 100_000, b"/**/" * 100_000, b"typeof " * 100_000):
        assert callback_of(served("?callback=f", body)) is None
