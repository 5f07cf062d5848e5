"""Figures of what filters do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.markers import CARETLEFT, CARETRIGHT

from analysis.charts import openbars, plots
from analysis.charts.effectcharts import filter_chart
from analysis.evaluation.explored import ALONE, TOGETHER


def effect(name: str, ratio: float, low: float, high: float, way: str = ALONE) -> dict[str, Any]:
    return {
        **{"whole": "core", "filter": name, "way": way, "protocol": "h2", "idle": False},
        **{"ratio": ratio, "low": low, "high": high},
    }


def test_an_effect_of_which_an_end_is_open_has_an_arrow_there() -> None:
    found = openbars.of_ratios(
        pd.DataFrame(
            [
                effect("core", 0.8, 0.7, 0.9, TOGETHER),
                effect("slow", 1.2, 1.1, math.inf),
                effect("fast", 0.9, 0.0, 0.95),
            ]
        ),
        "ratio",
    )
    with plots.look():
        figure = filter_chart(found, "one", 0.03)
    (axes,) = figure.axes
    low, high = axes.get_xlim()
    assert low < -30
    assert high > 20
    arrows = {
        line.get_marker(): float(np.asarray(line.get_xdata())[0])
        for line in axes.lines
        if line.get_marker() in (CARETLEFT, CARETRIGHT)
    }
    assert arrows == {CARETLEFT: low, CARETRIGHT: high}
    ends = [
        np.asarray(each.lines[2][0].get_segments()[0])[:, 0]
        for each in axes.containers
        if isinstance(each, ErrorbarContainer)
    ]
    assert sorted(float(each.max()) for each in ends) == pytest.approx(sorted([-10, high, -5]))
    assert sorted(float(each.min()) for each in ends) == pytest.approx(sorted([-30, 10, low]))
