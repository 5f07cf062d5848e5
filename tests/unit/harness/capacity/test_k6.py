"""The generator is found by what it is made of, and a build that cannot be made is one line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.capacity import k6
from harness.capacity.k6 import build, k6_program, k6_version
from harness.cli.commands import main
from harness.errors import EnvironmentLacks
from tests.facts import tells

REMEDY = "to build it: coldload setup k6"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLDLOAD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def sources(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the sources that may be changed."""
    copied = shutil.copytree(k6.SOURCES, folder / "k6")
    monkeypatch.setattr(k6, "SOURCES", copied)
    return copied


def put_a_program(text: str = "#!/bin/sh\necho k6 $*\n") -> Path:
    """Where the build would put it, for these sources."""
    path = k6.program_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.usefixtures("cache")
def test_what_is_not_built_is_told_with_the_command_that_builds_it() -> None:
    with pytest.raises(EnvironmentLacks, match=REMEDY):
        k6_program()


@pytest.mark.parametrize("changed", ["main.go", "page/visit.go", "go.mod", "go.sum"])
@pytest.mark.usefixtures("cache")
def test_other_sources_are_another_program(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = sources(tmp_path, monkeypatch)
    put_a_program()
    assert k6_program().is_file()
    with (copied / changed).open("a") as file:
        file.write("\n")
    with pytest.raises(EnvironmentLacks, match=REMEDY):
        k6_program()


@pytest.mark.usefixtures("cache")
def test_another_checkout_of_the_same_sources_needs_no_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_a_program()
    copied = sources(tmp_path, monkeypatch)
    (copied / "page" / "more_test.go").touch()  # no part of the program
    assert k6_program().is_file()
    assert build() == k6_program()


DAMAGED = pytest.mark.parametrize(
    "left", ["", "\0" * 64, "#!/bin/sh\nexit 1\n"], ids=["empty", "zeros", "failing"]
)


@DAMAGED
@pytest.mark.usefixtures("cache")
def test_what_a_power_cut_left_of_it_is_told(left: str) -> None:
    put_a_program(left)
    with pytest.raises(EnvironmentLacks, match="does not run; to build it again: coldload setup k6"):
        k6_program()
    assert put_anew() == k6_program()


def put_anew() -> Path:
    """As a build that has just ended."""
    k6.program_path().unlink()
    return put_a_program()


@DAMAGED
@pytest.mark.thorough
@pytest.mark.usefixtures("cache")
def test_what_a_power_cut_left_of_it_is_built_anew(left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a network, the build is refused, and what was damaged has gone."""
    put_a_program(left)
    monkeypatch.setenv("GOPROXY", "http://127.0.0.1:9/")
    with pytest.raises(EnvironmentLacks, match="is not built"):
        build()
    with pytest.raises(EnvironmentLacks, match=REMEDY):
        k6_program()


@pytest.mark.thorough
def test_a_build_without_a_network_is_one_line_and_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GOPROXY", "http://127.0.0.1:9/")
    assert main(["setup", "k6"]) == 3
    _, began, line = capfd.readouterr().err.splitlines()
    assert began.startswith("setup: building the generator of users")
    assert line.startswith("coldload setup: ")
    assert tells([line], "k6", "not built", "go died (exit code 1)", "network?")
    assert line.endswith("To try again: coldload setup k6")
    assert not (cache / "k6" / "compiled").exists()
    with pytest.raises(EnvironmentLacks, match=REMEDY):
        k6_program()


def test_the_version_is_the_pinned_one() -> None:
    assert k6_version() == "k6/1.8.1"
