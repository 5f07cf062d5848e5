"""How each protocol looks and in which order protocols stand, the same in every figure and table.

Colours are told apart by people with colour-vision deficiencies (Okabe and Ito 2008; Paul Tol's muted scheme
for the rest); markers and dashes carry the same difference on a grey printer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from harness.model import protocol as model
from harness.model.protocol import Protocol

ordered = model.in_order
baseline = model.baseline

Dash = Literal["-", "none"] | tuple[float, tuple[float, ...]]
# Of what else tells lines apart. The first variant, plain where it is there, is dotted: optimised ones stand out.
DASHES: tuple[Dash, ...] = ((0, (1.2, 1.2)), "-", (0, (5, 1.6)), (0, (4, 1.2, 1.2, 1.2)))


@dataclass(frozen=True)
class Style:
    """`dash` is a matplotlib line style; `marker` one of its markers."""

    colour: str
    marker: str
    dash: Dash

    def size(self, usual: float = 4) -> float:
        """Of its marker: a star is larger than others that look as large."""
        return 1.5 * usual if self.marker == "*" else usual


STYLES: dict[str, Style] = {
    "http1-close": Style("#D55E00", "s", (0, (1.2, 1.2))),
    "http1": Style("#E69F00", "o", (0, (5, 1.6))),
    "http1-pipelined": Style("#999933", "^", (0, (7, 1.5, 1.2, 1.5))),
    "https1-close": Style("#882255", "P", (0, (1.2, 2.4))),
    "https1": Style("#CC79A7", "v", (0, (3, 1.2, 1.2, 1.2))),
    "https1-pipelined": Style("#661100", "<", (0, (8, 2))),
    "spdy": Style("#009E73", "X", (0, (6, 1.2, 1.2, 1.2, 1.2, 1.2))),
    "spdy-plain": Style("#56B4E9", ">", (0, (2.4, 1.2))),
    "h2": Style("#0072B2", "D", "-"),
    "h3": Style("#000000", "*", "-"),
}
FURTHER = (
    Style("#332288", "h", (0, (4, 1, 1, 1))),
    Style("#44AA99", "p", (0, (2, 2))),
    Style("#AA4499", "d", (0, (6, 3))),
    Style("#888888", "8", (0, (1, 1, 4, 1))),
)


def label(protocol: str) -> str:
    """The name for figures; a protocol nobody knows keeps its own."""
    try:
        return Protocol(protocol).label
    except ValueError:
        return protocol


def styles(protocols: Iterable[str]) -> dict[str, Style]:
    """The look of each protocol, in order."""
    names = ordered(protocols)
    unknown = [name for name in names if name not in STYLES]
    return {name: STYLES.get(name) or FURTHER[unknown.index(name) % len(FURTHER)] for name in names}
