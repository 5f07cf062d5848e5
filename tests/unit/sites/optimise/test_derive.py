"""Derived archives: made once, the same every time, made again when something changes."""

from __future__ import annotations

import gzip
from pathlib import Path

import brotli  # type: ignore[import-untyped, unused-ignore]  # has no types
import pytest

from harness.errors import ArchiveError
from harness.model.engine import Engine
from harness.model.variant import FILTERS, parse_variant
from sites.archive import Archive, list_archives, write_archive
from sites.archiveindex import round_trips
from sites.coding import decode, encode
from sites.optimise.derive import REPORT, derive, variant_of
from sites.optimise.page import Page, Size
from sites.response import Response
from sites.warc import About
from tests.facts import tells
from tests.unit.sites.optimise.pages import photo
from tests.unit.sites.prose import prose

HTML = b"""<!doctype html><head><link rel=stylesheet href="/a.css"><link rel=stylesheet href="/b.css">
<script src="/c.js"></script></head><body>  <!-- x --> <img src=/d.jpg width=20 height=10> <iframe src=/f></iframe>"""
CSS = b"body { margin : 0 } /* a comment */\n" * 40


def archived(root: Path, css: bytes = CSS) -> Archive:
    def response(path: str, mime: str, body: bytes, *headers: tuple[str, str], status: int = 200) -> Response:
        return Response(f"https://a.example{path}", status, (("Content-Type", mime), *headers), body)

    responses = [
        response("/", "text/html", b"", ("Location", "/page"), status=302),
        response(
            "/page", "text/html; charset=utf-8", gzip.compress(HTML, mtime=0), ("Content-Encoding", "gzip")
        ),
        response("/a.css", "text/css", brotli.compress(css), ("Content-Encoding", "br")),
        response("/b.css", "text/css", b"p { color : red }"),
        response("/c.js", "text/javascript", b"f ( 1 )", ("ETag", '"x"')),
        response("/d.jpg", "image/jpeg", photo(size=(80, 40), quality=95)),
        response("/f", "text/html", b"<p>a  frame"),
        response("/gone", "text/html", b"<p>not  found", status=404),
    ]
    return write_archive(root, "page", About("https://a.example/", "test", "x", ()), responses)


def test_a_variant_is_made_once_and_is_the_same_every_time(tmp_path: Path) -> None:
    variant = parse_variant(",".join(FILTERS))
    first = derive(archived(tmp_path / "one"), variant)
    second = derive(archived(tmp_path / "two"), variant)
    again = derive(archived(tmp_path / "one"), variant)
    assert (first.fresh, second.fresh, again.fresh) == (True, True, False)
    assert first.archive.digest == second.archive.digest == again.archive.digest
    assert first.report == again.report
    assert list_archives(tmp_path / "one")[0].name == "page"
    assert len(list_archives(tmp_path / "one")) == 1


def test_what_changes_the_bytes_makes_another_variant(tmp_path: Path) -> None:
    archive = archived(tmp_path)
    made = [
        derive(archive, parse_variant("inline_css")),
        derive(archive, parse_variant("rewrite_css")),
        derive(archive, parse_variant("inline_css").with_settings((("inline_css.max_bytes", 1),))),
        derive(archived(tmp_path, CSS + b"x{}"), parse_variant("inline_css")),
    ]
    assert len({each.archive.folder for each in made}) == 4
    assert all(each.fresh for each in made)


def test_a_variant_that_was_never_finished_is_made_again(tmp_path: Path) -> None:
    archive, variant = archived(tmp_path), parse_variant("minify")
    first = derive(archive, variant)
    (first.archive.folder / REPORT).unlink()
    assert derive(archive, variant).fresh
    (first.archive.folder / REPORT).write_text("{")
    with pytest.raises(ArchiveError, match=r"remove .*, it is made again"):
        derive(archive, variant)


def test_plain_is_the_archive_and_passthrough_a_copy(tmp_path: Path) -> None:
    archive = archived(tmp_path)
    assert variant_of(archive, parse_variant("plain")) is archive
    assert variant_of(archive, parse_variant("passthrough")).digest == archive.digest


