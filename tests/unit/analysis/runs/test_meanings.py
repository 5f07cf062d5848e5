"""Numbers of two meanings do not meet in an estimate."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from analysis.comparing.runpair import read_pair
from analysis.evaluation.results import evaluate
from analysis.runs.meanings import of_one_meaning
from analysis.runs.rundirectory import load
from harness.errors import RecordsError
from tests.unit.analysis.runpairs import two_runs
from tests.unit.analysis.synthetic import Synthetic, write_lines

SMALL = Synthetic(("one",), protocols=("http1",), rates_mbps=(10.0,), rtts_ms=(50.0,), trials=4)
NOTE = (
    "lcp_ms and cls of 4 records of an older schema are left out: they meant something else, and other records here "
    "have them as they are now."
)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return two_runs(tmp_path, study=SMALL)


def change(run: Path, changed: Callable[[int], dict[str, Any]]) -> None:
    path = run / "records.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    write_lines(path, [line | changed(number) for number, line in enumerate(lines)])


def all_alike(keys: dict[str, Any], _: int) -> dict[str, Any]:
    return keys


def test_runs_of_one_schema_keep_all_they_have(pair: tuple[Path, Path]) -> None:
    for schema in ({"schema": 1}, {"schema": 2}):
        for path in pair:
            change(path, partial(all_alike, schema))
        for run in of_one_meaning([load(each) for each in pair]):
            assert run.records["lcp_ms"].notna().all()
            assert run.notes == ()


def test_of_two_schemas_the_older_loses_what_was_changed_and_nothing_else(pair: tuple[Path, Path]) -> None:
    change(pair[1], lambda _: {"schema": 2})
    older, newer = of_one_meaning([load(each) for each in pair])
    assert older.records[["lcp_ms", "cls"]].isna().all(axis=None)
    assert older.records[["plt_ms", "fcp_ms"]].notna().all(axis=None)
    assert newer.records["lcp_ms"].notna().all()
    assert (older.notes, newer.notes) == ((NOTE,), ())
    assert NOTE in evaluate([load(each) for each in pair]).runs[0].notes
    with pytest.raises(RecordsError, match="lcp_ms"):
        read_pair(*pair, "lcp_ms", 0.03)
    assert read_pair(*pair, "plt_ms", 0.03).changes


def test_a_run_that_went_on_with_a_newer_version_is_told_apart_record_by_record(
    pair: tuple[Path, Path],
) -> None:
    change(pair[0], lambda number: {"schema": 1 + number % 2})
    (run,) = of_one_meaning([load(pair[0])])
    assert list(run.records["lcp_ms"].isna()) == [True, False, True, False]


@pytest.mark.parametrize("mark", ["traced", "filmed"])
@pytest.mark.parametrize("read", [lambda pair: evaluate([load(each) for each in pair]), None])
def test_loads_that_were_observed_at_a_cost_and_others_are_refused(
    pair: tuple[Path, Path], read: Callable[[tuple[Path, Path]], Any] | None, mark: str
) -> None:
    change(pair[1], lambda _: {mark: True})
    with pytest.raises(RecordsError, match=rf"trials of chromium were {mark} in .* report these runs apart"):
        read(pair) if read else read_pair(*pair, None, 0.03)
    change(pair[0], lambda _: {mark: True})
    assert evaluate([load(each) for each in pair]).cells["n"].sum() == 8
