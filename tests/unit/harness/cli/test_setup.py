"""What `coldload setup` sets up where nothing can be installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import setup
from harness.cli.commands import main
from harness.lab.preflight import DebianPackage
from harness.system import program
from harness.system.folders import OUTSIDE
from tests.facts import tells

MENDED = "to make it anew with that: coldload root make lab --engine webkit\n"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The parts made in a root of the lab that is without WebKit; nothing is made."""
    parts: list[str] = []
    monkeypatch.setenv(OUTSIDE, "/nowhere")
    monkeypatch.setattr(DebianPackage, "is_there", lambda package: package.engine != "webkit")

    def made_one(part: str, _: object) -> int:
        parts.append(part)
        return 0

    monkeypatch.setattr(setup, "_set_up", made_one)
    return parts


def test_an_engine_that_a_root_lacks_is_told_with_its_mend(
    made: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["setup", "gateway", "webkit"]) == 3
    (said,) = capsys.readouterr().err.splitlines(keepends=True)
    assert said.startswith("coldload setup: ")
    assert tells([said], "root of the lab is without webkit")
    assert said.endswith(MENDED)
    assert made == []


def test_packages_of_debian_are_those_of_an_engine_or_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []

    def in_foreground(words: list[str]) -> int:
        started.append(words)
        return 0

    monkeypatch.setattr(program, "in_foreground", in_foreground)
    assert main(["setup", "debian", "firefox", "webkit"]) == 0
    assert [Path(words[1]).name for words in started] == ["debian-setup.sh"] * 3
    assert [words[2:] for words in started] == [[], ["firefox"], ["webkit"]]


def test_all_the_rest_is_set_up_there(made: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["setup"]) == 0
    said = capsys.readouterr().err.splitlines(keepends=True)[0]
    assert tells([said], "root of the lab is without webkit")
    assert said.endswith(MENDED)
    assert made == [part for part in setup.PARTS if part != "webkit"]
