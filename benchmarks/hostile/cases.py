"""What came of a case, the five faults it may show, and the table of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

HUNG, TRACEBACK, FORGED, MISBLAMED, LEFT = "hung", "traceback", "forged", "misblamed", "left behind"
FAULTS = (HUNG, TRACEBACK, FORGED, MISBLAMED, LEFT)
TRACEBACK_MARKS = ("Traceback (most recent call last)", "Exception ignored in", "was never retrieved")
COMMAND = ".venv/bin/python -m benchmarks.hostile"


@dataclass(frozen=True)
class Case:
    """One thing tried. `row` is its line of the table, `name` is what --only selects by.

    `said` is what came out; `faults` has a line for each fault that was seen.
    """

    row: str
    name: str
    said: str
    seconds: float
    faults: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def traceback_in(text: str) -> str | None:
    """The last line of the first traceback in what a program has written; None when there is none."""
    start = min((text.find(mark) for mark in TRACEBACK_MARKS if mark in text), default=-1)
    if start < 0:
        return None
    lines = text[start:].splitlines()
    ends = [line for line in lines[1:] if line and not line.startswith((" ", "\t"))]
    return (ends or lines)[0][:300]


def one_line(text: str, limit: int = 300) -> str:
    """A text of any length for a table or a list."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[:limit]}…"


def counted(cases: Iterable[Case]) -> list[Mapping[str, str]]:
    """A row for each line of the table, by name, and one for all."""
    rows: dict[str, list[Case]] = {}
    for case in cases:
        rows.setdefault(case.row, []).append(case)
    everything = [case for found in rows.values() for case in found]
    return [_counts(row, found) for row, found in [*sorted(rows.items()), ("all", everything)]]


def _counts(row: str, cases: Sequence[Case]) -> Mapping[str, str]:
    faults = {fault: str(sum(fault in case.faults for case in cases)) for fault in FAULTS}
    return {"what": row, "tried": f"{len(cases):,}", **faults}


def table(cases: Iterable[Case]) -> str:
    """The same to print."""
    head = f"{'':34}{'tried':>7}" + "".join(f"{fault:>13}" for fault in FAULTS)
    lines = [
        f"{row['what']:34}{row['tried']:>7}" + "".join(f"{row[fault]:>13}" for fault in FAULTS)
        for row in counted(cases)
    ]
    return "\n".join([head, *lines])


def failures(cases: Iterable[Case], seed: int) -> list[str]:
    """One line per case with a fault, with the command to see it again."""
    return [
        f"{case.name}: {fault}: {one_line(seen)}   [{COMMAND} --seed {seed} --only '{case.name}']"
        for case in cases
        for fault, seen in case.faults.items()
    ]
