"""What `coldload doctor` looks for, beside what configs/debian-packages.txt names (tests/unit/test_releases.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.lab import preflight
from harness.system import enclosure
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
