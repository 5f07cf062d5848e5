"""Lines of a run's files are told with their number when they are damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.errors import RecordsError
from harness.run.runlines import each_line


def test_a_line_that_a_kill_cut_off_is_none_and_neither_is_a_missing_file(tmp_path: Path) -> None:
    found: list[Any] = []
    each_line(tmp_path / "none", found.append)
    (tmp_path / "lines").write_text('{"a": 1}\n\n{"a": 2}\n{"a"')
    each_line(tmp_path / "lines", found.append)
    assert found == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("line", ["x", "[]", '{"a": {}}', "{}", '{"a": "no number"}'])
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    found: list[int] = []
    (tmp_path / "lines").write_text(f'{{"a": 1}}\n{line}\n')
    with pytest.raises(RecordsError, match=r"lines line 2 is damaged \(.*\); mend or remove it"):
        each_line(tmp_path / "lines", lambda data: found.append(int(data["a"])))
