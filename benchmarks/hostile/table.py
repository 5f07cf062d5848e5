"""The table: how many were tried, and how many of them showed each fault."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.hostile.cases import FAULTS, Case, one_line

COMMAND = ".venv/bin/python -m benchmarks.hostile"


def table(cases: Iterable[Case]) -> str:
    """A line per row in the order of their first cases, and one for all."""
    rows: dict[str, list[Case]] = {}
    for case in cases:
        rows.setdefault(case.row, []).append(case)
    everything = [case for found in rows.values() for case in found]
    head = f"{'':34}{'tried':>7}" + "".join(f"{fault:>13}" for fault in FAULTS)
    return "\n".join([head, *(_line(row, found) for row, found in rows.items()), _line("all", everything)])


def _line(row: str, cases: Sequence[Case]) -> str:
    counts = [sum(fault in case.faults for case in cases) for fault in FAULTS]
    return f"{row:34}{len(cases):7}" + "".join(f"{count:13}" for count in counts)


def failures(cases: Iterable[Case], seed: int) -> list[str]:
    """One line per case with a fault, with the command to see it again."""
    return [
        f"{case.name}: {fault}: {one_line(seen)}   [{COMMAND} --seed {seed} --only '{case.name}']"
        for case in cases
        for fault, seen in case.faults.items()
    ]
