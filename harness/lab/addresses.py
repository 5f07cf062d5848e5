"""The addresses of clients, 10.64.0.0 to 10.127.255.255, each given out once.

No packet of an earlier trial finds its way to a later one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address

from harness.errors import StudyError

FIRST, NUMBER = IPv4Address("10.64.0.0"), 2**22
MAX_CLIENTS = 2**16  # as many as the emulator takes


@dataclass(frozen=True)
class Addresses:
    """The addresses of one client host: the first `count` of a network that is its own."""

    first: int
    count: int = 1

    @property
    def network(self) -> str:
        return f"{self[0]}/{32 - _bits(self.count)}"

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < self.count:
            raise IndexError(number)
        return str(FIRST + (self.first + number) % NUMBER)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[str]:
        return (self[number] for number in range(self.count))


class AddressPool:
    """Gives addresses out, anew only after four million."""

    def __init__(self) -> None:
        self._next = 1

    def take(self, count: int = 1) -> Addresses:
        """So many addresses. StudyError when no host can have as many."""
        refuse_count(count)
        size = 1 << _bits(count)
        first = -(-self._next // size) * size
        self._next = first + size
        return Addresses(first, count)


def refuse_count(count: int) -> None:
    """StudyError when no host can have so many clients."""
    if not 1 <= count <= MAX_CLIENTS:
        raise StudyError(f"{count:,} clients are asked for; it can be 1 to {MAX_CLIENTS:,}")


def _bits(count: int) -> int:
    """Of the host part of the smallest network with so many addresses."""
    return (count - 1).bit_length()
