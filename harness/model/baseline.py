"""Which condition of a setting the others are compared with. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from harness.model.compression import NONE
from harness.model.protocol import baseline
from harness.model.variant import PLAIN

Thing = TypeVar("Thing")


class Compared(NamedTuple):
    """What tells the conditions of a setting apart, by name; an older run may not know its compression."""

    protocol: str
    variant: Any
    compression: Any


def baseline_among(setting: Sequence[Thing], compared: Callable[[Thing], Compared]) -> Thing:
    """The condition with http1 or the first protocol, plain, without compression; the first of equally near ones."""
    protocol = baseline(compared(each).protocol for each in setting)

    def distance(each: Thing) -> tuple[bool, bool, bool]:
        found = compared(each)
        return found.protocol != protocol, found.variant != PLAIN, found.compression != NONE

    return min(setting, key=distance)
