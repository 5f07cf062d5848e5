"""Folders follow the XDG specification; a home that is missing or unwritable is one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import EnvironmentLacks
from harness.system import folders
from harness.system.folders import (
    ARCHIVES,
    OUTSIDE,
    RUNS,
    cache_folder,
    kept_folder,
    made_folder,
    set_up_again,
    set_up_engines,
    set_up_with,
)
from sites.archive import archives_root

VARIABLES = ("XDG_DATA_HOME", "XDG_CACHE_HOME", "COLDLOAD_CACHE", "COLDLOAD_ARCHIVES")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, and a coldload that lies where a wheel puts it: with no Makefile beside it."""
    monkeypatch.setattr(folders, "FOLDER", tmp_path / "site-packages")
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_an_engine_is_set_up_where_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(OUTSIDE, raising=False)
    assert set_up_engines("firefox", "webkit") == "coldload setup firefox webkit"
    monkeypatch.setenv(OUTSIDE, "/x")  # as in a root
    assert set_up_engines("firefox") == "coldload root make lab --engine firefox"


def test_a_checkout_keeps_all_in_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLDLOAD_ARCHIVES", raising=False)
    assert (archives_root(), kept_folder(RUNS)) == (Path("archives"), Path("runs"))
    assert set_up_again() == set_up_with("cluster") == "make setup"


@pytest.mark.parametrize("ignored", [None, "", "relative/folder"])
def test_an_installed_one_keeps_all_below_the_home(
    installed: Path, monkeypatch: pytest.MonkeyPatch, ignored: str | None
) -> None:
    if ignored is not None:
        monkeypatch.setenv("XDG_DATA_HOME", ignored)
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
    assert archives_root() == kept_folder(ARCHIVES) == installed / ".local/share/coldload/archives"
    assert kept_folder(RUNS) == installed / ".local/share/coldload/runs"
    assert cache_folder() == installed / ".cache/coldload"


@pytest.mark.usefixtures("installed")
def test_variables_choose_other_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", "not asked for")
    assert kept_folder(RUNS) == tmp_path / "data/coldload/runs"
    assert cache_folder() == tmp_path / "cache/coldload"
    monkeypatch.setenv("COLDLOAD_ARCHIVES", "mine")
    monkeypatch.setenv("COLDLOAD_CACHE", "built")
    assert (archives_root(), cache_folder()) == (Path("mine"), Path("built"))


@pytest.mark.usefixtures("installed")
def test_without_a_home_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "")
    with pytest.raises(EnvironmentLacks, match=r"HOME is '', .*absolute path; .*XDG_DATA_HOME"):
        archives_root()
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(folders, "_USER", 3_999_999_999)
    with pytest.raises(EnvironmentLacks, match=r"HOME is not set .*user 3999999999 .*; .*HOME"):
        cache_folder()


def test_a_folder_that_cannot_be_made_is_told_with_what_chooses_another(tmp_path: Path) -> None:
    assert made_folder(tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentLacks, match=r"cannot make the folder .*/file/x \(Not a directory\); HOME"):
        made_folder(tmp_path / "file" / "x")


def test_no_other_module_names_a_target_of_the_makefile() -> None:
    rooms = ("harness", "sites", "analysis", "dns")
    named = {
        module.name
        for room in rooms
        for module in (folders.FOLDER / room).rglob("*.py")
        if "make setup" in module.read_text(encoding="utf-8")
    }
    assert named == {"folders.py"}


@pytest.mark.usefixtures("installed")
def test_what_mends_a_wheel_is_no_makefile() -> None:
    assert "pip install --force-reinstall 'coldload" in set_up_again()
    assert "pip install 'coldload[cluster]" in set_up_with("cluster")


NAMED = ("LOGNAME", "USER", "LNAME", "USERNAME")  # what Python asks before passwd


@pytest.mark.parametrize("variable", [*NAMED, None])
def test_a_user_without_an_entry_has_no_name_but_one_that_is_set(variable: str | None) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in NAMED}
    if variable:
        environment[variable] = "somebody"
    code = "from harness.system.folders import user_name; print(user_name())"
    words = ["unshare", "--user", "--map-user=54321", sys.executable, "-c", code]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("somebody\n" if variable else "None\n", "")
