"""`coldload show` of what cannot be shown: one line, exit code 2."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from harness.cli.commands import main
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic

ONE = Synthetic(pages=("p",), protocols=("h2",), rates_mbps=(10.0,), rtts_ms=(50.0,), trials=1)


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line of a command that is refused."""
    assert main(["show", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    return line


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ONE.write(tmp_path_factory.mktemp("runs") / "run")


def test_what_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tells(told(capsys, str(tmp_path)), "not a run directory", "no records.jsonl")
    assert "is not a run directory" in told(capsys, str(tmp_path / "nothing"))


def test_a_trial_that_the_run_does_not_hold(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tells(told(capsys, str(run), "nothing\x1b"), "no trial 'nothing\\x1b'", "leave it out")
    assert "holds no trial '00001:2'" in told(capsys, str(run), "00001:2")


def test_a_port_that_is_taken(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} of 127.0.0.1 cannot be had" in told(capsys, str(run), "--port", str(port))


@pytest.mark.parametrize("port", ["0", "-1", "65536", "x", "8" * 5000, "\u0663"])
def test_what_is_no_port(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["show", "run", "--port", port])
    assert tells(capsys.readouterr().err, "is no port", "1 to 65535")
