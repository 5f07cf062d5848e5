"""What `coldload load` refuses before anything is loaded."""

from __future__ import annotations

import pytest

from harness.cli.commands import main


def test_bodies_are_kept_somewhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["load", "agency", "--bodies"]) == 2
    assert "--bodies goes with --keep DIR" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["n" * 300, "../../root/x", "/root/x", ""])
def test_what_can_be_no_archives_name_is_a_mistake(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["load", name]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "disk" not in told
