"""URLs are spelled as a browser would put them on the wire."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ArchiveError
from sites.urls import (
    ascii_host,
    canonical_url,
    fragment_of,
    is_local,
    is_own,
    loopback_address,
    parse_url,
    resolve,
)


@pytest.mark.parametrize(
    ("given_url", "canonical"),
    [
        ("HTTPS://Example.COM", "https://example.com/"),
        ("http://example.com:80/a", "http://example.com/a"),
        ("https://example.com:8443/a", "https://example.com:8443/a"),
        ("https://user:secret@example.com/", "https://example.com/"),
        ("https://example.com/a#part", "https://example.com/a"),
        ("https://example.com?q=1", "https://example.com/?q=1"),
        ("https://example.com/a%2Fb%2fc;d?x=%27'", "https://example.com/a%2Fb%2fc;d?x=%27%27"),
        ("https://example.com/a b{c}?d e{f}", "https://example.com/a%20b%7Bc%7D?d%20e{f}"),
        ("https://example.com/é?ü", "https://example.com/%C3%A9?%C3%BC"),
        ("https://müller.example/", "https://xn--mller-kva.example/"),
        ("https://under_score.example./", "https://under_score.example./"),
        ("https://[2001:DB8::1]/", "https://[2001:db8::1]/"),
        ("https://example.com/100%", "https://example.com/100%"),
        (" https:\\\\example.com\\a ", "https://example.com/a"),
    ],
)
def test_one_spelling_per_url(given_url: str, canonical: str) -> None:
    assert canonical_url(given_url) == canonical


@pytest.mark.parametrize(
    ("url", "fragment"),
    [
        ("https://a.example/#/reports/7?x#y", "#/reports/7?x#y"),
        ("https://a.example/?q#\x1b[1mé", "#%1B[1m%C3%A9"),
        ("https://a.example/#\ud800", "#%EF%BF%BD"),
        ("https://a.example/# ", ""),
        ("https://a.example/%23", ""),
        ("no URL#x", ""),
    ],
)
def test_what_stands_behind_a_hash(url: str, fragment: str) -> None:
    assert fragment_of(url) == fragment


def test_names_of_the_testbed() -> None:
    assert [
        is_own(host) for host in ("coldload.invalid", "www.coldload.invalid", "xcoldload.invalid", "invalid")
    ] == [True, True, False, False]


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "example.com",
        "ftp://example.com/",
        "https://exa mple.com/",
        "https://exa%20mple.com/",
        "https://a*b.example/",
        "https://a..b/",
        "https://h:0/",
        "https://h:65536/",
        "http://1.2.3.256/",
        "http://a\x00b.example/",
        "http://[::1%25eth0]/",
        "http://" + "a" * 64 + ".example/",
        "javascript:void(0)",
    ],
)
def test_what_is_no_absolute_web_address_is_refused(bad: str) -> None:
    with pytest.raises(ArchiveError):
        parse_url(bad)


# What `new URL(...).href` is in Chromium 156; of 1,300 addresses that were compared, those in which parsers differ.
@pytest.mark.parametrize(
    ("written", "chromium"),
    [
        ("http://faß.example/", "http://xn--fa-hia.example/"),
        ("http://βόλος.example/", "http://xn--nxasmm1c.example/"),
        ("http://क्\u200cष.example/", "http://xn--11b2ezcs70k.example/"),
        ("http://a\u00adb.example/", "http://ab.example/"),
        ("http://a。b.example/", "http://a.b.example/"),
        ("http://\uff27\uff2f.example/", "http://go.example/"),
        ("http://💩.example/", "http://xn--ls8h.example/"),
        ("http://XN--LS8H.example/", "http://xn--ls8h.example/"),
        ("http://a-.example/", "http://a-.example/"),
        ("http://-a.example/", "http://-a.example/"),
        ("http://r3---sn.example/", "http://r3---sn.example/"),
        ("http://a.example./x", "http://a.example./x"),
        ("http://a.example.:8080/x", "http://a.example.:8080/x"),
        ("http://%61%2Eexample/", "http://a.example/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://127.1:80/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://017700000001/", "http://127.0.0.1/"),
        ("http://127.0.0.1./", "http://127.0.0.1/"),
        ("http://\uff11\uff12\uff17.0.0.1/", "http://127.0.0.1/"),
        ("http://[::FFFF:1.2.3.4]/", "http://[::ffff:102:304]/"),
        ("http://[1:0:0:2:0:0:0:3]:8080/", "http://[1:0:0:2::3]:8080/"),
        ("http://a.example:00080/", "http://a.example/"),
        ("http://u@v:p@a.example/", "http://a.example/"),
        ("http:a.example/", "http://a.example/"),
        ("http:////a.example/x", "http://a.example/x"),
        ("http:/\\a.example", "http://a.example/"),
        ("ht\ntp://a.exa\tmple/a\r\nb", "http://a.example/ab"),
        ("\x01http://a.example/x\x1f", "http://a.example/x"),
        ("http://a.example/a/../b/./c", "http://a.example/b/c"),
        ("http://a.example/a/%2e%2E/.%2e/b/%2e", "http://a.example/b/"),
        ("http://a.example/a//..//b", "http://a.example/a//b"),
        ("http://a.example//a///b.png", "http://a.example//a///b.png"),
        ("http://a.example/a\\..\\b", "http://a.example/b"),
        ("http://a.example/..%2f..%5cx", "http://a.example/..%2f..%5cx"),
        ("http://a.example/a/..;/b", "http://a.example/a/..;/b"),
        ("http://a.example/a|b^c", "http://a.example/a%7Cb%5Ec"),
        ("http://a.example/?a|b^c\\d", "http://a.example/?a|b^c\\d"),
        ("http://a.example/'\"<>`{}[]~", "http://a.example/'%22%3C%3E%60%7B%7D[]~"),
        ("http://a.example/?'\"<>`{}[]~", "http://a.example/?%27%22%3C%3E`{}[]~"),
        ("http://a.example/a\x00b\x7f", "http://a.example/a%00b%7F"),
        ("http://a.example/\ud800?\udc00", "http://a.example/%EF%BF%BD?%EF%BF%BD"),
        ("http://a.example/%zz%7E?%zz", "http://a.example/%zz%7E?%zz"),
        ("http://a.example/a?#b", "http://a.example/a?"),
        ("http://a.example?b/../c", "http://a.example/?b/../c"),
    ],
)
def test_addresses_are_spelled_as_chromium_spells_them(written: str, chromium: str) -> None:
    assert canonical_url(written) == chromium
    assert canonical_url(chromium) == chromium


def test_a_name_that_ends_in_a_dot_is_sent_with_it_and_certified_without() -> None:
    url = parse_url("https://A.example.:8443/x")
    assert (url.host, url.authority, str(url)) == (
        "a.example",
        "a.example.:8443",
        "https://a.example.:8443/x",
    )
    assert ascii_host("a.example.") == "a.example"


def test_another_scheme_keeps_a_port_of_its_own() -> None:
    assert str(parse_url("https://a.example/x").under("http")) == "http://a.example/x"
    assert str(parse_url("http://a.example:8080/x").under("https")) == "https://a.example:8080/x"


def test_references_resolve_against_their_base() -> None:
    assert resolve("https://a.example/b/c", "../d?e") == "https://a.example/d?e"
    assert resolve("https://a.example/", "//B.example/x") == "https://b.example/x"
    assert resolve("https://a.example/b/", " ..\\c|d\n ") == "https://a.example/c%7Cd"
    assert resolve("https://a.example/b/c", "https:d") == "https://a.example/b/d"
    assert resolve("https://a.example/", "javascript:void(0)") is None
    assert resolve("no base", "/x") is None


def test_host_names_are_those_of_dns() -> None:
    assert ascii_host("WWW.Example.com") == "www.example.com"
    assert ascii_host("x" * 64 + ".example") is None
    assert ascii_host("a b") is None


@given(st.text(max_size=60))
def test_a_canonical_url_stays_as_it_is(tail: str) -> None:
    once = canonical_url(f"https://example.com/{tail}")
    assert canonical_url(once) == once
    assert once.isascii()
    assert " " not in once


@pytest.mark.parametrize(
    ("host", "local", "loopback"),
    [
        ("localhost", True, "127.0.0.1"),
        ("127.0.0.2", True, "127.0.0.2"),
        ("::1", True, "::1"),
        ("app.localhost", True, None),
        ("192.168.1.20", True, None),
        ("localhost.example", False, None),
        ("1.example", False, None),
    ],
)
def test_hosts_that_dns_is_not_asked_for(host: str, local: bool, loopback: str | None) -> None:
    assert (is_local(host), loopback_address(host)) == (local, loopback)
