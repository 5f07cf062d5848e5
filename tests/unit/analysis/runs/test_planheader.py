"""What a plan's header says of figures and of published claims, whole and damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.runs.planheader import read_plan
from harness.errors import RecordsError
from harness.model.figure import FigureKind, FigureSeries, StudyFigure
from harness.model.published import Publication, PublishedClaim
from tests.unit.analysis.synthetic import Synthetic

FIGURE = StudyFigure(
    name="1",
    title="Figure 1",
    kind=FigureKind.LINES,
    x="rtt_ms",
    series=(FigureSeries({"protocol": "http1"}),),
    metric="plt_ms",
)
PAPER = Publication(
    title="A paper",
    source="2012",
    differs=("much",),
    claims=(PublishedClaim(name="a", text="b", stands="c", low=1.0, not_comparable="no"),),
)
MADE = Synthetic(pages=("p",), protocols=("http1",), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=1)


def header_of(folder: Path, **of: Any) -> Path:
    """A run whose plan says that."""
    run = MADE.write(folder / "run")
    head, *rest = (run / "plan.jsonl").read_text().splitlines()
    (run / "plan.jsonl").write_text("\n".join([json.dumps(json.loads(head) | of), *rest]) + "\n")
    return run


def test_figures_and_published_claims_are_read_as_they_were_written(tmp_path: Path) -> None:
    found = read_plan(header_of(tmp_path, figures=[FIGURE.to_json()], published=PAPER.to_json()), [])
    assert (found.figures, found.published) == ((FIGURE,), PAPER)


def test_older_plans_have_none(tmp_path: Path) -> None:
    found = read_plan(header_of(tmp_path), [])
    assert (found.figures, found.published) == ((), None)


@pytest.mark.parametrize(
    "of",
    [
        {"figures": {}},
        {"figures": [3]},
        {"figures": [FIGURE.to_json() | {"x": "page"}]},
        {"figures": [FIGURE.to_json() | {"name": "../../x"}]},
        {"published": []},
        {"published": {}},
        {"published": PAPER.to_json() | {"claims": [{}]}},
        {"published": PAPER.to_json() | {"claims": [{"name": "a", "text": "b", "stands": "c"}]}},
        {"published": PAPER.to_json() | {"claims": [PAPER.claims[0].to_json() | {"low": "1"}]}},
        {"published": PAPER.to_json() | {"differs": 3}},
    ],
)
def test_a_damaged_header_is_one_line(tmp_path: Path, of: dict[str, Any]) -> None:
    with pytest.raises(RecordsError) as caught:
        read_plan(header_of(tmp_path, **of), [])
    assert "plan.jsonl" in str(caught.value)
    assert "\n" not in str(caught.value)
