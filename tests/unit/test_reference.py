"""docs/reference is what the code gives, and every key of a study has a meaning there."""

from __future__ import annotations

import pytest

from benchmarks.meanings import COLUMNS, DECLARED, KEYS
from benchmarks.reference import FILES, FOLDER

RENEW = "renew it: .venv/bin/python -m benchmarks.reference"


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_what_the_code_gives(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == FILES[name](), RENEW


def test_there_is_no_other_file() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*FILES}


@pytest.mark.parametrize("name", DECLARED)
def test_the_keys_are_those_that_a_study_takes(name: str) -> None:
    assert {*KEYS[name]} == {*DECLARED[name]}


def test_no_column_has_a_meaning_that_the_data_do_not_have() -> None:
    text = (FOLDER / "columns.md").read_text(encoding="utf-8")
    assert [name for name in COLUMNS if f"| `{name}` |" not in text] == []
