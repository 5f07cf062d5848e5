"""How fast a direction of a link puts packets on the wire: a constant rate, a delivery trace, or a list of steps.

When a packet should leave such a direction is worked out here, too, apart from the emulator: the calibration holds what
it measures against this oracle.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from harness.errors import StudyError
from harness.input.textfile import read_file

MIN_RATE_MBPS, MAX_RATE_MBPS = 0.001, 10_000.0  # a full packet takes 12 s, or 1.2 us
MAX_FILE_MS = 10**12
MAX_FILE_BYTES = 100_000_000
OPPORTUNITY_BYTES = 1500
NS_PER_MS = 1_000_000
# What the emulator reads: no sign, no exponent, a rate in whole bit/s.
_PLAIN_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{0,6}0*)?", re.ASCII)


@dataclass(frozen=True)
class ConstantRate:
    """The same rate all the time."""

    mean_mbps: float


class RateFormat(StrEnum):
    """The text formats of a rate that changes with time."""

    TRACE = "trace"
    STEPS = "steps"


@dataclass(frozen=True)
class RecordedRate:
    """A rate that changes with time, from a file. Its digest tells two of them apart, its text drives the emulator.

    A trace is Mahimahi's packet-delivery trace: each line a whole number of ms at which 1500 bytes can leave, repeated
    with the period of its last line (Netravali et al., USENIX ATC 2015). Steps are lines `time_ms rate_mbps`, the
    first at 0; the last rate holds. Time zero of both is when the load begins (`RunningLink.begin`). `mean_mbps` is the
    mean over one period of a trace, and over the time to the last step of a list. `text` is empty in what was read from
    records.
    """

    format: RateFormat
    file: str
    sha256: str
    mean_mbps: float
    text: str = field(default="", repr=False, compare=False)

    @classmethod
    def of(cls, form: RateFormat, file: str, text: str) -> RecordedRate:
        """Check the text; raises StudyError with the number of the line that is wrong."""
        try:
            mean = (
                _mean_of_trace(parse_trace(text)) if form is RateFormat.TRACE else _mean_of(parse_steps(text))
            )
        except ValueError as error:
            raise StudyError(f"{form} {file}: {error}") from error
        return cls(form, file, hashlib.sha256(text.encode()).hexdigest(), mean, text)

    @classmethod
    def read(cls, form: RateFormat, path: Path) -> RecordedRate:
        """`of` a file; StudyError when it cannot be read."""
        try:
            text = read_file(path, MAX_FILE_BYTES).decode("ascii")
        except OSError as error:
            raise StudyError(f"cannot read the {form} {path}: {error.strerror}") from error
        except ValueError as error:
            raise StudyError(f"{form} {path} is not text: {error}") from error
        return cls.of(form, path.name, text)

    def to_json(self) -> dict[str, Any]:
        return {"file": self.file, "sha256": self.sha256}

    @classmethod
    def from_json(cls, form: RateFormat, data: Mapping[str, Any], mean_mbps: float) -> RecordedRate:
        return cls(form, data["file"], data["sha256"], mean_mbps)


Rate = ConstantRate | RecordedRate


def parse_trace(text: str) -> tuple[int, ...]:
    """The ms at which 1500 bytes can leave; ValueError names the line that makes no sense."""
    times: list[int] = []
    for number, line in _numbered(text):
        if not line.isdecimal():
            raise ValueError(f"line {number}: want a whole number of ms, found {line[:40]!r}")
        at = int(line) if len(line) <= len(str(MAX_FILE_MS)) else MAX_FILE_MS + 1
        if at > MAX_FILE_MS:
            raise ValueError(f"line {number}: {line[:40]} ms is too large")
        if times and at < times[-1]:
            raise ValueError(f"line {number}: time runs backwards, from {times[-1]} to {at} ms")
        times.append(at)
    if not times:
        raise ValueError("it is empty; want one whole number of ms per line")
    if times[-1] == 0:
        raise ValueError("all deliveries are at 0 ms, so it has no duration")
    return tuple(times)


def parse_steps(text: str) -> tuple[tuple[int, float], ...]:
    """(ms, Mbit/s) of each step; ValueError names the line that makes no sense."""
    steps: list[tuple[int, float]] = []
    for number, line in _numbered(text):
        words = line.split()
        if len(words) != 2 or not all(_PLAIN_NUMBER.fullmatch(word) for word in words) or "." in words[0]:
            raise ValueError(f"line {number}: want `time_ms rate_mbps`, found {line[:40]!r}")
        at, rate = int(words[0]), float(words[1])
        if at > MAX_FILE_MS:
            raise ValueError(f"line {number}: {at} ms is too large")
        if not MIN_RATE_MBPS <= rate <= MAX_RATE_MBPS:
            raise ValueError(
                f"line {number}: rate {words[1]} must be {MIN_RATE_MBPS:g} to {MAX_RATE_MBPS:g} Mbit/s"
            )
        if not steps and at != 0:
            raise ValueError(f"line {number}: the first step must be at 0 ms")
        if steps and at <= steps[-1][0]:
            raise ValueError(f"line {number}: time must rise, from {steps[-1][0]} ms on")
        steps.append((at, rate))
    if not steps:
        raise ValueError("it is empty; want lines `time_ms rate_mbps`")
    return tuple(steps)


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their numbers from 1."""
    for number, line in enumerate(text.split("\n"), start=1):
        said = line.strip(" \t\r\v\f")
        if said and not said.startswith("#"):
            yield number, said


