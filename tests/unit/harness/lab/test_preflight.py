"""What `coldload doctor` looks for, beside what configs/debian-packages.txt names (tests/unit/test_releases.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import EnvironmentLacks
from harness.lab import emulated, preflight
from harness.linkem.build import sources
from harness.system import enclosure, folders
from tests.facts import tells


@pytest.mark.parametrize("there", [True, False])
def test_a_machine_without_settings_of_a_name_server_lacks_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    settings = tmp_path / "resolv.conf"
    if there:
        settings.touch()
    monkeypatch.setattr(enclosure, "RESOLV_CONF", settings)
    lacking = [check for check in preflight.missing(preflight.checks()) if str(settings) in check.found]
    assert [check.remedy for check in lacking] == ([] if there else [f"make an empty one: touch {settings}"])
    assert there or tells(lacking[0].found, f"there is no {settings}")


@pytest.fixture
def stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An emulator that says it was compiled from other sources."""
    program = tmp_path / "linkem"
    program.write_text("#!/bin/sh\necho 'linkem 0.1.0 (sources 000000000000)'\n")
    program.chmod(0o755)
    monkeypatch.setattr(emulated, "IN_A_ROOT", program)
    return program


def emulators() -> list[preflight.Check]:
    return [check for check in preflight.checks() if check.what == "link emulator"]


def test_an_emulator_of_other_sources_is_refused_in_a_checkout(stale: Path) -> None:
    with pytest.raises(EnvironmentLacks, match=f"{stale} is not built from these sources.*: make setup$"):
        emulated.refuse_stale_emulator()
    assert [(check.ok, check.remedy) for check in emulators()] == [(False, "make setup")]
    stale.write_text(stale.read_text().replace("000000000000", sources()))
    emulated.refuse_stale_emulator()
    assert [check.ok for check in emulators()] == [True]


def test_an_installed_emulator_is_not_asked_for_its_sources(
    stale: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "FOLDER", tmp_path)
    emulated.refuse_stale_emulator()
    assert [check.ok for check in emulators()] == [True]
    assert stale.exists()
