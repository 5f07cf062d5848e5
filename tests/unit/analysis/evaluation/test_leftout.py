"""What was left out: whether some lost more, inside blocks, and whether it took longer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.evaluation.leftout import CONDITION, LeftOut, left_out
from analysis.evaluation.results import evaluate
from analysis.report import summary
from analysis.runs.exclude import sift
from analysis.runs.rundirectory import load
from analysis.statistics.compare import Certainty
from tests.facts import tells
from tests.unit.analysis.runpairs import edit
from tests.unit.analysis.synthetic_capacity import SyntheticRate

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


def test_the_attempts_of_a_block_are_one_disturbance() -> None:
    """Twelve attempts of three blocks, each block with a disturbance of its own, tell little of the next one."""
    made = records(lambda block, _: block < 3)
    lost = made["foreign_cpu_share"] == 1.0
    made.loc[lost, "plt_ms"] *= 1 + 0.1 * made.loc[lost, "block"]
    seen = found(made)
    assert seen.times is not None
    assert seen.times.n == 12
    assert seen.times.low < 1 < seen.times.ratio


def test_a_slower_run_that_loses_more_makes_no_loss_longer() -> None:
    fast = records(lambda block, _: block % 10 == 0)
    slow = records(lambda block, _: block % 2 == 0)
    slow = slow.assign(run="b", plt_ms=1.3 * slow["plt_ms"])
    seen = found(pd.concat([fast, slow], ignore_index=True))
    assert seen.times is not None
    assert seen.times.n == (4 + 20) * 4
    assert seen.times.ratio == pytest.approx(1, abs=0.01)


def test_attempts_without_a_time_move_no_time() -> None:
    made = records(lambda block, _: block % 5 == 0, slower=1.05)
    failed = (made["foreign_cpu_share"] == 1) & (made["block"] % 10 == 0)
    seen = found(made.assign(plt_ms=made["plt_ms"].mask(failed)))
    assert seen.times is not None
    assert (seen.lost, seen.times.n) == (32, 16)
    assert seen.bias == pytest.approx(1 - 0.05 * 16 / 176, abs=0.0015)


def test_of_a_server_under_load_it_is_the_rate_that_is_told(tmp_path: Path) -> None:
    made = SyntheticRate(made_by={"wrk": ("http1",)}, connections=(16,), depths=(1,), trials=4, aa=False)
    run = made.write(tmp_path / "run")
    edit(run, lambda record: record | {"foreign_cpu_share": 0.9 if record["block"] == 1 else 0.0})
    said = summary.lost(evaluate([load(run)]))
    assert tells(said, "Those with a request rate (1)", "moves a request rate by")


def test_nothing_left_out_has_nothing_to_say() -> None:
    seen = found(records(lambda _, __: False))
    assert (seen.lost, seen.losses, seen.times) == (0, (), None)


def test_all_left_out_has_no_times_to_compare() -> None:
    made = records(lambda _, __: False, blocks=3).assign(**BUSY)
    seen = found(made)
    assert (seen.lost, seen.times) == (12, None)
