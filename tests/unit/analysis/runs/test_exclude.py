"""Exclusions are named, counted, and never silent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.runs.exclude import RULES, ExclusionRule, drawn_again, left_out_text, sift
from analysis.runs.rundirectory import load
from harness.errors import Outcome
from harness.model.condition import OF_VARIANTS
from harness.model.kind import Kind
from harness.model.soundness import FOREIGN_CPU_LIMIT, OUTCOME, STALLED_LIMIT
from harness.probes.processor import WAITING_LIMIT
from harness.study.metrics import reasons_of, unsound
from tests.facts import tells
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


def test_outcomes_but_ok_and_time_outs_are_excluded_under_their_names() -> None:
    sifted = sift(records(*Outcome))
    assert sifted.kept["outcome"].tolist() == ["ok", "page-timeout"]
    assert dict(zip(sifted.excluded["outcome"], sifted.excluded["excluded_by"], strict=True)) == {
        outcome.value: outcome.value
        for outcome in Outcome
        if outcome not in (Outcome.OK, Outcome.PAGE_TIMEOUT)
    }


def test_a_time_out_is_the_longest_time() -> None:
    seen = records("ok", "page-timeout", "ok").assign(
        fcp_ms=40.0, cell=[0, 0, 1], navigate_ms=[101.0, np.nan, 101.0]
    )
    seen.loc[1, "plt_ms"] = None
    sifted = sift(seen)
    assert sifted.by_metric["plt_ms"].tolist() == [100, np.inf, 100]
    assert sifted.by_metric["navigate_ms"].tolist() == [101, np.inf, 101]
    assert sifted.timed_out.to_dict() == {0: 1}


def test_nothing_else_is_known_of_a_time_out() -> None:
    """Neither where metrics are estimated nor where the trials that count are looked at."""
    seen = records("ok", "page-timeout", "ok").assign(
        fcp_ms=40.0,
        requests=[24.0, 3.0, 24.0],
        painted=True,
        foreign_cpu_share=0.01,
        link_reading_down_drops_queue=7,
        cell=0,
        archive_digest="served",
    )
    sifted = sift(seen)
    for name in ("fcp_ms", "requests", "painted", "foreign_cpu_share", "link_reading_down_drops_queue"):
        for trials in (sifted.kept, sifted.by_metric):
            assert trials[name].notna().tolist() == [True, False, True], name
    assert sifted.kept["plt_ms"].isna().tolist() == [False, True, False]
    assert sifted.kept["archive_digest"].tolist() == ["served"] * 3
    assert seen["requests"].tolist() == [24, 3, 24]


def test_a_time_out_need_not_have_asked_for_much_nor_painted() -> None:
    """Loads that ended as it was broken off are left out."""
    seen = pd.DataFrame(
        {
            "trial": [*"123456"],
            "page": "a",
            "variant": "plain",
            "engine": ["chromium"] * 4 + ["qtwebkit"] * 2,
            "outcome": ["ok", "ok", "page-timeout", "ok", "page-timeout", "ok"],
            "plt_ms": [100.0, 100.0, None, 100.0, None, 100.0],
            "requests": [10.0, 10.0, 3.0, 3.0, 8.0, 8.0],
            "painted": [True, True, None, False, None, None],
            "fcp_ms": [40.0, 40.0, None, None, None, None],
            "blank": [None, None, None, None, True, True],
        }
    )
    sifted = sift(seen)
    assert sifted.kept["trial"].tolist() == ["1", "2", "3", "5"]
    assert sifted.excluded["excluded_by"].tolist() == ["little-of-the-page", "painted-nothing"]


def drawn(run: str, seed: int | None, *, loss: float = 1.0) -> dict[str, Any]:
    return {
        "run": run,
        "cell": 0,
        "link_loss_down_percent": loss,
        "link_jitter_up_ms": 0.0,
        "link_reading_seed": seed,
    }


def test_loads_with_the_losses_of_another_run_count_once() -> None:
    """Of old runs, whose seed is that of the block."""
    told = [drawn("a", 2), drawn("a", 3), drawn("b", 2), drawn("b", 4)]
    assert drawn_again(pd.DataFrame(told)).tolist() == [2]


@pytest.mark.parametrize(
    "told",
    [
        [drawn("a", 2), drawn("a", 2)],
        [drawn("a", 2), drawn("b", 3)],
        [drawn("a", 2, loss=0.0), drawn("b", 2, loss=0.0)],
        [drawn("a", None), drawn("b", None)],
    ],
    ids=["of one run", "other draws", "no loss", "draws are not told"],
)
def test_all_other_loads_over_a_lossy_link_count(told: list[dict[str, Any]]) -> None:
    assert drawn_again(pd.DataFrame(told)).empty


def loads(engine: str, *told: tuple[int, bool, float | None]) -> pd.DataFrame:
    """Loads of one page: how much each asked for, whether it had painted by its load event, and when it first did."""
    return pd.DataFrame(
        [
            {
                "trial": f"{engine}-{number}",
                "page": "a",
                "variant": "plain",
                "engine": engine,
                "outcome": "ok",
                "plt_ms": 100.0,
                "requests": float(requests),
                "painted": painted,
                "fcp_ms": fcp_ms,
            }
            for number, (requests, painted, fcp_ms) in enumerate(told)
        ]
    )


def test_a_load_that_painted_after_its_load_event_counts() -> None:
    """However little it had asked for by then: it showed something."""
    later = loads("chromium", (80, True, 900.0), (80, True, 900.0), (79, False, 640.0), (45, False, 640.0))
    assert sift(later).by_rule()["painted-nothing"] == 0


def test_a_request_less_than_usual_is_no_lack_of_the_page() -> None:
    """A load that ends before the first paint has asked for a little less, too."""
    seen = loads("chromium", (80, True, 90.0), (80, True, 90.0), (79, False, None), (76, False, None))
    assert sift(seen).by_rule()["painted-nothing"] == 0


def test_what_other_engines_ask_for_is_no_measure_of_a_lack() -> None:
    firefox = loads("firefox", *[(33, True, 90.0)] * 5)
    chromium = loads("chromium", *[(24, False, None)] * 4, (24, True, 90.0))
    assert sift(pd.concat([firefox, chromium], ignore_index=True)).by_rule()["painted-nothing"] == 0


def test_a_load_that_showed_nothing_and_lacks_much_of_its_page_is_left_out() -> None:
    """Also where another engine alone has shown the page."""
    empty = loads("chromium", *[(80, True, 90.0)] * 3, (50, False, None))
    assert sift(empty).by_rule()["painted-nothing"] == 1
    elsewhere = loads("chromium", *[(80, False, None)] * 3, (50, False, None))
    assert sift(elsewhere).by_rule()["painted-nothing"] == 0  # nothing tells that there is anything to show
    both = pd.concat([elsewhere, loads("firefox", (80, True, 90.0))], ignore_index=True)
    assert sift(both).excluded["trial"].tolist() == ["chromium-3"]


def test_all_left_out_is_said_with_the_reason() -> None:
    sifted = sift(records(*["page-error"] * 24))
    assert tells([left_out_text(sifted.by_rule(), 24)], "24 of 24", "left out: page-error")
    several = sift(records("page-error", "wrong-protocol", "page-error"))
    assert tells([left_out_text(several.by_rule(), 3)], "3 of 3", "left out: page-error 2, wrong-protocol 1")


def test_nothing_gets_lost() -> None:
    sifted = sift(records("ok", "wrong-cache", "wrong-cache", "ok", "from-the-future"))
    assert len(sifted.kept) + len(sifted.excluded) == 5
    counts = sifted.by_rule()
    assert counts["wrong-cache"] == 2
    assert counts["unknown-outcome"] == 1
    assert counts["page-error"] == 0
    assert sum(counts.values()) == len(sifted.excluded)


def test_an_ok_trial_without_a_load_time_is_excluded_and_counted() -> None:
    assert sift(records("ok", "ok", plt_ms=None)).by_rule()["no-load-time"] == 2


def test_counts_per_condition_and_rule() -> None:
    sifted = sift(records("wrong-cache", "ok", "wrong-cache", "page-error", "ok"))
    assert sifted.by_condition(["page"]).to_dict("records") == [
        {"page": "a", "excluded_by": "wrong-cache", "excluded": 2, "recorded": 3},
        {"page": "b", "excluded_by": "page-error", "excluded": 1, "recorded": 2},
    ]


def test_a_further_rule_is_one_more_line() -> None:
    late = ExclusionRule("late-packets", "packets left late", lambda records: records["late_us"] > 2.5)
    sifted = sift(records("ok", "ok", "ok", "ok", "page-error"), (*RULES, late))
    assert (
        sifted.by_rule()["late-packets"] == 1
    )  # the first rule that applies counts: trial 4 is a page-error


def test_outcomes_of_a_run(tmp_path: Path) -> None:
    small = Synthetic(trials=2, outcomes={"00001": "page-error", "00002": "wrong-protocol"})
    sifted = sift(load(small.write(tmp_path)).records)
    assert sifted.excluded["trial"].tolist() == ["00001", "00002"]


def test_a_starved_link_is_named() -> None:
    """Share of the load's time where the emulator tells it, and the 99th percentile of lateness where it does not."""
    seen = pd.DataFrame(
        {
            "trial": ["1", "2", "3", "4", "5"],
            "outcome": ["ok"] * 5,
            "plt_ms": [100.0] * 5,
            "link_reading_down_stalled_us": [0.0, 99_000.0, None, 0.0, None],
            "link_reading_up_stalled_us": [0.0, 99_000.0, None, 99_000.0, None],
            "link_reading_down_lateness_p99_us": [5000.0, 40.0, None, 40.0, 1001.0],
            "link_reading_up_lateness_p99_us": [40.0, 40.0, None, 40.0, 1000.0],
        }
    )
    sifted = sift(seen)
    assert list(sifted.kept["trial"]) == ["1", "3"]
    assert sifted.by_rule()["late-packets-down"] == 2
    assert sifted.by_rule()["late-packets-up"] == 1


