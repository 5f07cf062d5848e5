"""Files are whole or as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import StorageFailed
from harness.system.files import replace_text, write_whole


def test_a_file_is_replaced_and_nothing_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    for text in ("first, and longer\n", "second\n"):
        replace_text(path, text)
        assert [*tmp_path.iterdir()] == [path]
        assert path.read_text() == text


def test_what_cannot_be_written_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    replace_text(path, "whole\n")
    with pytest.raises(UnicodeEncodeError):
        replace_text(path, "\ud800")
    assert (path.read_text(), [*tmp_path.iterdir()]) == ("whole\n", [path])


def test_the_error_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(IsADirectoryError):
        replace_text(tmp_path / "taken", "text")
    with pytest.raises(StorageFailed, match=r"cannot write .*taken: Is a directory; make room or choose"):
        write_whole(tmp_path / "taken", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
