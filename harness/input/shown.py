"""Values and texts of unknown origin, as a person is shown them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

Tell = Callable[[str], None]  # says a line to a person who waits
SHOWN_CHARACTERS = 80
# What a terminal acts on instead of showing it: control characters, ends of lines of other scripts, changes of the
# writing direction. Halves of characters cannot be written at all.
ACTED_ON = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_UNPRINTABLE = re.compile(f"[{ACTED_ON}\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with what a terminal would act on made visible; ends of lines stay."""
    return _UNPRINTABLE.sub(_visible, text)


def in_page(value: Any) -> Any:
    """A value of a template: `printable` of a text; what is markup already, which is of a class of its own, stays."""
    return printable(value) if type(value) is str else value


def one_line(text: str) -> str:
    """`printable`, and its lines joined."""
    return printable(" ".join(text.split("\n")))


def shown(value: Any) -> str:
    """What was found, as an error shows it: on one line and not longer than a reader needs."""
    if isinstance(value, int) and abs(value) >= 2**64:
        return f"a whole number of {value.bit_length():,} bits"
    text = f"{value:.15g}" if isinstance(value, float) else repr(value)
    return clipped(text, SHOWN_CHARACTERS)


def clipped(text: str, limit: int) -> str:
    """The text, or its first characters and an ellipsis."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def brief(text: str, limit: int) -> str:
    """`clipped`, on one line: what does not print is one mark each, so that the text gets no longer."""
    return clipped("".join(c if c.isprintable() else "�" for c in text[: limit + 1]), limit)


def shortened(items: Sequence[str], limit: int, *, separator: str = ", ", noun: str = "") -> str:
    """The first items of a list and how many follow: `a, b and 3 more`, `a; b; and 1 more setting`."""
    more = len(items) - limit
    if more <= 0:
        return separator.join(items)
    what = f" {noun}{'s' * (more > 1)}" if noun else ""
    return f"{separator.join(items[:limit])}{';' * (separator == '; ')} and {more} more{what}"


def count_of(count: int, noun: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{count} {noun}{'s' * (count != 1)}"


def _visible(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
