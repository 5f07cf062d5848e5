"""What logs gain while somebody writes them."""

from __future__ import annotations

import re
from pathlib import Path

from harness.capacity import logtail
from harness.capacity.logtail import Gain, RequestTail, Tail

SIZE = re.compile(rb'"size":(\d+)')


def add(file: Path, text: str) -> None:
    with file.open("a") as log:
        log.write(text)


def test_a_tail_gives_whole_lines_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    add(log, "before\n")
    tail = Tail(log)
    assert tail.gained() == b""
    add(log, "one\ntw")
    assert tail.gained() == b"one\n"
    add(log, "o\n")
    assert tail.gained() == b"two\n"
    assert Tail(log, from_now=False).gained() == b"before\none\ntwo\n"


def test_a_file_that_is_not_there_has_gained_nothing_yet(tmp_path: Path) -> None:
    tail = Tail(tmp_path / "log")
    assert tail.gained() == b""
    add(tmp_path / "log", "first\n")
    assert tail.gained() == b"first\n"


def test_a_file_that_was_emptied_is_read_from_its_start(tmp_path: Path) -> None:
    log = tmp_path / "log"
    add(log, "before\n")
    tail = Tail(log)
    log.write_text("new\n")
    assert tail.gained() == b"new\n"


def test_requests_are_counted_and_their_bytes_added_up(tmp_path: Path) -> None:
    log = tmp_path / "log"
    add(log, '{"size":1}\n')
    tail = RequestTail(log, SIZE)
    add(log, '{"size":20}\n{"size":3}\n{"si')
    assert tail.gained() == Gain(2, 23)
    add(log, 'ze":4}\n')
    assert tail.gained() == Gain(1, 4)
    assert tail.gained() == Gain(0, 0)


def test_what_grows_too_fast_is_counted_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    tail = RequestTail(log, SIZE)
    lines = logtail.SUMMED_BYTES // 10
    log.write_bytes(b'{"size":7}\n' * lines)
    assert tail.gained() == Gain(lines, None)
