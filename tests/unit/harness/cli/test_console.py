"""What is printed for people is shown as it is written, wherever it comes from."""

from __future__ import annotations

import pytest
from rich.table import Table

from harness.cli.console import console
from harness.input.shown import one_line, printable, shown

HOSTILE = "[/red] [link=http://a]b[/link] :smile: [bold]c"


def test_markup_in_a_text_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    out = console()
    out.print(HOSTILE)
    table = Table(HOSTILE, title=HOSTILE, box=None)
    table.add_row(HOSTILE)
    out.print(table)
    assert capsys.readouterr().out.count(HOSTILE) == 4


def test_nothing_reaches_the_terminal_as_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("a\x1b[2Jb\x07c\ud800d\u202ee\nf")
    assert capsys.readouterr().out == "a\\x1b[2Jb\\x07c\\ud800d\\u202ee\nf\n"
    assert printable("Grüße, 日本 \N{NO-BREAK SPACE}!") == "Grüße, 日本 \N{NO-BREAK SPACE}!"
    assert one_line("a\nb\rc") == "a b\\rc"


def test_what_was_found_is_shown_briefly() -> None:
    assert shown(10**5000) == "a whole number of 16,610 bits"
    assert shown("x\n") == "'x\\n'"
    assert len(shown("x" * 10**6)) < 100
