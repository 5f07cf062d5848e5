"""A comparison told to somebody who knows no statistics: it agrees with the figures, and promises no more."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.statistics.compare import NOTHING, Certainty, Comparison, Verdict, described, log_of, told
from analysis.statistics.contrast import Method, contrast, mean_of
from analysis.statistics.plainly import (
    UNNOTICED,
    AnswerKind,
    ToldEffect,
    change_text,
    direction_text,
    seconds_text,
    signed,
    size_text,
    value_text,
    verdict_text,
)
from tests.facts import tells


def effect(*log_ratios: float, reference: float = 3780.0, **said: Any) -> ToldEffect:
    """As `told` tells it of these blocks alone."""
    seen = described(contrast(np.array(log_ratios)), len(log_ratios), 1, Certainty())
    comparison, judgement = told([seen], beforehand=True)[0]
    return replace(ToldEffect("core", comparison, judgement, reference), **said)


def over_pages(*ratios: float, reference: float = 3780.0) -> ToldEffect:
    """Ten blocks of each page, alike."""
    logs = [log_of(each) for each in ratios]
    statistic = mean_of([contrast(np.full(10, each)) for each in logs])
    seen = described(statistic, 10 * len(logs), 1, Certainty(), len(logs))
    comparison, judgement = told([seen], beforehand=True)[0]
    return ToldEffect("core", comparison, judgement, reference)


def around(ratio: float, spread: float = 0.01, n: int = 10) -> list[float]:
    return list(math.log(ratio) + spread * np.linspace(-1, 1, n))


@pytest.mark.parametrize(
    ("found", "kind", "facts"),
    [
        (
            effect(*around(0.69, 0.04)),
            AnswerKind.LESS,
            ("core saves 1.17 s of 3.78 s", "31 %", "between 30 and 32"),
        ),
        (
            effect(*around(1.15), against="HTTP/1.1"),
            AnswerKind.MORE,
            ("core takes 0.57 s more", "3.78 s with HTTP/1.1", "15 %", "between 14 and 16"),
        ),
        (
            effect(*around(0.984)),
            AnswerKind.SMALL,
            ("core saves 0.06 s of 3.78 s", "1.6 %", "between 1.1 and 2.1", UNNOTICED),
        ),
        (
            effect(*around(1.0)),
            AnswerKind.SMALL,
            ("core changes 3.78 s", "\N{MINUS SIGN}0.5 to +0.5 %", UNNOTICED),
        ),
        (
            effect(*around(1.0), margin=0.05),
            AnswerKind.SMALL,
            ("core changes 3.78 s", "\N{MINUS SIGN}0.5 to +0.5 %", "within the margin of 5 %"),
        ),
        (
            effect(*around(1.06), floor=1.08),
            AnswerKind.CHANCE,
            (
                "core takes 0.23 s more than 3.78 s",
                "6.0 %",
                "between 5.5 and 6.5",
                "no finding",
                "equal conditions",
            ),
        ),
        (
            effect(*around(0.69), metric="bytes_down", reference=1_400_000),
            AnswerKind.LESS,
            ("core takes 434 kB less than 1.4 MB", "31 %"),
        ),
        (
            effect(*around(1.5), metric="pages_per_s", reference=180.0, against="HTTP/1.1"),
            AnswerKind.MORE,
            ("core gives 90 pages/s more", "180 pages/s with HTTP/1.1", "50 %", "between 49 and 51"),
        ),
        (
            effect(*around(1.0), same=True, why="no file is small enough"),
            AnswerKind.SAME,
            ("core changed nothing", "no file is small enough"),
        ),
        (
            ToldEffect("core", NOTHING, effect(*around(1.0)).judgement, 3780.0),
            AnswerKind.NOTHING,
            ("core", "not be compared", "no block"),
        ),
        (
            effect(math.log(0.9), math.log(0.8)),
            AnswerKind.OPEN,
            ("core: not known yet", "2 blocks of at least 3"),
        ),
        (
            effect(*around(1.01, 0.2), reference=math.nan),
            AnswerKind.OPEN,
            ("core: not known yet", "between \N{MINUS SIGN}8.3 and +11 %", "about 241 trials would tell"),
        ),
        (
            over_pages(1.01, 0.95, 1.08, reference=math.nan),
            AnswerKind.OPEN,
            ("core: not known yet", "between \N{MINUS SIGN}14 and +19 %", "further pages would tell"),
        ),
        (
            over_pages(1.01, 0.95, math.inf),
            AnswerKind.OPEN,
            ("core: not known yet", "no finite ratio", "timed out"),
        ),
        (
            over_pages(1.01, 0.0, math.inf),
            AnswerKind.OPEN,
            ("core: not known yet", "no finite ratio", "timed out"),
        ),
    ],
)
def test_sentences(found: ToldEffect, kind: AnswerKind, facts: tuple[str, ...]) -> None:
    assert found.kind is kind
    assert tells([found.sentence], *facts)


def test_what_is_not_known_yet_is_told_in_seconds_too() -> None:
    said = effect(*around(1.01, 0.2), reference=1000.0).sentence
    assert said.startswith("core: not known yet")
    assert tells([said], "between 0.08 s less and 0.11 s more than 1.00 s")
    assert said.endswith("would tell.")


def test_a_direction_that_the_correction_leaves_open_is_told_so() -> None:
    equal = described(contrast(np.array(around(1.0, 0.2))), 10, 1, Certainty())
    seen = described(contrast(np.array(around(0.95, 0.1))), 10, 1, Certainty())
    assert seen.high < 1
    (comparison, judgement), *_ = told([seen, *[equal] * 9])
    said = ToldEffect("core", comparison, judgement, 1000.0)
    assert said.kind is AnswerKind.OPEN
    assert tells([said.sentence], "less than 1.00 s", "by itself", "correction", "direction open")
    alone, _ = told([seen])[0]
    assert "by itself" not in ToldEffect("core", alone, told([seen])[0][1], 1000.0).sentence


def test_of_time_outs_no_amount_is_made_up() -> None:
    late = effect(*[math.inf] * 20, reference=1000.0, against="plain")
    assert late.kind is AnswerKind.MORE
    assert tells([late.sentence], "core takes an unknown amount more", "1.00 s with plain")


def test_of_a_reference_that_timed_out_it_is_at_least_what_is_known() -> None:
    """The estimate and one end are open: nothing is all of the time."""
    late = effect(*[-math.inf] * 6, *around(0.8, n=10), reference=1000.0, against="plain")
    least = 100 * (1 - late.comparison.high)
    assert late.comparison.low == 0
    assert late.sentence.startswith("core saves ")
    assert tells([late.sentence], "of the 1.00 s with plain", f"at least {least:.0f} %")
    every = effect(*[-math.inf] * 20, reference=1000.0, against="plain")
    assert tells([every.sentence], "core saves an unknown amount", "1.00 s with plain")
    both = effect(*[-math.inf] * 20, reference=math.inf)
    assert tells([both.predicate], "saves an unknown amount", "its reference")


@pytest.mark.parametrize(
    ("logs", "text"),
    [
        ([-math.inf, *[0.01] * 4], "core: not known yet, no bounds: loads timed out."),
        ([-math.inf] * 2 + [0.01 * n for n in range(-3, 9)], "core: not known yet, at most +"),
        ([math.inf] * 2 + [-0.01 * n for n in range(-3, 9)], "core: not known yet, at least \N{MINUS SIGN}"),
    ],
)
def test_bounds_that_are_open_are_no_numbers(logs: list[float], text: str) -> None:
    found = effect(*logs, reference=1000.0)
    assert found.kind is AnswerKind.OPEN
    assert found.sentence.startswith(text)
    row = {**vars(found.comparison), **vars(found.judgement)}
    assert verdict_text(row, 0.03).startswith(
        text.replace("core: not known yet,", "not known yet:").rstrip(".")
    )


@pytest.mark.thorough
@settings(max_examples=200)
@given(
    st.lists(st.floats(-1, 1), min_size=3, max_size=30),
    st.floats(1, 60_000),
)
def test_amount_and_per_cent_agree_and_bounds_hold_the_middle(logs: list[float], reference: float) -> None:
    found = effect(*logs, reference=reference)
    if found.kind not in (AnswerKind.LESS, AnswerKind.MORE):
        return
    seen = found.comparison
    percents = [float(each) for each in re.findall(r"[\d.]+", size_text(seen).replace(",", ""))]
    assert percents[0] == pytest.approx(100 * abs(seen.ratio - 1), abs=0.5)
    if len(percents) == 3:
        assert percents[1] - 1 <= percents[0] <= percents[2] + 1
    amount = value_text(reference * abs(1 - seen.ratio), found.metric)
    assert amount in found.sentence
    assert ("saves" in found.sentence) == (seen.high < 1)


def test_bounds_that_round_to_the_same_are_told_once() -> None:
    seen = Comparison(10, 1, 0.5, 0.4999, 0.5001, effect(0.1, 0.1, 0.1).comparison.method, 0.0, 1.0)
    assert size_text(seen) == "50 %"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.004, "4 ms"), (0.06, "0.06 s"), (3.784, "3.78 s"), (12.35, "12.3 s")]
)
def test_seconds(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("value", "metric", "text"),
    [
        (3784.0, "plt_ms", "3.78 s"),
        (12_340.0, "bytes_down", "12.3 kB"),
        (26.0, "requests", "26"),
        (0.02, "cls", "0.020"),
        (0.0, "cls", "0"),
        (0.125, "cpu_idle_share", "0.125"),
        (1240.0, "requests_per_s", "1,240 requests/s"),
        (math.inf, "plt_ms", "∞"),
    ],
)
def test_values(value: float, metric: str, text: str) -> None:
    assert value_text(value, metric) == text


MINUS = "\N{MINUS SIGN}"
SEEN = Comparison(10, 1, math.sqrt(1.011 * 1.034), 1.011, 1.034, Method.PAIRED_T, 0.2, 1.0)
ROW = {**vars(SEEN), "small": False, "trials": None}
OVER_LEVELS = {"verdict": "not known yet", "low": 0.98, "high": 1.04, "method": "t over levels"}


@pytest.mark.parametrize(
    ("says", "verdict", "facts"),
    [
        ({"verdict": Verdict.SLOWER}, "slower", ("by 1.1 to 3.4 %",)),
        ({"verdict": Verdict.SLOWER, "small": True}, "slower", ("less than 3 %",)),
        ({"verdict": Verdict.FASTER, "low": 0.5, "high": 0.6}, "faster", ("by 40 to 50 %",)),
        ({"verdict": Verdict.WITHIN, "small": True}, "within 3 %", ()),
        (
            {"verdict": Verdict.UNKNOWN, "low": 0.98, "high": 1.04},
            "not known yet",
            (f"between {MINUS}2.0 and +4.0 %",),
        ),
        (
            {"verdict": Verdict.UNKNOWN, "low": 0.98, "high": 1.04, "trials": 25},
            "not known yet",
            (f"between {MINUS}2.0 and +4.0 %", "about 25 trials would tell"),
        ),
        (
            {**OVER_LEVELS, "pages": 5},
            "not known yet",
            (f"between {MINUS}2.0 and +4.0 %", "further pages would tell"),
        ),
        (
            {**OVER_LEVELS, "pages": 3, "runs": 4},
            "not known yet",
            (f"between {MINUS}2.0 and +4.0 %", "further pages and runs would tell"),
        ),
        (
            {"verdict": Verdict.UNKNOWN, "ratio": math.inf, "low": math.nan, "high": math.nan, "n": 15},
            "not known yet",
            ("no finite ratio", "timed out"),
        ),
        (
            {"verdict": Verdict.UNKNOWN, "ratio": math.nan, "low": math.nan, "high": math.nan, "n": 15},
            "not known yet",
            ("no finite ratio", "timed out"),
        ),
        (
            {"verdict": Verdict.UNKNOWN, "low": 0.98, "high": 1.04, "trials": 1000},
            "not known yet",
            (f"between {MINUS}2.0 and +4.0 %", "over 1,000 trials would tell"),
        ),
        (
            {"verdict": Verdict.UNKNOWN, "low": 0.92, "high": 0.99, "p": 0.03, "trials": 25},
            "not known yet",
            (
                *(f"between {MINUS}8.0 and {MINUS}1.0 % by itself", "correction", "direction open"),
                "about 25 trials would tell",
            ),
        ),
        (
            {"verdict": Verdict.UNKNOWN, "n": 2, "low": math.nan},
            "not known yet",
            ("2 blocks of at least 3",),
        ),
        (
            {"verdict": Verdict.UNKNOWN, "n": 5, "low": math.nan},
            "not known yet",
            ("fewer than 3 blocks",),
        ),
        ({"verdict": Verdict.UNKNOWN, "n": 0, "ratio": math.nan}, "not known", ("no block", "above 0")),
    ],
)
def test_verdicts_in_words(says: dict[str, Any], verdict: str, facts: tuple[str, ...]) -> None:
    text = verdict_text({**ROW, **says}, 0.03)
    assert text.startswith(verdict)
    assert tells([text], *facts)
    assert ("would tell" in text) == any("would tell" in fact for fact in facts)


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


def test_a_direction_whose_interval_was_widened_over_1_has_no_size() -> None:
    row = {**ROW, "verdict": Verdict.SLOWER, "low": 0.99, "high": 1.06}
    assert verdict_text(row, 0.03) == "slower, by an unknown amount"


def test_sizes() -> None:
    assert change_text(0.0, 0.935) == "at least 6.5 %"
    assert change_text(0.9, 0.95) == "5.0 to 10.0 %"
    assert change_text(1.02, 1.02) == "2.0 %"
    assert signed(0.9995) == f"{MINUS}0.05"
    assert signed(1.5) == "+50"
