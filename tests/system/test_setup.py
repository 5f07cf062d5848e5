"""What is in the way of the set-up is told in one line, and nothing half-made is taken for whole."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.facts import tells

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.side_by_side


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the set-up of Python reads."""
    for name in ("pyproject.toml", "constraints.txt", "hatch_build.py", "README.md"):
        shutil.copy2(ROOT / name, tmp_path)
    (tmp_path / "harness" / "linkem" / "bin").mkdir(parents=True)
    for name in ("Cargo.toml", "Cargo.lock", "build.py", "src"):
        (tmp_path / "harness" / "linkem" / name).symlink_to(ROOT / "harness" / "linkem" / name)
    (tmp_path / "harness" / "linkem" / "bin" / "linkem").write_text("not empty")
    return tmp_path


def set_up(folder: Path, *entering: str) -> subprocess.CompletedProcess[str]:
    """The script, without the network, where it is not refused before it needs one."""
    return subprocess.run(
        [*(entering or ("unshare", "-r", "-n")), "sh", str(ROOT / "configs" / "python-setup.sh")],
        cwd=folder,
        env={**os.environ, "PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_a_network_it_stops_and_leaves_no_stamp(checkout: Path) -> None:
    done = set_up(checkout)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert done.stderr.startswith("setup: ")
    assert tells([done.stderr], "Python packages cannot be fetched", "network?")
    (begun,) = done.stdout.splitlines()
    assert tells([begun], "setup: Python packages", "link emulator", "1.5 GB")
    assert not (checkout / ".venv" / ".ready").exists()


def test_what_is_whole_is_left_alone_and_what_is_not_is_made_anew(checkout: Path) -> None:
    """It is seen by going on until the network is needed, and by the stamp, which goes first.

    What is not whole for one reason is whole again once it has the stamp.
    """
    subprocess.run(["python3", "-m", "venv", checkout / ".venv"], check=True)
    for damage in ("newer sources", "an empty emulator", "no pip", "moved"):
        emulator = checkout / "harness" / "linkem" / "bin" / "linkem"
        emulator.write_text("not empty")
        (checkout / ".venv" / ".ready").touch()
        done = set_up(checkout)
        assert (damage, done.returncode, done.stdout, done.stderr) == (damage, 0, "", "")
        if damage == "newer sources":
            os.utime(checkout / ".venv" / ".ready", (0, 0))
        elif damage == "an empty emulator":
            emulator.write_bytes(b"")
        elif damage == "no pip":
            (checkout / ".venv" / "bin" / "pip").unlink()
        else:
            checkout = checkout.rename(checkout.with_name("moved"))
        done = set_up(checkout)
        assert (damage, done.returncode) == (damage, 3)
        assert "is there a network?" in done.stderr, damage
        assert not (checkout / ".venv" / ".ready").exists(), damage


def test_a_full_disk_is_named(checkout: Path) -> None:
    small = 'mkdir .venv && mount -t tmpfs -o size=12m t .venv && exec "$@"'
    done = set_up(checkout, "unshare", "-r", "-m", "sh", "-c", small, "sh")
    assert done.returncode == 3
    assert "setup: the disk is full" in done.stderr
    assert not (checkout / ".venv" / ".ready").exists()


PYTHON = '#!/bin/sh\n[ "$2" != harness.cli ] || printf "%s\\n" "$PYTHONPATH $*"\n'


def test_off_debian_the_command_knows_its_checkout_whatever_that_is_called(tmp_path: Path) -> None:
    """Python itself is none here: it tells what it is started with."""
    folder = tmp_path / "o'brien's \"lab\" $HOME"
    (folder / "configs").mkdir(parents=True)
    shutil.copy2(ROOT / "configs/setup.sh", folder / "configs")
    (tmp_path / "os-release").write_text("ID=ubuntu\nVERSION_ID=24.04\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").write_text(PYTHON)
    (tmp_path / "bin/python3").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    environment.pop("PYTHONPATH", None)
    entry = f'mount --bind {tmp_path}/os-release /etc/os-release && exec "$@"'
    words = ["unshare", "-r", "-m", "sh", "-c", entry, "sh", "sh", "configs/setup.sh"]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        " -m harness.cli root make lab --if-missing\n",
        "",
    )
    (tmp_path / "bin/coldload").symlink_to(folder / ".venv/bin/coldload")
    for command in (folder / ".venv/bin/coldload", "coldload"):
        said = subprocess.run(
            [command, "pages", "a b"], cwd="/", env=environment, capture_output=True, text=True, check=True
        )
        assert said.stdout == f"{folder} -m harness.cli pages a b\n"
