"""What `coldload advise` says to a wrong call, and what it finds to try on a page before any load."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli.advise import _measuring, _too_short
from harness.cli.alternatives import alternatives_of
from harness.cli.commands import main
from harness.model.protocol import Protocol
from harness.study.advising import Alternative, Budget
from harness.study.linkfile import named_links
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About
from tests.facts import tells

URL = "https://shop.example/"
CDN = "https://cdn.example/late.js"
JS = (("Content-Type", "text/javascript"),)


def shop(root: Path) -> Archive:
    """A document with a script of its own and one of another host; all text is sent uncompressed."""
    document = (
        b"<!doctype html><!-- a comment --><script src=a.js></script><script src="
        + CDN.encode()
        + b"></script>"
    )
    responses = [
        Response(URL, 200, (("Content-Type", "text/html"),), document),
        Response(f"{URL}a.js", 200, JS, b"var  first = 1 ;\n" * 200),
        Response(CDN, 200, JS, b"var  late = 1 ;\n" * 2000),
    ]
    return write_archive(root, "shop", About(URL, "test", "", ()), responses)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["shop", "--budget", "soon"], "'soon' is no duration"),
        (["shop", "--link", "cabel"], "no link is named 'cabel'"),
        (["shop", "--link", "none"], "none is no link"),
        (["shop", "--budget", "10s"], "on cable and 4g: one change needs about "),
        (["nothing"], "nothing"),
    ],
)
def test_a_wrong_call_gets_one_line(
    words: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(tmp_path))
    shop(tmp_path)
    try:
        code = main(["advise", *words])
    except SystemExit as error:  # of the parser
        code = int(str(error.code))
    assert code == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


@pytest.mark.thorough
def test_what_changes_nothing_is_never_tried(tmp_path: Path) -> None:
    archive = shop(tmp_path)
    made: list[str] = []
    found = alternatives_of(archive, Protocol.H2, [URL, f"{URL}a.js", CDN], made.append)
    names = {each.name: each for each in found.alternatives}
    assert names.keys().isdisjoint(found.idle)
    assert {"HTTP/3 (QUIC)", "HTTP/1.1 + TLS", "gzip-6", "brotli-11", "one host", "minify"} <= names.keys()
    assert {"recompress_jpeg", "convert_to_avif", "rewrite_css"} <= found.idle.keys()
    assert names["remove_comments"].files == (URL,)
    assert names["rewrite_javascript"].fewer_bytes > 1000
    assert names["gzip-6"].fewer_bytes > 30_000
    assert names["gzip-6"].files == (CDN, f"{URL}a.js", URL)
    assert names["one host"].files == ("shop.example", "cdn.example")
    assert len(made) == len(set(made))


@pytest.mark.thorough
def test_a_page_of_one_host_over_plain_http_has_no_other_host_and_no_brotli(tmp_path: Path) -> None:
    url = "http://shop.example/"
    document = Response(url, 200, (("Content-Type", "text/html"),), b"<p>one  two</p>" * 100)
    archive = write_archive(tmp_path, "plain", About(url, "test", "", ()), [document])
    found = alternatives_of(archive, Protocol.HTTP1, [url], lambda _: None)
    names = {each.name for each in found.alternatives}
    assert found.idle["one host"] == "the page has one host"
    assert "gzip-6" in names
    assert "brotli-11" not in names | found.idle.keys()


def test_a_budget_is_told_as_given_and_what_is_needed_is_enough() -> None:
    """Neither is the time that is too short the time that is needed, nor is that rounded down."""
    budget = Budget(90.0, view_s=2.001, repeat_view_s=2.001, least=8)
    one = [Alternative("one change", "", "", {})]
    assert 120 < budget.needed_s(one) < 120.1
    cable = [*named_links("cable")]
    said = _too_short(budget, one, cable)
    assert tells([said], "--budget 90s is too short", "on cable: one change needs about 3m")
    nearly = Budget(59.6, view_s=0.0, repeat_view_s=0.0, least=8)
    assert tells([_too_short(nearly, one, cable)], "--budget 59.6s", "needs about 1m")


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ((1, 1, 1), ("measuring 1 change,", "1 other changes nothing")),
        ((3, 3, 0), ("measuring 3 changes,", "0 others change nothing")),
        ((1, 4, 2), ("the most promising 1 of 4 changes,", "2 others change nothing")),
    ],
)
def test_changes_are_counted(counts: tuple[int, int, int], says: tuple[str, ...]) -> None:
    assert tells([_measuring(*counts, 600.0)], *says, "10m at most")
