"""What logs gain while somebody writes them, and the emulator's counters as values."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from harness.capacity import watches
from harness.capacity.watches import Counters, Gain, RequestTail, Tail, counters

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
    lines = watches.SUMMED_BYTES // 10
    log.write_bytes(b'{"size":7}\n' * lines)
    assert tail.gained() == Gain(lines, None)


def test_a_request_log_takes_no_room_once_it_is_read_and_no_line_is_lost(tmp_path: Path) -> None:
    """Somebody appends all the while, as a server does."""
    log = tmp_path / "log"
    add(log, '{"size":1}\n')
    tail, rounds, each = RequestTail(log, SIZE), 200, 50
    written = threading.Event()

    def write() -> None:
        for number in range(rounds):
            add(log, "".join(f'{{"size":1,"number":{number * each + more}}}\n' for more in range(each)))
        written.set()

    writer = threading.Thread(target=write)
    writer.start()
    hits = 0
    while not written.is_set():
        hits += tail.gained().hits
    writer.join()
    hits += tail.gained().hits
    assert hits == rounds * each
    assert log.stat().st_size > 200_000
    assert log.stat().st_blocks * 512 <= 2 * 4096, "all but the page that is written to"
    add(log, '{"size":1,"number":10000}\n{"si')
    numbers = [int(re.findall(rb'"number":(\d+)', line)[0]) for line in tail.lines()]
    assert numbers == list(range(rounds * each + 1))


def test_lines_are_kept_small(tmp_path: Path) -> None:
    log = tmp_path / "log"
    tail = RequestTail(log, SIZE)
    add(log, "".join(f'{{"size":1720,"port":{number},"url":"/icon.png"}}\n' for number in range(10_000)))
    before = log.stat().st_size
    tail.gained()
    assert len(tail._kept._packed.getvalue()) < before / 5


DOWN = {
    "packets_out": 10,
    "bytes_out": 9000,
    "drops_queue": 1,
    "drops_loss": 2,
    "drops_codel": 0,
    "drops_device": 3,
}
UP = {
    "packets_out": 8,
    "bytes_out": 400,
    "drops_queue": 0,
    "drops_loss": 1,
    "drops_codel": 0,
    "drops_device": None,
}


def test_drops_of_all_kinds_are_added_up() -> None:
    told = {"event": "stats", "down": DOWN, "up": UP, "cpu_user_s": 0.25, "cpu_system_s": 0.5}
    assert counters(told) == Counters(0.75, 10, 8, 9000, 400, 6, 1)
