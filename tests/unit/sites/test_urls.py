"""URLs are spelled as a browser would put them on the wire."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ArchiveError
from sites.urls import ascii_host, canonical_url, is_local, loopback_address, parse_url, resolve


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
        ("https://under_score.example./", "https://under_score.example/"),
        ("https://[2001:DB8::1]/", "https://[2001:db8::1]/"),
        ("https://example.com/100%", "https://example.com/100%"),
        (" https:\\\\example.com\\a ", "https://example.com/a"),
    ],
)
def test_one_spelling_per_url(given_url: str, canonical: str) -> None:
    assert canonical_url(given_url) == canonical


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "example.com",
        "ftp://example.com/",
        "https:///a",
        "https://exa mple.com/",
        "https://a..b/",
        "https://h:0/",
    ],
)
def test_what_is_no_absolute_web_address_is_refused(bad: str) -> None:
    with pytest.raises(ArchiveError):
        parse_url(bad)


def test_control_characters_are_refused_by_name() -> None:
    with pytest.raises(ArchiveError, match="control characters"):
        parse_url("https://example.com/a\x00b")


def test_another_scheme_keeps_a_port_of_its_own() -> None:
    assert str(parse_url("https://a.example/x").under("http")) == "http://a.example/x"
    assert str(parse_url("http://a.example:8080/x").under("https")) == "https://a.example:8080/x"


def test_references_resolve_against_their_base() -> None:
    assert resolve("https://a.example/b/c", "../d?e") == "https://a.example/d?e"
    assert resolve("https://a.example/", "//B.example/x") == "https://b.example/x"
    assert resolve("https://a.example/", "javascript:void(0)") is None


def test_host_names_are_those_of_dns() -> None:
    assert ascii_host("WWW.Example.com") == "www.example.com"
    assert ascii_host("x" * 64 + ".example") is None
    assert ascii_host("a b") is None


@given(st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=60))
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
