"""What is said of a difference, and what a bound makes of it: within, above, not known."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from analysis.comparing.answers import OUTCOMES, Answered, Place, against_text, answers_json, sentence
from analysis.comparing.between import Bounded, Change, difference, direction_alone, outcome_of
from analysis.comparing.page import FILES_SHOWN, ComparedPage, FileRow, render
from analysis.statistics.compare import NOTHING, UNTOLD, Certainty, described, told
from analysis.statistics.contrast import welch
from harness.model.kind import Kind
from tests.facts import tells


def change(
    factor: float, metric: str = "plt_ms", spread: float = 0.01, n: int = 20, base: float = 1000.0
) -> Change:
    """B is so many times A, both lognormal."""
    random = np.random.default_rng(7)
    a, b = (base * each * np.exp(random.normal(0, spread, n)) for each in (1.0, factor))
    seen = described(welch(np.log(b), np.log(a)), n, 2, Certainty())
    ((comparison, judgement),) = told([seen])
    medians = float(np.median(a)), float(np.median(b))
    return Change({}, metric, (n, n), medians, comparison, judgement)


def of_values(a: Sequence[float], b: Sequence[float], metric: str = "tbt_ms", among: int = 1) -> Change:
    """Values among which there is a 0, judged with others of which nothing is known."""
    one, other = np.array(a), np.array(b)
    sides = {"": one}, {"": other}
    _, judgement = told([direction_alone(*sides, Certainty()), *[NOTHING] * (among - 1)])[0]
    medians = float(np.median(one)), float(np.median(other))
    return Change(
        {},
        metric,
        (one.size, other.size),
        medians,
        NOTHING,
        judgement,
        difference=difference(*sides, 0.95),
    )


@pytest.mark.parametrize(
    ("factor", "limit", "outcome"),
    [
        (1.10, 3, Bounded.ABOVE),
        (1.10, 10, Bounded.UNKNOWN),
        (1.10, 20, Bounded.WITHIN),
        (1.00, 3, Bounded.WITHIN),
        (1.00, 0, Bounded.UNKNOWN),
        (0.80, 0, Bounded.WITHIN),
    ],
)
def test_a_bound_has_three_outcomes(factor: float, limit: float, outcome: Bounded) -> None:
    made = change(factor)
    assert made.against(limit) is outcome
    assert against_text(made, limit).startswith(str(outcome)) == (outcome is not Bounded.UNKNOWN)
    assert ("in part" in against_text(made, limit)) == (outcome is Bounded.UNKNOWN)


def test_a_lower_rate_is_worse() -> None:
    assert change(0.8, "requests_per_s").against(3) is Bounded.ABOVE
    assert change(1.2, "requests_per_s").against(3) is Bounded.WITHIN
    assert sentence(change(0.8, "requests_per_s"), 0.03).startswith("B gives 2")


def test_a_difference_that_equal_conditions_show_is_not_above() -> None:
    made = replace(change(1.05), floor=1.08)
    assert made.against(3) is Bounded.UNKNOWN
    assert against_text(made, 3) == "above 3 %, but no finding"
    assert tells([sentence(made, 0.03)], "no finding", "equal conditions")


def test_what_has_no_values_in_b_any_more_is_above() -> None:
    made = replace(change(1.0), n=(20, 0), comparison=NOTHING)
    assert made.against(50) is Bounded.ABOVE
    assert tells([sentence(made, 0.03)], "not known", "no value in B")


@pytest.mark.parametrize(
    ("a", "b", "outcome", "says"),
    [
        ([0, 0, 0], [0, 0, 0], Bounded.WITHIN, "the same, 0 ms in both"),
        ([0, 0, 0, 0], [400, 390, 410, 400], Bounded.ABOVE, "0 ms in A, 0.40 s in B (between +"),
        ([0, 1, 0, 2], [20, 22, 19, 21], Bounded.WITHIN, "between +"),
        ([0, 0, 0, 0], [0, 200, 0, 250], Bounded.UNKNOWN, "between \N{MINUS SIGN}"),
        ([0, 0], [400, 400], Bounded.UNKNOWN, "of too few trials"),
    ],
)
def test_values_of_0_are_told_by_their_difference(
    a: list[float], b: list[float], outcome: Bounded, says: str
) -> None:
    made = of_values(a, b)
    assert made.against(3) is outcome
    assert says in sentence(made, 0.03)


def test_a_difference_without_a_ratio_pays_for_the_others() -> None:
    """Its plain interval lies above the bound, which happens by chance where many are looked at."""
    a, b = [0.0] * 5, [60.0, 260.0, 330.0, 120.0, 200.0]
    alone, among = of_values(a, b), of_values(a, b, among=20)
    assert alone.judgement.q < 0.05 < among.judgement.q
    assert (alone.against(3), among.against(3)) == (Bounded.ABOVE, Bounded.UNKNOWN)
    assert against_text(among, 3) == "above 3 %, but no finding"
    fewer = of_values(b, a, "pages_per_s", among=20)
    assert (fewer.against(3), against_text(fewer, 3)) == (Bounded.UNKNOWN, "above 3 %, but no finding")
    better = of_values(b, a, among=20)
    assert better.against(3) is Bounded.WITHIN


def test_a_condition_that_b_has_not_is_not_known_to_be_within() -> None:
    alike, slower = (Place("one", (change(factor),)) for factor in (1.0, 1.5))
    answers = Answered(Kind.LOAD, ("one", "two"), 0.03, (alike,), missing=("two, h2", "two, http1"))
    assert answers.outcome(20) is Bounded.UNKNOWN
    assert answers_json(answers, 20)["outcome"] == "not known"
    assert answers.bound_text(20) == (
        "--fail-on 20 %: not known, exit code 4: 2 conditions of A not measured in B: two, h2; two, http1"
    )
    assert "1 of 1: one: load, above 0 % in part" in answers.bound_text(0)
    assert answers.bound_text(0).endswith("; 2 conditions of A not measured in B: two, h2; two, http1")
    assert replace(answers, places=(slower,)).outcome(20) is Bounded.ABOVE
    assert replace(answers, missing=()).outcome(20) is Bounded.WITHIN


def test_a_few_ms_of_blocked_time_are_within_every_bound() -> None:
    assert change(1.5, "tbt_ms", base=20).against(3) is Bounded.WITHIN
    assert change(1.5, "tbt_ms", base=1000).against(3) is Bounded.ABOVE


def test_what_passes_by_its_milliseconds_alone_is_told_so() -> None:
    few = change(1.5, "tbt_ms", base=20)
    answers = Answered(Kind.LOAD, ("one", "two"), 0.03, (Place("", (change(1.0), few)),))
    assert answers.bound_text(3).endswith(
        ": 2 differences are at most 3 % worse, or up to 50 ms of blocked time"
    )
    for made in (few, of_values([0, 1, 0, 2], [20, 22, 19, 21])):
        assert against_text(made, 3) == "within 50 ms of blocked time"
    without = replace(answers, places=(Place("", (change(1.0), change(1.0, "tbt_ms"))),))
    assert without.bound_text(3).endswith(": 2 differences are at most 3 % worse")
    assert against_text(change(1.0, "tbt_ms"), 3) == "within 3 %"


def test_the_verdict_is_that_of_the_outcome_also_without_a_ratio() -> None:
    blocked, free = [400.0, 390.0, 410.0, 400.0], [0.0] * 4
    lost = replace(change(1.0, "lcp_ms"), n=(20, 0), comparison=NOTHING, judgement=UNTOLD)
    cases = [
        (of_values(free, blocked), "slower", "above", "worse"),
        (of_values(blocked, free), "faster", "within", "better"),
        (of_values(free, blocked, "pages_per_s"), "higher", "within", "better"),
        (of_values(free, free), "within the margin", "within", "same"),
        (of_values(free, [0, 200, 0, 250]), "not known yet", "not known", "open"),
        (lost, "no data in B", "above", "worse"),
    ]
    changes = tuple(case[0] for case in cases)
    found = answers_json(Answered(Kind.LOAD, ("one", "two"), 0.03, (Place("", changes),)), 3)["conditions"]
    assert [(each["verdict"], each["outcome"]) for each in found] == [case[1:3] for case in cases]
    states = re.findall(r'<div class="row (\w+)">', page_of(3.0, *changes))
    assert states == [case[3] for case in cases]


def test_medians_of_0_do_not_deny_the_interval_of_a_mean() -> None:
    made = of_values([0.0] * 9, [0.0] * 5 + [90.0, 100.0, 110.0, 105.0])
    assert tells([sentence(made, 0.03)], "0 ms in A, 0 ms in B", "between +", "on average")


def test_two_runs_in_which_nearly_all_loads_timed_out_are_not_told_to_be_the_same() -> None:
    a, b = (np.array([*known, *[math.inf] * 18]) for known in ([1000.0, 1010.0], [990.0, 1005.0]))
    ((comparison, judgement),) = told([described(welch(np.log(b), np.log(a)), 20, 2, Certainty())])
    made = Change({}, "plt_ms", (20, 20), (math.inf, math.inf), comparison, judgement)
    assert made.against(3) is Bounded.UNKNOWN
    assert against_text(made, 3) == "not known to be within 3 %"
    assert tells([sentence(made, 0.03)], "not known yet", "no bounds", "timed out")
    answers = Answered(Kind.LOAD, ("one", "two"), 0.03, (Place("", (made,)),))
    assert tells([answers.bound_text(3)], "exit code 4", "no bounds", "timed out")


def test_a_run_in_which_all_loads_timed_out_has_no_bounds() -> None:
    a, b = np.linspace(990.0, 1010.0, 20), np.full(20, math.inf)
    ((comparison, judgement),) = told([described(welch(np.log(b), np.log(a)), 20, 2, Certainty())])
    made = Change({}, "plt_ms", (20, 20), (1000.0, math.inf), comparison, judgement)
    answers = Answered(Kind.LOAD, ("one", "two"), 0.03, (Place("", (made,)),))
    assert tells([answers.bound_text(3)], "exit code 1", "no bounds: loads timed out")


def test_one_trial_is_one() -> None:
    answers = Answered(Kind.LOAD, ("one", "two"), 0.03, (Place("", (change(1.0, n=1),)),))
    assert answers.bound_text(3).endswith("(1 trial)")


def test_sentences_say_how_much_of_what_and_how_sure() -> None:
    later = sentence(change(1.25, spread=0.001), 0.03)
    assert tells([later], "B takes 0.25 s more", "1.00 s with A", "(25 %")
    larger = sentence(change(1.5, "bytes_down", 0.0, base=4e5), 0.03)
    assert tells([larger], "B takes 200 kB more", "400 kB with A", "(50 %)")
    assert sentence(change(1.0, "requests", 0.0, base=31), 0.03) == "the same, 31 in both"
    assert tells([sentence(change(0.999), 0.03)], "B changes", "1.00 s with A by")
    assert sentence(change(1.0, spread=0.2, n=5), 0.03).startswith("not known yet, between ")


def test_one_above_is_above_and_one_unknown_is_not_known() -> None:
    within, above, unknown = change(1.0), change(1.1), change(1.0, spread=0.2, n=5)
    assert outcome_of([within, within], 3) is Bounded.WITHIN
    assert outcome_of([within, unknown], 3) is Bounded.UNKNOWN
    assert outcome_of([unknown, above, within], 3) is Bounded.ABOVE
    assert outcome_of([], 3) is Bounded.UNKNOWN
    answers = Answered(Kind.LOAD, ("one", "two"), 0.03, (Place("cable", (within, unknown)),))
    what = ("not known", "1 of 2", "cable: load", "above 3 % in part")
    assert tells([answers.bound_text(3)], "--fail-on 3 %", "exit code 4", *what)
    found = answers_json(answers, 3)
    assert (found["outcome"], [each["outcome"] for each in found["conditions"]]) == (
        "not known",
        ["within", "not known"],
    )
    nothing = replace(answers, places=(Place("cable", ()),))
    assert tells([nothing.bound_text(3)], "--fail-on 3 %", "not known", "exit code 4", "A has no value")
    assert OUTCOMES == {Bounded.WITHIN: 0, Bounded.ABOVE: 1, Bounded.UNKNOWN: 4}
    assert all(each["ratio"] is None or math.isfinite(each["ratio"]) for each in found["conditions"])


def page_of(limit: float, *changes: Change) -> str:
    answers = Answered(Kind.LOAD, ("one", "two"), 0.03, (Place("", changes),))
    return render(ComparedPage("", answers, limit, ()))


def dashed(page: str) -> list[float]:
    """Where the lines of the bound stand, in per cent of their axes."""
    return [float(place) for place in re.findall(r'class="bound" style="left: ([\d.]+)%"', page)]


def test_the_line_of_the_bound_stands_where_a_difference_would_be_above_it() -> None:
    made = (
        change(1.0),
        change(1.0, "requests_per_s"),
        *(change(1.0, "tbt_ms", base=ms) for ms in (1000, 20)),
    )
    page = page_of(4.0, *made)
    assert "to +6 % of A" in page
    # Of a blocked time of 1000 ms 50 ms more are always within; of 20 ms that lies beyond the axis.
    assert dashed(page) == pytest.approx([83.33, 16.67, 91.67], abs=0.5)
    wide = page_of(80.0, *made)
    assert "to +88 % of A" in wide
    assert dashed(wide)[:2] == pytest.approx([95.45, 4.55])


def test_the_page_says_which_intervals_are_wider() -> None:
    plain = change(1.1)
    chosen = replace(plain, comparison=plain.comparison.at(0.99))
    assert "picked out" not in page_of(3.0, plain, plain)
    assert tells(page_of(3.0, plain, chosen), "95 % interval", "wider", "picked out")


@pytest.mark.parametrize(("beyond", "says"), [(1, "1 more is not shown"), (2, "2 more are not shown")])
def test_the_page_says_how_many_files_it_does_not_show(beyond: int, says: str) -> None:
    files = tuple(FileRow(f"https://a.example/{n}", "") for n in range(FILES_SHOWN + beyond))
    answers = Answered(Kind.LOAD, ("one", "two"), 0.03, (Place("", (change(1.0),)),))
    assert says in render(ComparedPage("", answers, 3.0, (), files=files))
