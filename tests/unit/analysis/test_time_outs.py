"""Loads that timed out: what they leave open is told and drawn as open, and all places tell the same.

A time-out is the longest time of its condition. So the upper end of a time may be open, and either end of a ratio.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.markers import CARETDOWN, CARETLEFT, CARETRIGHT, CARETUP

from analysis.charts import claimcharts, openbars, plots
from analysis.charts.figures import claims as claims_figure
from analysis.charts.figures import overviews, panels
from analysis.charts.headchart import head
from analysis.charts.pairchart import paired_differences
from analysis.charts.plots import Drawing
from analysis.charts.studyfigures import study_figures
from analysis.charts.trialchart import drawn, every_trial
from analysis.charts.waitchart import what_variants_change, where_the_time_goes
from analysis.evaluation.results import Results, evaluate
from analysis.report import summary
from analysis.report.answers import answers, cautions, to_markdown
from analysis.runs.rundirectory import load
from analysis.show.shownrun import shown_run
from analysis.statistics.estimate import Estimate
from analysis.tables.claimtables import claims as claims_table
from analysis.tables.tables import figure_tables, median_times
from analysis.tables.trialtables import waiting_changes, waiting_times
from harness.study.figure import FigureKind, FigureSeries, StudyFigure
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic, timed_out

ONE = Synthetic(
    pages=("one",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(50.0,), trials=12, noise=0.05
)


def first_blocks(protocol: str, blocks: int, made: Synthetic = ONE, rtt_ms: float = 50.0) -> Synthetic:
    """Those of a protocol in the first blocks timed out."""
    return timed_out(
        made,
        lambda record: (
            record["condition"]["protocol"] == protocol
            and record["condition"]["link"]["rtt_ms"] == rtt_ms
            and record["block"] <= blocks
        ),
    )


def results_of(made: Synthetic, folder: Path) -> Results:
    return evaluate([load(made.write(folder / "run"))])


@pytest.fixture(scope="module")
def of_the_reference(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A third of the loads by HTTP/1.1 timed out."""
    return results_of(first_blocks("http1", 4), tmp_path_factory.mktemp("reference"))


def said_of(results: Results) -> list[str]:
    """Every sentence of the comparison, and the row of its table."""
    table = claims_table(results)
    assert table is not None
    return [
        *(row.sentence for row in results.claims),
        *(each.text for each in answers(results)),
        *(each.text for each in summary.claims(results)),
        to_markdown(results),
        *(str(cell) for row in table.rows for cell in row),
    ]


def test_time_outs_of_the_reference_save_at_least_what_is_known(of_the_reference: Results) -> None:
    (row,) = of_the_reference.claims
    assert row.comparison is not None
    assert row.comparison.ratio == row.comparison.low == 0 < row.comparison.high < 1
    (said,) = answers(of_the_reference)
    least = 100 * (1 - row.comparison.high)
    assert f"(at least {least:.0f} %)" in said.text
    amount, base = re.findall(r"(\d\.\d\d) s", said.text)
    assert float(amount) == pytest.approx(float(base) * least / 100, abs=0.01)
    assert f"faster, by at least {least:.1f} %" in row.sentence
    for text in said_of(of_the_reference):
        assert not re.search(r"\b100(\.0)? %|0\.000", text), text


def test_either_side_is_told_alike(tmp_path: Path) -> None:
    """That the other side timed out turns the sentence round, and no more."""
    made = replace(ONE, factors={"h2": 1.4})
    (said,) = answers(results_of(first_blocks("h2", 4, made), tmp_path))
    assert re.search(r"at least \d\.\d\d s more .* \d\.\d\d s with HTTP/1\.1 .*at least \d+ %", said.text)


def test_of_several_settings_no_end_is_made_up(tmp_path: Path) -> None:
    """One of three has an interval that is open: no text says between what all lie."""
    made = replace(ONE, rtts_ms=(20.0, 50.0, 100.0), factors={"h2": 2.0}, noise=0.02)
    for blocks, folder in ((2, "bound"), (4, "ratio")):
        results = results_of(first_blocks("h2", blocks, made), tmp_path / folder)
        rows = [row.comparison for row in results.claims if row.comparison is not None]
        assert sum(math.isinf(seen.high) for seen in rows) == 1
        assert sum(math.isinf(seen.ratio) for seen in rows) == (folder == "ratio")
        (said,) = answers(results)
        least = 100 * (min(seen.low for seen in rows) - 1)
        assert f"(all intervals at least {math.floor(least)} %)" in said.text
        assert "\N{INFINITY}" not in said.text
        assert ("adds at least" in said.text) == (folder == "ratio")
        mirrored = results_of(
            replace(first_blocks("http1", blocks, made), factors={"h2": 0.4}),
            tmp_path / f"{folder}-reference",
        )
        assert "(all intervals at least " in answers(mirrored)[0].text
        assert "100 %" not in answers(mirrored)[0].text


