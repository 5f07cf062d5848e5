"""What is no file is refused at once, however long it would go on or keep silent. Comments of TOML are no strings."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from harness.errors import ArchiveError, StudyError
from harness.input import jsontext, textfile
from harness.input.textfile import read_file, with_comments
from harness.pack.packfile import is_pack
from harness.study.studyfile import read_study
from sites.archiving import read_list


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe.toml")
    return tmp_path / "pipe.toml"


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"x" * 2000)
    assert read_file(path, 2000) == b"x" * 2000
    with pytest.raises(OSError, match="it has over 1 kB; is it the right file"):
        read_file(path, 1999)


def test_what_has_no_end_or_no_beginning_is_no_file(tmp_path: Path, pipe: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
        kinds = {Path("/dev/zero"): "a device", pipe: "a pipe", tmp_path: "a folder"}
        for path, kind in kinds.items():
            with pytest.raises(OSError, match=f"it is {kind}, not a file"):
                read_file(path, 10)
        with pytest.raises(OSError, match="No such device or address"):
            read_file(tmp_path / "socket", 10)


def test_what_no_file_can_be_called_is_an_error_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for name, why in (
        ("loop", "symbolic links"),
        ("x" * 5000, "too long"),
        ("a\0b", "no file can be called so"),
    ):
        with pytest.raises(OSError, match=why):
            read_file(tmp_path / name, 10)


def test_every_door_refuses_a_pipe_and_a_device(pipe: Path) -> None:
    """Each of them would wait or fill the memory, and the test with it."""
    for path, what in ((pipe, "a pipe"), (Path("/dev/zero"), "a device")):
        with pytest.raises(OSError, match=what):
            textfile.read_text(path)
        with pytest.raises(OSError, match=what):
            jsontext.read(path)
        with pytest.raises(OSError, match=what):
            list(jsontext.lines(path))
        with pytest.raises(StudyError, match=what):
            read_study(path)
        with pytest.raises(ArchiveError, match=what):
            read_list(path)
        assert not is_pack(path)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ('a = 1 # one\n# two\nb = "# none"', 'a = 1 !\n!\nb = "# none"'),
        ("a = '''\n# none\n''' # one", "a = '''\n# none\n''' !"),
        ('a = "x \\" # none" # one\n', 'a = "x \\" # none" !\n'),
        ("", ""),
    ],
)
def test_comments_alone_are_changed(text: str, changed: str) -> None:
    assert with_comments(text, lambda _: "!") == changed
