"""Made-up runs that the report's functions are asked for: what was made to differ is found, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.comparing.pair import claim_changes
from analysis.statistics.compare import Certainty, Verdict
from benchmarks.simulation import leavingout, tworuns
from benchmarks.simulation.leavingout import CONDITIONS, PROTOCOLS, attempts, tells_of_a_difference
from benchmarks.simulation.tworuns import CELLS, CLAIMS, SLOWER, compared, pairs_of_runs, side, truths


def test_a_tenth_of_the_conditions_is_slower_in_b() -> None:
    ((a, b),) = pairs_of_runs(np.random.default_rng(1), 1, 10)
    made = compared(a, b + truths(0.5))
    assert len(made) == len(tworuns.CONDITIONS) == 40
    assert len(SLOWER) == 4
    assert {each.condition["cell"] for each in made if each.judgement.verdict is Verdict.SLOWER} >= {*SLOWER}
    apart = {each.condition["cell"]: each.relative.judgement.verdict for each in made if each.relative}
    assert len(apart) == 30
    assert {cell for cell, verdict in apart.items() if verdict is Verdict.SLOWER} >= {*SLOWER}
    assert all(each.floor is not None and 1 < each.floor < 1.2 for each in made)
    assert {each.n for each in made} == {(10, 10)}


def test_equal_runs_have_no_difference() -> None:
    ((a, _),) = pairs_of_runs(np.random.default_rng(1), 1, 5)
    for each in compared(a, a):
        assert each.comparison.ratio == pytest.approx(1)
        assert each.judgement.verdict not in tworuns.DIRECTED


def test_a_claim_that_turned_in_b_is_named_with_both_its_intervals() -> None:
    ((a, b),) = pairs_of_runs(np.random.default_rng(1), 1, 10)
    truth = np.zeros(CELLS)
    truth[SLOWER[0]] = 0.5
    found = claim_changes(CLAIMS, side("A", a - truth), side("B", b + truth), Certainty())
    assert found.asked == 30
    turned = [each for each in found.changed if each.a.pairs[0][0] == SLOWER[0]]
    assert len(turned) == 1
    for row, true in ((turned[0].a, -0.5), (turned[0].b, 0.5)):
        assert row.comparison is not None
        assert row.comparison.ratio == pytest.approx(np.exp(true), rel=0.05)
        assert row.comparison.confidence >= 1 - 0.05 * len(found.changed) / 30 - 1e-12


def test_attempts_are_made_anew_until_one_is_not_hit() -> None:
    random = np.random.default_rng(1)
    none = attempts(random, np.zeros((3, CONDITIONS)))
    assert len(none) == 3 * CONDITIONS
    every = attempts(random, np.ones((3, CONDITIONS)))
    assert len(every) == 3 * CONDITIONS * 3
    assert every.groupby(["block", "cell"])["attempt"].agg(list).map(lambda made: made == [1, 2, 3]).all()
    assert every["trial"].nunique() == 3 * CONDITIONS


def test_a_protocol_that_loses_far_more_is_told() -> None:
    rates = np.where(np.arange(CONDITIONS) % PROTOCOLS == 0, 0.6, 0.05)
    assert tells_of_a_difference(np.random.default_rng(1), np.tile(rates, (5, 1)))


def test_bad_spells_hit_whole_blocks() -> None:
    rates = leavingout.in_spells(np.random.default_rng(1), 2_000)
    assert (rates == rates[:, :1]).all()
    assert rates.mean() == pytest.approx(leavingout.EQUAL, abs=0.01)
