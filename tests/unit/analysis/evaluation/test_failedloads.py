"""Films of loads that failed: shown as such, beside those that count, and in no estimate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.evaluation.failedloads import MOST_LOADS, failed_loads
from analysis.evaluation.medianloads import median_films, median_loads
from analysis.evaluation.results import Results, evaluate
from analysis.runs.rundirectory import load as load_run
from analysis.waterfalls.waterfallview import view
from tests.unit.analysis.synthetic import Synthetic
from tests.unit.analysis.synthetic_film import keep_film, keep_films
from tests.unit.analysis.synthetic_har import keep_hars

pytestmark = pytest.mark.thorough

MADE = Synthetic(
    pages=("p",), protocols=("http1", "h2", "h3"), rates_mbps=(10.0,), rtts_ms=(20.0, 50.0, 100.0), trials=3
)


def failing(folder: Path, trials: int) -> Path:
    """A run whose first trials failed and have short films."""
    run = keep_films(keep_hars(MADE.write(folder)))
    records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    for number, record in enumerate(records[:trials]):
        record |= {"outcome": "page-timeout", "reason": "no load event within 3 s", "plt_ms": None}
        for each in (run / "trials" / record["trial"] / "filmstrip").iterdir():
            each.unlink()
        (run / "trials" / record["trial"] / "filmstrip").rmdir()
        if number != 1:
            keep_film(run / "trials" / record["trial"], [900.0], outcome="page-timeout")
    (run / "records.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in records))
    return run


def results(run: Path) -> Results:
    return evaluate([load_run(run)])


def test_the_first_of_each_condition_is_shown_and_none_is_estimated(tmp_path: Path) -> None:
    found = results(failing(tmp_path / "run", 3))
    failed = failed_loads(found)
    assert [(each.outcome, each.film.outcome) for each in failed] == [("page-timeout", "page-timeout")] * 2
    counted = median_films(found)
    assert not {each.trial for each in failed} & {each.trial for each in counted.loads}
    shown = view(median_loads(found), counted, failed)
    assert shown is not None
    loads = json.loads(shown.data)["loads"]
    assert len(loads) == len(counted.loads) + 2
    assert [f"failed: page-timeout, trial {failed[0].trial}" in each["label"] for each in loads].count(
        True
    ) == 1
    assert loads[-1]["film"]["frames"][-1][0] == 900
    assert shown.note.startswith("2 loads that failed, filmed until then and in no estimate, are here, too.")


def test_of_many_the_first_are_shown(tmp_path: Path) -> None:
    assert len(failed_loads(results(failing(tmp_path / "run", 9)))) == MOST_LOADS


def test_without_any_there_is_nothing(tmp_path: Path) -> None:
    assert failed_loads(results(keep_hars(MADE.write(tmp_path / "run")))) == ()
