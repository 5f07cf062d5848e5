"""What goes into a root, and what is told where none can be made."""

from __future__ import annotations

import dataclasses
import getpass
import json
import os
import shutil
from pathlib import Path

import pytest

import configs
from harness.errors import EnvironmentLacks, StorageFailed
from harness.lab import preflight, rootmaking
from harness.lab.rootmaking import RootRecipe
from harness.system import folders
from harness.system.folders import FOLDER
from harness.system.roots import Purpose, Root, folder_of, read
from tests.facts import tells

QTWEBKIT = "python3-pyqt5.qtwebkit"


def test_each_purpose_has_its_packages() -> None:
    historical = RootRecipe(Purpose.HISTORICAL).packages
    assert QTWEBKIT in historical
    assert "fonts-liberation" in historical
    assert "chromium" not in historical
    lab = RootRecipe(Purpose.LAB).packages
    assert {QTWEBKIT, "chromium", "nginx", "cargo"} <= set(lab)
    assert QTWEBKIT not in RootRecipe(Purpose.LAB, "13").packages
    assert not {"firefox-esr", "weston"} & set(lab)
    with_firefox = RootRecipe(Purpose.LAB, engines=["firefox"]).packages
    assert set(with_firefox) - set(lab) == {"firefox-esr"}


def test_no_package_is_known_by_a_file_that_a_root_leaves_out() -> None:
    signs = [package.sign for package in preflight.debian_packages()]
    assert any("*" in sign for sign in signs)  # a folder of the architecture
    assert not [
        sign
        for sign in signs
        for pattern in rootmaking.LEFT_OUT
        if sign.startswith(pattern.removesuffix("*"))
    ]


def test_a_package_is_known_by_a_file_below_a_folder_of_any_name(tmp_path: Path) -> None:
    package = dataclasses.replace(preflight.debian_packages()[0], sign=f"{tmp_path}/*/told")
    assert not package.is_there()
    (tmp_path / "x86_64").mkdir()
    (tmp_path / "x86_64" / "told").touch()
    assert package.is_there()


def test_a_root_of_the_lab_holds_what_this_version_needs() -> None:
    needed = rootmaking.requirements()
    assert any(each.startswith("msgspec") for each in needed)
    assert not any("pytest" in each for each in needed)
    one, other = RootRecipe(Purpose.LAB), RootRecipe(Purpose.LAB, "13")
    assert one.digest() == RootRecipe(Purpose.LAB, mirror="https://mirror.example/").digest()
    assert len({one.digest(), other.digest(), RootRecipe(Purpose.HISTORICAL).digest()}) == 3


@pytest.mark.parametrize(
    ("release", "purpose"),
    [("12", None), ("13", Purpose.HISTORICAL), ("24.04", Purpose.LAB), ("", Purpose.LAB)],
)
def test_what_a_machine_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, release: str, purpose: Purpose | None
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(preflight, "debian_release", lambda: release)
    monkeypatch.setattr(rootmaking, "debian_release", lambda: release)
    absent = [
        dataclasses.replace(each, sign="/nowhere") for each in preflight.debian_packages() if each.release
    ]
    monkeypatch.setattr(rootmaking, "debian_packages", lambda: absent)
    assert rootmaking.lacking() is purpose


@pytest.mark.parametrize("stored", ["", "{}", '{"release": "13", "made_utc": "x", "made_for": "another"}'])
def test_a_damaged_root_or_one_of_another_version_is_none_and_can_be_made_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stored: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = folder_of(Purpose.HISTORICAL)
    folder.mkdir(parents=True)
    (folder / "root.json").write_text(stored)
    assert not rootmaking.is_there(Purpose.HISTORICAL)
    digest = RootRecipe(Purpose.HISTORICAL).digest()
    (folder / "root.json").write_text(json.dumps({"release": "12", "made_utc": "x", "made_for": digest}))
    assert rootmaking.is_there(Purpose.HISTORICAL)


def test_a_root_is_there_with_the_engines_it_was_made_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert rootmaking.engines_held(Purpose.LAB) == ()
    folder = folder_of(Purpose.LAB)
    folder.mkdir(parents=True)
    digest = RootRecipe(Purpose.LAB, engines=["firefox"]).digest()
    stored = {"release": "12", "made_utc": "2026-01-01", "made_for": digest, "engines": ["firefox"]}
    (folder / "root.json").write_text(json.dumps(stored))
    assert rootmaking.is_there(Purpose.LAB)
    assert rootmaking.is_there(Purpose.LAB, ["firefox"])
    assert not rootmaking.is_there(Purpose.LAB, ["firefox", "webkit"])
    assert rootmaking.engines_held(Purpose.LAB) == ["firefox"]
    made = read(folder)
    assert tells([str(made)], "Debian 12", "made 2026-01-01", "0 packages", "with firefox", f"in {folder}")


def test_without_mmdebstrap_it_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentLacks, match=r"missing here: mmdebstrap") as refused:
        rootmaking.make(RootRecipe(Purpose.HISTORICAL), print)
    assert tells([str(refused.value)], "package manager", "Debian and Ubuntu: sudo apt-get install")
    assert len(str(refused.value)) < 250
    assert not list(tmp_path.iterdir())


