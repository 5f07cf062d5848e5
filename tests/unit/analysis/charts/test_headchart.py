"""The figure that a report opens with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from analysis.charts import plots
from analysis.charts.headchart import MOST_MARKS, head
from analysis.evaluation.results import Results, evaluate
from analysis.runs.rundirectory import load
from tests.unit.analysis.synthetic import Synthetic

ONE = Synthetic(
    pages=("dummy-2012",), protocols=("https1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0, 100.0), trials=6
)


def results_of(made: Synthetic, tmp_path: Path) -> Results:
    return evaluate([load(made.write(tmp_path / "run"))])


def test_a_row_per_place_and_a_mark_per_protocol_in_seconds(tmp_path: Path) -> None:
    results = results_of(ONE, tmp_path)
    with plots.look():
        (drawing,) = head(results)
        (axes,) = drawing.figure.axes
        marks = [container[0].get_xdata()[0] for container in axes.containers]
        assert sorted(marks) == sorted(results.cells["median"] / 1e3)
        assert [text.get_text() for text in axes.get_yticklabels()] == ["20 ms RTT", "100 ms RTT"]
        assert axes.get_xlabel() == "Page-load time (s)"
        assert axes.get_xlim()[0] == 0
        assert drawing.figure.get_figwidth() == plots.COLUMN_INCHES


def test_variants_of_one_protocol_are_marks_too_plain_first(tmp_path: Path) -> None:
    made = replace(ONE, protocols=("h2",), variants=("core", "plain"))
    with plots.look():
        (drawing,) = head(results_of(made, tmp_path))
        (legend,) = drawing.figure.legends
        assert [text.get_text() for text in legend.get_texts()] == ["plain", "core"]


def test_more_than_a_screen_holds_is_left_to_other_figures(tmp_path: Path) -> None:
    rtts = tuple(float(rtt) for rtt in range(10, 10 + MOST_MARKS))
    with plots.look():
        assert list(head(results_of(replace(ONE, rtts_ms=rtts, trials=1), tmp_path))) == []
