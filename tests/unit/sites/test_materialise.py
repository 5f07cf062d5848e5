"""What is served of an archive under each scheme, and what is said about changes."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import brotli  # type: ignore[import-untyped, unused-ignore]  # has no types
import pytest
from cryptography import x509

from harness.model.condition import Compression
from harness.model.settings import ThinkTime
from sites.archive import Archive, write_archive
from sites.certificates import Authority
from sites.coding import BROWSER_CODINGS, decode, encode
from sites.materialise import Site, materialise
from sites.response import Response
from sites.rewrite import integrity_digests
from sites.served import ServedObject
from sites.warc import About
from tests.facts import tells
from tests.unit.sites.prose import prose

HTML = (("Content-Type", "text/html"),)
SCRIPT = (("Content-Type", "text/javascript"),)


def archive(root: Path, *responses: Response, start: str = "https://site.example/") -> Archive:
    return write_archive(root, "site", About(start, "test", "test", ()), responses)


def page(
    body: bytes = b"<html>", url: str = "https://site.example/", headers: tuple[tuple[str, str], ...] = HTML
) -> Response:
    return Response(url, 200, headers, body)


def served(site: Site, target: str = "/", host: str = "site.example") -> ServedObject:
    found = [made for made in site.objects if made.key == (host, target)]
    assert len(found) == 1, [made.key for made in site.objects]
    return found[0]


def noted(site: Site, *facts: str) -> bool:
    return tells(site.notes, *facts)


def test_bodies_that_are_right_are_served_byte_for_byte(tmp_path: Path) -> None:
    body = gzip.compress(b'<a href="https://other.example/">', mtime=1)
    made = materialise(archive(tmp_path, page(body, headers=(*HTML, ("Content-Encoding", "gzip")))), "https")
    assert served(made).body == body
    assert made.start_url == "https://site.example/"
    assert not noted(made, "links")


def test_a_page_recorded_over_https_is_served_over_http(tmp_path: Path) -> None:
    recorded = gzip.compress(b'<a href="https://other.example/">')
    stored = archive(tmp_path, page(recorded, headers=(*HTML, ("Content-Encoding", "gzip"))))
    made = materialise(stored, "http")
    assert gzip.decompress(served(made).body) == b'<a href="http://other.example/">'
    assert served(made).headers[:2] == (*HTML, ("Content-Encoding", "gzip"))
    assert made.start_url == "http://site.example/"
    assert noted(made, "1 links in bodies", "to http")
    assert materialise(stored, "http").objects[0].body == served(made).body


def test_the_testbeds_own_names_have_no_answers(tmp_path: Path) -> None:
    own = [
        page(url=f"{url}/ready")
        for url in (
            "https://coldload.invalid",
            "http://www.coldload.invalid:8080",
            "https://coldload.invalid.",
        )
    ]
    other = page(url="https://notcoldload.invalid/ready")
    made = materialise(archive(tmp_path, page(), *own, other), "https")
    assert [each.host for each in made.objects] == ["site.example", "notcoldload.invalid"]
    assert noted(made, "3 responses left out", "coldload.invalid")


def test_headers_of_the_connection_and_of_policies_are_left_out(tmp_path: Path) -> None:
    headers = (
        *HTML,
        ("Date", "x"),
        ("Server", "x"),
        ("Connection", "close"),
        ("Keep-Alive", "x"),
        ("Alt-Svc", "h3"),
        ("Content-Length", "6"),
        ("Strict-Transport-Security", "max-age=1"),
        ("Content-Security-Policy", "script-src 'self'"),
        ("Integrity-Policy", "blocked-destinations=(script)"),
        ("Unencoded-Digest", "sha-256=:x=:"),
        ("ETag", '"e"'),
        ("X-Long", "x" * 9000),
    )
    made = materialise(archive(tmp_path, page(headers=headers)), "https")
    assert served(made).headers == (
        *HTML,
        ("ETag", '"e"'),
        ("Access-Control-Allow-Origin", "*"),
        ("Timing-Allow-Origin", "*"),
    )
    framed = (("Content-Security-Policy", "Frame-Ancestors https://a.example"), ("X-Frame-Options", "DENY"))
    for given, kept in ((framed, ()), (framed[1:], framed[1:])):  # a browser goes by the one or by the other
        alone = materialise(archive(tmp_path / str(len(given)), page(headers=(*HTML, *given))), "https")
        assert served(alone).headers[1:-2] == kept
    for what in (
        "strict-transport-security",
        "content-security-policy",
        "integrity-policy headers dropped",
        "unencoded-digest headers dropped",
        "longer than",
        "Allow-Origin headers added",
    ):
        assert noted(made, what), what


def test_permissions_follow_the_scheme(tmp_path: Path) -> None:
    allowed = ("Permissions-Policy", 'sync-xhr=(self "https://other.example"), camera=()')
    made = materialise(archive(tmp_path, page(headers=(*HTML, allowed))), "http")
    assert served(made).headers[1] == ("Permissions-Policy", allowed[1].replace("https", "http"))


def test_cross_origin_headers_follow_the_scheme(tmp_path: Path) -> None:
    headers = (
        *HTML,
        ("Access-Control-Allow-Origin", "https://site.example"),
        ("Location", "https://site.example/x"),
    )
    made = materialise(archive(tmp_path, page(headers=headers)), "http")
    assert ("Access-Control-Allow-Origin", "http://site.example") in served(made).headers
    assert ("Location", "http://site.example/x") in served(made).headers
    assert not noted(made, "Access-Control-Allow-Origin headers added")


def test_a_redirect_between_schemes_gives_way_to_the_page(tmp_path: Path) -> None:
    up = Response("http://site.example/", 301, (("Location", "https://site.example/"),), b"")
    stored = archive(tmp_path, up, page(b"home"), start="http://site.example/")
    for scheme in ("http", "https"):
        made = materialise(stored, scheme)
        assert served(made).status == 200
        assert noted(made, "redirects", "from one scheme to the other")


def test_a_redirect_to_another_spelling_of_its_address_leads_to_it_or_is_left_out(tmp_path: Path) -> None:
    up = Response("https://site.example/a%2Cb", 301, (("Location", "/a,b"),), b"")
    lost = Response("https://site.example/c%2cd", 301, (("Location", "/c,d"),), b"")
    made = materialise(archive(tmp_path, page(), up, lost, page(b"ab", "https://site.example/a,b")), "http")
    assert {each.target for each in made.objects} == {"/", "/a%2Cb", "/a,b"}
    assert noted(made, "1 redirects to another spelling")


def test_what_a_server_refuses_is_served_by_none(tmp_path: Path) -> None:
    odd = [
        page(b"x", f"https://site.example/{path}") for path in ("50%-off", "a%00", "..%2fx", "50%25?a=%zz")
    ]
    made = materialise(archive(tmp_path, page(), *odd), "https")
    assert {each.target for each in made.objects} == {"/", "/50%25?a=%zz"}
    assert noted(made, "3 responses left out", "server refuses")


def test_the_server_thinks_for_the_wait_less_the_round_trip_that_it_holds(tmp_path: Path) -> None:
    """Of hosts at one address the shortest connect time counts; where there is none, the wait is left as it is."""

    def answer(url: str, **times: float | str) -> Response:
        return replace(page(url=f"https://{url}"), **times)  # type: ignore[arg-type]

    stored = archive(
        tmp_path,
        answer("site.example/", wait_ms=150.25, connect_ms=40.0, ip="192.0.2.1"),
        answer("img.example/", wait_ms=35.0, connect_ms=30.0, ip="192.0.2.1"),
        answer("img.example/at-once", wait_ms=29.0, ip="192.0.2.1"),
        answer("img.example/untold", ip="192.0.2.1"),
        answer("cdn.example/", wait_ms=80.0),
    )

    def thinking(think_time: ThinkTime) -> tuple[Site, list[float]]:
        made = materialise(stored, "https", think_time=think_time)
        return made, [each.think_ms for each in made.objects]

    made, think_ms = thinking(ThinkTime(recorded=True))
    assert think_ms == [120.25, 5, 0, 0, 80]
    assert noted(made, "1 think times", "round trip")
    assert noted(made, "1 responses", "without a recorded think time")
    made, think_ms = thinking(ThinkTime(7.5))
    assert think_ms == [7.5] * 5
    assert not noted(made, "think times")


def test_the_last_good_capture_counts_then_the_scheme_of_the_start(tmp_path: Path) -> None:
    url = "https://site.example/a"
    stored = archive(
        tmp_path,
        page(),
        page(b"1", url),
        page(b"2", url),
        Response(url, 503, HTML, b"3"),
        page(b"4", "http://site.example/a"),
        Response("https://site.example/gone", 404, HTML, b"old"),
        Response("https://site.example/gone", 410, HTML, b"new"),
    )
    made = materialise(stored, "https")
    assert served(made, "/a").body == b"2"
    assert served(made, "/gone").status == 410
    assert noted(made, "captures left out")


def test_query_strings_and_percent_encoding_are_told_apart(tmp_path: Path) -> None:
    targets = ["/", "/a?x=1", "/a?x=2", "/a", "/a%2Fb", "/a%2fb", "/a/b", "/?"]
    stored = archive(
        tmp_path, *(page(target.encode(), f"https://site.example{target}") for target in targets)
    )
    made = materialise(stored, "https")
    assert [(each.target, each.body) for each in made.objects] == [
        (target, target.encode()) for target in targets
    ]


def test_an_address_that_holds_the_pages_own_is_answered_under_the_new_scheme(tmp_path: Path) -> None:
    target = "/log?page=https%3A%2F%2Fsite.example%2F"
    made = materialise(archive(tmp_path, page(), page(b"logged", f"https://site.example{target}")), "http")
    assert served(made, target).body == b"logged"
    assert served(made, target.replace("https", "http")).body == b"logged"


def test_integrity_follows_through_scripts_that_name_scripts(tmp_path: Path) -> None:
    inner = b"load('https://site.example/x')"
    outer = b'import("/inner.js", {integrity: "' + integrity_digests(inner)[1] + b'"})'
    start = b'<script src="/outer.js" integrity="' + integrity_digests(outer)[0] + b'"></script>'
    lost = b'<script src="/lost.js" integrity="' + integrity_digests(b"lost")[0] + b'"></script>'
    made = materialise(
        archive(
            tmp_path,
            page(start + lost),
            page(inner, "https://site.example/inner.js", SCRIPT),
            page(outer, "https://site.example/outer.js", SCRIPT),
        ),
        "http",
    )
    new_inner, new_outer = served(made, "/inner.js").body, served(made, "/outer.js").body
    assert new_inner == b"load('http://site.example/x')"
    assert integrity_digests(new_inner)[1] in new_outer
    assert integrity_digests(new_outer)[0] in served(made).body
    assert served(made).body.endswith(b'<script src="/lost.js"></script>')
    assert noted(made, "2 integrity digests renewed")
    assert noted(made, "1 integrity attributes dropped")


def test_integrity_follows_in_links_and_data_and_of_data(tmp_path: Path) -> None:
    data, lost = b'{"u":"https://site.example/"}', integrity_digests(b"lost")[0].decode()
    listing = b'{"/data.json":"' + integrity_digests(data)[0].replace(b"+", rb"\u002B") + b'"}'
    old = integrity_digests(data)[1].decode()
    link = ("Link", f'</data.json>; rel=preload; integrity="{old}", </x.js>; rel=preload; integrity={lost}')
    json = (("Content-Type", "application/json"),)
    made = materialise(
        archive(
            tmp_path,
            page(headers=(*HTML, link)),
            page(data, "https://site.example/data.json", json),
            page(listing, "https://site.example/boot.json", json),
        ),
        "http",
    )
    new = served(made, "/data.json").body
    assert new == b'{"u":"http://site.example/"}'
    assert served(made, "/boot.json").body == b'{"/data.json":"' + integrity_digests(new)[0] + b'"}'
    preload = f'</data.json>; rel=preload; integrity="{integrity_digests(new)[1].decode()}"'
    assert ("Link", f"{preload}, </x.js>; rel=preload") in served(made).headers
    assert noted(made, "2 integrity digests renewed")


def test_the_question_of_a_proxy_is_served_as_a_refusal(tmp_path: Path) -> None:
    asked = Response("https://site.example/p", 407, (("Proxy-Authenticate", "Basic realm=x"),), b"no")
    made = materialise(archive(tmp_path, page(), asked), "https")
    assert (served(made, "/p").status, served(made, "/p").body) == (403, b"no")
    assert noted(made, "status 407")


def test_a_part_that_holds_all_is_served_as_the_whole(tmp_path: Path) -> None:
    """Of which a server sends what is asked for."""

    def part(name: str, told: str) -> Response:
        url, headers = f"https://site.example/{name}", (("Content-Range", told), ("ETag", '"1"'))
        return Response(url, 206, headers, b"0123456789")

    made = materialise(
        archive(tmp_path, page(), part("all", "bytes 0-9/10"), part("end", "bytes 10-19/20")), "https"
    )
    whole, end = served(made, "/all"), served(made, "/end")
    assert (whole.status, whole.body, whole.header("Content-Range")) == (200, b"0123456789", None)
    assert (end.status, end.body, end.header("Content-Range")) == (206, b"0123456789", "bytes 10-19/20")
    assert noted(made, "1 answers 206 that hold all")
    assert noted(made, "1 answers 206", "served as recorded")


def test_what_was_not_modified_is_a_miss(tmp_path: Path) -> None:
    """Archives of earlier releases hold such answers; importing leaves them out."""
    kept = [Response(f"https://site.example/{name}", 304, (), b"") for name in ("a?1", "kept%2C")]
    made = materialise(archive(tmp_path, page(), *kept), "https")
    assert [each.target for each in made.objects] == ["/"]
    assert noted(made, "2 answers 304", "left out")


def test_codings_that_browsers_do_not_take_over_http_become_gzip(tmp_path: Path) -> None:
    text = b"body{background:#fff}" * 20
    headers = (("Content-Type", "text/css"), ("Content-Encoding", "br"))
    stored = archive(tmp_path, page(), page(brotli.compress(text), "https://site.example/s.css", headers))
    kept, recoded = materialise(stored, "https"), materialise(stored, "http")
    assert served(kept, "/s.css").body == brotli.compress(text)
    assert ("Content-Encoding", "gzip") in served(recoded, "/s.css").headers
    assert gzip.decompress(served(recoded, "/s.css").body) == text
    assert noted(recoded, "gzip instead of br")
    comparable = materialise(stored, "https", BROWSER_CODINGS["http"])
    assert served(comparable, "/s.css").body == served(recoded, "/s.css").body


def test_a_changed_brotli_body_stays_brotli_over_https(tmp_path: Path) -> None:
    headers = (*HTML, ("Content-Encoding", "br"))
    stored = archive(tmp_path, page(brotli.compress(b"<a href=http://a.example/>"), headers=headers))
    assert decode(served(materialise(stored, "https")).body, "br") == b"<a href=https://a.example/>"


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_a_coding_the_body_does_not_have_is_never_announced(tmp_path: Path, coding: str) -> None:
    stored = archive(tmp_path, page(b"<html>plain</html>", headers=(*HTML, ("Content-Encoding", coding))))
    made = materialise(stored, "https")
    assert served(made).body == b"<html>plain</html>"
    assert "content-encoding" not in {name.lower() for name, _ in served(made).headers}
    assert noted(made, "not so coded")


def test_what_cannot_be_decoded_is_served_as_recorded(tmp_path: Path) -> None:
    short = gzip.compress(b'<a href="https://a.example/">' * 100)[:-30]
    stored = archive(
        tmp_path,
        page(short, headers=(*HTML, ("Content-Encoding", "gzip"))),
        page(b"??", "https://site.example/odd", (*HTML, ("Content-Encoding", "gzip, br"))),
    )
    made = materialise(stored, "http")
    assert served(made).body == short
    assert served(made, "/odd").headers[1] == ("Content-Encoding", "gzip, br")
    assert noted(made, "cannot be decoded")
    assert noted(made, "gzip, br is not known")


@pytest.mark.parametrize("coding", ["UTF-8", "none", "binary", "compress", "gzip, identity"])
def test_a_body_under_a_coding_that_no_browser_knows_is_plain(tmp_path: Path, coding: str) -> None:
    body, headers = b"<!doctype html><a href=https://site.example/>", (*HTML, ("Content-Encoding", coding))
    made = materialise(archive(tmp_path, page(body, headers=headers)), "http", determinism=True)
    assert b"<script>" in served(made).body
    assert served(made).body.endswith(b"<a href=http://site.example/>")
    assert served(made).headers[0] == HTML[0]
    assert "Content-Encoding" not in dict(served(made).headers)
    assert noted(made, "dropped", f"no coding {coding.lower()}")


@pytest.mark.parametrize(
    ("recorded", "served_by", "told"),
    [("http", "https", True), ("http", "http", False), ("https", "https", False), ("https", "http", False)],
)
def test_policies_go_and_documents_recorded_over_http_ask_for_everything_under_https(
    tmp_path: Path, recorded: str, served_by: str, told: bool
) -> None:
    html = b'<meta http-equiv="Content-Security-Policy" content="script-src none">'
    base = f"{recorded}://site.example/"
    script = page(b"s", f"{base}s.js", (("Content-Type", "text/javascript"),))
    made = materialise(archive(tmp_path, page(html, base), script, start=base), served_by)
    upgrade = ("Content-Security-Policy", "upgrade-insecure-requests")
    assert served(made).body == b""
    assert (upgrade in served(made).headers) is told
    assert upgrade not in served(made, "/s.js").headers


@pytest.mark.parametrize("served_by", ["https", "http"])
def test_a_document_recorded_over_https_keeps_that_it_asks_for_everything_under_https(
    tmp_path: Path, served_by: str
) -> None:
    upgrade = ("Content-Security-Policy", "upgrade-insecure-requests")
    html = b'<meta http-equiv="Content-Security-Policy" content="upgrade-insecure-requests">'
    policy = ("Content-Security-Policy", "script-src 'none'; upgrade-insecure-requests")
    base = "https://site.example/"
    made = materialise(
        archive(
            tmp_path,
            page(html),
            page(b"x", f"{base}header", (*HTML, policy)),
            page(gzip.compress(html), f"{base}coded", (*HTML, ("Content-Encoding", "gzip"))),
            page(b"x", f"{base}neither"),
            page(html, f"{base}s.js", (*SCRIPT, policy)),
        ),
        served_by,
    )
    told = {each.path for each in made.objects if upgrade in each.headers}
    assert told == ({"/", "/header", "/coded"} if served_by == "https" else set())
    assert all(("Content-Security-Policy", policy[1]) not in each.headers for each in made.objects)
    assert noted(made, "3 documents told") is (served_by == "https")


def test_local_hosts_share_a_certificate_which_comes_first(tmp_path: Path) -> None:
    stored = archive(
        tmp_path, page(b"x"), page(b"x", "https://127.0.0.1:8000/"), page(b"x", "https://localhost/")
    )
    names = materialise(stored, "https").names
    assert names == ("127.0.0.1", "localhost", "site.example")
    files = Authority.create(tmp_path / "authority").certificate_files(names, tmp_path)
    assert files["127.0.0.1"] == files["localhost"] != files["site.example"]
    certificate = x509.load_pem_x509_certificate(files["localhost"].read_bytes())
    told = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert told.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(each) for each in told.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_hosts_and_ports(tmp_path: Path) -> None:
    links = "".join(f'<a href="https://h{number}.example/">' for number in range(250))
    stored = archive(
        tmp_path,
        page(links.encode() + b'<a href="https://site.example/"><svg xmlns="http://www.w3.org/2000/svg">'),
        page(b"x", "https://cdn.example:8443/x"),
    )
    made = materialise(stored, "https")
    assert made.hosts == ("site.example", "cdn.example")
    assert made.mentioned_hosts == tuple(f"h{number}.example" for number in range(200))
    assert noted(made, "50 mentioned hosts", "without a certificate")
    assert made.ports == (8443,)
    assert served(made, "/x", "cdn.example:8443").body == b"x"


def test_addresses_that_a_page_names_are_hosts_of_its_replay(tmp_path: Path) -> None:
    body = b'<img src="http://203.0.113.9:8080/x"><img src=//[2001:DB8::7]/x><img src=//999.1.1.1/x>'
    made = materialise(archive(tmp_path, page(body)), "http")
    assert made.mentioned_hosts == ("203.0.113.9", "2001:db8::7")


TEXT = b"body { color: red }\n" * 50


@pytest.mark.parametrize(
    ("setting", "coding"),
    [
        ("recorded", "zstd"),
        ("none", ""),
        ("gzip", "gzip"),
        ("gzip-1", "gzip"),
        ("brotli", "br"),
        ("brotli-11", "br"),
        ("zstd-1", "zstd"),
    ],
)
def test_compression_is_a_setting(tmp_path: Path, setting: str, coding: str) -> None:
    picture = (("Content-Type", "image/png"),)
    stored = archive(
        tmp_path,
        page(encode(TEXT, "zstd"), headers=(*HTML, ("Content-Encoding", "zstd"))),
        page(
            TEXT,
            "https://site.example/plain.css",
            (("Content-Type", "text/css"), ("Vary", "Accept-Encoding")),
        ),
        page(b"x", "https://site.example/tiny.js", SCRIPT),
        page(b"PNG" * 100, "https://site.example/p.png", picture),
    )
    made = materialise(stored, "https", compression=Compression.parse(setting))
    text, plain = served(made), served(made, "/plain.css")
    assert decode(text.body, coding) == TEXT
    assert dict(text.headers).get("Content-Encoding", "") == coding
    assert decode(plain.body, "" if setting == "recorded" else coding) == TEXT
    assert served(made, "/p.png").body == b"PNG" * 100
    tiny = served(made, "/tiny.js")  # compressed it would be longer
    assert (tiny.body, dict(tiny.headers).get("Content-Encoding")) == (b"x", None)
    assert [name for name, _ in plain.headers].count("Vary") == 1
    assert ("Vary" in dict(text.headers)) == (setting not in ("recorded", "none"))
    assert noted(made, f"setting compression = {Compression.parse(setting)}") == (setting != "recorded")


def test_what_the_server_compresses_is_given_to_it_without_a_coding(tmp_path: Path) -> None:
    coded = (*HTML, ("Content-Encoding", "gzip"))
    odd = (("Content-Type", 'application/"{x}+json'),)
    stored = archive(
        tmp_path,
        page(gzip.compress(TEXT), headers=coded),
        page(b"PNG" * 100, "https://site.example/p.png", (("Content-Type", "image/png"),)),
        page(TEXT, "https://site.example/a.js", SCRIPT),
        page(TEXT, "https://site.example/odd", odd),
    )
    made = materialise(stored, "https", compression=Compression.parse("gzip-1-dynamic"))
    assert [each.body for each in made.objects] == [TEXT, b"PNG" * 100, TEXT, TEXT]
    assert not any(name == "Content-Encoding" for each in made.objects for name, _ in each.headers)
    assert made.coded_types == ("text/html", "text/javascript")
    assert noted(made, "1 bodies decoded", "gzip-1-dynamic")
    assert materialise(stored, "https", compression=Compression.parse("gzip-1")).coded_types == ()


def test_what_forbids_a_transformation_is_coded_beforehand_for_every_server(tmp_path: Path) -> None:
    says = {"/a.css": "Max-Age=60, No-Transform", "/b.css": "no-transformation, max-age=60"}
    css = ("Content-Type", "text/css")
    stored = archive(
        tmp_path,
        page(TEXT),
        *(
            page(TEXT, f"https://site.example{at}", (css, ("Cache-Control", said)))
            for at, said in says.items()
        ),
    )
    made = materialise(stored, "https", compression=Compression.parse("gzip-9-dynamic"))
    forbidding, other = (served(made, at) for at in says)
    assert (forbidding.body, forbidding.header("Content-Encoding")) == (encode(TEXT, "gzip", 9), "gzip")
    assert forbidding.header("Vary") == "Accept-Encoding"
    assert (other.body, other.header("Content-Encoding")) == (TEXT, None)
    assert noted(made, "1 bodies coded beforehand, as they say no-transform", "gzip-9-dynamic")
    recorded = materialise(stored, "https")
    assert served(recorded, "/a.css").body == TEXT


def test_levels_of_compression_differ(tmp_path: Path) -> None:
    stored = archive(tmp_path, page(bytes(n * n % 251 for n in range(20_000)) * 3, headers=HTML))
    sizes = {
        setting: len(served(materialise(stored, "https", compression=Compression.parse(setting))).body)
        for setting in ("gzip-1", "gzip", "brotli-0", "brotli", "zstd-1", "zstd-19")
    }
    assert sizes["zstd-1"] > sizes["zstd-19"]
    assert sizes["gzip-1"] > sizes["gzip"]
    assert sizes["brotli-0"] > sizes["brotli"]


def test_documents_get_the_determinism_script_and_keep_their_character_set(tmp_path: Path) -> None:
    html = b"<!doctype html><meta charset=windows-1251><title>\xcf</title>"
    coded = page(gzip.compress(html), headers=(*HTML, ("Content-Encoding", "gzip")))
    fragment = page(b"<div>", "https://site.example/part")
    moved = Response("https://site.example/old", 301, (*HTML, ("Location", "/")), b"<html>moved")
    script = page(b"var a", "https://site.example/a.js", SCRIPT)
    stored = archive(tmp_path, coded, fragment, moved, script)
    made = materialise(stored, "https", determinism=True)
    body = gzip.decompress(served(made).body)
    assert body.startswith(b"<!doctype html><script>")
    assert body.endswith(b"</script>" + html.removeprefix(b"<!doctype html>"))
    assert served(made).headers[0] == ("Content-Type", "text/html; charset=windows-1251")
    assert [served(made, target).body for target in ("/part", "/old", "/a.js")] == [
        b"<div>",
        b"<html>moved",
        b"var a",
    ]
    assert noted(made, "1 documents", "determinism script (")
    assert noted(made, "1 HTML bodies left without")
    assert noted(made, "1 character sets")
    assert gzip.decompress(served(materialise(stored, "https")).body) == html


@pytest.mark.parametrize(
    ("coding", "level"),
    [("gzip", 1), ("gzip", 6), ("gzip", 9), ("br", 5), ("br", 11), ("zstd", 3), ("zstd", 19)],
)
def test_a_changed_document_is_coded_at_the_level_of_the_recorded_one(
    tmp_path: Path, coding: str, level: int
) -> None:
    html = b"<!doctype html><p>" + prose(1000)
    recorded = encode(html, coding, level)
    stored = archive(tmp_path, page(recorded, headers=(*HTML, ("Content-Encoding", coding))))
    assert served(materialise(stored, "https")).body == recorded
    pinned = served(materialise(stored, "https", determinism=True)).body
    text = decode(pinned, coding)
    assert len(text) > len(html)
    assert pinned == encode(text, coding, level)
    by_setting = materialise(stored, "https", determinism=True, compression=Compression.parse("gzip-4"))
    assert served(by_setting).body == encode(text, "gzip", 4)
