"""Filmstrips: conditions at the same times, and strips by waterfalls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.charts import plots
from analysis.charts.filmstrip import MOST_STEPS, filmstrips, step_ms
from analysis.charts.plots import Drawing
from analysis.charts.waterfall import NamedLoad, chart
from analysis.evaluation.loads import median_films
from analysis.evaluation.results import Results, evaluate
from analysis.runs.filmfile import read_film
from analysis.runs.harfile import load_of
from analysis.runs.rundirectory import load as load_run
from tests.unit.analysis.synthetic import Synthetic
from tests.unit.analysis.synthetic_film import keep_film, keep_films
from tests.unit.analysis.synthetic_har import load

pytestmark = pytest.mark.thorough

TWO = Synthetic(pages=("p",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=3)


def results(run: Path) -> Results:
    return evaluate([load_run(run)])


def drawn(found: Results) -> list[Drawing]:
    with plots.look():
        return list(filmstrips(found))


def pictures(axes: Axes) -> list[Axes]:
    return [each for each in axes.child_axes if isinstance(each, Axes) and each.images]


def boxes_in(shown: Axes) -> int:
    """How many boxes a picture shows: runs of dark columns at their height."""
    pixels = np.asarray(shown.images[0].get_array())
    dark = pixels[pixels.shape[0] // 4, :, 0] < 128
    return int(np.count_nonzero(dark[1:] & ~dark[:-1]) + dark[0])


def test_conditions_stand_below_each_other_at_the_same_times(tmp_path: Path) -> None:
    found = results(keep_films(TWO.write(tmp_path / "run"), changes=4))
    (drawing,) = drawn(found)
    figure: Figure = drawing.figure
    films = median_films(found).loads
    step = step_ms(max(each.load.last_change_ms for each in films))
    shown = pictures(figure.axes[0])
    columns = len(shown) // 2
    assert 2 < columns <= MOST_STEPS + 1
    for row, median in enumerate(films):
        there = shown[row * columns : (row + 1) * columns]
        passed = [
            sum(0 < each.at_ms <= number * step for each in median.load.frames) for number in range(columns)
        ]
        assert [boxes_in(each) for each in there] == passed
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert (texts[0], texts[columns - 1], texts[-1]) == ("0 %", "100 %", "100 %")
    assert len(figure.axes[1].lines) == 2
    assert drawing.of_data
    assert all(f"trial {each.trial} of run" in drawing.caption for each in films)


def test_a_run_without_films_has_none(tmp_path: Path) -> None:
    assert drawn(results(TWO.write(tmp_path / "run"))) == []


def test_a_damaged_film_gives_way_to_the_next_and_is_named(tmp_path: Path) -> None:
    run = keep_films(TWO.write(tmp_path / "run"))
    before = median_films(results(run)).loads[0]
    (run / "trials" / before.trial / "filmstrip" / "0002.jpg").write_bytes(b"none")
    found = results(run)
    assert median_films(found).loads[0].trial != before.trial
    assert f"run, trial {before.trial}: film.json cannot be drawn (0002.jpg" in drawn(found)[0].caption


def test_a_waterfall_of_a_filmed_load_has_its_film_below(tmp_path: Path) -> None:
    film = read_film(keep_film(tmp_path, [100.0, 300.0]))
    with plots.look():
        figure, alone = (chart(NamedLoad("p", load_of(load(3, 400.0)), each)) for each in (film, None))
    assert len(figure.axes) - len(alone.axes) == 1
    shown = [boxes_in(each) for each in pictures(figure.axes[2])]
    assert shown == sorted(shown)
    assert (shown[0], shown[-1]) == (0, 2)


def test_steps_are_round_and_show_the_last_change() -> None:
    assert [step_ms(last) for last in (0, 340, 700, 701, 60_000)] == [50, 50, 100, 200, 10_000]
    assert step_ms(1e6) * MOST_STEPS >= 1e6
