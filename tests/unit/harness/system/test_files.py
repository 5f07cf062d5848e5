"""Files are whole or as they were; what a killed process left of a folder goes with the next call."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import FrameType

import pytest

from harness.errors import StorageFailed
from harness.system import files
from harness.system.files import (
    append_lines,
    drop_cut_line,
    is_temporary,
    remove_leftovers,
    replace_text,
    store_whole,
    temporary_folder,
    utc_now,
    utc_text,
    whole_file,
    write_whole,
)


def test_a_file_is_replaced_and_nothing_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    for text in ("first, and longer\n", "second\n"):
        replace_text(path, text)
        assert [*tmp_path.iterdir()] == [path]
        assert path.read_text() == text


def test_what_cannot_be_written_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    replace_text(path, "whole\n")
    with pytest.raises(UnicodeEncodeError):
        replace_text(path, "\ud800")
    assert (path.read_text(), [*tmp_path.iterdir()]) == ("whole\n", [path])


def test_the_error_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(IsADirectoryError):
        replace_text(tmp_path / "taken", "text")
    with pytest.raises(StorageFailed, match=r"cannot write .*taken: Is a directory; make room or choose"):
        write_whole(tmp_path / "taken", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_file_has_the_permissions_that_open_gives(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        replace_text(tmp_path / "data.json", "whole\n")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "data.json").stat().st_mode) == 0o640


def test_the_longest_name_that_a_file_may_have_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("ä" * 127 + "x")
    replace_text(path, "whole\n")
    assert [*tmp_path.iterdir()] == [path]


def test_a_file_of_the_user_beside_it_stays(tmp_path: Path) -> None:
    theirs = tmp_path / "data.json.new"
    theirs.write_text("mine")
    replace_text(tmp_path / "data.json", "whole\n")
    assert theirs.read_text() == "mine"


def test_of_two_writers_at_once_one_has_written_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    with whole_file(path) as first:
        first.write(b"first, ")
        first.flush()
        with whole_file(path) as second:
            second.write(b"second\n")
        assert path.read_text() == "second\n"
        first.write(b"and whole\n")
    assert path.read_text() == "first, and whole\n"
    assert [*tmp_path.iterdir()] == [path]


WRITING = """
import sys
from pathlib import Path
from types import FrameType
from harness.system.files import whole_file

with whole_file(Path(sys.argv[1])) as file:
    file.write(b"x" * 100_000)
    print("working", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "data[1].json"
    with subprocess.Popen(
        [sys.executable, "-c", WRITING, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"working\n"
        (left,) = tmp_path.iterdir()
        assert is_temporary(left.name)
        replace_text(path, "whole\n")
        assert sorted(tmp_path.iterdir()) == [left, path], "its process lives"
        process.kill()
    replace_text(tmp_path / "other.json", "whole\n")
    assert left.exists()
    replace_text(path, "whole\n")
    assert not left.exists()
    assert path.read_text() == "whole\n"


ADDING = """
import sys
from pathlib import Path
from types import FrameType
from harness.system.files import alone_in, replace_text

path = Path(sys.argv[1])
for _ in range(100):
    with alone_in(path.parent):
        replace_text(path, str(int(path.read_text()) + 1))
"""


def test_who_reads_and_writes_again_alone_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "number"
    path.write_text("0")
    adding = [subprocess.Popen([sys.executable, "-c", ADDING, str(path)]) for _ in range(3)]
    assert [each.wait() for each in adding] == [0, 0, 0]
    assert path.read_text() == "300"


@pytest.mark.parametrize("block", [1, 3, 1 << 16])
@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (b"", b""),
        (b"one\n", b"one\n"),
        (b"one\ntwo", b"one\n"),
        (b"one\n\n", b"one\n\n"),
        (b"cut before any line ended", b""),
        (b"one\nlonger than a block is", b"one\n"),
    ],
)
def test_what_a_kill_cut_short_is_taken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, text: bytes, whole: bytes
) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", block)
    path = tmp_path / "records.jsonl"
    path.write_bytes(text)
    drop_cut_line(path)
    assert path.read_bytes() == whole


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    drop_cut_line(tmp_path / "records.jsonl")
    assert [*tmp_path.iterdir()] == []


def test_a_line_goes_on_behind_whole_ones(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    append_lines(path, [{"a": 1}, {"a": 2}])
    with path.open("ab") as file:
        file.write(b'{"a": 3')
    drop_cut_line(path)
    append_lines(path, [{"a": 4}])
    assert path.read_text() == '{"a": 1}\n{"a": 2}\n{"a": 4}\n'


def test_every_zone_is_written_as_utc() -> None:
    noon = datetime(2012, 7, 1, 12, 0, 0, 5000)
    east = timezone(timedelta(hours=2))
    for moment in (noon, noon.replace(tzinfo=UTC), noon.replace(hour=14, tzinfo=east)):
        assert utc_text(moment) == "2012-07-01T12:00:00Z"
        assert utc_text(moment, "milliseconds") == "2012-07-01T12:00:00.005Z"


def test_now_is_read_back_as_now() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    assert before <= datetime.fromisoformat(utc_now()) <= datetime.now(UTC)


WORKING = """
import sys
from pathlib import Path
from types import FrameType
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


WITHOUT_DESCRIPTORS = """
import contextlib, os, pathlib, resource, signal, sys
from harness.system.files import _made

free = os.dup(0)
os.close(free)
resource.setrlimit(resource.RLIMIT_NOFILE, (free, free))
signal.setitimer(signal.ITIMER_REAL, 1)
with contextlib.ExitStack() as stack:
    try:
        _made(pathlib.Path(sys.argv[1]), "page", 0o700, stack)
    except OSError as error:
        print(error.strerror)
"""


def test_a_folder_that_cannot_be_locked_is_made_once_and_goes(tmp_path: Path) -> None:
    """As when no file can be opened any more."""
    words = [sys.executable, "-c", WITHOUT_DESCRIPTORS, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Too many open files\n", "")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    others = [tmp_path / ".config.new", tmp_path / ".a.b.new", tmp_path / "elsewhere"]
    for each in others:
        each.mkdir()
    link = tmp_path / f".x.{'0' * 16}.new"
    link.symlink_to(others[2])
    os.mkfifo(tmp_path / f".y.{'0' * 16}.new")
    remove_leftovers(tmp_path)
    assert (tmp_path / f".y.{'0' * 16}.new").exists()
    assert all(each.is_dir() for each in others)
    assert link.is_symlink()


def test_a_file_is_on_disk_before_it_is_in_its_place(tmp_path: Path) -> None:
    """Nobody cuts the power here: the calls of the system are seen in their order."""
    made, target = tmp_path / "new", tmp_path / "program"
    made.write_text("whole")
    target.write_text("old")
    called: list[str] = []

    def look(_frame: FrameType, event: str, what: object) -> None:
        if event == "c_call":
            called.append(getattr(what, "__name__", ""))

    sys.setprofile(look)
    try:
        store_whole(made, target)
    finally:
        sys.setprofile(None)
    assert [name for name in called if name in ("fsync", "replace")] == ["fsync", "replace"]
    assert target.read_text() == "whole"
    assert not made.exists()
