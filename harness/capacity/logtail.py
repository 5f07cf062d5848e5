"""What files of lines have gained: requests and bytes in a server's log, errors, an emulator's counters."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

LINE_END = b"\n"
SUMMED_BYTES = 8 * 2**20  # of a log: what grew by more at once is not looked through


class Tail:
    """Reads a file from where it ended before, whole lines alone, and from its start when it was emptied meanwhile.

    A file that is not there has gained nothing.
    """

    def __init__(self, file: Path, *, from_now: bool = True) -> None:
        self._file = file
        self._position = file.stat().st_size if from_now and file.exists() else 0

    def gained(self) -> bytes:
        """The whole lines since the last time."""
        try:
            with self._file.open("rb") as text:
                if os.fstat(text.fileno()).st_size < self._position:
                    self._position = 0
                text.seek(self._position)
                found = text.read()
        except FileNotFoundError:
            return b""
        whole = found[: found.rfind(LINE_END) + 1]
        self._position += len(whole)
        return whole


@dataclass(frozen=True)
class Gain:
    """What a request log has gained: requests, and the bytes of their answers' bodies; None: too many to add up."""

    hits: int
    bytes: int | None


class RequestTail:
    """A server's request log; `body_bytes` finds those of the body in each line."""

    def __init__(self, log: Path, body_bytes: re.Pattern[bytes]) -> None:
        self._tail, self._body_bytes = Tail(log), body_bytes

    def gained(self) -> Gain:
        """What has been added since the last time."""
        text = self._tail.gained()
        hits = text.count(LINE_END)
        if len(text) > SUMMED_BYTES:
            return Gain(hits, None)
        return Gain(hits, sum(map(int, self._body_bytes.findall(text))))
