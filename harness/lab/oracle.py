"""When a packet should leave a direction of a link, worked out apart from the emulator.

The calibration holds what it measures against this. Times are nanoseconds of any one clock; sizes are IP bytes.
"""

from __future__ import annotations

import bisect
from typing import Protocol

from harness.model.rate import OPPORTUNITY_BYTES, ConstantRate, Rate, RateFormat, parse_steps, parse_trace

NS_PER_MS = 1_000_000


class Transmitter(Protocol):
    """One direction's transmitter in time. Packets are given to it in the order in which they arrive."""

    def send(self, arrived_ns: int, size_bytes: int) -> int:
        """When the last bit of the packet is out."""
        ...


def transmitter(rate: Rate, epoch_ns: int) -> Transmitter:
    """What puts packets on the wire at a rate whose time zero is `epoch_ns`."""
    if isinstance(rate, ConstantRate):
        return _Serialiser(((0, rate.mean_mbps),), epoch_ns)
    if rate.format is RateFormat.TRACE:
        return _Deliveries(parse_trace(rate.text), epoch_ns)
    return _Serialiser(parse_steps(rate.text), epoch_ns)


class _Serialiser:
    """Bit by bit at a rate that is constant between steps, which may change within a packet."""

    def __init__(self, steps: tuple[tuple[int, float], ...], epoch_ns: int) -> None:
        self._starts = [epoch_ns + at * NS_PER_MS for at, _ in steps]
        self._bits_per_ns = [rate / 1e3 for _, rate in steps]
        self._free: float = epoch_ns

    def send(self, arrived_ns: int, size_bytes: int) -> int:
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
    """Mahimahi's link: what waits leaves at the next opportunity, what is left of an opportunity then is lost."""

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