def test_bytes_and_requests_are_those_of_what_a_browser_asks_for(tmp_path: Path) -> None:
    archive = archived(tmp_path)
    reached = [entry for entry in archive.entries if not entry.url.endswith("/gone")]
    derived = derive(archive, parse_variant("rewrite_css,combine_css,inline_css"))
    assert derived.report.before.size == Size(len(reached), sum(entry.body_bytes for entry in reached))
    assert [step.inventory.size.requests for step in derived.report.steps] == [7, 6, 5]
    assert derived.report.after.size.bytes < derived.report.before.size.bytes


def test_changed_bodies_keep_their_coding_and_lose_what_described_the_old_ones(tmp_path: Path) -> None:
    made = Page.of(derive(archived(tmp_path), parse_variant("minify")).archive)
    sheet, script = made.resources["https://a.example/a.css"], made.resources["https://a.example/c.js"]
    assert (sheet.coding, sheet.header("Content-Encoding")) == ("br", "br")
    assert sheet.body.startswith(b"body{margin:0}")
    assert (script.body, script.header("ETag")) == (b"f(1)", None)
    assert made.resources["https://a.example/f"].body == b"<p>a frame"  # a frame is a document, too
    assert made.resources["https://a.example/gone"].body == b"<p>not  found"


def test_a_body_that_no_filter_changes_travels_as_it_was_recorded(tmp_path: Path) -> None:
    archive = archived(tmp_path)
    derived = derive(archive, parse_variant("extend_cache,shard"))
    assert derived.report.after.size.bytes == derived.report.before.size.bytes + len(
        Page.of(derived.archive).resources["https://a.example/page"].wire_body
    ) - len(gzip.compress(HTML, mtime=0))
    recorded = {each.url: each.body for each in archive.responses()}
    made = {each.url: each for each in derived.archive.responses()}
    for path in ("a.css", "c.js", "d.jpg"):
        assert made[f"https://a.example/{path}"].body == recorded[f"https://a.example/{path}"]
        assert made[f"https://a.example/{path}"].header("Cache-Control") == "max-age=31536000"


@pytest.mark.parametrize(
    ("coding", "level"),
    [
        *(("gzip", 1), ("gzip", 6), ("gzip", 9), ("deflate", 1)),
        *(("br", 5), ("br", 11), ("zstd", 3), ("zstd", 19)),
    ],
)
def test_a_changed_body_is_coded_at_the_level_of_the_recorded_one(
    tmp_path: Path, coding: str, level: int
) -> None:
    html = b"<!doctype html><p>" + prose() + b"  <!-- x --><p>"
    headers = (("Content-Type", "text/html"), ("Content-Encoding", coding))
    recorded = Response("https://a.example/", 200, headers, encode(html, coding, level))
    archive = write_archive(tmp_path, "page", About("https://a.example/", "test", "x", ()), [recorded])
    one = derive(archive, parse_variant("remove_comments")).archive
    both = derive(archive, parse_variant("remove_comments,collapse_whitespace")).archive
    after_one_another = derive(one, parse_variant("collapse_whitespace")).archive
    bodies = [next(each.responses()).body for each in (archive, one, both, after_one_another)]
    assert [body == encode(decode(body, coding), coding, level) for body in bodies] == [True] * 4
    assert bodies[0] != bodies[1] != bodies[2] == bodies[3]


def test_what_is_left_out_and_set_makes_another_archive_that_says_so(tmp_path: Path) -> None:
    archive, minify = archived(tmp_path), parse_variant("minify")
    whole, left = derive(archive, minify), derive(archive, minify.leaving_out(["rewrite_css", "shard"]))
    assert (left.fresh, left.archive.digest != whole.archive.digest) == (True, True)
    assert left.archive.name == "page--minify.without.rewrite_css"
    assert "rewrite_css" not in [step.filter for step in left.report.steps]
    assert any("variant minify,-rewrite_css of page" in note for note in left.archive.notes)
    assert left.archive.digest == derive(archive, parse_variant("minify,-rewrite_css")).archive.digest
    inline = parse_variant("inline_css").with_settings((("inline_css.max_bytes", 1), ("shard.hosts", 3)))
    small = derive(archive, inline)
    assert small.archive.name == "page--inline_css.with.inline_css.max_bytes-1"
    assert "inline_css.max_bytes: 1 (usual: 2048)" in small.archive.notes
    assert derive(archive, parse_variant("inline_css")).archive.digest != small.archive.digest


