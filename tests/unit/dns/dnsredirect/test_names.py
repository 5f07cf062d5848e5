"""Where the settings of the name server go, never into a file of the machine; how long a look-up waits for an answer.

All else is in tests/system.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dnsredirect.names import Asking, Resolver
from harness.errors import EnvironmentLacks
from harness.model.link import Discipline, Link, Queue, RandomLoss
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


def used(machine: Path, asking: Asking | None = None) -> Covered:
    """What is mounted over what once a name server is used."""
    covered: Covered = {}
    resolver = Resolver(machine / "covers", lambda source, target: covered.update({target: source}))
    resolver.use(ADDRESS, asking=asking)
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


def down(link: Link, **changes: object) -> Link:
    return replace(link, down=replace(link.down, **changes))  # type: ignore[arg-type]  # fields of Direction


ONE_MBPS = Link.of(1, 200)


@pytest.mark.parametrize(
    ("link", "asking"),
    [
        (Link.of(10, 200), Asking(1, 3)),
        (Link.of(5, 28, 1), Asking(1, 3)),  # 2.4 s of queue
        (down(ONE_MBPS, queue=Queue(Discipline.DROP_TAIL, 75_000)), Asking(1, 3)),
        (Link.of(3, 100), Asking(1, 5)),
        (ONE_MBPS, Asking(1, 5)),
        (Link.of(0.1, 300), Asking(9, 5)),
        (down(Link.of(0.1, 300), loss=RandomLoss(1)), Asking(1, 5)),
        (down(ONE_MBPS, loss=RandomLoss(1)), Asking(1, 5)),
        (down(Link.of(10, 100), queue=Queue(Discipline.UNLIMITED, None)), Asking(1, 3)),
        (Link.of(10, 4900), Asking(2, 5)),
        (down(Link.of(10, 60_000), loss=RandomLoss(1)), Asking(13, 5)),
        (Link.of(10, 60_000), Asking(13, 5)),
    ],
)
def test_a_look_up_waits_as_long_as_an_answer_can_take(link: Link, asking: Asking) -> None:
    assert Asking.over(link) == asking


def test_programs_are_told_how_long_to_ask(machine: Path) -> None:
    file = machine / "etc/resolv.conf"
    file.touch()
    assert "options timeout:1 attempts:3\n" in used(machine)[file].read_text()
    slow = Asking.over(Link.of(0.1, 300))
    assert "options timeout:9 attempts:5\n" in used(machine, slow)[file].read_text()
