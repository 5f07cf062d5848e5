"""TOML of unknown origin: its comments are told from its strings."""

from __future__ import annotations

import pytest

from harness.input.tomltext import with_comments


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ('a = 1 # one\n# two\nb = "# none"', 'a = 1 !\n!\nb = "# none"'),
        ("a = '''\n# none\n''' # one", "a = '''\n# none\n''' !"),
        ('a = "x \\" # none" # one\n', 'a = "x \\" # none" !\n'),
        ("", ""),
    ],
)
def test_comments_alone_are_changed(text: str, changed: str) -> None:
    assert with_comments(text, lambda _: "!") == changed