def test_table_figure_and_pages_tell_the_same(of_the_reference: Results) -> None:
    def told(seen: Estimate) -> tuple[int, float, float, float]:
        return seen.n, seen.median, seen.low, seen.high

    cells = of_the_reference.cells.to_dict("records")
    (group,) = drawn(of_the_reference).groups
    shown = shown_run(of_the_reference.runs[0]).conditions.values()
    for cell, of_figure, on_page in zip(cells, group.conditions, shown, strict=True):
        assert of_figure.protocol == cell["protocol"]
        of_cell = tuple(cell[name] for name in ("n", "median", "low", "high"))
        assert told(of_figure.estimate) == told(on_page.estimate) == of_cell
    assert cells[0]["n"] == 12
    assert math.isinf(cells[0]["high"])
    (shown_row,) = median_times(of_the_reference).rows
    assert on_median(shown_row[3]) == round(cells[0]["median"])


def on_median(cell: Any) -> int:
    return int(str(cell).split()[0].replace(",", ""))


def test_most_of_a_condition_timed_out_has_no_trial_at_its_median(tmp_path: Path) -> None:
    results = results_of(first_blocks("http1", 7), tmp_path)
    first, second = shown_run(results.runs[0]).conditions.values()
    assert (first.estimate.n, first.estimate.median) == (12, math.inf)
    assert first.median_trial is None
    assert second.median_trial is not None


def bars_of(axes: Axes, *, vertical: bool = False) -> Iterator[tuple[float, float, float]]:
    """Of every marker with a bar: its place, and where the bar begins and ends."""
    for container in axes.containers:
        if isinstance(container, ErrorbarContainer) and container.lines[0] is not None:
            line, _, bars = container.lines
            centres = np.asarray(line.get_ydata() if vertical else line.get_xdata(), dtype=float)
            for centre, segment in zip(centres, bars[0].get_segments(), strict=True):
                if np.isfinite(centre):
                    ends = np.asarray(segment)[:, int(vertical)]
                    yield float(centre), float(ends.min()), float(ends.max())


def arrows_of(axes: Axes) -> list[tuple[Any, float, float]]:
    """Marker and place of every arrow."""
    markers = (CARETDOWN, CARETLEFT, CARETRIGHT, CARETUP)
    return [
        (line.get_marker(), float(x), float(y))
        for line in axes.lines
        if line.get_marker() in markers
        for x, y in zip(np.asarray(line.get_xdata()), np.asarray(line.get_ydata()), strict=True)
    ]


@pytest.mark.thorough
def test_a_bar_that_is_open_goes_on_to_the_end_of_its_axis(of_the_reference: Results) -> None:
    late, other = of_the_reference.cells.to_dict("records")
    with plots.look():
        made = [*head(of_the_reference), *panels(of_the_reference), *every_trial(of_the_reference)]
    assert len(made) == 3
    for drawing in made:
        axes = drawing.figure.axes[0]
        end, unit = axes.get_xlim()[1], 1e3 if axes.get_xlim()[1] < 10 else 1.0
        bars = sorted(bars_of(axes))
        expected = sorted(
            (cell["median"] / unit, cell["low"] / unit, min(cell["high"] / unit, end))
            for cell in (late, other)
        )
        assert bars == [pytest.approx(each) for each in expected], drawing.name
        assert end > 1.02 * late["median"] / unit
        ((marker, x, _),) = arrows_of(axes)
        assert (marker, x) == (CARETRIGHT, end)
        assert openbars.ARROWS in drawing.caption


@pytest.mark.thorough
def test_the_figure_of_every_trial_says_what_is_not_drawn(of_the_reference: Results) -> None:
    with plots.look():
        (drawing,) = every_trial(of_the_reference)
    assert tells(drawing.caption, "4 timed out", "not drawn")
    assert "left out" not in drawing.caption
    above, below = drawing.figure.axes
    assert [text.get_text() for text in above.texts] == ["n = 12\n4 timed out", "n = 12"]
    highest = [float(np.max(np.asarray(line.get_ydata()))) for line in below.lines]
    assert highest == [pytest.approx(8 / 12), 1.0]


