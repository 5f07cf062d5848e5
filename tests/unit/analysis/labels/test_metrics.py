"""How values of metrics are printed."""

from __future__ import annotations

import pytest

from analysis.labels.metrics import MetricColumn
from harness.model.metric import Unit


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        (Unit.SHARE, 0.043, "0.043"),
        (Unit.SCORE, 0.043, "0.043"),
        (Unit.PER_S, 16.34, "16.3"),
        (Unit.COUNT, 24, "24"),
        (Unit.COUNT, 24.5, "24.5"),
        (Unit.S, 1.234, "1.23"),
    ],
)
def test_a_value_has_the_digits_of_its_unit(unit: Unit, value: float, text: str) -> None:
    assert MetricColumn("", "", unit).text(value) == text
