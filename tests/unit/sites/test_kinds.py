from __future__ import annotations

import pytest

from sites.kinds import fits


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