@pytest.mark.thorough
def test_every_pair_of_a_claim_is_in_its_figure(of_the_reference: Results) -> None:
    (row,) = of_the_reference.claims
    assert row.comparison is not None
    with plots.look():
        (drawing,) = paired_differences(of_the_reference)
    (axes,) = drawing.figure.axes
    dots = [x for line in axes.lines if line.get_marker() == "o" for x in np.asarray(line.get_xdata())]
    arrows = arrows_of(axes)
    assert axes.texts[1].get_text() == f"n = {row.comparison.n}"
    assert len(dots) + len(arrows) == row.comparison.n == 12
    low, _ = axes.get_xlim()
    assert {(marker, x) for marker, x, _ in arrows} == {(CARETLEFT, low)}
    assert min(dots) - 5 < low < min(dots)  # in per cent: what is infinite stretches no axis
    band = np.asarray(axes.collections[1].get_paths()[0].vertices)[:, 0]
    assert (band.min(), band.max()) == (low, pytest.approx(100 * (row.comparison.high - 1)))
    assert len(axes.collections) == 2  # no line of an estimate that is open
    assert tells(drawing.caption, "arrow", "one side timed out")


@pytest.mark.thorough
@pytest.mark.parametrize(("protocol", "marker"), [("http1", CARETLEFT), ("h2", CARETRIGHT)])
def test_a_claim_of_which_one_end_is_open_shows_the_other(protocol: str, marker: int, tmp_path: Path) -> None:
    factor = {"h2": 0.4 if protocol == "http1" else 2.0}
    results = results_of(replace(first_blocks(protocol, 2), factors=factor), tmp_path)
    (row,) = results.claims
    seen = row.comparison
    assert seen is not None
    assert 0 < seen.ratio < math.inf
    with plots.look():
        (drawing,) = claims_figure(results)
    (axes,) = drawing.figure.axes
    ends = axes.get_xlim()
    low = math.log(seen.low) if seen.low else ends[0]
    high = math.log(seen.high) if math.isfinite(seen.high) else ends[1]
    assert list(bars_of(axes)) == [pytest.approx((math.log(seen.ratio), low, high))]
    ((seen_marker, x, _),) = arrows_of(axes)
    assert (seen_marker, x) == (marker, ends[marker == CARETRIGHT])
    assert claimcharts.ARROWS in drawing.caption


LINES = StudyFigure(
    name="lines",
    title="Times",
    kind=FigureKind.LINES,
    x="rtt_ms",
    series=(FigureSeries({"protocol": "http1"}), FigureSeries({"protocol": "h2"})),
    metric="plt_ms",
)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [FigureKind.LINES, FigureKind.BARS, FigureKind.POINTS])
@pytest.mark.parametrize("of_ratios", [False, True])
def test_figures_of_a_study_draw_no_end_of_their_own(
    kind: FigureKind, of_ratios: bool, tmp_path: Path
) -> None:
    """At 50 ms one end is open; at 100 ms so much is that there is no point."""
    reference = LINES.series[0] if of_ratios else None
    figure = replace(LINES, kind=kind, reference=reference)
    made = replace(ONE, rtts_ms=(20.0, 50.0, 100.0), factors={"h2": 0.7}, noise=0.02)
    made = first_blocks("http1", 7, first_blocks("http1", 3 - of_ratios, made), 100.0)
    results = results_of(replace(made, figures=(figure,)), tmp_path)
    (points,) = results.figures
    (row,) = (
        row for row in points.points.to_dict("records") if (row["series"], row["x"]) == (int(of_ratios), 50.0)
    )
    assert row["low" if of_ratios else "high"] == (0 if of_ratios else math.inf)
    with plots.look():
        (drawing,) = study_figures(results)
    (axes,) = drawing.figure.axes
    vertical = kind is not FigureKind.POINTS
    ends = axes.get_ylim() if vertical else axes.get_xlim()
    edge = ends[0] if of_ratios else ends[1]
    ((_, x, y),) = arrows_of(axes)
    assert (y if vertical else x) == edge
    if kind is not FigureKind.BARS:
        unit = 1.0 if of_ratios or ends[1] > 10 else 1e3
        bars = {round(centre, 6): (low, high) for centre, low, high in bars_of(axes, vertical=vertical)}
        assert edge in bars[round(row["value"] / unit, 6)]
    assert openbars.ARROWS in drawing.caption
    assert tells(drawing.caption, "No point", "timed out", "100 ms")


