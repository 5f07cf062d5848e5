"""How busy link and main thread were, from a HAR that anybody may have written."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.runs.activity import MOST_STEPS, activity_of
from analysis.runs.harfile import load_of
from tests.unit.analysis.synthetic_har import load

TOLD = {
    "stepMs": 2,
    "linkDown": [0, 50, 100],
    "linkUp": [0, 0, 1],
    "downMbps": 10,
    "upMbps": 1.5,
    "mainThread": [7],
    "mainThreadBy": "kernel",
}


def test_rows_come_out_as_they_were() -> None:
    made = load(3)
    made["log"]["_activity"] = TOLD
    found = load_of(made).activity
    assert found is not None
    assert found.step_ms == 2
    assert [(each.name, each.percent, each.whole_mbps) for each in found.rows] == [
        ("link down", (0, 50, 100), 10),
        ("link up", (0, 0, 1), 1.5),
        ("main thread, by the kernel", (7,), None),
    ]
    assert load_of(load(3)).activity is None


@pytest.mark.parametrize(
    ("changes", "rows"),
    [
        ({"stepMs": 0}, None),
        ({"stepMs": True}, None),
        ({"stepMs": float("nan")}, None),
        ({"stepMs": "</script>"}, None),
        ({"linkDown": [101], "linkUp": [-1], "mainThread": "1"}, None),
        ({"linkDown": [0] * (MOST_STEPS + 1)}, 2),
        ({"linkDown": [0, None]}, 2),
        ({"linkUp": {}, "mainThread": []}, 1),
        ({"mainThreadBy": ["<b>"], "downMbps": 10**400, "upMbps": 0}, 3),
    ],
)
def test_what_is_not_as_it_should_be_is_left_out(changes: dict[str, Any], rows: int | None) -> None:
    found = activity_of(TOLD | changes)
    assert (found and len(found.rows)) == rows
    if rows == 3:
        assert found is not None
        assert [(each.name, each.whole_mbps) for each in found.rows] == [
            ("link down", None),
            ("link up", None),
            ("main thread", None),
        ]
