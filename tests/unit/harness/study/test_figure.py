"""A study's figure as a value: which conditions it holds, and its JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from harness.errors import StudyError
from harness.study.figure import FigureKind, FigureSeries, StudyFigure, narrowed_figure

SPDY, CLOSE = FigureSeries({"protocol": "spdy"}), FigureSeries({"protocol": "http1-close"}, "HTTP")
FIGURE = StudyFigure(
    name="1",
    title="Figure 1",
    kind=FigureKind.LINES,
    x="rtt_ms",
    series=(CLOSE, SPDY),
    metric="plt_ms",
    where={"page": ("dummy",)},
    reference=CLOSE,
)


def condition(**of: Any) -> dict[str, Any]:
    return {"page": "dummy", "protocol": "spdy", "rtt_ms": 50.0} | of


@pytest.mark.parametrize(
    ("of", "series"),
    [
        (condition(), SPDY),
        (condition(protocol="http1-close"), CLOSE),
        (condition(protocol="h2"), None),
        (condition(page="other"), None),
        (condition(again=True), None),
    ],
)
def test_a_figure_holds_what_where_and_a_series_select(
    of: dict[str, Any], series: FigureSeries | None
) -> None:
    assert FIGURE.series_of(of) is series
    assert FIGURE.holds(of) is (series is not None)


@pytest.mark.parametrize("figure", [FIGURE, replace(FIGURE, reference=None, where={}, kind=FigureKind.BARS)])
def test_json_holds_a_whole_figure(figure: StudyFigure) -> None:
    assert StudyFigure.from_json(json.loads(json.dumps(figure.to_json()))) == figure


@pytest.mark.parametrize(
    "damage",
    [
        {"name": "../etc"},
        {"name": "A"},
        {"series": []},
        {"series": [{"values": {"colour": "red"}}]},
        {"series": "spdy"},
        {"x": "colour"},
        {"x": ["rtt_ms"]},
        {"kind": "pie"},
        {"metric": "tls"},
        {"where": []},
        {"where": {"page": 3}},
        {"reference": 2},
        {"reference": "spdy"},
        {"title": "two\nlines"},
        {"x": "page"},
        {"where": {"page": [["a"]]}},
        {"series": [{"values": {"protocol": {}}}]},
    ],
)
def test_what_is_no_figure_is_refused_in_one_line(damage: dict[str, Any]) -> None:
    with pytest.raises(StudyError) as caught:
        StudyFigure.from_json(FIGURE.to_json() | damage)
    assert "\n" not in str(caught.value)


def test_a_figure_is_narrowed_to_the_series_that_are_measured() -> None:
    both = [condition(), condition(protocol="http1-close")]
    assert narrowed_figure(FIGURE, both) == FIGURE
    assert narrowed_figure(FIGURE, both[:1]) == replace(FIGURE, series=(SPDY,), reference=None)
    assert narrowed_figure(FIGURE, [condition(page="other")]) is None
