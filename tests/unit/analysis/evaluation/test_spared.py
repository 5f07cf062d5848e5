"""Trials that are left out are in the estimates all the same of the metrics that no rule touches which applies."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis.evaluation.results import Results, evaluate
from analysis.report import summary
from analysis.report.methodtexts import exclusions
from analysis.runs.exclude import rules_of, sift
from analysis.runs.rundirectory import load
from harness.model.kind import Kind
from harness.model.soundness import OF_A_PAGE
from harness.study.claim import Claim, Publication, Published
from harness.study.figure import FigureKind, FigureSeries, StudyFigure
from harness.study.metrics import reasons_of
from tests.facts import tells
from tests.unit.analysis.runpairs import edit
from tests.unit.analysis.synthetic_capacity import SyntheticCrowd

CODED: dict[str, Any] = {"subject": {"compression": "gzip-6"}, "reference": {"compression": "none"}}
CPU = Claim(name="cpu", metric="server_cpu_ms_per_page", **CODED)
RATE = Claim(name="rate", metric="pages_per_s", **CODED)
MADE = SyntheticCrowd(
    pages=("text-50",),
    protocols=("http1",),
    compressions=("none", "gzip-6"),
    steps=(50, 100),
    seconds=60.0,
    bucket_s=5.0,
    trials=4,
    aa=False,
    claims=(CPU, RATE),
    figures=(
        StudyFigure(
            name="cpu",
            title="CPU",
            kind=FigureKind.BARS,
            x="page",
            series=(FigureSeries({"compression": "none"}), FigureSeries({"compression": "gzip-6"})),
            metric="server_cpu_ms_per_page",
        ),
    ),
    published=Publication(
        title="A paper",
        source="Somebody, 2008",
        differs=(),
        claims=(replace(CPU, published=Published(text="CPU", stands="results", low=1.0, high=100.0)),),
    ),
)


def results(folder: Path, **changed: Any) -> Results:
    """All trials of text that was compressed are changed so."""
    run = MADE.write(folder / "run")

    def change(record: dict[str, Any]) -> dict[str, Any]:
        return record | changed if record["condition"]["compression"] == "gzip-6" else record

    edit(run, change)
    return evaluate([load(run)])


def n_of(found: Results, name: str) -> int:
    row = next(row for row in found.claims if row.claim.name == name)
    return row.comparison.n if row.comparison else 0


@pytest.mark.thorough
def test_a_busy_machine_spares_bytes_and_cpu_of_a_page(tmp_path: Path) -> None:
    found = results(tmp_path, foreign_cpu_share=0.3, limited_by="server-cpu")
    assert found.sifted.by_rule()["busy-machine"] == 4
    assert (n_of(found, "cpu"), n_of(found, "rate")) == (4, 0)
    cpu, rate = found.claims
    assert not cpu.notes
    assert tells(rate.notes[:1], "4 of 4", "left out", "busy-machine")
    assert found.published[0].comparison is not None
    assert found.figures[0].points["n"].tolist() == [4, 4]
    assert found.cells.sort_values("compression")["n"].tolist() == [0, 4]  # of the main metric
    assert set(found.buckets["cell"]) == {*found.cells.loc[found.cells["n"] > 0, "cell"]}
    assert tells(exclusions(found), "4 trials without an attempt that counts")
    assert "Server's CPU for each page" in exclusions(found)


@pytest.mark.thorough
def test_what_they_tell_is_what_the_records_say(tmp_path: Path) -> None:
    calm, busy = results(tmp_path / "calm"), results(tmp_path / "busy", limited_by="emulator")
    assert busy.sifted.by_rule()["emulator-saturated"] == 4
    assert busy.claims[0].comparison == calm.claims[0].comparison
    assert busy.claims[1].comparison is None
    assert "without an attempt that counts" not in exclusions(calm)


def test_what_the_machine_could_not_measure_is_said_so(tmp_path: Path) -> None:
    found = results(tmp_path, limited_by="generator-cpu")
    assert [each.partition(" (")[2] for each in found.unmeasurable] == ["generator-saturated)"]
    assert tells(found.claims[1].notes[:1], "not measurable", "generator-saturated")
    first, *_ = summary.lost(found)
    assert tells([first], "Not measurable", found.unmeasurable[0])


@pytest.mark.parametrize("outcome", ["page-error", "testbed-failed"])
def test_a_failed_trial_counts_for_nothing(tmp_path: Path, outcome: str) -> None:
    found = results(tmp_path, outcome=outcome, foreign_cpu_share=0.3, limited_by="server-cpu")
    assert n_of(found, "cpu") == 0
    assert found.sifted.spared.empty


def attempts(*busy: bool) -> pd.DataFrame:
    """A trial, each attempt with other figures."""
    return pd.DataFrame(
        {
            "run": "a",
            "trial": "00001",
            "attempt": range(1, len(busy) + 1),
            "outcome": "ok",
            "pages_per_s": [float(n) for n in range(1, len(busy) + 1)],
            "server_cpu_ms_per_page": [10.0 * n for n in range(1, len(busy) + 1)],
            "foreign_cpu_share": [0.3 if each else 0.0 for each in busy],
            "limited_by": "server-cpu",
        }
    )


@pytest.mark.parametrize(
    ("busy", "rates", "costs"),
    [
        ((False,), [1.0], [10.0]),
        ((True, False), [2.0], [20.0]),  # one that is kept stands for the trial
        ((True, True, True), [math.nan], [30.0]),  # else the last
    ],
)
def test_of_a_trial_one_attempt_counts(
    busy: tuple[bool, ...], rates: list[float], costs: list[float]
) -> None:
    found = sift(attempts(*busy), rules_of(Kind.USERS)).by_metric
    assert found["server_cpu_ms_per_page"].tolist() == costs
    assert found["pages_per_s"].tolist() == pytest.approx(rates, nan_ok=True)


def test_reasons_of_loads_and_rates_spare_nothing() -> None:
    assert not any(reason.spares for kind in (Kind.LOAD, Kind.REQUESTS) for reason in reasons_of(kind))
    spare = {reason.name for reason in reasons_of(Kind.USERS) if reason.spares == OF_A_PAGE}
    assert spare == {
        *("generator-saturated", "emulator-saturated"),
        *("late-packets-down", "late-packets-up", "busy-machine"),
    }
