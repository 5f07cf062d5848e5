"""What `coldload optimize` prints, and says to a wrong call."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from harness.cli.commands import main
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About
from tests.facts import tells

URL = "https://shop.example/"
JS = (("Content-Type", "text/javascript"),)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["page"], "say NAME and --variant V, or neither"),
        (["--variant", "core"], "say NAME and --variant V, or neither"),
        (["page", "--variant", "plain"], "there is nothing to make"),
        (["page", "--variant", "plain,core"], "plain is the page as it is and stands alone"),
        (["page", "--variant", "core,-inline_csss"], "there is no filter or set 'inline_csss'"),
        (
            ["page", "--variant", "convert_to_avif", "--engine", "qtwebkit"],
            "qtwebkit does not take AVIF images",
        ),
    ],
)
def test_a_wrong_call_gets_one_line(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", *words]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def test_bytes_are_of_what_a_load_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(tmp_path))
    responses = [
        Response(URL, 200, (("Content-Type", "text/html"),), b"<script src=a.js></script>"),
        Response(f"{URL}a.js", 200, JS, b"load ( 'late.js' )"),
        Response(f"{URL}late.js", 200, JS, b"x ( ) ;" * 1000),
    ]
    archive = write_archive(tmp_path, "shop", About(URL, "test", "", ()), responses)
    report = {
        "schema": 1, "page": "shop", "variant": "plain", "device": "desktop", "protocol": "h2",
        "taken_utc": "2026-11-22T00:00:00.000Z", "archive_digest": archive.digest, "outcome": "ok", "reason": None,
        "plt_ms": 100.0, "asked": 4, "exact": 3, "closest": [], "missed": [f"{URL}gone.js"], "core_asked": 4,
        "core_missed": [f"{URL}gone.js"], "failed": [], "bytes_served": 1, "bytes_recorded": 1, "console_errors": [],
        "engine": "chromium", "answered": [URL, f"{URL}a.js", f"{URL}late.js"], "without_glyph": [],
        "determinism": True, "compression": "recorded",
    }  # fmt: skip
    (tmp_path / "shop" / "verify").mkdir()
    (tmp_path / "shop" / "verify" / "desktop-h2.json").write_text(json.dumps(report))
    assert main(["optimize", "shop", "--variant", "rewrite_javascript"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"chromium asks for: 3, 7\.0 kB; .* 2, 0\.0 kB", said)
    assert tells(said, "3 requests, 7.0 kB before", "3 requests, 4.0 kB after")


def test_a_variant_that_is_its_original_is_named_with_the_reason_per_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(tmp_path))
    html = b"<link rel=stylesheet href=style.css><script src=app.js></script>"
    responses = [
        Response(URL, 200, (("Content-Type", "text/html"),), html),
        Response(f"{URL}style.css", 200, (("Content-Type", "text/css"),), b"p{color:red}" * 400),
        Response(f"{URL}app.js", 200, JS, b"f();" * 600),
    ]
    archive = write_archive(tmp_path, "shop", About(URL, "test", "", ()), responses)
    report = {
        "schema": 1, "page": "shop", "variant": "plain", "device": "desktop", "protocol": "h2",
        "taken_utc": "2026-11-22T00:00:00.000Z", "archive_digest": archive.digest, "outcome": "ok", "reason": None,
        "plt_ms": 100.0, "asked": 3, "exact": 3, "closest": [], "missed": [], "core_asked": 3, "core_missed": [],
        "failed": [], "bytes_served": 1, "bytes_recorded": 1, "console_errors": [], "engine": "chromium",
        "answered": [each.url for each in responses], "without_glyph": [], "determinism": True,
        "compression": "recorded",
    }  # fmt: skip
    (tmp_path / "shop" / "verify").mkdir()
    (tmp_path / "shop" / "verify" / "desktop-h2.json").write_text(json.dumps(report))
    assert main(["optimize", "shop", "--variant", "inline"]) == 0
    said = capsys.readouterr().out
    limit = "larger than 2,048 bytes (inline_css.max_bytes)"
    assert f"inline_css left alone: {limit}: {URL}style.css 4,800 bytes" in said
    assert f"(inline_javascript.max_bytes): {URL}app.js 2,400 bytes" in said
    assert tells(said, "inline of shop IS ITS ORIGINAL", "not one byte")
    # The limits can be set, by either name, and a plan names what is the original under them.
    sets = ["--set", "CssInlineMaxBytes=4800", "--set", "inline_javascript.max_bytes=2399"]
    assert main(["optimize", "shop", "--variant", "inline", *sets]) == 0
    said = capsys.readouterr().out
    assert "inline_css.max_bytes: 4,800 (usual: 2,048)" in said
    assert "IS ITS ORIGINAL" not in said
    study = tmp_path / "s.toml"
    study.write_text(
        'name = "s"\npages = ["shop"]\nvariants = ["plain", "inline"]\nprotocols = ["h2"]\n'
        "[[links]]\ndown_mbps = 10\nrtt_ms = 20\n"
    )
    assert main(["plan", str(study)]) == 0
    said = capsys.readouterr().out
    (original,) = (line for line in said.splitlines() if "inline of shop IS ITS ORIGINAL" in line)
    assert f"inline_css: {limit}" in original
    study.write_text(study.read_text() + "[filters]\ninline_css = {max_bytes = 4800}\n")
    assert main(["plan", str(study)]) == 0
    told = capsys.readouterr()
    assert "inline_css.max_bytes=4800" in told.out
    assert "IS ITS ORIGINAL" not in told.out
    (making,) = told.err.splitlines()
    assert "inline_css.max_bytes=4800 of shop (1 of 1)" in making
