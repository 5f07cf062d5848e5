"""What a killed process leaves behind goes with the next call; what a living one works in stays."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sites.wholefolder import remove_leftovers, temporary_folder

WORKING = """
import sys
from pathlib import Path
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About

def responses():
    yield Response("http://a.example/", 200, (), b"x" * 100_000)
    print("working", flush=True)
    sys.stdin.read()

write_archive(Path(sys.argv[1]), sys.argv[2], About("http://a.example/", "test", "", ()), responses())
"""


@pytest.fixture
def archiving(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the middle of writing the archive `one`."""
    with subprocess.Popen(
        [sys.executable, "-c", WORKING, str(tmp_path), "one"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"working\n"
        yield process
        process.kill()


def hidden(root: Path) -> list[str]:
    return [path.name for path in root.iterdir() if path.name.startswith(".")]


def test_the_leftover_of_a_killed_process_goes_whatever_its_name(
    tmp_path: Path, archiving: subprocess.Popen[bytes]
) -> None:
    (left,) = hidden(tmp_path)
    with temporary_folder(tmp_path, "two"):
        assert left in hidden(tmp_path), "its process lives"
    archiving.kill()
    archiving.wait()
    assert hidden(tmp_path) == [left]
    with temporary_folder(tmp_path, "two") as mine:
        assert hidden(tmp_path) == [mine.name]
    assert hidden(tmp_path) == []


def test_a_living_process_ends_its_work_undisturbed(
    tmp_path: Path, archiving: subprocess.Popen[bytes]
) -> None:
    remove_leftovers(tmp_path)
    archiving.communicate(b"")
    assert archiving.returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    others = [tmp_path / ".config.new", tmp_path / ".a.b.new", tmp_path / "elsewhere"]
    for each in others:
        each.mkdir()
    link = tmp_path / f".x.{'0' * 16}.new"
    link.symlink_to(others[2])
    remove_leftovers(tmp_path)
    assert all(each.is_dir() for each in others)
    assert link.is_symlink()
