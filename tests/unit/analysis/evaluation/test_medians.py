"""The medians that other programs get are those of the report, under names that stay."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from analysis.evaluation.medians import medians
from analysis.evaluation.results import evaluate
from analysis.runs.rundirectory import load
from harness.errors import MeasurementRefused
from tests.unit.analysis.synthetic import Synthetic

SMALL = Synthetic(pages=("news-mobile",), protocols=("http1", "h2"), rates_mbps=(10.0,), aa=True)


def test_they_are_those_of_the_report(tmp_path: Path) -> None:
    results = evaluate([load(SMALL.write(tmp_path / "run"))])
    told = medians(results)
    mine = [each.estimates["plt_ms"] for each in told.conditions]
    assert [(each.median, each.low, each.high, each.n) for each in mine] == list(
        results.cells[["median", "low", "high", "n"]].itertuples(index=False, name=None)
    )
    assert told.last.isoformat() == str(results.records["started_utc"].max()).replace(".000Z", "+00:00")


def test_names_stay_when_nothing_varies(tmp_path: Path) -> None:
    small = Synthetic(
        pages=("news-mobile",), protocols=("h2",), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=2
    )
    (condition,) = medians(evaluate([load(small.write(tmp_path / "run"))])).conditions
    assert {"page", "variant", "protocol", "link", "rtt_ms", "engine"} <= condition.names.keys()
    assert "queue_down_bytes" not in condition.names


def test_a_time_out_leaves_the_upper_end_open(tmp_path: Path) -> None:
    small = Synthetic(
        pages=("news-mobile",),
        protocols=("h2",),
        rates_mbps=(10.0,),
        rtts_ms=(20.0,),
        outcomes={"00002": "page-timeout"},
    )
    (condition,) = medians(evaluate([load(small.write(tmp_path / "run"))])).conditions
    assert math.isinf(condition.estimates["plt_ms"].high)
    assert math.isfinite(condition.estimates["plt_ms"].median)


def test_nothing_that_counts_is_refused(tmp_path: Path) -> None:
    small = Synthetic(
        protocols=("h2",),
        rates_mbps=(10.0,),
        rtts_ms=(20.0,),
        trials=1,
        outcomes=dict.fromkeys(["00001", "00002"], "testbed-failed"),
    )
    with pytest.raises(MeasurementRefused, match=r"no trial of .*run counts"):
        medians(evaluate([load(small.write(tmp_path / "run"))]))
