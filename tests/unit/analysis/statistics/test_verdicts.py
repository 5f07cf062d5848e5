"""Verdicts in words: direction and size are two statements."""

from __future__ import annotations

import math
from typing import Any

import pytest

from analysis.statistics.compare import Verdict
from analysis.statistics.verdicts import change, direction_text, signed, verdict_text

MINUS = "\N{MINUS SIGN}"
ROW = {"n": 10, "ratio": 1.02, "low": 1.011, "high": 1.034, "small": False, "trials": None}


@pytest.mark.parametrize(
    ("says", "text"),
    [
        ({"verdict": Verdict.SLOWER}, "slower, by 1.1 to 3.4 %"),
        ({"verdict": Verdict.SLOWER, "small": True}, "slower by less than 3 %"),
        ({"verdict": Verdict.FASTER, "low": 0.5, "high": 0.6}, "faster, by 40 to 50 %"),
        ({"verdict": Verdict.WITHIN, "small": True}, "within 3 % of each other"),
        (
            {"verdict": Verdict.UNKNOWN, "low": 0.98, "high": 1.04},
            f"not known yet: between {MINUS}2.0 and +4.0 %",
        ),
        (
            {"verdict": Verdict.UNKNOWN, "low": 0.98, "high": 1.04, "trials": 25},
            f"not known yet: between {MINUS}2.0 and +4.0 % (a run with about 25 trials would tell)",
        ),
        (
            {"verdict": Verdict.UNKNOWN, "low": 0.98, "high": 1.04, "trials": 1000},
            f"not known yet: between {MINUS}2.0 and +4.0 % (a run with over 1,000 trials would tell)",
        ),
        ({"verdict": Verdict.UNKNOWN, "n": 2, "low": math.nan}, "not known yet: 2 blocks of at least 3"),
        (
            {"verdict": Verdict.UNKNOWN, "n": 5, "low": math.nan},
            "not known yet: a page or a run has fewer than 3 blocks",
        ),
        (
            {"verdict": Verdict.UNKNOWN, "n": 0, "ratio": math.nan},
            "not known: no block holds a value above 0 of both",
        ),
    ],
)
def test_verdicts_in_words(says: dict[str, Any], text: str) -> None:
    assert verdict_text({**ROW, **says}, 0.03) == text


def test_a_column_of_verdicts_may_hold_plain_text() -> None:
    assert verdict_text({**ROW, "verdict": "slower"}, 0.03) == "slower, by 1.1 to 3.4 %"


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        *(("plt_ms", "slower"), ("bytes_down", "more"), ("requests", "more"), ("lcp_ms", "slower")),
        *(
            ("pages_per_s", "higher"),
            ("requests_per_s", "higher"),
            ("page_ms", "slower"),
            ("workers_busy", "more"),
        ),
        *(("latency_p99_ms", "slower"), ("server_cpu_ms_per_page", "more"), ("server_cpu_s", "more")),
    ],
)
def test_what_nobody_waits_for_is_more_and_a_rate_is_higher(metric: str, text: str) -> None:
    assert direction_text(Verdict.SLOWER, metric) == text


def test_a_lower_rate_is_no_faster_one() -> None:
    row = {**ROW, "verdict": Verdict.FASTER, "low": 0.5, "high": 0.6}
    assert verdict_text(row, 0.03, "requests_per_s") == "lower, by 40 to 50 %"


def test_sizes() -> None:
    assert change(0.9, 0.95) == "5.0 to 10.0 %"
    assert change(1.02, 1.02) == "2.0 %"
    assert signed(0.9995) == f"{MINUS}0.05"
    assert signed(1.5) == "+50"