def _mean_of_trace(times: tuple[int, ...]) -> float:
    return len(times) * OPPORTUNITY_BYTES * 8 / times[-1] / 1e3


def _mean_of(steps: tuple[tuple[int, float], ...]) -> float:
    if len(steps) == 1:
        return steps[0][1]
    megabits = sum((later - at) * rate for (at, rate), (later, _) in itertools.pairwise(steps))
    return megabits / steps[-1][0]


class _Serialiser:
    """One direction's transmitter in time: bit by bit at a rate that is constant between steps, which may change
    within a packet. Packets are given to it in the order in which they arrive.

    Times are nanoseconds of any one clock; sizes are IP bytes.
    """

    def __init__(self, steps: tuple[tuple[int, float], ...], epoch_ns: int) -> None:
        self._starts = [epoch_ns + at * NS_PER_MS for at, _ in steps]
        self._bits_per_ns = [rate / 1e3 for _, rate in steps]
        self._free: float = epoch_ns

    def send(self, arrived_ns: int, size_bytes: int) -> int:
        """When the last bit of the packet is out."""
        now = max(float(arrived_ns), self._free)
        bits = float(size_bytes * 8)
        step = max(0, bisect.bisect_right(self._starts, now) - 1)
        while (
            step + 1 < len(self._starts) and (self._starts[step + 1] - now) * self._bits_per_ns[step] < bits
        ):
            bits -= (self._starts[step + 1] - now) * self._bits_per_ns[step]
            step += 1
            now = self._starts[step]
        self._free = now + bits / self._bits_per_ns[step]
        return round(self._free)


class _Deliveries:
    """The same as Mahimahi's link: what waits leaves at the next opportunity, and what is left of that is lost."""

    def __init__(self, times_ms: tuple[int, ...], epoch_ns: int) -> None:
        self._times = [at * NS_PER_MS for at in times_ms]
        self._epoch = epoch_ns
        self._next = 0
        self._current = epoch_ns
        self._left = 0

    def send(self, arrived_ns: int, size_bytes: int) -> int:
        if not (self._left and arrived_ns < self._current):
            self._next = max(self._next, self._first_after(arrived_ns))
            self._open()
        while size_bytes > self._left:
            size_bytes -= self._left
            self._open()
        self._left -= size_bytes
        return self._current

    def _open(self) -> None:
        rounds, within = divmod(self._next, len(self._times))
        self._current = self._epoch + rounds * self._times[-1] + self._times[within]
        self._left = OPPORTUNITY_BYTES
        self._next += 1

    def _first_after(self, time_ns: int) -> int:
        if time_ns < self._epoch:
            return 0
        rounds, within = divmod(time_ns - self._epoch, self._times[-1])
        return rounds * len(self._times) + bisect.bisect_right(self._times, within)


Transmitter = _Serialiser | _Deliveries


def transmitter(rate: Rate, epoch_ns: int) -> Transmitter:
    """What puts packets on the wire at a rate whose time zero is `epoch_ns`."""
    if isinstance(rate, ConstantRate):
        return _Serialiser(((0, rate.mean_mbps),), epoch_ns)
    if rate.format is RateFormat.TRACE:
        return _Deliveries(parse_trace(rate.text), epoch_ns)
    return _Serialiser(parse_steps(rate.text), epoch_ns)
