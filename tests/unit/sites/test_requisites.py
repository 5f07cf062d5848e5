"""What a page needs, as its HTML and style sheets say, whatever character set they say they are in."""

from __future__ import annotations

import time

import pytest

from sites.htcache import url_key
from sites.requisites import missing
from sites.response import Response

PAGE, STYLE = "https://site.example/", "https://site.example/s.css"


@pytest.mark.parametrize(
    ("charset", "body"),
    [
        ("undefined", "é".encode()),  # codecs of Python, and no character sets
        ("idna", "é".encode()),
        ("punycode", "é".encode()),
        ("unicode_escape", b"\\x"),
        ("hex", b"xyz"),
        ("x-user-defined", "é".encode()),  # of browsers, not of Python
        ("none-such", "é".encode()),
        ("utf-16", "é".encode("utf-16le")),
        ("latin1", b"\x80\x81\xe9"),
    ],
)
def test_any_character_set_may_be_named(charset: str, body: bytes) -> None:
    wide = charset == "utf-16"
    link, rule = ('<link rel=stylesheet href="s.css">', "i { background: url(a.png) }")
    coding = "utf-16le" if wide else "ascii"
    answers = [
        Response(PAGE, 200, (("Content-Type", f"text/html; charset={charset}"),), body + link.encode(coding)),
        Response(STYLE, 200, (("Content-Type", f"text/css; charset={charset}"),), body + rule.encode(coding)),
    ]
    assert missing({url_key(answer.url): answer for answer in answers}, PAGE) == [
        "https://site.example/a.png"
    ]


@pytest.mark.parametrize(
    ("rules", "needed"),
    [
        ("i{background:url(a.png)}/* b */j{background:url('c.png')}", ["a.png", "c.png"]),
        ("i{background:url(a.png)}/* url(b.png)", ["a.png"]),
        ("/* " * 200_000, []),
        ("url(" * 200_000, []),
    ],
)
def test_a_style_sheet_is_read_once_whatever_is_not_closed(rules: str, needed: list[str]) -> None:
    html, css = (("Content-Type", "text/html"),), (("Content-Type", "text/css"),)
    answers = [
        Response(PAGE, 200, html, b'<link rel=stylesheet href="s.css">'),
        Response(STYLE, 200, css, rules.encode()),
    ]
    started = time.process_time()
    assert missing({url_key(answer.url): answer for answer in answers}, PAGE) == [
        PAGE + name for name in needed
    ]
    assert time.process_time() - started < 5
