"""A condition's dimensions are named as the columns of the analysis are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.runs.rundirectory import load
from harness.model.condition import DIMENSIONS, SET, Condition, dimensions_of, follows, value
from harness.model.link import Link
from harness.model.protocol import Protocol

CONDITION = Condition.usual("dummy-2012", Protocol.H2, Link.of(10, 50, 1))


@pytest.mark.parametrize("factor", ["", "initial window 3"])
def test_the_columns_of_the_analysis_are_the_dimensions(tmp_path: Path, factor: str) -> None:
    made = replace(CONDITION, factor=factor)
    head = {"schema": 2, "trial": "00001", "block": 1, "order": 1, "attempt": 1, "left_out": None}
    head |= {"outcome": "ok", "plt_ms": 800.0}
    (tmp_path / "records.jsonl").write_text(json.dumps(head | {"condition": made.to_json()}) + "\n")
    run = load(tmp_path)
    (record,) = run.records.to_dict("records")
    row = {str(column): each for column, each in record.items()}
    dimensions = dimensions_of(made)
    assert set(dimensions) == set(run.condition_columns)
    assert {key: value(dimensions, key) for key in dimensions} == {key: value(row, key) for key in dimensions}
    of_studies_without_factors = set() if factor else {"factor"}
    assert set(DIMENSIONS) - of_studies_without_factors - {SET} <= set(
        dimensions
    )  # which knows the sets of its study
    assert dimensions_of(CONDITION, {"mine": (CONDITION.page,)})[SET] == "mine"


def test_what_follows_a_link() -> None:
    keys = dimensions_of(CONDITION)
    assert {key for key in keys if follows(key, "rtt_ms")} == {"link", "queue_down_bytes", "queue_up_bytes"}
    assert {key for key in keys if follows(key, "link")} >= {"rtt_ms", "down_mbps", "link_loss_down_percent"}
    assert not any(follows(key, "variant") for key in keys)
