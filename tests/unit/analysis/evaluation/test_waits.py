"""What loads waited for, by condition, and what variants and protocols change of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.patches import Rectangle

from analysis.charts import plots
from analysis.charts.waitchart import what_variants_change, where_the_time_goes
from analysis.evaluation import waits
from analysis.evaluation.results import Results, evaluate
from analysis.labels.conditions import protocol_label
from analysis.runs.rundirectory import load
from analysis.tables.table import to_csv
from analysis.tables.trialtables import waiting_changes, waiting_times
from harness.model.kind import Waiting
from tests.unit.analysis.synthetic import Synthetic

MADE = Synthetic(
    pages=("dummy-2012",),
    variants=("plain", "minify"),
    protocols=("http1-close", "http1", "h2"),
    rates_mbps=(1.0, 10.0),
    rtts_ms=(20.0, 200.0),
    trials=6,
    waits=True,
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return evaluate([load(MADE.write(tmp_path_factory.mktemp("run") / "run"))])


def test_the_parts_of_a_condition_add_up_to_its_mean_load(results: Results) -> None:
    found = waits.means(results)
    assert list(found["waiting"].unique()) == [each.value for each in Waiting]
    whole = results.sifted.kept.groupby("cell")["plt_ms"].mean()
    assert len(whole) == 24
    for cell, parts in found.groupby("cell"):
        assert parts["ms"].sum() == pytest.approx(whole[cell])
        assert parts["share"].sum() == pytest.approx(1)
        assert (parts["low"] <= parts["ms"]).all()
        assert (parts["ms"] <= parts["high"]).all()
        assert set(parts["n"]) == {6}


def test_the_shares_of_a_condition_add_up_to_1_over_runs_of_unequal_size(tmp_path: Path) -> None:
    """Each run counts once, so the whole is the mean of the runs' means, too."""
    few = replace(MADE, variants=("plain",), trials=5)
    many = replace(few, trials=20, seed=few.seed + 1, factors={"dummy-2012": 2.0})
    results = evaluate([load(few.write(tmp_path / "few")), load(many.write(tmp_path / "many"))])
    kept = results.sifted.kept
    whole = kept.groupby(["cell", "run"])["plt_ms"].mean().groupby("cell").mean()
    for cell, parts in waits.means(results).groupby("cell"):
        assert parts["ms"].sum() == pytest.approx(whole[cell])
        assert parts["share"].sum() == pytest.approx(1)


