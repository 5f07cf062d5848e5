"""Every trial is in its figure: as a dot, or as a cross when it was left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.lines import Line2D

from analysis.charts import plots
from analysis.charts.plots import Drawing
from analysis.charts.trialchart import MOST_CONDITIONS, MOST_GROUPS, _dashes, drawn, every_trial
from analysis.evaluation.results import Results, evaluate
from analysis.labels.conditions import DASHES, STYLES
from analysis.runs.rundirectory import load
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic, write_lines

ONE = Synthetic(pages=("dummy-2012",), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=6)


def results(run: Path) -> Results:
    return evaluate([load(run)])


def only(found: Results) -> Drawing:
    with plots.look():
        (drawing,) = every_trial(found)
    return drawing


def edited(run: Path, change: Mapping[str, Mapping[str, object]]) -> Path:
    """The run with other values in the records of some trials."""
    records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    write_lines(run / "records.jsonl", [record | dict(change.get(record["trial"], {})) for record in records])
    return run


def marks(drawing: Drawing, marker: str) -> Iterator[Line2D]:
    """The rows of dots or crosses, not the medians."""
    for line in drawing.figure.axes[0].lines:
        if line.get_marker() == marker and line.get_zorder() < 2:
            yield line


def times(lines: Iterator[Line2D]) -> list[float]:
    return sorted(float(x) for line in lines for x in np.asarray(line.get_xdata()))


def test_every_trial_is_a_dot_at_its_time(tmp_path: Path) -> None:
    found = results(ONE.write(tmp_path / "run"))
    drawing = only(found)
    assert times(marks(drawing, "o")) == pytest.approx(sorted(found.records["plt_ms"] / 1e3))
    assert times(marks(drawing, "x")) == []
    assert drawing.name == "trials_dummy-2012-10-mbit-s-20-ms-rtt"
    assert drawing.of_data


def test_trials_left_out_are_crosses_whatever_their_time(tmp_path: Path) -> None:
    busy = {"00003": {"foreign_cpu_share": 0.9, "plt_ms": 1000.0}, "00007": {"foreign_cpu_share": 0.9}}
    drawing = only(results(edited(ONE.write(tmp_path / "run"), busy)))
    crosses = times(marks(drawing, "x"))
    assert len(crosses) == 2
    assert 1.0 in crosses
    assert tells(drawing.caption, "crosses", "2 attempts left out")


def test_trials_without_a_time_are_counted(tmp_path: Path) -> None:
    failed = replace(ONE, outcomes={"00001": "page-timeout", "00002": "page-error"})
    drawing = only(results(failed.write(tmp_path / "run")))
    assert tells(drawing.caption, "1 timed out", "not drawn")
    assert tells(drawing.caption, "1 attempt left out", "without a time", "not drawn")
    assert len(times(marks(drawing, "o"))) == 4 * 6 - 2


def test_dots_stand_in_the_order_of_the_run(tmp_path: Path) -> None:
    found = results(ONE.write(tmp_path / "run"))
    (group,) = drawn(found).groups
    records = found.records.sort_values("order")
    for each in group.conditions:
        mine = records.loc[records["protocol"] == each.protocol, "plt_ms"]
        assert each.times_ms.tolist() == mine.tolist()
    for line in marks(only(found), "o"):
        heights = np.asarray(line.get_ydata())
        assert (np.diff(heights) > 0).all()
        assert np.ptp(heights) < 1


def test_the_distributions_hold_what_counts_in_the_colours_of_the_rows(tmp_path: Path) -> None:
    drawing = only(results(edited(ONE.write(tmp_path / "run"), {"00003": {"foreign_cpu_share": 0.9}})))
    steps = [line for line in drawing.figure.axes[1].lines if np.size(line.get_xdata()) > 2]
    assert [line.get_color() for line in steps] == [
        STYLES[name].colour for name in ("http1-close", "http1", "https1", "h2")
    ]
    assert sorted(np.size(line.get_xdata()) for line in steps) == [6, 7, 7, 7]  # a step up at each trial
    assert all(float(np.max(np.asarray(line.get_ydata()))) == 1 for line in steps)


def test_variants_share_an_axis_and_are_told_apart_by_dashes(tmp_path: Path) -> None:
    both = replace(ONE, variants=("plain", "core"), protocols=("http1", "h2"))
    found = results(both.write(tmp_path / "run"))
    (group,) = drawn(found).groups
    assert [each.label for each in group.conditions] == [
        f"{name}, {variant}" for variant in ("plain", "core") for name in ("HTTP/1.1", "HTTP/2 (TLS)")
    ]
    (legend,) = only(found).figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["plain", "core"]


def test_no_two_forms_of_an_axis_have_one_dash(tmp_path: Path) -> None:
    forms = [f"brotli-{level}" for level in range(MOST_CONDITIONS)]
    found = results(
        replace(ONE, compressions=tuple(forms), protocols=("h2",), trials=2).write(tmp_path / "run")
    )
    (group,) = drawn(found).groups
    dashes = _dashes(group.conditions)
    assert list(dashes) == forms
    assert len(set(dashes.values())) == MOST_CONDITIONS
    assert list(dashes.values())[:4] == list(DASHES)


def test_the_baseline_measured_again_has_a_row_of_its_own(tmp_path: Path) -> None:
    run = ONE.write(tmp_path / "run")
    records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    again = [
        record | {"trial": f"a{record['trial']}", "condition": record["condition"] | {"again": True}}
        for record in records
        if record["condition"]["protocol"] == "http1"
    ]
    write_lines(run / "records.jsonl", records + again)
    (group,) = drawn(results(run)).groups
    assert [each.label for each in group.conditions if each.protocol == "http1"] == [
        "HTTP/1.1",
        "HTTP/1.1, again",
    ]


def test_a_page_in_many_forms_has_a_figure_for_each(tmp_path: Path) -> None:
    forms = ("none", "gzip-6", "brotli-5", "zstd")
    many = replace(ONE, trials=1, compressions=forms)
    found = drawn(results(many.write(tmp_path / "run")))
    assert len(forms) * len(ONE.protocols) > MOST_CONDITIONS
    assert [len(group.conditions) for group in found.groups] == [len(ONE.protocols)] * len(forms)
    assert len({group.title for group in found.groups}) == len(forms)


def test_a_large_study_is_drawn_in_part_and_says_so(tmp_path: Path) -> None:
    large = Synthetic(pages=tuple(f"page-{number}" for number in range(9)), trials=1, protocols=("http1",))
    found = drawn(results(large.write(tmp_path / "run")))
    assert len(found.groups) == MOST_GROUPS
    assert found.groups[0].title.startswith("page-0, ")
    assert found.groups[-1].title.startswith("page-8, ")
    assert f"{MOST_GROUPS} of 72 settings are drawn" in found.note
    assert "records.parquet has every trial" in found.note
