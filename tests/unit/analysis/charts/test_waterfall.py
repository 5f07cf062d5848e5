"""Waterfalls: a row for each request, in the colours of what it waited for, whatever its name is."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle, StepPatch

from analysis.charts import plots
from analysis.charts.plots import Drawing
from analysis.charts.waterfall import (
    COLOURS,
    MOST_FIGURES,
    MOST_ROWS,
    NAME_CHARACTERS,
    NamedLoad,
    chart,
    comparison,
    rows_of,
    waterfalls,
)
from analysis.evaluation.loads import median_loads
from analysis.evaluation.results import Results, evaluate
from analysis.runs.harfile import PHASES, HarLoad, load_of
from analysis.runs.rundirectory import load as load_run
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic
from tests.unit.analysis.synthetic_har import HOSTILE_URLS, busy, entry, har_of, keep_hars, load

ONE = Synthetic(
    pages=("p",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=5, aa=True
)


def results(run: Path) -> Results:
    return evaluate([load_run(run)])


def bars(figure: Figure, panel: int = 0) -> list[Rectangle]:
    return [
        patch
        for patch in figure.axes[panel].patches
        if isinstance(patch, Rectangle) and patch.get_width() > 0
    ]


def names(figure: Figure, panel: int = 0) -> list[str]:
    return [text.get_text() for text in figure.axes[panel].get_yticklabels()]


def as_svg(figure: Figure) -> str:
    file = BytesIO()
    figure.savefig(file, format="svg")
    return file.getvalue().decode()


def test_each_request_is_divided_into_what_it_waited_for() -> None:
    with plots.look():
        figure = chart(NamedLoad("p", load_of(load(3, 400.0))))
    row = sorted(
        (bar for bar in bars(figure) if abs(bar.get_y() + bar.get_height() / 2) < 0.01),
        key=Rectangle.get_x,
    )
    assert [to_hex(bar.get_facecolor()).upper() for bar in row] == [COLOURS[name] for name in PHASES]
    assert [bar.get_width() for bar in row] == pytest.approx([1, 20, 20, 20, 30, 5])
    assert names(figure)[:2] == ["/  1", "1.png?v=1  2"]
    assert names(figure, 1) == ["site.example (3)"]  # one connection


def test_the_times_of_the_page_are_lines() -> None:
    with plots.look():
        figure = chart(NamedLoad("p", load_of(load(3, 400.0))))
    at = [np.asarray(line.get_xdata())[0] for line in figure.axes[0].lines]
    assert at == pytest.approx([60, 400 / 3, 200, 400])


def test_what_keeps_the_page_from_being_painted_is_marked_where_it_is_known() -> None:
    entries = [
        entry("https://a.example/", 0),
        entry("https://a.example/s.css", 40, _renderBlocking="blocking"),
    ]
    with plots.look():
        figure = chart(NamedLoad("p", load_of(har_of(entries))))
    (mark,) = [line for line in figure.axes[0].lines if line.get_marker() == ">"]
    assert (np.asarray(mark.get_xdata())[0], np.asarray(mark.get_ydata())[0]) == (40, 1)


def busy_load(plt_ms: float) -> HarLoad:
    made = load(4, plt_ms)
    made["log"]["_activity"] = busy(plt_ms, 10)
    return load_of(made)


def stairs(figure: Figure, panel: int) -> list[tuple[list[float], list[float]]]:
    """The edges and, above its line, the heights of each row of a panel."""
    steps = [patch.get_data() for patch in figure.axes[panel].patches if isinstance(patch, StepPatch)]
    return [(list(edges), list(np.asarray(values) - baseline)) for values, edges, baseline in steps]


def test_link_and_main_thread_have_rows_on_the_same_axis() -> None:
    with plots.look():
        figure, without = (
            chart(NamedLoad("p", busy_load(400.0))),
            chart(NamedLoad("p", load_of(load(4, 400.0)))),
        )
    assert names(figure, 2)[:2] == ["link down, of 10 Mbit/s", "link up, of 1 Mbit/s"]
    down, up, thread = stairs(figure, 2)
    assert (down[0][0], down[0][-1]) == (0, 400)
    assert down[1] == pytest.approx([1] * 20 + [0] * 20)
    assert thread[1] == pytest.approx([0] * 20 + [1] * 20)
    assert up[1] == pytest.approx([0.05] * 40)
    assert len(without.axes) == len(figure.axes) - 1


def test_rows_of_two_loads_move_with_them() -> None:
    first, second = (NamedLoad("x", busy_load(plt)) for plt in (300.0, 600.0))
    with plots.look():
        figure = comparison(first, second, "first paint")
    assert [stairs(figure, panel)[0][0][0] for panel in (1, 3)] == pytest.approx([-100, -200])


def test_5000_requests_are_folded_and_the_picture_says_so() -> None:
    large = load_of(load(5000, 9000.0))
    rows = rows_of(large)
    assert (rows.count, len(rows.shown), len(rows.folded)) == (MOST_ROWS, MOST_ROWS - 1, 4941)
    with plots.look():
        figure = chart(NamedLoad("p", large))
        svg = as_svg(figure)
    assert names(figure)[-1] == "4,941 more requests"
    assert figure.get_figheight() < 11
    assert len(svg) < 300_000


def test_hostile_names_are_drawn_as_clipped_plain_text() -> None:
    hostile = load_of(har_of([entry(url, number) for number, url in enumerate(HOSTILE_URLS)]))
    with plots.look():
        figure = chart(NamedLoad(HOSTILE_URLS[0], hostile))
        svg = as_svg(figure)
    assert "<script" not in svg
    assert "<img" not in svg
    assert max(map(len, names(figure))) <= NAME_CHARACTERS + 10
    assert all(
        name.replace("\N{HORIZONTAL ELLIPSIS}", "").isascii() and name.isprintable() for name in names(figure)
    )


@pytest.mark.parametrize(
    "found",
    [
        load_of(har_of([])),
        load_of(har_of([entry("https://a.example/", -500, timings={"wait": 0, "receive": 0, "blocked": 0})])),
    ],
)
def test_a_load_with_nothing_to_draw_is_an_empty_picture(found: HarLoad) -> None:
    with plots.look():
        assert chart(NamedLoad("p", found)).axes


def test_two_loads_stand_on_one_axis_from_the_start_or_from_a_mark() -> None:
    first, second = (NamedLoad("x", load_of(load(4, plt))) for plt in (300.0, 600.0))
    with plots.look():
        start, paint = comparison(first, second), comparison(first, second, "first paint")
    for figure, lines in ((start, (100, 200)), (paint, (0, 0))):
        assert [np.asarray(axes.lines[1].get_xdata())[0] for axes in figure.axes] == pytest.approx(lines)
    assert "first paint" in paint.axes[1].get_xlabel()


def test_the_trial_nearest_to_the_median_of_each_condition_is_drawn(tmp_path: Path) -> None:
    evaluated = results(keep_hars(ONE.write(tmp_path / "run")))
    medians = median_loads(evaluated)
    assert [named.label for named in medians.loads] == ["20 ms RTT, HTTP/1.1", "20 ms RTT, HTTP/2 (TLS)"]
    assert all(
        named.plt_ms == named.median_ms == pytest.approx(named.load.marks_ms["load event"])
        for named in medians.loads
    )
    drawings = drawn(evaluated)
    assert [drawing.name.partition("_")[0] for drawing in drawings] == [
        "waterfall",
        "waterfall",
        "waterfalls",
    ]
    assert all(drawing.of_data for drawing in drawings)
    assert tells(drawings[0].caption, "nearest to the median", "5 trials")
    assert "12 requests and 12" in drawings[2].caption


def drawn(evaluated: Results) -> list[Drawing]:
    with plots.look():
        return list(waterfalls(evaluated))


def test_a_run_without_hars_has_no_waterfall(tmp_path: Path) -> None:
    assert drawn(results(ONE.write(tmp_path / "run"))) == []


def test_a_damaged_file_gives_way_to_the_next_and_is_named(tmp_path: Path) -> None:
    run = keep_hars(ONE.write(tmp_path / "run"))
    before = median_loads(results(run)).loads[0]
    (run / "trials" / before.trial / "load.har").write_text('{"log": ')
    medians = median_loads(results(run))
    assert medians.loads[0].trial != before.trial
    (refused,) = medians.refused
    assert refused.startswith(f"run, trial {before.trial}: load.har cannot be drawn")
    assert "load.har cannot be drawn" in drawn(results(run))[0].caption


def test_a_run_of_many_conditions_draws_some_and_says_so(tmp_path: Path) -> None:
    many = Synthetic(
        pages=("p", "q"), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0, 50.0), trials=1
    )
    drawings = drawn(results(keep_hars(many.write(tmp_path / "run"))))
    assert sum(drawing.name.startswith("waterfall_") for drawing in drawings) == MOST_FIGURES
    assert "2 more conditions kept HARs" in drawings[0].caption
    assert json.dumps([drawing.caption for drawing in drawings])