@pytest.mark.thorough
def test_a_block_that_was_begun_again_elsewhere_is_another_block(tmp_path: Path) -> None:
    """Block 1 was left behind half done in lane 1; what it holds is compared inside itself alone."""
    folder = MADE.write(tmp_path / "run")
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    first = [each for each in lines if each["block"] == 1]
    made = [{**each, "lane": 1, "lanes": 2} for each in first[: len(first) // 2]]
    made += [{**each, "lane": 2, "lanes": 2, "attempt": 4, "restart": 1} for each in first]
    made += [{**each, "lane": 2, "lanes": 2} for each in lines if each["block"] != 1]
    (folder / "records.jsonl").write_text("".join(json.dumps(each) + "\n" for each in made))
    again = waits.changes(evaluate([load(folder)]))
    assert set(again["n"]) <= {6, 7}
    assert (again["ms"].abs() < math.inf).all()


def test_a_change_is_the_mean_of_differences_within_blocks(results: Results) -> None:
    found = waits.changes(results)
    kept = results.sifted.kept.groupby("cell")
    loads = {str(cell): mine.set_index("block")["plt_ms"] for cell, mine in kept}
    assert set(found["column"]) == {"variant", "protocol"}
    for (cell, reference), parts in found.groupby(["cell", "reference"]):
        by_name = parts.set_index("waiting")["ms"]
        want = (loads[str(cell)] - loads[str(reference)]).mean()
        assert by_name[waits.ALL] == pytest.approx(want)
        assert by_name.drop(waits.ALL).sum() == pytest.approx(want)
    variants = found[found["column"] == "variant"]
    down = variants[variants["waiting"] == Waiting.DOWN]
    assert len(down) == 12
    assert (down["high"] < 0).all()


def test_a_block_that_lacks_one_of_two_conditions_is_no_pair(tmp_path: Path) -> None:
    made = Synthetic(pages=("p",), protocols=("http1", "h2"), rates_mbps=(1.0,), rtts_ms=(20.0,), waits=True)
    missing = [each["trial"] for each in made.records() if each["block"] == 2][:1]
    lossy = Synthetic(
        pages=("p",),
        protocols=("http1", "h2"),
        rates_mbps=(1.0,),
        rtts_ms=(20.0,),
        waits=True,
        outcomes=dict.fromkeys(missing, "page-error"),
    )
    found = waits.changes(evaluate([load(lossy.write(tmp_path / "run"))]))
    assert set(found["n"]) == {4}


@pytest.mark.thorough
def test_the_tables_have_a_row_per_condition_and_per_pair(results: Results) -> None:
    means, changed = waiting_times(results), waiting_changes(results)
    assert means is not None
    assert changed is not None
    assert len(means.rows) == 24
    assert len(changed.rows) == 12 + 16
    assert all(len(row) == len(table.head) for table in (means, changed) for row in table.rows)
    assert "dummy-2012,minify" in to_csv(means)
    against = changed.head.index("Against")
    assert {row[against].text for row in changed.rows} == {"plain", protocol_label(str(results.baseline))}


def test_runs_that_do_not_tell_have_none_of_it(tmp_path: Path) -> None:
    found = evaluate([load(Synthetic(trials=2, rates_mbps=(1.0,)).write(tmp_path / "run"))])
    assert waits.means(found).empty
    assert waiting_times(found) is None
    assert waiting_changes(found) is None
    assert list(where_the_time_goes(found)) == []
    assert list(what_variants_change(found)) == []


@pytest.mark.thorough
def test_a_bar_per_condition_and_an_axis_per_link(results: Results) -> None:
    with plots.look():
        (stacked,) = where_the_time_goes(results)
        (changed,) = what_variants_change(results)
        stacked.figure.draw_without_rendering()
        changed.figure.draw_without_rendering()
    assert [len(axes.get_yticks()) for axes in stacked.figure.axes] == [6, 6, 6, 6]
    assert len(changed.figure.axes) == 4
    means = waits.means(results).groupby("cell")["ms"].sum() / 1e3
    drawn = {
        round(sum(bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)), 6)
        for axes in stacked.figure.axes
    }
    cells = results.cells.groupby(["down_mbps", "up_mbps", "rtt_ms"])["cell"]
    assert drawn == {round(sum(means[cell] for cell in mine), 6) for _, mine in cells}


@pytest.mark.parametrize(("trials", "hollow"), [(2, True), (3, False)])
def test_marks_of_too_few_pairs_are_hollow_as_the_caption_says(
    trials: int, hollow: bool, tmp_path: Path
) -> None:
    made = replace(MADE, protocols=("http1",), rates_mbps=(1.0,), rtts_ms=(20.0,), trials=trials)
    with plots.look():
        (drawing,) = what_variants_change(evaluate([load(made.write(tmp_path / "run"))]))
    (axes,) = drawing.figure.axes
    bars = [container.lines[0] for container in axes.containers if isinstance(container, ErrorbarContainer)]
    assert [line is not None and line.get_markerfacecolor() == "white" for line in bars] == [hollow]
    assert ("hollow" in drawing.caption) is hollow


def test_conditions_and_figures_that_are_not_drawn_are_told(tmp_path: Path) -> None:
    """Nine links of each page, and five pages with a variant: the figures have room for eight, and are four."""
    made = replace(
        MADE,
        pages=tuple(f"page-{number}" for number in range(5)),
        protocols=("h2",),
        rates_mbps=(10.0,),
        rtts_ms=tuple(10.0 * number for number in range(1, 10)),
        trials=1,
    )
    found = evaluate([load(made.write(tmp_path / "run"))])
    with plots.look():
        stacked = [drawing.caption for drawing in where_the_time_goes(found)]
        changed = [drawing.caption for drawing in what_variants_change(found)]
    assert len(stacked) == len(changed) == 4
    assert all("Not drawn: 2 further conditions" in caption for caption in stacked)
    assert all("Not drawn: 1 further condition," in caption for caption in changed)
    for *others, last in (stacked, changed):
        assert "1 further figure like these is left out" in last
        assert not any("further figure" in caption for caption in others)
