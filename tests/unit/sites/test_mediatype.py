"""Types of content, and which of them a browser takes for what."""

from __future__ import annotations

import pytest

from sites.mediatype import fits, is_text


def test_links_are_looked_for_in_text_alone() -> None:
    text_types = ["text/html", "text/css", "application/javascript", "application/json", "image/svg+xml"]
    text_types += [
        "application/manifest+json",
        "application/ld+json",
        "text/xml",
        "text/javascript",
        "text/plain",
    ]
    assert all(is_text(mime) for mime in text_types)
    assert not any(is_text(mime) for mime in ("", "image/png", "font/woff2", "application/octet-stream"))


@pytest.mark.parametrize(
    ("accepts", "mime", "fit"),
    [
        ("image", "image/webp", True),
        ("image", "text/html", False),
        ("image/avif,image/webp,*/*;q=0.8", "application/json", False),
        ("style", "text/css", True),
        ("text/css,*/*;q=0.1", "text/plain", False),
        ("script", "application/json", True),
        ("script", "text/html", False),
        ("font", "application/x-font-ttf", True),
        ("font", "text/html", False),
        ("iframe", "text/html", True),
        ("text/html,application/xhtml+xml", "text/javascript", False),
        ("document", "application/pdf", True),
        ("empty", "text/html", True),
        ("*/*", "image/png", True),
        ("", "text/html", True),
        ("image", "", True),
    ],
)
def test_what_a_browser_would_not_take_is_of_another_kind(accepts: str, mime: str, fit: bool) -> None:
    assert fits(accepts, mime) is fit