def test_without_room_nothing_is_begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(rootmaking, "NEEDED_GB", dict.fromkeys(Purpose, 1_000_000))
    with pytest.raises(StorageFailed, match=r"GB are free in .*; make room, or set XDG_DATA_HOME"):
        rootmaking.make(RootRecipe(Purpose.HISTORICAL), print)


def test_subordinate_user_ids_are_found_by_name_and_by_number() -> None:
    name = getpass.getuser()
    assert rootmaking._has_subuids(f"other:100000:65536\n{name}:165536:65536\n")
    assert rootmaking._has_subuids(f"{os.getuid()}:165536:65536\n")
    assert not rootmaking._has_subuids(f"{name}other:165536:65536\n")


# As mmdebstrap of Debian 12 prints it in a namespace without a network.
UNREACHED = """I: running apt-get update...
E: Failed to fetch http://deb.debian.org/debian/dists/bookworm/InRelease  Temporary failure resolving 'deb.debian.org'
E: Failed to fetch http://security.debian.org/dists/x/InRelease  Temporary failure resolving 'security.debian.org'
E: Some index files failed to download. They have been ignored, or old ones used instead.
E: apt-get update --error-on=any -oAPT::Status-Fd=<$fd> -oDpkg::Use-Pty=false failed
E: mmdebstrap failed to run
"""
PIP = """I: Python packages
WARNING: Retrying (Retry(total=0)) after connection broken by 'Failed to establish a new connection'
ERROR: Could not find a version that satisfies the requirement msgspec>=0.20 (from versions: none)
"""


@pytest.mark.parametrize(
    ("printed", "facts"),
    [
        (
            UNREACHED,
            ("cannot be fetched", "(Temporary failure resolving 'deb.debian.org')", "network?", "{log}"),
        ),
        (
            PIP,
            ("cannot be fetched", "(requirement msgspec>=0.20 (from versions: none))", "network?", "{log}"),
        ),
        (
            "E: Failed to fetch x  No space left on device\n",
            ("mmdebstrap", "the disk is full", "make room", "same command"),
        ),
        (
            "I: installing\nE: setup failed: E: run_chroot failed: E: no\nE: mmdebstrap failed to run\n",
            ("mmdebstrap", ": setup failed: E: run_chroot failed: E: no; ", "{log}"),
        ),
        (
            PIP.partition("ERROR")[0] + "error: linking failed\n",
            ("mmdebstrap", ": error: linking failed; ", "{log}"),
        ),
        ("", ("mmdebstrap", "no reason", "{log}")),
    ],
)
def test_the_network_is_asked_for_only_where_a_server_was_not_reached(
    tmp_path: Path, printed: str, facts: tuple[str, ...]
) -> None:
    log = tmp_path / "made.log"
    log.write_text(printed)
    why = rootmaking._why(log)
    assert tells([why], *(fact.format(log=log) for fact in facts))
    assert ("network?" in why) == ("network?" in facts)


@pytest.mark.parametrize("changed", ["constraints.txt", "root-hook.sh", "pyproject.toml"])
def test_a_root_fits_only_the_versions_and_the_steps_that_it_was_made_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changed: str
) -> None:
    for path in (FOLDER / "constraints.txt", FOLDER / "pyproject.toml", rootmaking.HOOK):
        shutil.copy(path, tmp_path)
    monkeypatch.setattr(rootmaking, "FOLDER", tmp_path)
    monkeypatch.setattr(rootmaking, "HOOK", tmp_path / "root-hook.sh")
    before = RootRecipe(Purpose.LAB).digest()
    made = Root(tmp_path, "12", "2026-11-30T00:00:00Z", before)
    assert rootmaking.fits(made, Purpose.LAB)
    text = (tmp_path / changed).read_text()
    (tmp_path / changed).write_text(text.replace("msgspec", "msgspec2").replace("set -eu", "set -e"))
    assert not rootmaking.fits(made, Purpose.LAB)


@pytest.mark.parametrize("is_wheel", [False, True])
def test_a_root_gets_the_pinned_versions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, is_wheel: bool
) -> None:
    """A wheel has them in `configs` (tests/system/test_wheel.py)."""
    pinned = (FOLDER / "constraints.txt").read_text()
    if is_wheel:
        shutil.copy(FOLDER / "constraints.txt", tmp_path)
        monkeypatch.setattr(folders, "FOLDER", tmp_path)
        monkeypatch.setattr(configs, "FOLDER", tmp_path)
    given = tmp_path / "given"
    given.mkdir()
    rootmaking._give(given)
    assert (given / "constraints.txt").read_text() == pinned
    assert "msgspec==" in pinned
    assert all((given / "linkem" / part).exists() for part in rootmaking.LINKEM_PARTS)


def test_a_root_that_would_lose_what_is_kept_is_refused_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/var/lib/somebody")
    with pytest.raises(EnvironmentLacks, match=r"keeps files in /var/lib/somebody/coldload, .* its own /var"):
        rootmaking.make(RootRecipe(Purpose.LAB), print)