def test_a_variant_that_is_its_original_says_why(tmp_path: Path) -> None:
    archive = archived(tmp_path)
    made = derive(
        archive,
        parse_variant("inline_css,inline_import_to_link").with_settings((("inline_css.max_bytes", 1),)),
    )
    assert (made.report.unchanged, made.archive.digest) == (True, archive.digest)
    large, nothing = made.report.why_unchanged
    files = ("https://a.example/a.css 1,440 bytes", "https://a.example/b.css 17 bytes")
    assert tells([large], "inline_css: larger than 1 bytes", "inline_css.max_bytes", *files)
    assert tells([nothing], "nothing", "inline_import_to_link")
    assert derive(archive, parse_variant("passthrough")).report.unchanged
    assert not derive(archive, parse_variant("inline_css")).report.unchanged


def test_an_original_with_several_captures_of_a_url_is_told_from_no_variant_of_it(tmp_path: Path) -> None:
    style = (("Content-Type", "text/css"),)
    page = Response(
        "https://a.example/", 200, (("Content-Type", "text/html"),), b"<link rel=stylesheet href=a.css>"
    )
    captures = [Response("https://a.example/a.css", 200, style, body) for body in (b"p{}", b"b{}")]
    archive = write_archive(tmp_path, "page", About(page.url, "test", "", ()), [page, *captures])
    made = derive(archive, parse_variant("inline_css").with_settings((("inline_css.max_bytes", 1),)))
    assert (made.report.unchanged, made.archive.digest) == (True, archive.digest)


@pytest.mark.parametrize("damaged", ["{", "[]", "{}", '{"before": {"bytes": {"a": "5"}}}'])
def test_a_damaged_report_of_a_variant_is_refused(tmp_path: Path, damaged: str) -> None:
    archive, minify = archived(tmp_path), parse_variant("minify")
    made = derive(archive, minify)
    assert derive(archive, minify).report == made.report
    (made.archive.folder / REPORT).write_text(damaged)
    with pytest.raises(ArchiveError, match=r"cannot read .*optimised\.json .*it is made again"):
        derive(archive, minify)


@pytest.mark.thorough
def test_an_engine_gets_what_it_can_take_and_shares_what_serves_it_whole(tmp_path: Path) -> None:
    archive = archived(tmp_path)
    core, late = parse_variant("core"), parse_variant("minify,convert_to_avif,hint_preload_subresources")
    assert derive(archive, core, Engine.QTWEBKIT).archive.folder == derive(archive, core).archive.folder
    modern, historical = derive(archive, late), derive(archive, late, Engine.QTWEBKIT)
    assert (modern.report.unserved, historical.fresh) == ({}, True)
    assert historical.report.unserved.keys() == {"convert_to_avif", "hint_preload_subresources"}
    avif, preload = (historical.report.unserved[name] for name in sorted(historical.report.unserved))
    assert tells([avif], "qtwebkit", "AVIF")
    assert tells([preload], "qtwebkit", "Link: rel=preload")
    left = parse_variant("minify")
    assert [step.filter for step in historical.report.steps] == list(left.filters)
    assert tells(historical.archive.notes, "convert_to_avif", "left out", avif)
    assert historical.archive.digest == derive(archive, left).archive.digest != modern.archive.digest
    again = derive(archive, late, Engine.QTWEBKIT)
    assert (again.fresh, again.report) == (False, historical.report)


def test_a_variant_tells_how_far_the_hosts_of_its_page_were(tmp_path: Path) -> None:
    html = b'<!doctype html><head><link rel=stylesheet href="/a.css"><link rel=stylesheet href="/b.css"></head><body>'
    css = (("Content-Type", "text/css"),)
    responses = [
        Response("https://a.example/", 200, (("Content-Type", "text/html"),), html),
        Response("https://a.example/a.css", 200, css, b"p{}", connect_ms=30.5),
        Response("https://a.example/b.css", 200, css, b"b{}"),
    ]
    archive = write_archive(tmp_path, "page", About("https://a.example/", "test", "x", ()), responses)
    made = derive(archive, parse_variant("combine_css,inline_css")).archive
    assert made.digest != archive.digest
    assert round_trips(made.entries) == round_trips(archive.entries) == {"a.example": 30.5}
