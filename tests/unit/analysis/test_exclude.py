"""Exclusions are named, counted, and never silent."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from analysis.exclude import RULES, above, sift
from analysis.rundirectory import load
from harness.outcome import Outcome
from tests.unit.analysis.synthetic import Synthetic


def records(*outcomes: str, plt_ms: float | None = 100.0) -> pd.DataFrame:
    count = len(outcomes)
    return pd.DataFrame(
        {
            "trial": [str(n) for n in range(count)],
            "page": ["a", "b"] * (count // 2) + ["a"] * (count % 2),
            "outcome": outcomes,
            "plt_ms": [plt_ms] * count,
            "late_us": [float(n) for n in range(count)],
        }
    ).astype({"plt_ms": float})


def test_every_outcome_but_ok_is_excluded_under_its_name() -> None:
    sifted = sift(records(*Outcome))
    assert sifted.kept["outcome"].tolist() == ["ok"]
    assert dict(zip(sifted.excluded["outcome"], sifted.excluded["excluded_by"], strict=True)) == {
        outcome.value: outcome.value for outcome in Outcome if outcome is not Outcome.OK
    }


def test_nothing_gets_lost() -> None:
    sifted = sift(records("ok", "page-timeout", "page-timeout", "ok", "from-the-future"))
    assert len(sifted.kept) + len(sifted.excluded) == 5
    counts = sifted.by_rule()
    assert counts["page-timeout"] == 2
    assert counts["unknown-outcome"] == 1
    assert counts["page-error"] == 0
    assert sum(counts.values()) == len(sifted.excluded)


def test_an_ok_trial_without_a_load_time_is_excluded_and_counted() -> None:
    assert sift(records("ok", "ok", plt_ms=None)).by_rule()["no-load-time"] == 2


def test_counts_per_condition_and_rule() -> None:
    sifted = sift(records("page-timeout", "ok", "page-timeout", "page-error", "ok"))
    assert sifted.by_condition(["page"]).to_dict("records") == [
        {"page": "a", "excluded_by": "page-timeout", "excluded": 2, "recorded": 3},
        {"page": "b", "excluded_by": "page-error", "excluded": 1, "recorded": 2},
    ]


def test_a_further_numeric_rule_is_one_more_line() -> None:
    rules = (*RULES, above("late-packets", "packets left late", "late_us", 2.5))
    sifted = sift(records("ok", "ok", "ok", "ok", "page-error"), rules)
    assert (
        sifted.by_rule()["late-packets"] == 1
    )  # the first rule that applies counts: trial 4 is a page-error
    missing = above("late-packets", "packets left late", "not_recorded", 1)
    assert not missing.applies(records("ok")).any()


def test_outcomes_of_a_run(tmp_path: Path) -> None:
    small = Synthetic(trials=2, outcomes={"00001": "page-timeout", "00002": "wrong-protocol"})
    sifted = sift(load(small.write(tmp_path)).records)
    assert sifted.excluded["trial"].tolist() == ["00001", "00002"]


def test_a_starved_link_is_named() -> None:
    seen = pd.DataFrame(
        {
            "trial": ["1", "2", "3", "4"],
            "outcome": ["ok"] * 4,
            "plt_ms": [100.0] * 4,
            "link_reading_down_lateness_p99_us": [40.0, 1001.0, None, 40.0],
            "link_reading_up_lateness_p99_us": [1000.0, 40.0, None, 40.0],
            "link_reading_down_lateness_max_us": [20_000.0, 1001.0, None, 40.0],
            "link_reading_up_lateness_max_us": [1000.0, 40.0, None, 20_001.0],
        }
    )
    sifted = sift(seen)
    assert list(sifted.kept["trial"]) == ["1", "3"]
    assert sifted.by_rule()["late-packets-down"] == 1
    assert sifted.by_rule()["late-packets-up"] == 1


def test_a_busy_machine_is_named() -> None:
    seen = pd.DataFrame({"trial": ["1", "2", "3"], "outcome": ["ok"] * 3, "plt_ms": [100.0] * 3})
    seen["foreign_cpu_share"] = [0.25, 0.26, None]
    assert sift(seen).by_rule()["busy-machine"] == 1
    assert list(sift(seen).kept["trial"]) == ["1", "3"]