def test_a_busy_machine_is_named() -> None:
    seen = pd.DataFrame({"trial": ["1", "2", "3", "4"], "outcome": ["ok"] * 4, "plt_ms": [100.0] * 4})
    seen["foreign_cpu_share"] = [0.9, 0.9, None, 0.9]
    seen["client_thread_late_ms"] = [0.0, 90.0, 90.0, None]
    assert sift(seen).by_rule()["busy-machine"] == 2
    assert list(sift(seen).kept["trial"]) == ["1", "3"]


LIMITS = (STALLED_LIMIT * 1e6, FOREIGN_CPU_LIMIT, WAITING_LIMIT * 1e3, 1000.0)  # of a load of a second


def numbers(*worth_trying: float) -> st.SearchStrategy[float | None]:
    return st.sampled_from(worth_trying) | st.floats(0, 1e6) | st.none()


def measured() -> st.SearchStrategy[dict[str, Any]]:
    """Records as of the runner, of which any number may be missing: all that a reason reads."""
    flat = {
        keys: st.sampled_from([*map(str, Outcome), "ok", "ok", "ok", "from-the-future"])
        if keys == OUTCOME
        else numbers(0.0, *(most * factor for most in LIMITS for factor in (0.5, 1.0, 1.5)))
        for reason in reasons_of(Kind.LOAD)
        for keys in reason.reads
    }
    return st.fixed_dictionaries({}, optional=flat).map(nested)


