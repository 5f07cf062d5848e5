"""What is known of a machine is known of that one alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import RecordsError
from harness.run.knownlanes import keep_lanes, known_lanes
from harness.system.topology import Core, Topology

MACHINE = Topology(tuple(Core(0, (cpu,)) for cpu in range(8)), 32 * 2**30)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDLOAD_CACHE", str(tmp_path / "cache"))


def test_a_number_is_kept_with_what_it_was_found_from() -> None:
    assert known_lanes(MACHINE, "x") is None
    path = keep_lanes(MACHINE, "x", 4, [{"protocol": "h2", "ratio": 1.001}])
    assert known_lanes(MACHINE, "x") == 4
    assert '"protocol": "h2"' in path.read_text()
    keep_lanes(MACHINE, "x", 2, [])
    assert known_lanes(MACHINE, "x") == 2


def test_another_machine_or_other_limits_are_not_known() -> None:
    keep_lanes(MACHINE, "x", 4, [])
    assert known_lanes(MACHINE, "y") is None
    assert known_lanes(replace(MACHINE, cores=MACHINE.cores[:4]), "x") is None
    assert known_lanes(replace(MACHINE, quota=4.0), "x") is None
    assert known_lanes(replace(MACHINE, memory_bytes=MACHINE.memory_bytes - 10**6), "x") == 4


@pytest.mark.parametrize("text", ["", "{}", '{"lanes": 0}', '{"lanes": "4"}', "[4]", "\x00"])
def test_a_damaged_file_is_told_in_one_line(text: str) -> None:
    path = keep_lanes(MACHINE, "x", 4, [])
    path.write_text(text)
    with pytest.raises(RecordsError, match=r"is damaged .*; measure again with `coldload doctor --lanes`"):
        known_lanes(MACHINE, "x")
