"""What `coldload optimize` prints, and says to a wrong call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli.main import main
from sites.archive import Response, write_archive
from sites.warc import About

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
        "engine": "chromium", "answered": [URL, f"{URL}a.js", f"{URL}late.js"],
    }  # fmt: skip
    (tmp_path / "shop" / "verify").mkdir()
    (tmp_path / "shop" / "verify" / "desktop-h2.json").write_text(json.dumps(report))
    assert main(["optimize", "shop", "--variant", "rewrite_javascript"]) == 0
    said = capsys.readouterr().out
    assert (
        "what a load in chromium asks for: 3, 7.0 kB; without its scripts the page asks for 2, 0.0 kB" in said
    )
    assert "3 requests, 7.0 kB before; 3 requests, 4.0 kB after" in said
