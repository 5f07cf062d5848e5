"""What the benchmarks of the link keep for documents."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.linkcost import kept
from benchmarks.parts import PARTS, Split, shares

USUAL = Split(dict.fromkeys(PARTS, 0.01))


def test_the_part_that_makes_echoes_late_has_their_excess() -> None:
    late = replace(USUAL, parts={**USUAL.parts, "late_up": 0.91, "echo": 0.11, "asked": 5.0})
    rows = {row["figure"]: row for row in (part.quoted() for part in shares([USUAL] * 99 + [late], ", busy"))}
    assert rows["emulator beyond due, up, busy"] == {
        "figure": "emulator beyond due, up, busy",
        "median_ms": "0.010",
        "p99_ms": "0.010",
        "most_ms": "0.910",
        "of_the_slowest": "90 %",
    }
    assert rows["server's kernel, until the answer's device, busy"]["of_the_slowest"] == "10 %"
    assert rows["prober to client's queue, busy"]["of_the_slowest"] == "no part of the RTT"
    whole = rows["error of the RTT, busy"]
    assert (whole["median_ms"], whole["most_ms"], whole["of_the_slowest"]) == ("0.080", "1.080", "1.000 ms")


def test_a_figure_that_a_link_has_not_is_blank() -> None:
    rows = kept(
        {
            "idle": [{"error": 0.01}],
            "1000-room": [{"error": 0.02, "timers": value} for value in (1, 200, 900)],
        }
    )
    assert rows == [
        {"figure": "error", "at_idle": "0.010 (0.010 to 0.010)", "at_1000_room": "0.020 (0.020 to 0.020)"},
        {"figure": "timers", "at_idle": "", "at_1000_room": "200 (1 to 900)"},
    ]


@pytest.mark.parametrize(("value", "told"), [(0.0123, "0.012"), (12.34, "12.3"), (1234.5, "1,234")])
def test_a_figure_has_the_digits_that_its_size_needs(value: float, told: str) -> None:
    (row,) = kept({"idle": [{"figure": value}]})
    assert row["at_idle"] == f"{told} ({told} to {told})"