@pytest.fixture(scope="module")
def mostly_late(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Of HTTP/1.1 12 of 20 loads timed out; of HTTP/2 every second attempt failed."""
    made = replace(ONE, protocols=("http1", "https1", "h2"), trials=20, noise=0.03)
    lost = {
        record["trial"]: "page-error"
        for record in made.records()
        if record["condition"]["protocol"] == "h2" and record["block"] % 2
    }
    return results_of(
        first_blocks("http1", 12, replace(made, outcomes=lost)), tmp_path_factory.mktemp("most")
    )


def test_in_a_few_lines_a_condition_that_timed_out_is_not_lost(mostly_late: Results) -> None:
    text = to_markdown(mostly_late).replace("\\", "")
    assert "| Page-load time | HTTP/1.1 | HTTP/1.1 + TLS | HTTP/2 (TLS) |" in text
    assert "| \N{INFINITY} (12 of 20 timed out) |" in text
    late = ("HTTP/1.1: 12 of 20", "timed out", "no median")
    assert tells(text, *late)
    assert sum("no median" in each for each in cautions(mostly_late)) == 1
    assert tells(cautions(mostly_late)[:1], *late)


def test_an_open_end_is_no_dash(of_the_reference: Results) -> None:
    assert re.search(r"0\.\d\d s \(0\.\d\d s to \N{INFINITY}\)", to_markdown(of_the_reference))
    assert "\N{EN DASH})" not in to_markdown(of_the_reference)


@pytest.mark.thorough
def test_the_first_figure_names_what_it_has_no_mark_of(mostly_late: Results) -> None:
    with plots.look():
        (drawing,) = head(mostly_late)
    assert tells(drawing.caption, "No mark: HTTP/1.1 (12 of 20 timed out)")
    assert len(list(bars_of(drawing.figure.axes[0]))) == 2


@pytest.mark.thorough
def test_time_outs_make_no_protocol_look_faster_over_many_pages(tmp_path: Path) -> None:
    """The heaviest pages time out by one protocol: its median over the pages is what it would be without."""
    pages = tuple(f"page-{number:03d}" for number in range(251))
    factors = {page: 1 + number / 50 for number, page in enumerate(pages)}
    made = replace(ONE, pages=pages, trials=1, factors=factors)
    heavy = timed_out(
        made,
        lambda record: (
            record["condition"]["protocol"] == "http1" and record["condition"]["page"] >= "page-150"
        ),
    )

    def overview(run: Synthetic, name: str) -> tuple[Drawing, list[tuple[float, float, float]]]:
        with plots.look():
            (drawing,) = overviews(results_of(run, tmp_path / name))
        (axes,) = drawing.figure.axes
        return drawing, list(bars_of(axes))

    _, whole = overview(made, "whole")
    drawing, told = overview(heavy, "late")
    assert [centre for centre, _, _ in told] == pytest.approx([centre for centre, _, _ in whole])
    (axes,) = drawing.figure.axes
    assert told[0][2] == axes.get_xlim()[1]
    assert "No point" not in drawing.caption
    assert openbars.ARROWS in drawing.caption


def test_what_loads_waited_for_is_of_those_that_ended(tmp_path: Path) -> None:
    made = replace(ONE, variants=("plain", "core"), waits=True)
    none, some = (
        results_of(run, tmp_path / name) for name, run in (("a", made), ("b", first_blocks("http1", 4, made)))
    )
    for results, late in ((none, False), (some, True)):
        with plots.look():
            stacked, changed = *where_the_time_goes(results), *what_variants_change(results)
        tables = waiting_times(results), waiting_changes(results)
        assert all(table is not None for table in tables)
        said = [stacked.caption, changed.caption, *(table.note for table in tables if table is not None)]
        assert [tells(text, "loads that ended", "8 timed out") for text in said] == [late] * 4
        (axes,) = stacked.figure.axes
        assert axes.get_xlabel().startswith("Mean page-load time of loads that ended (") == late


@pytest.mark.thorough
@pytest.mark.parametrize("of_ratios", [False, True])
def test_a_study_s_own_figure_says_that_it_is_of_loads_that_ended(of_ratios: bool, tmp_path: Path) -> None:
    """Of times, time-outs are the longest; of what else a load has, they have nothing."""
    figure = replace(LINES, reference=LINES.series[0] if of_ratios else None)
    made = replace(ONE, figures=(figure, replace(figure, name="lcp", metric="lcp_ms")))
    for blocks in (0, 2):
        results = results_of(first_blocks("http1", blocks, made), tmp_path / str(blocks))
        with plots.look():
            times, paints = study_figures(results)
        _, table = figure_tables(results)
        for text in (paints.caption, table.note):
            assert tells(text, "loads that ended", "2 timed out") == bool(blocks)
        assert not tells(times.caption, "loads that ended")
        label = paints.figure.axes[0].get_ylabel().replace("\n", " ")
        assert ("of loads that ended" in label) == bool(blocks)


def test_a_figure_of_time_outs_alone_says_so(tmp_path: Path) -> None:
    figure = replace(LINES, metric="lcp_ms", series=LINES.series[:1])
    (table, *_) = figure_tables(
        results_of(first_blocks("http1", 12, replace(ONE, figures=(figure,))), tmp_path)
    )
    assert tells(table.note, "loads that ended", "12 timed out")
