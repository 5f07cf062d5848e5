"""The pairs behind the claims are drawn as they were measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.charts import plots
from analysis.charts.pairchart import MOST_FIGURES, ROWS, paired_differences
from analysis.charts.plots import Drawing
from analysis.evaluation.results import Results, evaluate
from analysis.runs.rundirectory import load
from harness.study.claim import Claim
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic, write_lines

ONE = Synthetic(pages=("dummy-2012",), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=6)
H2 = Claim(name="h2", subject={"protocol": "h2"}, reference={"protocol": "http1"})
BUDGET = Claim(name="budget", subject={"protocol": "h2"}, at_most=2500, metric="lcp_ms")


def results(made: Synthetic, run: Path, *claims: Claim) -> Results:
    """A run whose plan holds these claims."""
    made.write(run)
    header, *planned = (json.loads(line) for line in (run / "plan.jsonl").read_text().splitlines())
    plan: list[dict[str, Any]] = [header | {"claims": [claim.to_json() for claim in claims]}, *planned]
    write_lines(run / "plan.jsonl", plan)
    return evaluate([load(run)])


def drawings(found: Results) -> list[Drawing]:
    with plots.look():
        return list(paired_differences(found))


def test_a_dot_is_the_change_inside_a_block(tmp_path: Path) -> None:
    found = results(ONE, tmp_path / "run", H2)
    (drawing,) = drawings(found)
    wide = found.records.pivot_table(index="block", columns="protocol", values="plt_ms")
    (dots,) = drawing.figure.axes[0].lines
    assert np.asarray(dots.get_xdata()).tolist() == pytest.approx(
        (100 * (wide["h2"] / wide["http1"] - 1)).tolist()
    )
    assert (np.diff(np.asarray(dots.get_ydata())) > 0).all()
    texts = [text.get_text() for text in drawing.figure.axes[0].texts]
    assert texts[0].startswith("HTTP/2 (TLS) against HTTP/1.1\n")
    assert texts[1] == "n = 6"
    assert drawing.of_data


def test_a_block_without_one_side_has_no_dot(tmp_path: Path) -> None:
    run = tmp_path / "run"
    ONE.write(run)
    lost = next(record["trial"] for record in ONE.records() if record["condition"]["protocol"] == "h2")
    made = Synthetic(**{**ONE.__dict__, "outcomes": {lost: "page-error"}})
    (drawing,) = drawings(results(made, run, H2))
    (dots,) = drawing.figure.axes[0].lines
    assert np.size(dots.get_xdata()) == 5


def test_a_budget_has_no_pairs(tmp_path: Path) -> None:
    assert drawings(results(ONE, tmp_path / "run", BUDGET)) == []


def test_pages_of_one_claim_share_a_row(tmp_path: Path) -> None:
    three = Synthetic(pages=("one", "two", "three"), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=6)
    (drawing,) = drawings(results(three, tmp_path / "run", H2))
    (dots,) = drawing.figure.axes[0].lines
    assert np.size(dots.get_xdata()) == 18
    assert tells(drawing.caption, "block", "a dot for each")


def test_what_is_not_drawn_is_said(tmp_path: Path) -> None:
    rtts = tuple(float(rtt) for rtt in range(10, 10 + ROWS * MOST_FIGURES + 3))
    many = Synthetic(
        pages=("dummy-2012",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=rtts, trials=1
    )
    made = drawings(results(many, tmp_path / "run", H2))
    assert len(made) == MOST_FIGURES
    assert tells(made[0].caption, "3 further settings", "not drawn")