def nested(flat: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    record: dict[str, Any] = {"outcome": "ok"}
    for keys, value in flat.items():
        inner = record
        for key in keys[:-1]:
            inner = inner.setdefault(key, {})
        inner[keys[-1]] = value
    return record


@pytest.mark.thorough
@given(made=st.lists(measured(), min_size=1, max_size=20))
def test_a_report_leaves_out_what_the_runner_repeats(made: list[dict[str, Any]]) -> None:
    synthetic = Synthetic(pages=("dummy-2012",), protocols=("h2",), rates_mbps=(1.0,), rtts_ms=(20.0,))
    row = synthetic.records()[0]
    numbered = [{**row, "plt_ms": None, **each, "trial": f"{n:03d}"} for n, each in enumerate(made)]
    frame = pd.json_normalize(numbered, sep="_")
    reasons = dict(zip(*(sift(frame).excluded[column] for column in ("trial", "excluded_by")), strict=True))
    assert reasons == {each["trial"]: reason for each in numbered if (reason := unsound(each)) is not None}


def test_what_a_page_asks_for_elsewhere_is_no_measure_of_a_phone() -> None:
    desktop = loads("chromium", *[(60, True, 90.0)] * 5).assign(device="desktop")
    phone = loads("chromium", *[(18, True, 90.0)] * 4, (8, True, 90.0)).assign(device="mobile")
    sifted = sift(pd.concat([desktop, phone], ignore_index=True))
    assert sifted.excluded[["device", "requests"]].to_numpy().tolist() == [["mobile", 8.0]]
    assert sifted.by_rule()["little-of-the-page"] == 1


@pytest.mark.parametrize("dimension", OF_VARIANTS)
def test_what_another_form_of_a_variant_asks_for_is_no_measure(dimension: str) -> None:
    usual = loads("chromium", *[(30, True, 90.0)] * 5)
    other = loads("chromium", *[(8, False, None)] * 5).assign(**{dimension: "another"})
    assert sift(pd.concat([usual, other], ignore_index=True)).excluded.empty


def test_what_a_factor_asks_for_is_measured_by_the_others() -> None:
    """A server that a factor breaks answers half of the page in every load."""
    usual = loads("chromium", *[(30, True, 90.0)] * 5).assign(factor="usual")
    broken = loads("chromium", *[(8, True, 90.0)] * 4).assign(factor="broken")
    sifted = sift(pd.concat([usual, broken], ignore_index=True))
    assert set(sifted.excluded["factor"]) == {"broken"}
