"""What files of lines have gained: requests and bytes in a server's log, errors, an emulator's counters."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard

from harness.system.syscalls import punch_hole

LINE_END = b"\n"
SUMMED_BYTES = 8 * 2**20  # of a log: what grew by more at once is not looked through
QUICKLY = 1  # level of zstd: a thousand lines cost 0.3 ms, and become thirty times smaller


class Tail:
    """Reads a file from where it ended before, whole lines alone, and from its start when it was emptied meanwhile.

    A file that is not there has gained nothing. With `emptying` the lines that were read take no room any more,
    whoever appends to the file meanwhile.
    """

    def __init__(self, file: Path, *, from_now: bool = True, emptying: bool = False) -> None:
        self._file, self._emptying = file, emptying
        self._position = file.stat().st_size if from_now and file.exists() else 0

    def gained(self) -> bytes:
        """The whole lines since the last time."""
        try:
            with self._file.open("r+b" if self._emptying else "rb") as text:
                if os.fstat(text.fileno()).st_size < self._position:
                    self._position = 0
                text.seek(self._position)
                found = text.read()
                whole = found[: found.rfind(LINE_END) + 1]
                self._position += len(whole)
                if self._emptying and whole:
                    punch_hole(text.fileno(), 0, self._position)
        except FileNotFoundError:
            return b""
        return whole


class PackedLines:
    """Lines of a log, kept small: a crowd makes millions of them."""

    def __init__(self) -> None:
        self._packed = io.BytesIO()
        self._packing = zstandard.ZstdCompressor(level=QUICKLY).compressobj()

    def add(self, lines: bytes) -> None:
        """Keep some more."""
        self._packed.write(self._packing.compress(lines))

    def unpacked(self) -> Iterator[bytes]:
        """Every line with its end. No more can be added then."""
        self._packed.write(self._packing.flush())
        self._packed.seek(0)
        yield from io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(self._packed))


@dataclass(frozen=True)
class Gain:
    """What a request log has gained: requests, and the bytes of their answers' bodies; None: too many to add up."""

    hits: int
    bytes: int | None


class RequestTail:
    """A server's request log, which lies in memory: it is emptied as it is read, and its lines are kept packed.

    `body_bytes` finds the bytes of the body in each line.
    """

    def __init__(self, log: Path, body_bytes: re.Pattern[bytes]) -> None:
        self._tail, self._body_bytes = Tail(log, emptying=True), body_bytes
        self._kept = PackedLines()

    def gained(self) -> Gain:
        """What has been added since the last time."""
        text = self._tail.gained()
        self._kept.add(text)
        hits = text.count(LINE_END)
        if len(text) > SUMMED_BYTES:
            return Gain(hits, None)
        return Gain(hits, sum(map(int, self._body_bytes.findall(text))))

    def lines(self) -> Iterator[bytes]:
        """Every line from the beginning to now; to be asked for once, at the end."""
        self.gained()
        yield from self._kept.unpacked()
