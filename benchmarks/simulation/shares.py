"""Tables of what was simulated, with the Monte Carlo error of every share and what it has to reach."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.common import markdown

# Monte Carlo errors beyond its limit at which a share misses it: of hundreds, some are two beyond by chance.
ERRORS = 3


@dataclass(frozen=True)
class Share:
    """So many of so many simulations, or the sum of so many shares; `low` to `high` is what it has to be."""

    hits: float
    times: int
    low: float = 0.0
    high: float = 1.0

    @classmethod
    def of(cls, found: Iterable[bool], low: float = 0.0, high: float = 1.0) -> Share:
        told = [bool(hit) for hit in found]
        return cls(sum(told), len(told), low, high)

    @property
    def value(self) -> float:
        return self.hits / self.times

    @property
    def error(self) -> float:
        """Standard error; of a share that is all or nothing that of one in so many."""
        share = min(max(self.value, 1 / self.times), 1 - 1 / self.times)
        return math.sqrt(share * (1 - share) / self.times)

    @property
    def missed(self) -> bool:
        slack = ERRORS * self.error
        return not self.low - slack <= self.value <= self.high + slack

    def falls_from(self, earlier: Share) -> bool:
        """Whether it is less than an earlier one by more than chance."""
        return self.value < earlier.value - ERRORS * math.hypot(self.error, earlier.error)

    def __str__(self) -> str:
        return f"{100 * self.value:.1f}{' !' * self.missed}"


@dataclass
class Table:
    """Rows of shares in per cent. `failures` holds a line for every one that misses its limits."""

    title: str
    columns: Sequence[str]
    rows: list[tuple[str, list[str]]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    shares: list[Share] = field(default_factory=list)

    def add(self, name: str, cells: Sequence[Share | str]) -> None:
        """A row; its shares are held against their limits."""
        self.rows.append((name, [str(cell) for cell in cells]))
        for column, cell in zip(self.columns[1:], cells, strict=True):
            if isinstance(cell, Share):
                self.shares.append(cell)
                if cell.missed:
                    limits = f"{100 * cell.low:g} to {100 * cell.high:g} %"
                    self.fail(f"{name}, {self.columns[0]} {column}: {100 * cell.value:.2f} %, not {limits}")

    def never_falls(self, name: str, shares: Sequence[Share]) -> None:
        """A failure for every share of a row that is less than one before it."""
        for number, later in enumerate(shares):
            best = max(shares[: number + 1], key=lambda each: each.value)
            if later.falls_from(best):
                column = self.columns[number + 1]
                self.fail(f"{name} falls at {self.columns[0]} {column}: to {100 * later.value:.2f} %")

    def fail(self, line: str) -> None:
        self.failures.append(f"FAILED {self.title}: {line}")

    @property
    def precision(self) -> str:
        """How many simulations a share is of, and how sure it is; empty without any share."""
        times = [share.times for share in self.shares]
        if not times:
            return ""
        least, most = min(times), max(times)
        many = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        error = max(share.error for share in self.shares)
        return f"{many} simulations of a figure; Monte Carlo error at most {100 * error:.1f} %."

    def __str__(self) -> str:
        told = self.precision
        rows = [(name, *cells) for name, cells in self.rows]
        table = markdown(self.columns, rows)
        return "\n".join([f"### {self.title}", *([told, ""] if told else []), table, "", *self.failures])
