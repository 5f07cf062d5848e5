"""Where roots lie, which ones count, and what a root shows of the machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import EnvironmentLacks, UsageError
from harness.system import roots
from harness.system.folders import OUTSIDE
from harness.system.roots import Purpose
from tests.facts import tells

WHOLE = {"release": "12", "made_utc": "2026-11-25T10:00:00Z", "made_for": "x", "packages": {"wrk": "4.1"}}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv(roots.CHOICE, raising=False)
    return tmp_path


def test_one_that_was_cut_off_is_none(home: Path) -> None:
    folder = roots.folder_of(Purpose.HISTORICAL)
    assert folder == home / "coldload" / "roots" / "historical"
    (folder / "tree").mkdir(parents=True)
    assert roots.find(Purpose.HISTORICAL) is None
    (folder / "root.json").write_text(json.dumps(WHOLE))
    found = roots.find(Purpose.HISTORICAL)
    assert found is not None
    assert found.tree == folder / "tree"
    assert tells([str(found)], "Debian 12", "made 2026-11-25", "1 packages", f"in {folder}")


def test_none_is_used_when_that_is_asked_for(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = roots.folder_of(Purpose.LAB)
    folder.mkdir(parents=True)
    (folder / "root.json").write_text(json.dumps(WHOLE))
    assert roots.around() is None
    monkeypatch.setenv(roots.CHOICE, roots.NONE)
    assert roots.find(Purpose.LAB) is None
    monkeypatch.setenv(roots.CHOICE, str(folder))
    with pytest.raises(UsageError, match=r"COLDLOAD_ROOT is '.*'; set it to `none`"):
        roots.find(Purpose.LAB)
    monkeypatch.setenv(OUTSIDE, "/x")  # as in a root
    assert roots.around() is not None
    assert roots.around() == roots.find(Purpose.LAB)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"release": "12", "more": 1}', "\x00"])
def test_a_damaged_one_is_named_with_its_mend(home: Path, text: str) -> None:
    folder = roots.folder_of(Purpose.LAB)
    folder.mkdir(parents=True)
    (folder / "root.json").write_text(text)
    with pytest.raises(EnvironmentLacks, match=r"is damaged .* coldload root make lab"):
        roots.find(Purpose.LAB)


@pytest.mark.parametrize("value", ["", "relative/folder"])
def test_a_folder_of_xdg_that_is_none_is_ignored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", value)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert roots.folder_of(Purpose.LAB) == tmp_path / ".local/share/coldload/roots/lab"


def test_who_has_no_home_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv(roots.CHOICE, raising=False)
    monkeypatch.setenv("HOME", "relative")
    assert roots.find(Purpose.LAB) is None


def test_all_packages_of_this_installation_are_seen_in_a_root() -> None:
    found = dict(roots.sources())
    assert set(found) == set(roots.PACKAGES)
    assert all(path.is_dir() for path in found.values())


def test_a_root_that_is_kept_is_not_unused(home: Path) -> None:
    folder = roots.folder_of(Purpose.HISTORICAL)
    made = roots.Root(folder, "12", "2026-11-25T10:00:00Z", "x")
    with roots.unused(folder):  # there is none yet
        made.tree.mkdir(parents=True)
    with (
        roots.kept(made),
        pytest.raises(EnvironmentLacks, match=r"in use by a coldload that runs.*; wait"),
        roots.unused(folder),
    ):
        pass
    with (
        roots.unused(folder),
        pytest.raises(EnvironmentLacks, match="being made anew or removed"),
        roots.kept(made),
    ):
        pass
    with roots.kept(made), roots.kept(made):  # any number of commands
        pass
    with roots.unused(folder):
        made.tree.rmdir()


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("/var/www/html/r1", "/var"),
        ("/usr", "/usr"),
        ("/etc/coldload/ca.pem", "/etc"),
        ("/coldload/venv", "/coldload"),
        ("/var/tmp/../lib", "/var"),
        ("/var/tmp/runs", None),
        ("/var/home/somebody", None),
        ("/etc/hosts", None),
        ("/home/somebody/runs", None),
        ("/srv", None),
        ("/", None),
        ("runs", None),
    ],
)
def test_a_root_shows_what_lies_outside_of_its_own_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, folder: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(path)
    for given in (path, "link"):
        assert roots.shadowed_by(Path(given)) == (None if folder is None else Path(folder))


@pytest.mark.parametrize("variable", ["XDG_DATA_HOME", "COLDLOAD_CACHE", "COLDLOAD_ARCHIVES"])
def test_no_root_is_entered_that_would_lose_what_coldload_keeps(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for name in ("XDG_CACHE_HOME", "COLDLOAD_CACHE", "COLDLOAD_ARCHIVES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    roots.refuse_shadowed_folders()
    monkeypatch.setenv(variable, "/var/lib/somebody")
    with pytest.raises(
        EnvironmentLacks, match=rf"/var/lib/somebody.* its own /var.*; set {variable} to a folder"
    ):
        roots.go_inside(roots.Root(home, "12", "2026-11-25T10:00:00Z", "x"), ["doctor"])


def test_no_root_is_entered_from_a_folder_that_it_has_of_its_own(home: Path) -> None:
    """/usr/share is in every tree, so that a relative path would lead into that."""
    tree = home / "coldload/roots/lab/tree"
    for name in ("mnt", "usr/share"):
        (tree / name).mkdir(parents=True)
    code = (
        "import sys; from pathlib import Path; from harness.system import roots\n"
        "roots.go_inside(roots.Root(Path(sys.argv[1]), '12', '', ''), ['doctor'])"
    )
    words = [sys.executable, "-c", code, str(tree.parent)]
    done = subprocess.run(words, cwd="/usr/share", capture_output=True, text=True, check=False)
    assert tells(done.stderr, "EnvironmentLacks: /usr/share is not seen from the root", "below /home")
