"""What `coldload optimize` says to a wrong call."""

from __future__ import annotations

import pytest

from harness.cli.main import main


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["page"], "say NAME and --variant V, or neither"),
        (["--variant", "core"], "say NAME and --variant V, or neither"),
        (["page", "--variant", "plain"], "there is nothing to make"),
        (["page", "--variant", "plain,core"], "plain is the page as it is and stands alone"),
        (["page", "--variant", "core,-inline_csss"], "there is no filter or set 'inline_csss'"),
    ],
)
def test_a_wrong_call_gets_one_line(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", *words]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
