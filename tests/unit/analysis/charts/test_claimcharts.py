"""Claims with and without a factor, side by side in one figure."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.markers import CARETLEFT, CARETRIGHT

from analysis.charts import plots
from analysis.charts.claimcharts import ARROWS, MOST_FACTORS, charts, reading, sensitivity
from analysis.charts.plots import Drawing
from analysis.claims.claimresult import ClaimRow
from analysis.evaluation.results import Results, evaluate
from analysis.runs.rundirectory import load
from analysis.statistics.compare import WIDER
from harness.study.claim import Claim
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic, write_lines

CLAIMS = (
    Claim(name="protocol", subject={"protocol": "h2"}, reference={"protocol": "http1"}),
    Claim(name="core", subject={"variant": "core"}, reference={"variant": "plain"}),
)
MADE = Synthetic(
    pages=("one",),
    variants=("plain", "core"),
    protocols=("http1", "h2"),
    rates_mbps=(10.0,),
    rtts_ms=(50.0,),
    claims=CLAIMS,
)


def drawn(folder: Path, *factors: str) -> list[Drawing]:
    with plots.look():
        return list(sensitivity(with_factors(folder, *factors)))


def with_factors(folder: Path, *factors: str) -> Results:
    """A study as it is, and again with each of these factors."""
    run = MADE.write(folder)
    for file in ("records.jsonl", "plan.jsonl"):
        lines = [json.loads(line) for line in (run / file).read_text().splitlines()]
        made = []
        for line in lines:
            if "condition" not in line:
                more = {name: line[name] * (1 + len(factors)) for name in ("trials", "conditions")}
                made.append(line | more)
                continue
            for number, factor in enumerate(("usual", *factors)):
                again = {"factor": factor} if factors else {}
                made.append(
                    line | {"trial": f"{line['trial']}-{number}", "condition": line["condition"] | again}
                )
        write_lines(run / file, made)
    return evaluate([load(run)])


def test_a_row_has_a_marker_for_the_usual_and_each_factor(tmp_path: Path) -> None:
    (drawing,) = drawn(tmp_path / "run", "long queue", "short queue")
    (axes,) = drawing.figure.axes
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert len(names) == 4  # two claims: in two variants, and by two protocols
    assert len(axes.containers) == 4 * 3
    (legend,) = drawing.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["usual", "long queue", "short queue"]
    assert "hang on a factor" in drawing.caption


@pytest.mark.parametrize("factors", [0, MOST_FACTORS + 1])
def test_without_factors_or_with_many_there_is_none(factors: int, tmp_path: Path) -> None:
    assert drawn(tmp_path / "run", *(f"factor {number}" for number in range(factors))) == []


def test_long_names_have_several_lines_and_none_is_cut_off(tmp_path: Path) -> None:
    """Matplotlib warns where names leave an axis no room, and a warning fails a test."""
    found = with_factors(
        tmp_path / "run", "names known on the client, one host, " * 5 + "a queue of 50 packets"
    )
    with plots.look():
        (figure,), left = charts(found.claims, found.wording, found.margin, most=1)
        plots.save(figure, tmp_path, "claims")
        figure.draw_without_rendering()
    assert left == 0
    (axes,) = figure.axes
    names = axes.get_yticklabels()
    assert {text.get_text().count("\n") for text in names} >= {0, 2}
    boxes = [text.get_window_extent() for text in names]
    assert all(box.x0 >= 0 for box in boxes)
    assert all(one.y0 >= below.y1 for one, below in itertools.pairwise(boxes))


def test_bars_of_claims_that_nobody_named_are_said_to_be_wider(tmp_path: Path) -> None:
    named = with_factors(tmp_path / "named")
    unnamed = evaluate([load(replace(MADE, claims=None).write(tmp_path / "unnamed"))])
    assert WIDER not in reading(named)
    assert tells(reading(unnamed), "95 % intervals", WIDER)
    assert {row.comparison.confidence for row in named.claims if row.comparison} == {0.95}


def wide(row: ClaimRow) -> ClaimRow:
    """The row with an interval that no axis holds."""
    assert row.comparison is not None
    return replace(row, comparison=replace(row.comparison, low=1e-3, high=1e3))


def test_an_end_beyond_the_axis_has_an_arrow(tmp_path: Path) -> None:
    narrow = with_factors(tmp_path / "run", "long queue")
    results = replace(
        narrow,
        claims=tuple(map(wide, narrow.claims)),
        factors=tuple(replace(each, changed=wide(each.changed)) for each in narrow.factors),
    )
    with plots.look():
        (claims,), _ = charts(results.claims, results.wording, results.margin, most=1)
        (factors,) = sensitivity(results)
    for figure, caption in ((claims, reading(results)), (factors.figure, factors.caption)):
        (axes,) = figure.axes
        arrows = {
            (line.get_marker(), float(x))
            for line in axes.lines
            if line.get_marker() in (CARETLEFT, CARETRIGHT)
            for x in np.asarray(line.get_xdata())
        }
        assert arrows == set(zip((CARETLEFT, CARETRIGHT), axes.get_xlim(), strict=True))
        assert ARROWS in caption
    assert ARROWS not in reading(narrow)
