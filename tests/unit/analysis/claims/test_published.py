"""Published claims against made-up records: when one is reproduced, of the same direction, or neither."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.claims.claimresult import ClaimRow, ClaimVerdict
from analysis.claims.claims import evaluated
from analysis.claims.measured import Measured
from analysis.claims.published import direction_open, overall, publications_of
from analysis.runs.rundirectory import Run, load
from analysis.statistics.compare import Certainty
from harness.errors import RecordsError
from harness.study.claim import Claim, Publication, Published
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic

H2, HTTP1 = {"protocol": "h2"}, {"protocol": "http1"}
RATIO = Claim(name="ratio", subject=H2, reference=HTTP1)
R, C, S, U, N, X = (
    ClaimVerdict.REPRODUCED,
    ClaimVerdict.COMPATIBLE,
    ClaimVerdict.SAME_DIRECTION,
    ClaimVerdict.UNKNOWN,
    ClaimVerdict.NOT_REPRODUCED,
    ClaimVerdict.NOT_COMPARABLE,
)


def published(low: float | None, high: float | None, claim: Claim | None = RATIO, **more: Any) -> Claim:
    said = Published(text="It is so", stands="figure 1", low=low, high=high, **more)
    return Claim(name="it", published=said) if claim is None else replace(claim, name="it", published=said)


def bound(low: float | None, high: float | None) -> Claim:
    """As the reader makes one: the bound is what the claim expects."""
    expected = {"ratio_below": high} if low is None else {"ratio_within": (low, 1000.0)}
    return published(low, high, replace(RATIO, **expected))


def measured(
    ratios: Mapping[float, float],
    *,
    blocks: int = 10,
    noise: float = 0.01,
    rtts: tuple[float, ...] = (),
    seed: int = 7,
    sides: tuple[str, str, str] = ("protocol", "http1", "h2"),
) -> Measured:
    """The second of the sides takes `ratios` (by RTT) of the 1000 ms of the first; `rtts`: measured, and nothing counts
    there.
    """
    random = np.random.default_rng(seed)
    dimension, reference, subject = sides
    cells = [{"rtt_ms": rtt, dimension: name} for rtt in (*ratios, *rtts) for name in (reference, subject)]
    fixed = {
        "page": "p",
        "protocol": "http1",
        "variant": "plain",
        "compression": "none",
        "engine": "chromium",
        "driver": "playwright",
        "server": "apache",
        "down_mbps": 10.0,
        "up_mbps": 10.0,
    }
    conditions = pd.DataFrame([fixed | each | {"link": f"l{each['rtt_ms']}"} for each in cells])
    records = [
        {
            "run": "r",
            "block": block,
            "cell": cell,
            "plt_ms": 1000
            * (ratios[float(str(each["rtt_ms"]))] if each[dimension] == subject else 1.0)
            * math.exp(random.normal(0, noise)),
        }
        for block in range(blocks)
        for cell, each in enumerate(cells)
        if each["rtt_ms"] in ratios
    ]
    return Measured(conditions.assign(cell=range(len(cells))), pd.DataFrame(records), Certainty())


def one(claim: Claim, ratio: float, **settings: Any) -> ClaimRow:
    (row,) = evaluated([claim], measured({50.0: ratio}, **settings))
    return row


def test_of_two_pages_a_ratio_has_no_direction() -> None:
    """Half of a page takes less than the whole page anyhow."""
    half = replace(RATIO, subject={"page": "half"}, reference={"page": "whole"}, ratio_below=0.5)
    (row,) = evaluated(
        [published(None, 0.5, half)], measured({50.0: 0.52}, sides=("page", "whole", "half"), noise=0.001)
    )
    assert row.verdict is N


@pytest.mark.parametrize(
    ("low", "high", "ratio", "verdict"),
    [
        (0.55, 0.67, 0.61, R),  # inside
        (0.6, 0.624, 0.625, C),  # the interval reaches into it
        (0.61, 0.61, 0.61, C),  # nothing lies inside a point
        (0.6, 0.62, 0.7, S),
        (0.6, 0.62, 0.5, S),
        (0.6, 0.62, 1.0, N),  # no direction
        (0.6, 0.62, 1.3, N),
        (1.2, 1.47, 1.1, S),
        (1.2, 1.47, 0.9, N),
        (0.97, 1.03, 1.0, R),
        (1.0, 1.03, 1.0, C),
        (0.97, 1.03, 0.9, N),  # a range that holds 1 has no direction
    ],
)
def test_a_published_range_is_met_or_not(
    low: float, high: float, ratio: float, verdict: ClaimVerdict
) -> None:
    row = one(published(low, high), ratio)
    assert row.verdict is verdict
    assert row.interval is not None
    assert row.interval[0] == pytest.approx(ratio, rel=0.02)
    _, least, most = row.interval
    assert (least <= high and low <= most) is (verdict in {R, C})
    assert (low <= least and most <= high) is (verdict is R)


def test_both_ends_of_a_range_belong_to_it() -> None:
    seen = one(published(0.5, 0.9), 0.8)
    assert seen.interval is not None
    _, low, high = seen.interval
    assert one(published(low, high), 0.8).verdict is R
    assert one(published(high, 0.99), 0.8).verdict is C
    assert one(published(0.1, low), 0.8).verdict is C
    assert one(published(high + 1e-6, 0.99), 0.8).verdict is S
    assert one(published(0.1, low - 1e-6), 0.8).verdict is S


def test_a_tolerance_widens_the_range_on_either_side() -> None:
    assert one(published(0.61, 0.61), 0.7).verdict is S
    assert one(published(0.61, 0.61, tolerance=0.2), 0.7).verdict is R


@pytest.mark.parametrize(("ratio", "noise", "verdict"), [(0.8, 0.2, S), (0.9, 0.3, U), (0.95, 0.3, U)])
def test_an_interval_too_wide_tells_a_direction_or_nothing(
    ratio: float, noise: float, verdict: ClaimVerdict
) -> None:
    assert one(published(0.85, 0.86), ratio, noise=noise).verdict is verdict


@pytest.mark.thorough
@pytest.mark.parametrize("truth", [0.8, 0.9, 1.0])
def test_noise_never_makes_reproduced_more_frequent(truth: float) -> None:
    """The same 20 draws, more and more noisy, of a truth inside, at the end of and outside a range."""

    def reproduced(noise: float) -> int:
        draws = [measured({50.0: truth}, noise=noise, seed=seed) for seed in range(20)]
        return sum(evaluated([published(0.7, 0.9)], each)[0].verdict is R for each in draws)

    counts = [reproduced(noise) for noise in (0.005, 0.02, 0.1, 0.4)]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize(
    ("low", "high", "ratio", "verdict"),
    [
        (None, 1.0, 0.9, R),
        (None, 1.0, 1.1, N),
        (None, 1.0, 1.0, U),
        (None, 0.8, 0.9, S),
        (1.0, None, 1.1, R),
        (1.0, None, 0.9, N),
        (2.0, None, 1.5, S),
        (2.0, None, 2.5, R),
    ],
)
def test_a_bound_has_to_be_shown(
    low: float | None, high: float | None, ratio: float, verdict: ClaimVerdict
) -> None:
    assert one(bound(low, high), ratio).verdict is verdict


def test_a_value_has_no_direction() -> None:
    def value(at: float) -> ClaimVerdict:
        claim = Claim(name="value", subject=H2, at_most=at)
        return one(published(at, at, claim, tolerance=0.05), 0.9).verdict

    assert [value(at) for at in (900.0, 940.0, 1000.0, 700.0)] == [R, C, N, N]
    row = one(published(700.0, 700.0, Claim(name="value", subject=H2, at_most=700.0)), 0.9)
    assert row.interval is not None
    assert row.interval[0] == pytest.approx(900, rel=0.02)


def test_a_value_above_a_bound_has_to_be_shown() -> None:
    def value(low: float) -> ClaimVerdict:
        return one(published(low, None, Claim(name="value", subject=H2, at_most=low)), 0.9).verdict

    assert [value(low) for low in (800.0, 900.0, 1000.0)] == [R, U, N]


def test_too_few_blocks_have_no_verdict() -> None:
    row = one(published(0.6, 0.62), 0.61, blocks=2)
    assert (row.verdict, row.reason) == (U, "2 blocks of at least 3")


def test_what_is_compatible_without_a_direction_says_so() -> None:
    row = one(published(0.9, 0.97), 0.98, noise=0.06)
    assert (row.verdict, direction_open(row)) == (C, True)
    assert not direction_open(one(published(0.9, 0.97), 0.95))
    assert not direction_open(one(published(0.97, 1.03), 1.0))


def test_what_cannot_be_compared_tells_why_and_what_was_measured() -> None:
    row = one(published(0.6, 0.62, not_comparable="another machine"), 0.61)
    assert (row.verdict, row.reason) == (X, "another machine")
    assert row.interval is not None
    (alone,) = evaluated([published(None, None, None, not_comparable="not told")], measured({50.0: 1.0}))
    assert (alone.verdict, alone.comparison) == (X, None)
    elsewhere = replace(RATIO, where={"rtt_ms": (70.0,)})
    (lacking,) = evaluated([published(0.6, 0.62, elsewhere)], measured({50.0: 1.0}))
    assert (lacking.verdict, tells([lacking.reason], "nothing", "measured")) == (X, True)
    (empty,) = evaluated([published(0.6, 0.62, elsewhere)], measured({50.0: 1.0}, rtts=(70.0,)))
    assert (empty.verdict, tells([empty.reason], "no block")) == (X, True)


def test_a_claim_of_several_settings_counts_by_its_worst() -> None:
    claim = published(0.6, 0.62)
    rows = evaluated([claim], measured({20.0: 0.61, 50.0: 0.8, 100.0: 1.2}, rtts=(70.0,)))
    assert sorted(row.verdict for row in rows) == sorted([R, S, N, X])
    assert overall(rows) == {"it": N}
    assert overall([row for row in rows if row.verdict in (R, X)]) == {"it": R}
    assert overall([row for row in rows if row.verdict is X]) == {"it": X}


def test_claims_with_one_expectation_do_not_share_their_rows() -> None:
    """Two claims that are equal but for what was published."""
    low, high = replace(published(0.6, 0.62), name="low"), replace(published(1.2, 1.3), name="high")
    rows = evaluated([low, high], measured({50.0: 0.61}))
    assert [(row.claim.name, row.verdict) for row in rows] == [("low", R), ("high", N)]


def at(*rtts_ms: float) -> Claim:
    return published(0.6, 0.62, replace(RATIO, where={"rtt_ms": rtts_ms}))


LACKING = published(0.6, 0.62, None, not_comparable="this form of the study measures no rtt_ms 70")


def runs_with(folder: Path, *claims: Claim) -> list[Run]:
    """Runs of forms of a study, each with a claim of the same publication."""
    made = Synthetic(pages=("p",), protocols=("h2",), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=1)
    papers = [Publication(title="A paper", source="2012", claims=(claim,)) for claim in claims]
    return [
        load(replace(made, seed=seed, published=paper).write(folder / f"run{seed}"))
        for seed, paper in enumerate(papers)
    ]


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        (at(20.0), at(100.0), at(20.0, 100.0)),
        (at(20.0, 100.0), at(100.0), at(20.0, 100.0)),
        (at(20.0), published(0.6, 0.62), published(0.6, 0.62)),
        (LACKING, at(70.0), at(70.0)),
        (at(70.0), LACKING, at(70.0)),
        (LACKING, LACKING, LACKING),
    ],
)
def test_a_claim_of_two_runs_is_about_what_either_measures(
    first: Claim, second: Claim, both: Claim, tmp_path: Path
) -> None:
    (paper,) = publications_of(runs_with(tmp_path, first, second))
    assert [claim.to_json() for claim in paper.claims] == [both.to_json()]


@pytest.mark.parametrize(
    "other", [published(0.15, 0.155), published(0.6, 0.62, not_comparable="other settings")]
)
def test_runs_that_hold_other_values_against_a_claim_are_reported_apart(other: Claim, tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match=r"run1: the published claim 'it' .* report these runs apart"):
        publications_of(runs_with(tmp_path, published(0.6, 0.62), other))
