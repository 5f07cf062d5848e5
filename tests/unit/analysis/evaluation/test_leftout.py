"""What was left out: whether some lost more, inside blocks, and whether it took longer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from analysis.evaluation.leftout import CONDITION, LeftOut, left_out
from analysis.runs.exclude import sift
from analysis.statistics.compare import Certainty

BUSY = {"foreign_cpu_share": 1.0}  # over the limit that holds alone


def records(hit: Callable[[int, str], bool], blocks: int = 40, slower: float = 1.0) -> pd.DataFrame:
    """Two protocols, each loaded twice in a block; of those that are hit a second attempt counts."""
    random = np.random.default_rng(1)
    rows = []
    for block in range(blocks):
        for number, protocol in enumerate(("h2", "http1")):
            for trial in range(2):
                lost = hit(block, protocol)
                for attempt in range(1 + lost):
                    busy = lost and attempt == 0
                    rows.append(
                        {
                            "run": "a",
                            "block": block,
                            "trial": f"{block}-{protocol}-{trial}",
                            "attempt": attempt + 1,
                            "cell": number,
                            "protocol": protocol,
                            "page": "one",
                            "outcome": "ok",
                            "foreign_cpu_share": 1.0 if busy else 0.0,
                            "plt_ms": 1000 * np.exp(random.normal(0, 0.02)) * (slower if busy else 1),
                        }
                    )
    return pd.DataFrame(rows)


def found(made: pd.DataFrame) -> LeftOut:
    return left_out(made, sift(made), ("page", "protocol"), "plt_ms", Certainty())


def test_a_protocol_that_loses_more_is_named() -> None:
    random = np.random.default_rng(2)
    seen = found(records(lambda _, protocol: random.random() < (0.4 if protocol == "h2" else 0.05)))
    (losses,) = seen.differing
    assert losses.dimension == "protocol"
    assert losses.shares[0].value == "h2"
    assert losses.shares[0].share > 0.2 > losses.shares[1].share
    assert losses.q < 0.01


def test_a_bad_spell_hits_all_of_its_block_alike() -> None:
    """Every trial of some blocks is lost: nothing tells the protocols apart."""
    seen = found(records(lambda block, _: block % 5 == 0))
    assert seen.lost == 8 * 4
    assert seen.differing == ()
    assert all(each.p > 0.9 for each in seen.losses)


def test_a_dimension_that_does_not_vary_is_not_asked_and_two_that_are_one_only_once() -> None:
    seen = found(records(lambda block, _: block % 5 == 0))
    assert [each.dimension for each in seen.losses] == ["protocol"]  # the condition is the protocol here
    assert CONDITION == "condition"


def test_what_was_left_out_is_compared_in_time() -> None:
    seen = found(records(lambda block, _: block % 5 == 0, slower=1.05))
    assert seen.times is not None
    assert seen.times.ratio == pytest.approx(1.05, abs=0.01)
    assert seen.times.low > 1
    assert seen.bias == pytest.approx(1 - 0.05 * 32 / 192, abs=0.003)


def test_nothing_left_out_has_nothing_to_say() -> None:
    seen = found(records(lambda _, __: False))
    assert (seen.lost, seen.losses, seen.times) == (0, (), None)


def test_all_left_out_has_no_times_to_compare() -> None:
    made = records(lambda _, __: False, blocks=3).assign(**BUSY)
    seen = found(made)
    assert (seen.lost, seen.times) == (12, None)
