"""The figures that a study asks for: their points, what is drawn of them, and their data."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from analysis.charts import plots
from analysis.charts.figures import draw
from analysis.charts.plots import Drawing
from analysis.charts.studyfigures import MOST_ROWS_INCHES, study_figures
from analysis.evaluation.results import Results, evaluate
from analysis.report.report import build
from analysis.runs.rundirectory import load
from analysis.statistics.estimate import estimate
from analysis.tables.tables import figure_tables
from harness.study.figure import MAX_SERIES, FigureKind, FigureSeries, StudyFigure
from tests.facts import tells
from tests.unit.analysis.runpairs import edit
from tests.unit.analysis.synthetic import Synthetic
from tests.unit.analysis.synthetic_capacity import SyntheticCrowd, SyntheticRate

HTTP1, H2 = FigureSeries({"protocol": "http1"}), FigureSeries({"protocol": "h2"}, "the new one")
LINES = StudyFigure(
    name="1",
    title="Figure 1: pages against RTT",
    kind=FigureKind.LINES,
    x="rtt_ms",
    series=(HTTP1, H2),
    metric="plt_ms",
    where={"page": ("dummy-2012",)},
)
RATIOS = replace(LINES, name="ratios", reference=HTTP1)
BARS = StudyFigure(
    name="bars",
    title="Bytes",
    kind=FigureKind.BARS,
    x="page",
    series=(HTTP1, H2),
    metric="bytes_down",
    where={"rtt_ms": (20.0,)},
)
POINTS = replace(BARS, name="points", kind=FigureKind.POINTS)
TABLE = replace(BARS, name="table", kind=FigureKind.TABLE)
NOTHING = replace(LINES, name="nothing", series=(FigureSeries({"protocol": "h3"}),))
MADE = Synthetic(protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0, 100.0), aa=True)


def results_of(folder: Path, *figures: StudyFigure, made: Synthetic = MADE) -> Results:
    return evaluate([load(replace(made, figures=figures).write(folder / "run"))])


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return results_of(tmp_path_factory.mktemp("runs"), LINES, RATIOS, BARS, POINTS, TABLE, NOTHING)


@pytest.fixture(scope="module")
def drawn(results: Results) -> dict[str, Drawing]:
    with plots.look():
        made = {each.asked: each for each in draw(results) if each.asked}
        for each in made.values():
            each.figure.draw_without_rendering()
    return made


def points(results: Results, name: str) -> pd.DataFrame:
    return next(each.points for each in results.figures if each.figure.name == name)


def test_points_are_the_medians_of_the_conditions(results: Results) -> None:
    found = points(results, "1")
    kept = results.sifted.kept
    assert len(found) == 4
    for row in found.to_dict("records"):
        mine = kept[
            (kept["page"] == "dummy-2012")
            & (kept["rtt_ms"] == row["x"])
            & (kept["protocol"] == ("http1", "h2")[int(row["series"])])
            & ~kept["again"].astype(bool)
        ]
        wanted = estimate(mine["plt_ms"].to_numpy())
        assert (row["n"], row["value"], row["low"], row["high"]) == (
            wanted.n,
            wanted.median,
            wanted.low,
            wanted.high,
        )


def test_ratios_are_those_inside_blocks(results: Results) -> None:
    found = points(results, "ratios")
    kept = results.sifted.kept
    kept = kept[(kept["page"] == "dummy-2012") & (kept["rtt_ms"] == 20) & ~kept["again"].astype(bool)]
    times = kept.pivot_table(index="block", columns="protocol", values="plt_ms")
    (row,) = found[found["x"] == 20].to_dict("records")
    ratios = times["h2"] / times["http1"]
    assert (row["n"], row["series"]) == (5, 1)
    assert row["value"] == pytest.approx(math.prod(ratios) ** (1 / len(ratios)))
    assert row["low"] < row["value"] < row["high"]


@pytest.mark.thorough
def test_each_figure_is_drawn_by_its_kind(drawn: dict[str, Drawing]) -> None:
    assert set(drawn) == {"1", "ratios", "bars", "points"}  # a table, and one without points, are not drawn
    assert {name: each.name for name, each in drawn.items()} == {name: f"study-{name}" for name in drawn}
    lines, ratios, bars, rows = (drawn[name].figure.axes[0] for name in ("1", "ratios", "bars", "points"))
    assert (lines.get_xlabel(), lines.get_ylabel()) == (
        "Round-trip time (ms)",
        "Median page-load time (s)",
    )
    assert lines.get_ylim()[0] == 0
    assert ratios.get_ylabel() == "Page-load time / HTTP/1.1"
    assert ratios.get_ylim()[0] > 0
    assert len(bars.patches) == 4
    assert [text.get_text() for text in bars.get_xticklabels()] == ["dummy-2012", "news-mobile"]
    assert bars.get_ylabel() == rows.get_xlabel() == "Bytes down (MB)"
    legend = drawn["1"].figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["HTTP/1.1", "the new one"]


@pytest.mark.thorough
def test_captions_say_what_points_are(drawn: dict[str, Drawing]) -> None:
    assert drawn["1"].title == "Figure 1: pages against RTT"
    assert tells(drawn["1"].caption, "Page-load time", "medians")
    assert tells(drawn["1"].caption, "n = 5 per point", "95 % intervals")
    assert tells(drawn["ratios"].caption, "Page-load time relative to HTTP/1.1")
    assert tells(drawn["ratios"].caption, "n = 5 pairs")
    assert "wider" not in drawn["ratios"].caption  # whatever comes out


def test_the_data_of_each_figure_is_a_table(results: Results) -> None:
    tables = {each.name: each for each in figure_tables(results)}
    assert set(tables) == {"figure-1", "figure-ratios", "figure-bars", "figure-points", "figure-table"}
    data = tables["figure-1"].data
    assert list(data.columns) == [
        "rtt_ms",
        "series",
        "metric",
        "relative_to",
        *("n", "value", "low", "high"),
        "interval",
    ]
    assert list(data["rtt_ms"]) == [20, 20, 100, 100]
    assert list(data["series"]) == ["HTTP/1.1", "the new one"] * 2
    assert list(data["value"]) == list(points(results, "1").sort_values(["x", "series"])["value"])


def test_a_condition_of_which_nothing_counts_is_no_point(tmp_path: Path) -> None:
    lost = replace(MADE, outcomes={f"{trial:05d}": "page-error" for trial in range(1, 100)})
    (found,) = results_of(tmp_path, LINES, made=lost).figures
    assert found.is_empty
    assert len(found.points) == 4


def test_a_figure_of_time_outs_alone_is_not_drawn(tmp_path: Path) -> None:
    late = replace(MADE, outcomes={f"{trial:05d}": "page-timeout" for trial in range(1, 100)})
    results = results_of(tmp_path, LINES, made=late)
    assert results.figures[0].is_empty
    assert list(study_figures(results)) == []


def test_a_series_that_was_not_measured_breaks_nothing(tmp_path: Path) -> None:
    partly = replace(LINES, series=(HTTP1, H2, FigureSeries({"protocol": "h3"})), reference=None)
    (found,) = results_of(tmp_path, partly).figures
    assert sorted(set(found.points["series"])) == [0, 1]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [FigureKind.BARS, FigureKind.LINES])
def test_a_long_text_along_the_upright_axis_stays_below_the_title(tmp_path: Path, kind: FigureKind) -> None:
    long = FigureSeries({"protocol": "http1"}, "HTTP/1.1 as the server sent it")
    asked = BARS if kind is FigureKind.BARS else LINES
    ratios = replace(asked, series=(long, H2), reference=long)
    with plots.look():
        (drawing,) = (each for each in draw(results_of(tmp_path, ratios)) if each.asked)
        plots.save(drawing.figure, tmp_path / "figures", drawing.name)
        drawing.figure.draw_without_rendering()
    (title,) = (text for text in drawing.figure.texts if text.get_text() == asked.title)
    along = drawing.figure.axes[0].yaxis.label.get_window_extent()
    assert along.y0 >= 0
    assert along.y1 <= title.get_window_extent().y0


@pytest.mark.thorough
def test_figures_of_closed_loops_have_their_axis(tmp_path: Path) -> None:
    figure = StudyFigure(
        name="rates",
        title="Rates",
        kind=FigureKind.LINES,
        x="connections",
        series=(FigureSeries({"depth": 1}), FigureSeries({"depth": 8})),
        metric="requests_per_s",
        where={"protocol": ("http1",), "engine": ("wrk",)},
    )
    rate = SyntheticRate(connections=(16, 64), made_by={"wrk": ("http1",)}, trials=3, figures=(figure,))
    made = evaluate([load(rate.write(tmp_path / "run"))])
    with plots.look():
        (drawing,) = (each for each in draw(made) if each.asked)
        drawing.figure.draw_without_rendering()
    axes = drawing.figure.axes[0]
    assert (axes.get_xlabel(), axes.get_xscale()) == ("Connections (logarithmic)", "log")
    assert axes.get_ylabel() == "Request rate (per second)"


@pytest.mark.parametrize(
    ("figure", "groups", "drawn"),
    [(BARS, 30, True), (BARS, 31, False), (POINTS, 24, True), (POINTS, 25, False)],
)
def test_more_groups_than_a_page_has_room_for_are_a_table_that_says_so(
    figure: StudyFigure, groups: int, drawn: bool, tmp_path: Path
) -> None:
    pages = tuple(f"page-{number}" for number in range(groups))
    many = Synthetic(pages=pages, protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=1)
    made = results_of(tmp_path, figure, made=many)
    with plots.look():
        inches = [drawing.figure.get_figheight() for drawing in study_figures(made)]
    assert len(inches) == drawn
    assert all(each <= MOST_ROWS_INCHES for each in inches)
    (table,) = figure_tables(made)
    assert len(table.rows) == 2 * groups
    assert tells(table.note, "more than a drawing") is not drawn


EVENT = replace(
    BARS, x="protocol", series=(FigureSeries({"server": "apache-2013"}),), metric="users_over_bound", where={}
)


def of_crowd(folder: Path, figure: StudyFigure, users: int, *protocols: str) -> Results:
    crowd = SyntheticCrowd(protocols=protocols, users=users, trials=5, aa=False, figures=(figure,))
    return evaluate([load(crowd.write(folder / "run"))])


def test_an_event_that_did_not_happen_is_no_bar_of_height_0(tmp_path: Path) -> None:
    with plots.look():
        (drawing,) = study_figures(of_crowd(tmp_path, EVENT, 300, "http1", "h2"))
    axes = drawing.figure.axes[0]
    heights = [bar.get_height() for bar in axes.patches if isinstance(bar, Rectangle)]
    assert heights[0] > 0
    assert math.isnan(heights[1])
    assert [text.get_text() for text in axes.texts] == ["never"]
    assert tells(drawing.caption, "apache-2013, HTTP/2 (TLS)", "did not happen", "any of 5 trials")


def test_an_event_that_did_not_happen_in_some_trials_is_told(tmp_path: Path) -> None:
    made = of_crowd(tmp_path, replace(EVENT, metric="first_error_users"), 340, "http1")
    ((n, value),) = points(made, EVENT.name)[["n", "value"]].to_numpy()
    assert (n, math.isnan(value)) == (3, False)
    with plots.look():
        (drawing,) = study_figures(made)
    said = "it did not happen in 2 of 5 trials, so that the others tell it too early."
    assert drawing.caption.endswith(f" apache-2013, HTTP/1.1: {said}")
    assert not drawing.figure.axes[0].texts


def test_a_ratio_to_what_never_happened_is_not_called_never(tmp_path: Path) -> None:
    """Neither by its word nor by its caption: by HTTP/1.1 it did happen."""
    series = tuple(FigureSeries({"protocol": each}) for each in ("http1", "https1", "h2"))
    ratios = replace(EVENT, x="server", series=series, reference=series[0])
    with plots.look():
        (drawing,) = study_figures(of_crowd(tmp_path, ratios, 300, "http1", "https1", "h2"))
    assert tells(drawing.caption, "HTTP/2 (TLS), apache-2013", "did not happen", "5 of 10 trials")
    assert not drawing.figure.axes[0].texts


def test_the_table_of_an_event_that_never_happened_does_not_say_that_no_trial_counts(tmp_path: Path) -> None:
    made = of_crowd(tmp_path, EVENT, 300, "h2")
    assert not list(study_figures(made))
    (table,) = figure_tables(made)
    never = ("did not happen", "any of 5 trials")
    assert tells([table.note], "Users over the bound", "apache-2013, HTTP/2 (TLS)", *never)


def by_two_drivers(folder: Path, *figures: StudyFigure) -> list[Path]:
    """Two runs of the study, that differ in what steers the browser."""
    made = replace(MADE, figures=figures)
    return [
        replace(made, drivers=(driver,), seed=seed).write(folder / driver)
        for seed, driver in enumerate(("playwright", "selenium"))
    ]


def test_conditions_of_two_runs_in_one_place_are_a_table_that_tells_them_apart(tmp_path: Path) -> None:
    runs = by_two_drivers(tmp_path, LINES, BARS, POINTS, TABLE)
    results = build(runs, tmp_path / "report").results
    assert not list(study_figures(results))
    tables = {each.name: each for each in figure_tables(results)}
    assert set(tables) == {"figure-1", "figure-bars", "figure-points", "figure-table"}
    for name, table in tables.items():
        assert tells(table.note, "A table", "several conditions", "differ in driver") == (
            name != "figure-table"
        )
    data = tables["figure-1"].data
    assert (
        list(data["series"])
        == [
            f"{name}, {driver}"
            for name in ("HTTP/1.1", "the new one")
            for driver in ("playwright", "selenium")
        ]
        * 2
    )
    alone = [set(points(evaluate([load(run)]), "1")["value"]) for run in runs]
    for driver, values in zip(("playwright", "selenium"), alone, strict=True):
        assert set(data.loc[data["series"].str.endswith(driver), "value"]) == values


def test_the_ratios_of_two_runs_are_each_to_the_reference_of_its_own_run(tmp_path: Path) -> None:
    runs = by_two_drivers(tmp_path, RATIOS)
    both = points(evaluate([load(run) for run in runs]), "ratios")
    assert list(both["n"]) == [5] * 4
    alone = pd.concat([points(evaluate([load(run)]), "ratios") for run in runs])
    assert sorted(both["value"]) == pytest.approx(sorted(alone["value"]))


def test_a_reference_that_differs_between_two_runs_is_told(tmp_path: Path) -> None:
    runs = [replace(MADE, figures=(RATIOS,), seed=seed).write(tmp_path / str(seed)) for seed in (1, 2)]

    def on_another_server(record: dict[str, Any]) -> dict[str, Any]:
        condition = record["condition"]
        server = "nginx" if condition["protocol"] == "http1" else condition["server"]
        return record | {"condition": condition | {"server": server}}

    edit(runs[1], on_another_server)
    (table,) = figure_tables(evaluate([load(run) for run in runs]))
    assert tells(table.note, "differ in server")
    assert list(table.data["series"]) == ["the new one, apache", "the new one, apache, nginx"] * 2
    assert list(table.data["n"]) == [5] * 4


def test_runs_that_add_places_to_a_figure_are_drawn(tmp_path: Path) -> None:
    made = replace(MADE, figures=(LINES,))
    runs = [replace(made, rtts_ms=rtts).write(tmp_path / str(len(rtts))) for rtts in ((20.0, 100.0), (50.0,))]
    results = evaluate([load(run) for run in runs])
    assert results.figures[0].xs == [20, 50, 100]
    assert len(list(study_figures(results))) == 1
    (table,) = figure_tables(results)
    assert list(table.data["series"]) == ["HTTP/1.1", "the new one"] * 3


@pytest.mark.parametrize(
    ("metric", "text"), [("cls", "0.012"), ("bytes_down", "1,155,200"), ("requests", "24.0")]
)
def test_a_table_has_the_digits_of_its_metric(metric: str, text: str, tmp_path: Path) -> None:
    (table,) = figure_tables(results_of(tmp_path, replace(TABLE, metric=metric)))
    assert table.rows[0][2].text == text
    assert table.rows[0][2].aside == f"[{text}\N{EN DASH}{text}]"


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [FigureKind.LINES, FigureKind.BARS, FigureKind.POINTS])
def test_no_two_series_look_alike(kind: FigureKind, tmp_path: Path) -> None:
    """As many of one protocol as a figure may have; the first five look as they always did."""
    codings = (
        *(f"gzip-{level}" for level in range(1, 10)),
        *(f"brotli-{level}" for level in range(MAX_SERIES - 9)),
    )
    series = tuple(FigureSeries({"protocol": "h2", "compression": coding}) for coding in codings)
    figure = replace(
        BARS, kind=kind, x="rtt_ms", series=series, where={"page": ("dummy-2012",)}, metric="plt_ms"
    )
    made = replace(MADE, pages=("dummy-2012",), compressions=codings, protocols=("h2",), trials=1, aa=False)
    with plots.look():
        (drawing,) = study_figures(results_of(tmp_path, figure, made=made))
    handles = drawing.figure.legends[0].legend_handles
    if kind is FigureKind.BARS:
        bars = [each for each in handles if isinstance(each, Rectangle)]
        assert len({(each.get_facecolor(), each.get_hatch()) for each in bars}) == len(bars) == MAX_SERIES
        assert [each.get_hatch() or "" for each in bars[:4]] == ["", "////", "....", "xxxx"]
        return
    shown = [each for each in handles if isinstance(each, Line2D)]
    assert len({(each.get_color(), str(each.get_marker())) for each in shown}) == len(shown) == MAX_SERIES
    assert [each.get_marker() for each in shown[:5]] == ["D", "h", "p", "d", "8"]
    assert {each.get_color() for each in shown[:5]} == {"#0072B2"}
