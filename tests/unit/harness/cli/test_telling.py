"""Texts are shown as they are written; of silent work a terminal is told each second, a log nothing."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.table import Table

from harness.cli.telling import BUSY_WARNING, CLEAR, console, reading_s, say, telling, warn_if_disturbed
from harness.input.shown import one_line, printable, shown
from harness.probes.registry import Observation
from tests.facts import tells
from tests.unit.harness.run.test_attempts import PLAN, record

HOSTILE = "[/red] [link=http://a]b[/link] :smile: [bold]c"


def test_markup_in_a_text_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    say(HOSTILE)
    table = Table(HOSTILE, title=HOSTILE, box=None)
    table.add_row(HOSTILE)
    console().print(table)
    assert capsys.readouterr().out.count(HOSTILE) == 4


def test_nothing_reaches_the_terminal_as_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    say("a\x1b[2Jb\x07c\ud800d\u202ee\nf")
    assert capsys.readouterr().out == "a\\x1b[2Jb\\x07c\\ud800d\\u202ee\nf\n"
    assert printable("Grüße, 日本 \N{NO-BREAK SPACE}!") == "Grüße, 日本 \N{NO-BREAK SPACE}!"
    assert one_line("a\nb\rc") == "a b\\rc"


def test_what_was_found_is_shown_briefly() -> None:
    assert shown(10**5000) == "a whole number of 16,610 bits"
    assert shown("x\n") == "'x\\n'"
    assert len(shown("x" * 10**6)) < 100


def test_a_terminal_is_told_what_is_done_and_is_left_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.cli.telling.EVERY_S", 0.05)
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr("sys.stderr", terminal)
        with telling("loading \x1b[2J the page", 12) as tell:
            time.sleep(0.3)
            tell("step 2 of 2")
            time.sleep(0.3)
    said = _all_of(ours)
    assert f"{CLEAR}loading " in said
    assert " the page: 0 s (usually 12 s)" in said
    assert " the page, step 2 of 2: " in said
    assert "\x1b[2J" not in said
    assert said.endswith(CLEAR)


def _all_of(terminal: int) -> str:
    """All that was written: one read gives no more than a page of it, and the last one fails, as nobody writes."""
    pieces = list[bytes]()
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 100_000):
            pieces.append(piece)
    os.close(terminal)
    return b"".join(pieces).decode()


def test_nothing_is_told_in_a_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.cli.telling.EVERY_S", 0.01)
    with telling("loading the page"):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_a_trial_that_the_machine_disturbed_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    calm = record(PLAN.trials[0], 1, None)
    warn_if_disturbed(calm)
    assert capsys.readouterr().err == ""
    warn_if_disturbed(
        replace(
            calm, observation=Observation(plt_ms=100.0, foreign_cpu_share=0.9, client_thread_late_ms=80.0)
        )
    )
    said = capsys.readouterr().err
    assert said.startswith(BUSY_WARNING)
    assert tells(said, "leaves it out", "busy-machine", "others had more than 10%")
    assert said.count("\n") == 1


def test_the_usual_time_goes_by_the_size_of_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "records").write_bytes(b"x" * 3_000)
    assert reading_s([tmp_path / "records", tmp_path / "missing", tmp_path], 1_000) == 3
