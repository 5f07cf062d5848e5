"""Where the settings of the name server go: never into a file of the machine. All else is in tests/system."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnsredirect.names import Resolver
from harness.errors import EnvironmentLacks
from harness.system import enclosure

Covered = dict[Path, Path]
ADDRESS = "10.0.0.1"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An /etc without a file, and a /run of its own."""
    for name in ("etc", "run"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(enclosure, "RESOLV_CONF", tmp_path / "etc/resolv.conf")
    monkeypatch.setattr(enclosure, "PRIVATE_RUN", tmp_path / "run")
    return tmp_path


def used(machine: Path) -> Covered:
    """What is mounted over what once a name server is used."""
    covered: Covered = {}
    resolver = Resolver(machine / "covers", lambda source, target: covered.update({target: source}))
    resolver.use(ADDRESS)
    return covered


def test_the_machines_file_is_covered_and_stays_as_it_is(machine: Path) -> None:
    file = machine / "etc/resolv.conf"
    file.write_text("nameserver 192.0.2.1\n")
    assert f"nameserver {ADDRESS}\n" in used(machine)[file].read_text()
    assert file.read_text() == "nameserver 192.0.2.1\n"


def test_what_a_link_into_run_leads_to_is_made_there(machine: Path) -> None:
    file = machine / "run/systemd/resolve/stub-resolv.conf"
    (machine / "etc/resolv.conf").symlink_to("../run/systemd/resolve/stub-resolv.conf")
    assert file not in used(machine)
    assert f"nameserver {ADDRESS}\n" in file.read_text()


@pytest.mark.parametrize("link", [None, "../mnt/resolv.conf"])
def test_a_machine_without_the_file_gets_none(machine: Path, link: str | None) -> None:
    file = machine / "etc/resolv.conf"
    if link:
        file.symlink_to(link)
    target = file.resolve()
    with pytest.raises(EnvironmentLacks, match=f"there is no {target}.*; make an empty one: touch {target}"):
        used(machine)
    assert not target.exists()
