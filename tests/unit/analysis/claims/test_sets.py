"""Sets of pages in the analysis: a verdict for each set over its pages, which count once each and are never pooled."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.charts.studyfigures import study_figures
from analysis.claims.claimresult import ClaimRow
from analysis.comparing.matching import Side, matched
from analysis.evaluation.results import Results, evaluate
from analysis.runs.rundirectory import load
from analysis.statistics.contrast import Method
from harness.study.claim import Claim
from harness.study.figure import FigureKind, FigureSeries, StudyFigure
from tests.unit.analysis.synthetic import Synthetic

pytestmark = pytest.mark.thorough

SMALL, LARGE = ("a", "b", "c", "d"), ("e", "f", "g")
SETS = {"small": SMALL, "large": LARGE}
MADE = Synthetic(
    pages=(*SMALL, *LARGE, "alone"), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(50.0,), sets=SETS
)
FASTER = Claim(name="faster", subject={"protocol": "h2"}, reference={"protocol": "http1"})
OF_SMALL = Claim(
    name="small", subject={"protocol": "h2"}, reference={"protocol": "http1"}, where={"set": ("small",)}
)


def results(folder: Path, *claims: Claim, sets: dict[str, tuple[str, ...]] | None = None) -> Results:
    made = Synthetic(
        pages=MADE.pages,
        protocols=MADE.protocols,
        rates_mbps=MADE.rates_mbps,
        rtts_ms=MADE.rtts_ms,
        trials=6,
        claims=claims,
        sets=SETS if sets is None else sets,
    )
    return evaluate([load(made.write(folder))])


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[ClaimRow, ...]:
    return results(tmp_path_factory.mktemp("run") / "run", FASTER, OF_SMALL).claims


def test_a_claim_has_a_row_for_each_set_and_for_the_pages_of_none(rows: tuple[ClaimRow, ...]) -> None:
    found = {row.setting["set"]: row.pages for row in rows if row.claim.name == "faster"}
    assert found == {"small": SMALL, "large": LARGE, None: ("alone",)}


def test_where_keeps_to_a_set(rows: tuple[ClaimRow, ...]) -> None:
    (row,) = (row for row in rows if row.claim.name == "small")
    assert row.pages == SMALL
    assert "4 pages of @small" in row.sentence


@pytest.mark.parametrize("reference", [None, FigureSeries({"protocol": "http1"})])
def test_a_figure_keeps_to_a_set(reference: FigureSeries | None, tmp_path: Path) -> None:
    figure = StudyFigure(
        name="pages",
        title="Pages of a set",
        kind=FigureKind.BARS,
        x="page",
        series=(FigureSeries({"protocol": "http1"}), FigureSeries({"protocol": "h2"})),
        metric="plt_ms",
        where={"set": ("small",)},
        reference=reference,
    )
    found = evaluate([load(replace(MADE, figures=(figure,)).write(tmp_path / "run"))])
    (points,) = found.figures
    assert points.xs == list(SMALL)
    assert points.points["value"].notna().all()
    assert len(points.points) == len(SMALL) * (2 if reference is None else 1)
    (drawing,) = study_figures(found)
    assert drawing.name == "study-pages"


def test_a_page_counts_once_however_many_trials_it_has(rows: tuple[ClaimRow, ...]) -> None:
    (row,) = (row for row in rows if row.claim.name == "small")
    assert row.comparison is not None
    logs = [math.log(each.ratio) for _, each in row.by_page]
    assert len(logs) == 4
    assert math.log(row.comparison.ratio) == pytest.approx(sum(logs) / 4)
    assert row.comparison.method is Method.LEVELS_T


def test_runs_are_matched_by_their_pages_whatever_set_they_are_of(tmp_path: Path) -> None:
    one = Side.of(load(MADE.write(tmp_path / "one")))
    other_sets = Synthetic(
        pages=MADE.pages,
        protocols=MADE.protocols,
        rates_mbps=(10.0,),
        rtts_ms=(50.0,),
        sets={"all": MADE.pages},
    )
    none = Synthetic(pages=MADE.pages, protocols=MADE.protocols, rates_mbps=(10.0,), rtts_ms=(50.0,))
    for name, made in (("other", other_sets), ("none", none)):
        found = matched(one, Side.of(load(made.write(tmp_path / name))))
        assert len(found.pairs) == 2 * len(MADE.pages)
        assert found.only == ((), ())


def test_sets_split_no_figure(tmp_path: Path) -> None:
    assert "set" not in results(tmp_path / "run", FASTER).panel_columns


def test_runs_of_which_one_names_no_sets_are_one(tmp_path: Path) -> None:
    plain = Synthetic(
        pages=MADE.pages,
        protocols=MADE.protocols,
        rates_mbps=(10.0,),
        rtts_ms=(50.0,),
        seed=1,
        claims=(FASTER,),
    )
    runs = [load(MADE.write(tmp_path / "one")), load(plain.write(tmp_path / "two"))]
    for order in (runs, runs[::-1]):
        both = evaluate(order)
        assert len(both.cells) == 2 * len(MADE.pages)
        assert {row.setting["set"] for row in both.claims} == {"small", "large", None}
