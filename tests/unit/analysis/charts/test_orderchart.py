"""What a report says of the order of its trials."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from analysis.charts import plots
from analysis.charts.orderchart import order_of_trials, reading
from analysis.charts.plots import Drawing
from analysis.evaluation.results import evaluate
from analysis.runs.rundirectory import load
from analysis.statistics.runorder import Drift
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic, write_lines

NOTHING = Drift(math.nan, math.nan, math.nan)
CALM = Synthetic(pages=("dummy-2012",), rates_mbps=(10.0,), rtts_ms=(20.0, 50.0), trials=12)


def drawings(run: Path) -> list[Drawing]:
    with plots.look():
        return list(order_of_trials(evaluate([load(run)])))


def slowed(run: Path, by: float) -> Path:
    """The run with times that grow steadily by that share."""
    records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    for number, record in enumerate(records):
        record["plt_ms"] *= math.exp(math.log1p(by) * number / (len(records) - 1))
    write_lines(run / "records.jsonl", records)
    return run


def test_a_drift_is_told_with_its_interval_and_with_what_it_means() -> None:
    said = reading(Drift(math.log(1.05), math.log(1.02), math.log(1.08)), 0.3, 0.1)
    assert tells(said, "Drift", "+5.0 % [+2.0 to +8.0]")
    assert tells(said, "lag-1 autocorrelation 0.30", "chance: up to 0.10")
    assert tells(said, "drifted and were alike", "pairs inside blocks")


@pytest.mark.parametrize("drift", [NOTHING, Drift(0.01, -0.01, 0.03)])
def test_what_chance_gives_is_called_so(drift: Drift) -> None:
    assert tells(reading(drift, -0.05, 0.1), "No more than chance")


def test_too_few_blocks_are_said() -> None:
    assert tells(reading(NOTHING, 0.0, 0.1), "Fewer than 3 blocks", "no drift")


def test_a_run_that_gets_slower_says_so(tmp_path: Path) -> None:
    (calm,) = drawings(CALM.write(tmp_path / "calm"))
    assert "Times drifted" not in calm.caption
    (drifting,) = drawings(slowed(CALM.write(tmp_path / "drifting"), 0.3))
    assert "Times drifted" in drifting.caption
    assert drifting.of_data


def test_a_handful_of_trials_is_not_drawn(tmp_path: Path) -> None:
    few = Synthetic(pages=("dummy-2012",), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=2)
    assert drawings(few.write(tmp_path / "few")) == []


def test_each_run_has_its_own_figure_up_to_a_limit(tmp_path: Path) -> None:
    runs = [load(CALM.write(tmp_path / name)) for name in ("one", "two", "three")]
    with plots.look():
        made = list(order_of_trials(evaluate(runs)))
    assert [each.name for each in made] == ["order_one", "order_two"]
    assert "first 2 of 3 runs" in made[0].caption
