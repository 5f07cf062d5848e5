"""What all engines' logs have in common."""

from __future__ import annotations

import pytest

from harness.engines.browserlog import without_user


@pytest.mark.parametrize(
    ("told", "travels"),
    [
        ("https://me:secret@site.example:8443/a@b?c@d#e@f", "https://site.example:8443/a@b?c@d#e@f"),
        ("http://me@site.example", "http://site.example"),
        ("https://:secret@[::1]/", "https://[::1]/"),
        ("https://site.example/@me", "https://site.example/@me"),
        ("https://site.example?to=me@site.example", "https://site.example?to=me@site.example"),
        ("https://site.example#http://me@site.example/", "https://site.example#http://me@site.example/"),
        ("data:text/html,http://me@site.example/", "data:text/html,http://me@site.example/"),
        ("", ""),
    ],
)
def test_a_url_travels_without_user_and_password(told: str, travels: str) -> None:
    assert without_user(told) == travels
