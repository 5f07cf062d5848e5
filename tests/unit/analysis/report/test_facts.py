"""What stands at the head of a report of several runs: whether they may be pooled at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from analysis.evaluation.results import evaluate
from analysis.report import facts
from analysis.runs.rundirectory import load
from tests.unit.analysis.synthetic import Synthetic

MADE = Synthetic(pages=("p",), protocols=("http1",), rates_mbps=(10.0,), rtts_ms=(50.0,), trials=1)


def notes(folder: Path, *environments: dict[str, Any]) -> list[str]:
    runs = []
    for number, environment in enumerate(environments):
        run = MADE.write(folder / f"run-{number}")
        (run / "environment.json").write_text(json.dumps(environment))
        runs.append(load(run))
    return [note for note in facts.notes(evaluate(runs)) if "not made alike" in note]


def environment(**replay: Any) -> dict[str, Any]:
    settings = {"determinism": True, "compression": ["none"], **replay}
    return {
        "taken_utc": "now",
        "replay": settings,
        "programs": {"chromium": "Chromium 1"},
        "machine": {"load": 1},
    }


def test_runs_that_are_alike_are_pooled_without_a_word(tmp_path: Path) -> None:
    later = environment(compression=["gzip-6"]) | {"taken_utc": "later", "machine": {"load": 2}}
    assert notes(tmp_path, environment(), later) == []
    assert notes(tmp_path / "unknown", environment(), {}) == []


def test_what_differs_between_pooled_runs_is_said(tmp_path: Path) -> None:
    other = environment(determinism=False) | {"programs": {"chromium": "Chromium 2"}}
    assert notes(tmp_path, environment(), environment(), other) == [
        "The runs were not made alike: programs.chromium is Chromium 1 or Chromium 2; "
        "replay.determinism is True or False."
    ]


def test_long_values_are_left_to_the_environment(tmp_path: Path) -> None:
    said = notes(tmp_path, environment(flags="a" * 60), environment(flags="b" * 60))
    assert said == ["The runs were not made alike: replay.flags differs."]


def test_many_differences_are_counted(tmp_path: Path) -> None:
    first = {"programs": {str(number): "1" for number in range(9)}}
    second = {"programs": {str(number): "2" for number in range(9)}}
    (said,) = notes(tmp_path, first, second)
    assert said.endswith("programs.5 is 1 or 2; and 3 more settings.")


def test_the_connections_of_page_loads_are_no_load_on_the_server(tmp_path: Path) -> None:
    results = evaluate([load(MADE.write(tmp_path / "run"))])
    assert "connections" in results.records
    assert "Load" not in dict(facts.facts(results))
