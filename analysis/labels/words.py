"""Numbers and names as a reader meets them: thousands separated, units said, a dash for what is not known."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import TypeGuard, TypeVar

DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
INFINITE = "\N{INFINITY}"  # a time-out is longer than any time
SECONDS_FROM_MS = 1_000.0
Thing = TypeVar("Thing")


def is_number(value: object) -> TypeGuard[float]:
    """Whether there is something to print; also for numpy's scalars."""
    return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)


def number(value: object, digits: int = 0) -> str:
    """`1,234.5`; a dash for None and NaN."""
    if not is_number(value):
        return DASH
    return f"{float(value):,.{digits}f}".replace("-", MINUS).replace("inf", INFINITE)


def plain(value: object) -> str:
    """A setting without needless zeros: 10, 0.5, 1500."""
    return f"{float(value):.15g}" if is_number(value) else DASH


def decimals(value: float) -> int:
    """Digits after the point: one, below 100."""
    return 0 if abs(value) >= 100 else 1


def milliseconds(value: float) -> str:
    """In a table of milliseconds: a decimal only where it says something."""
    return number(value, decimals(value))


def span(low: float, high: float, digits: int = 0) -> str:
    """Both bounds in brackets with a dash between, or nothing when there is no interval."""
    if math.isnan(low) or math.isnan(high):
        return ""
    return f"[{number(low, digits)}{DASH}{number(high, digits)}]"


def ratio(value: float) -> str:
    """With three digits; `0` and `∞` where time-outs leave it open."""
    return "0" if value == 0 else number(value, 3)


def ratio_span(low: float, high: float) -> str:
    """The interval of a ratio in brackets, or nothing when there is none."""
    return "" if math.isnan(low) or math.isnan(high) else f"[{ratio(low)}{DASH}{ratio(high)}]"


def duration(ms: float) -> str:
    """In a sentence: `640 ms`, `2.35 s`, `12.4 s`."""
    if math.isnan(ms) or math.isinf(ms):
        return number(ms)
    if ms < SECONDS_FROM_MS - 0.5:
        return f"{ms:.0f} ms"
    seconds = ms / 1e3
    return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:,.1f} s"


def kilobytes(value: float) -> str:
    """10^3 bytes, a decimal below 100."""
    return number(value / 1e3, decimals(value / 1e3))


def probability(p: float) -> str:
    if math.isnan(p):
        return DASH
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def rate(down_mbps: object, up_mbps: object) -> str:
    """`10`, or `10/1` where the directions differ; the unit stands in the heading."""
    if up_mbps is None or up_mbps == down_mbps or plain(up_mbps) == DASH:
        return plain(down_mbps)
    return f"{plain(down_mbps)}/{plain(up_mbps)}"


def rate_with_unit(down_mbps: object, up_mbps: object) -> str:
    text = rate(down_mbps, up_mbps)
    return f"{text} Mbit/s (down/up)" if "/" in text else f"{text} Mbit/s"


def count(n: int, one: str, many: str = "") -> str:
    """`1 trial`, `1,200 trials`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def between(least: float, most: float) -> str:
    """`5`, or `5 to 8` where they differ."""
    return f"{least}" if least == most else f"{least} to {most}"


def listed(items: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


def distinct(texts: Iterable[str], separator: str = ", ") -> str:
    """Each text once, in their order, without empty ones."""
    return separator.join(dict.fromkeys(text for text in texts if text))


def evenly(items: Sequence[Thing], most: int) -> list[Thing]:
    """At most so many (at least 2), spread evenly, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(number * (len(items) - 1) / (most - 1))] for number in range(most)]


def slug(text: str) -> str:
    """A name that is safe as a file name and in LaTeX."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.").lower() or "unnamed"
