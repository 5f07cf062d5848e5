"""What must be the same on every machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cluster.messages import (
    BOOT_ID,
    MACHINE_VARIABLE,
    differences,
    machine_marks,
    machine_name,
    source_digest,
)
from harness.run import lanes

ONE = {"programs": {"chromium": "Chromium 1", "caddy": "v2"}, "fonts": {"fonts": 3}, "machine": {"cores": 2}}


def test_a_machine_that_differs_in_its_programs_is_told_how() -> None:
    other = {**ONE, "programs": {"chromium": "Chromium 2", "caddy": "v2"}, "machine": {"cores": 64}}
    assert differences(other, ONE) == ["programs.chromium: Chromium 2, elsewhere Chromium 1"]
    assert differences(ONE, ONE) == []


def test_what_one_lacks_is_a_difference() -> None:
    assert differences({"programs": {"chromium": "Chromium 1"}, "fonts": {"fonts": 3}}, ONE) == [
        "programs.caddy: None, elsewhere v2"
    ]


def test_the_sources_have_one_digest() -> None:
    assert len(source_digest()) == 64


def test_a_machine_is_called_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MACHINE_VARIABLE, "lab-7")
    assert machine_name() == "lab-7"


def test_machines_of_one_name_are_known_by_their_machine_ids_and_their_boots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = []
    for number in ("one", "other", "one"):
        (tmp_path / "machine-id").write_text(f"{number}\n")
        monkeypatch.setattr(lanes, "MACHINE_ID", tmp_path / "machine-id")
        marks.append(machine_marks())
    assert marks[0] == marks[2]
    assert marks[0].number != marks[1].number
    assert all(number not in str(marks) for number in ("one", "other"))
    assert {each.boot for each in marks} == {BOOT_ID.read_text().strip()}
