"""What `coldload load` refuses before anything is loaded."""

from __future__ import annotations

import pytest

from harness.cli.commands import main


def test_bodies_are_kept_somewhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["load", "agency", "--bodies"]) == 2
    assert "--bodies goes with --keep DIR" in capsys.readouterr().err
