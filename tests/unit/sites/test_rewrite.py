"""Links follow the scheme, namespaces do not, integrity follows the body; in time linear in its length."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable

import pytest

from harness.model.protocol import Headers
from sites.rewrite import (
    asks_for_https,
    drop_integrity,
    drop_link_integrity,
    drop_policies,
    exchange_scheme_names,
    follow_digests,
    integrity_digests,
    mentioned_hosts,
    names_digests,
    pin,
    rewrite_links,
    rewrite_target,
    rewrite_value,
)

HOSTS = ("site.example",)


@pytest.mark.parametrize(
    ("https", "http"),
    [
        (b'<a href="https://a.example/x">', b'<a href="http://a.example/x">'),
        (b"<img src=HTTPS://a.example/x>", b"<img src=http://a.example/x>"),
        (b"url(https://a.example/x.png)", b"url(http://a.example/x.png)"),
        (b'{"u":"https:\\/\\/a.example\\/x"}', b'{"u":"http:\\/\\/a.example\\/x"}'),
        (b'"\\nhttps:\\\\\\/\\\\\\/a.example"', b'"\\nhttp:\\\\\\/\\\\\\/a.example"'),
        (b'"https:\\u002F\\u002Fa.example"', b'"http:\\u002F\\u002Fa.example"'),
        (b"https:&#x2F;&#x2F;a.example", b"http:&#x2F;&#x2F;a.example"),
        (b'"https://"+host+"/x"', b'"http://"+host+"/x"'),
        (b"new WebSocket('wss://a.example')", b"new WebSocket('ws://a.example')"),
        (b"https://[2001:db8::1]/", b"http://[2001:db8::1]/"),
        (b'<a href="https://m\xc3\xbcller.example/">', b'<a href="http://m\xc3\xbcller.example/">'),
        (
            b"srcset='https://a/1.jpg 1x, https://a/2.jpg 2x'",
            b"srcset='http://a/1.jpg 1x, http://a/2.jpg 2x'",
        ),
    ],
)
def test_links_move_both_ways(https: bytes, http: bytes) -> None:
    assert rewrite_links(https, "http", HOSTS)[0] == http
    assert rewrite_links(http, "https", HOSTS)[0].lower() == https.lower()


@pytest.mark.parametrize(
    ("https", "http"),
    [
        (b'"https://a.example:443/x"', b'"http://a.example:80/x"'),
        (b"https://a.example:443", b"http://a.example:80"),
        (b"'https:\\/\\/a.example:443\\/x'", b"'http:\\/\\/a.example:80\\/x'"),
        (b"https:&#x2F;&#x2F;a.example&#x3a;443&#x2F;", b"http:&#x2F;&#x2F;a.example&#x3a;80&#x2F;"),
        (b"https://[2001:db8::1]:443/", b"http://[2001:db8::1]:80/"),
        (b"https://m\xc3\xbcller.example:443?x", b"http://m\xc3\xbcller.example:80?x"),
        (b"wss://a.example:443/https://b.example:443/", b"ws://a.example:80/http://b.example:80/"),
    ],
)
def test_a_default_port_goes_with_its_scheme(https: bytes, http: bytes) -> None:
    bare = https.replace(b":443", b"").replace(b"&#x3a;443", b"")
    moved, count = rewrite_links(https, "http", HOSTS)
    assert moved == bare.replace(b"https", b"http").replace(b"wss", b"ws")
    assert rewrite_links(http, "https", HOSTS) == (bare, count)


@pytest.mark.parametrize("port", ["4430", "8443", "443.5", "443@b.example", "44", "80"])
def test_other_ports_stay(port: str) -> None:
    link = f"https://a.example:{port}/".encode()
    assert rewrite_links(link, "http", HOSTS) == (link.replace(b"https", b"http"), 1)
    assert rewrite_links(link, "https", HOSTS) == (link, 0)


@pytest.mark.parametrize(
    ("script", "moves"),
    [
        (b'if (u.indexOf("http://") === 0) u = u.substring(7)', False),
        (b"u.replace(/^http:\\/\\//, '')", False),
        (b'{"prefix":"http:\\/\\/"}', False),
        (b"<input value='http://'>", False),
        (b'"http://" + host', True),
        (b"'<a href=\\'http://\\'+host", True),
        (b"`http://${host}`", True),
        (b"new WebSocket('ws://' + host)", True),
        (b"p == 'ws://'", False),
    ],
)
def test_what_links_are_compared_with_moves_under_the_other_scheme_only(script: bytes, moves: bool) -> None:
    moved = script.replace(b"http:", b"https:").replace(b"ws:", b"wss:")
    assert rewrite_links(script, "https", HOSTS) == (moved, 1)
    assert rewrite_links(script, "https", HOSTS, prefixes=False) == ((moved, 1) if moves else (script, 0))


def in_data(script: bytes, kind: bytes = b"text/javascript;charset=utf-8", filled: bool = True) -> bytes:
    data = base64.b64encode(script)
    return b'<script defer src="data:%s;base64,%s"></script>' % (kind, data if filled else data.rstrip(b"="))


@pytest.mark.parametrize("filled", [True, False])
@pytest.mark.parametrize("kind", [b"text/javascript;charset=utf-8", b""])
def test_a_script_in_a_data_url_is_changed_as_in_its_element(kind: bytes, filled: bool) -> None:
    body = b"<title>https://site.example/</title>"
    digest, new = (integrity_digests(script)[1] for script in (b"f()", b"g()"))
    script = b'get("http://cdn.example/x.js", p == "http:", "%s")' % digest
    page = body + in_data(script, kind, filled)
    moved = b'get("https://cdn.example/x.js", p == "http:", "%s")' % digest
    assert rewrite_links(page, "https", HOSTS) == (body + in_data(moved, kind), 1)
    exchanged = script.replace(b'"http:"', b'"https:"')
    assert exchange_scheme_names(page) == (body + in_data(exchanged, kind), 1)
    assert names_digests(page)
    followed = script.replace(digest, new)
    assert follow_digests(page, {digest: new}) == (body + in_data(followed, kind), 1)
    assert mentioned_hosts(page) == ["site.example", "cdn.example"]
    assert rewrite_links(page, "http", HOSTS) == (page.replace(b"https", b"http"), 1)


@pytest.mark.parametrize(
    "element",
    [
        b'<script src="data:text/javascript;base64,AAAAA"></script>',
        b'<script src="data:text/javascript;base64,aHR0cHM6Ly9hLmV4YW1wbGU%3D"></script>',
        b'<img src="data:text/javascript;base64,aHR0cHM6Ly9hLmV4YW1wbGU=">',
    ],
)
def test_other_data_urls_stay(element: bytes) -> None:
    assert rewrite_links(element, "http", HOSTS) == (element, 0)


def test_scripts_take_the_recorded_branch_under_the_other_scheme() -> None:
    script = b"""("https:" == document.location.protocol ? "https://ssl" : 'http://www') + (p == 'http:')"""
    exchanged, count = exchange_scheme_names(script)
    assert (
        exchanged
        == b"""("http:" == document.location.protocol ? "https://ssl" : 'http://www') + (p == 'https:')"""
    )
    assert count == 2
    assert exchange_scheme_names(b"\"https\" 'http:x' https:") == (b"\"https\" 'http:x' https:", 0)


@pytest.mark.parametrize(
    "body",
    [
        b'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">',
        b'<div itemtype="http://schema.org/Person">',
        b'<html xmlns:og="http://ogp.me/ns#" xmlns:my="http://site.example/ns">',
        b'<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0//EN" "http://site.example/dtd/xhtml1.dtd">',
        b'document.createElementNS("http://www.w3.org/2000/svg", "g")',
        b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf about="http://ns.adobe.com/xap/1.0/">',
        b'<link rel="profile" href="http://gmpg.org/xfn/11">',
        b"//a.example/x /relative http:relative https (http)",
    ],
)
def test_namespaces_and_everything_else_stay(body: bytes) -> None:
    assert rewrite_links(body, "https", ("site.example", "www.w3.org")) == (body, 0)


def test_a_namespace_host_that_is_itself_archived_is_linked_to() -> None:
    page = b'<a href="http://www.w3.org/standards/"> <svg xmlns="http://www.w3.org/2000/svg">'
    moved, count = rewrite_links(page, "https", ("www.w3.org",))
    assert moved == page.replace(b"http://www.w3.org/standards", b"https://www.w3.org/standards")
    assert count == 1


def test_what_is_right_already_is_the_same_object() -> None:
    body = b'<a href="http://a.example/">' * 10
    assert rewrite_links(body, "http", HOSTS) == (body, 0)


def test_header_values_and_targets() -> None:
    assert (
        rewrite_value("<https://a.example/x.css>; rel=preload", "http", HOSTS)
        == "<http://a.example/x.css>; rel=preload"
    )
    target = "/share?u=https://site.example/&v=https%3A%2F%2Fa.example%2f"
    assert (
        rewrite_target(target, "http", HOSTS) == "/share?u=http://site.example/&v=http%3A%2F%2Fa.example%2f"
    )
    assert rewrite_target("/plain?x=1", "https", HOSTS) == "/plain?x=1"
    ports = "/share?u=https://site.example:443/&v=https%3A%2F%2Fa.example%3A443%2F&w=https%3a%2f%2fb%3A4430"
    assert rewrite_target(ports, "http", HOSTS) == (
        "/share?u=http://site.example/&v=http%3A%2F%2Fa.example%2F&w=http%3a%2f%2fb%3A4430"
    )
    assert rewrite_value("https://a.example:443", "http", HOSTS) == "http://a.example"


def test_policies_in_the_document_are_dropped() -> None:
    html = (
        b'<meta charset="utf-8">'
        b'<META HTTP-EQUIV="Content-Security-Policy" content="upgrade-insecure-requests">'
        b"<meta content=\"default-src 'self'\" http-equiv=content-security-policy><meta name=x content=y>"
    )
    assert drop_policies(html) == (b'<meta charset="utf-8"><meta name=x content=y>', 2)


POLICY = "Content-Security-Policy"


@pytest.mark.parametrize(
    ("headers", "html"),
    [
        (((POLICY.lower(), "default-src *;Upgrade-Insecure-Requests"),), b""),
        (((POLICY, "img-src *"), (POLICY, "img-src *, upgrade-insecure-requests; font-src *")), b""),
        (
            (),
            b"<meta charset=utf-8><META HTTP-EQUIV=Content-Security-Policy CONTENT=upgrade-insecure-requests>",
        ),
        (
            (),
            b"<meta content=\"script-src 'self'; upgrade-insecure-requests\"http-equiv='content-security-policy'>",
        ),
        ((), b"<meta http-equiv='content-security-policy'content='upgrade-insecure-requests;'>"),
    ],
)
def test_a_document_asks_for_everything_under_https(headers: Headers, html: bytes) -> None:
    assert asks_for_https(headers, html)


@pytest.mark.parametrize(
    ("headers", "html"),
    [
        ((), b""),
        (((POLICY, "script-src 'none'; report-uri /upgrade-insecure-requests"),), b""),
        (((POLICY, "script-src upgrade-insecure-requests"),), b""),
        (((f"{POLICY}-Report-Only", "upgrade-insecure-requests"),), b""),
        ((("Upgrade-Insecure-Requests", "1"),), b"<p>upgrade-insecure-requests"),
        ((), b"<meta name=description content=upgrade-insecure-requests>"),
        ((), b"<meta http-equiv=content-security-policy data-content=upgrade-insecure-requests>"),
    ],
)
def test_what_asks_for_nothing_under_https(headers: Headers, html: bytes) -> None:
    assert not asks_for_https(headers, html)


@pytest.mark.parametrize(
    ("html", "without"),
    [
        (b"""<iframe csp="script-src 'none'" src=/f>""", b"<iframe src=/f>"),
        (b"<IFRAME src='/f' CSP=sandbox>", b"<IFRAME src='/f'>"),
        (b"""<iframe srcdoc="<p a='>'>" csp='default-src *'>""", b"""<iframe srcdoc="<p a='>'>">"""),
        (b"""w('<iframe csp=\\"img-src *\\" src=/f>')""", b"w('<iframe src=/f>')"),
        (b"<meta http-equiv=X-WebKit-CSP content=x>", b""),
    ],
)
def test_policies_that_a_document_demands_of_its_frames_are_dropped(html: bytes, without: bytes) -> None:
    assert drop_policies(html) == (without, 1)


def test_what_is_no_policy_stays() -> None:
    html = b"""<iframe src="/csp=1" data-csp="x"></iframe><p csp="x"><script>csp = "x"; a <iframe csp = 1</script>"""
    assert drop_policies(html) == (html, 0)


def test_digests_follow_the_bodies_they_protect() -> None:
    old, new = (
        integrity_digests(b"alert('https://a.example')"),
        integrity_digests(b"alert('http://a.example')"),
    )
    page = b'<script src=a.js integrity="' + old[1] + b'"></script><script>{"i":"' + old[2] + b'"}</script>'
    assert names_digests(page)
    assert follow_digests(page, dict(zip(old, new, strict=True))) == (
        page.replace(old[1], new[1]).replace(old[2], new[2]),
        2,
    )


@pytest.mark.parametrize(
    "written",
    [
        lambda digest: digest,
        lambda digest: digest.replace(b"+", b"&#43;").replace(b"=", b"&#61;"),
        lambda digest: digest.replace(b"+", b"\\u002B").replace(b"/", b"\\/").replace(b"=", b"\\u003d"),
        lambda digest: digest.replace(b"+", b"-").replace(b"/", b"_").rstrip(b"="),
    ],
    ids=["plain", "as references", "as escapes", "for URLs"],
)
def test_digests_are_known_however_they_are_written(written: Callable[[bytes], bytes]) -> None:
    bodies = [b"%d" % number for number in range(40)]
    old = [digest for body in bodies for digest in integrity_digests(body)]
    assert any(b"+" in digest for digest in old)
    assert any(b"/" in digest for digest in old)
    new = [digest for body in bodies for digest in integrity_digests(body + b"new")]
    text = b"".join(b'"%s",' % written(digest) for digest in old)
    assert names_digests(text)
    assert follow_digests(text, dict(zip(old, new, strict=True))) == (
        b"".join(b'"%s",' % digest for digest in new),
        120,
    )
    assert follow_digests(text, {}) == (text, 0)


def test_integrity_that_nothing_meets_is_dropped_from_import_maps_and_links() -> None:
    met, other = integrity_digests(b"met")[1], integrity_digests(b"other")[1]
    page = (
        b'<script type="importmap">{"integrity":{"/a.js":"%s","/b.js":"%s"}}</script><script>x="%s"</script>'
    )
    assert drop_integrity(page % (met, other, other), {met}) == (page % (met, b"", other), 1)
    link = '</a.js>; rel=modulepreload; integrity="{}"; crossorigin, </b.js>; rel=preload; integrity={}'
    assert drop_link_integrity(link.format(met.decode(), other.decode()), {met}) == (
        f'</a.js>; rel=modulepreload; integrity="{met.decode()}"; crossorigin, </b.js>; rel=preload',
        1,
    )


def test_only_integrity_of_tags_is_dropped() -> None:
    other = integrity_digests(b"other")[0]
    signed = b"<script integrity='ed25519-JrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=' src=a></script>"
    assert drop_integrity(b"<script integrity=%s src=a>" % other, ()) == (b"<script src=a>", 1)
    assert drop_integrity(signed, {other}) == (b"<script src=a></script>", 1)
    script = b'<script>let integrity = "%s"</script>' % other
    assert drop_integrity(script, ()) == (script, 0)


def test_integrity_that_nothing_meets_is_dropped() -> None:
    met, other = integrity_digests(b"met")[0], integrity_digests(b"other")[0]
    page = (
        b'<script integrity="'
        + met
        + b"\"></script><link integrity='"
        + other
        + b'\' href=x><i integrity="">'
    )
    assert drop_integrity(page, {met}) == (page.replace(b" integrity='" + other + b"'", b""), 1)


def test_hosts_that_texts_mention() -> None:
    body = (
        b'<script src="//cdn.example/x.js"></script> "https:\\/\\/api.example\\/v1" '
        b"url(http://img.example/a) "
        b'<svg xmlns="http://www.w3.org/2000/svg"> // a comment.about things '
        b'"https://CDN.example/y" a//b.example <img src=http://203.0.113.9:8080/x><img src="//[2001:DB8::7]/x"> '
        b"http://1.2.3.4.5/ http://1.2.3/"
    )
    hosts = ["cdn.example", "api.example", "img.example", "203.0.113.9", "[2001:db8::7]"]
    assert mentioned_hosts(body) == hosts


@pytest.mark.parametrize(
    ("label", "named"),
    [
        ("utf-16", "utf-8"),  # a <meta> that can be read is not in UTF-16; a header would be believed
        ("UTF-16BE", "utf-8"),
        ("x-user-defined", "windows-1252"),
        ("ISO-8859-1", "iso-8859-1"),
        ("x-sjis", "x-sjis"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_header_names_what_a_pushed_out_meta_means(label: str, named: str) -> None:
    made = pin(f"<!doctype html><meta charset={label}>".encode(), f"<script>{' ' * 1024}</script>", xml=False)
    assert made is not None
    assert made.charset == named


@pytest.mark.thorough
@pytest.mark.parametrize(
    "unit",
    [
        b"https:",
        b"https:\\",
        b"https://",
        b'"https://www.example.com/a/b.js",',
        b"<meta ",
        b"<meta http-equiv=",
        b"<meta http-equiv=content-security-policy content='x'>",
        b"<iframe ",
        b"<iframe '\"",
        b"<script a=\"<iframe b='",
        b"<script>importmap",
        b' integrity="',
        b" integrity = ",
        b"sha256-AAAA",
        b'"//a.b',
        b"<!DOCTYPE https://",
        b"xmlns:a = ",
        b"http://a.",
        b"http://a.example:80",
        b"https://" + b"a" * 250,
        b"    ",
        b"\\",
        b"a.",
        b"<script src=data:;base64,",
        b"<script src=data:;base64,aHR0cHM6Ly9hLmV4YW1wbGU= ",
        b" src=data:;base64,A",
    ],
)
def test_every_step_takes_time_linear_in_the_body(unit: bytes) -> None:
    def seconds(size: int) -> float:
        body = unit * (size // len(unit))
        before = time.process_time()
        for scheme in ("http", "https"):
            rewrite_links(body, scheme, HOSTS)
        asks_for_https((), body)
        drop_policies(body)
        drop_integrity(body, ())
        drop_link_integrity(body.decode("latin-1"), ())
        follow_digests(body, {})
        mentioned_hosts(body)
        exchange_scheme_names(body)
        return time.process_time() - before

    short, long = (min(seconds(size) for _ in range(3)) for size in (20_000, 320_000))
    assert long < 80 * max(short, 0.002)  # 16 times the size: 256 if it were quadratic
