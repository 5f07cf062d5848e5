"""Records as columns: the same rows whatever the batches, and whether they were read or kept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis.evaluation.results import evaluate
from analysis.runs import recordcache, recordcolumns, recordtable
from analysis.runs.flatrecord import flat_condition, flat_record, numbers_of
from analysis.runs.rundirectory import Run, load
from analysis.tables.table import to_csv, to_latex, to_markdown
from analysis.tables.tables import tables_of
from benchmarks.largerun import LargeRun
from harness.errors import RecordsError
from harness.model.kind import Kind
from tests.unit.analysis.synthetic import Synthetic, write_lines

SMALL = Synthetic(
    pages=("dummy-2012",),
    rates_mbps=(10.0,),
    rtts_ms=(20.0, 100.0),
    trials=2,
    outcomes={"00003": "page-timeout"},
    repeat=frozenset({"00003"}),
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return SMALL.write(tmp_path / "run")


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as the project's own writers make it, some 1,100 records."""
    folder = tmp_path_factory.mktemp("large") / "run"
    LargeRun(pages=3, trials=6).write(folder)
    return folder


def lines_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]


def at_once(run: Path) -> pd.DataFrame:
    """The frame that pandas makes of all rows together."""
    rows = [
        {"left_out": None}
        | flat_record(line, Kind.LOAD, "")
        | {"attempt": line.get("attempt", 1)}
        | flat_condition(line, Kind.LOAD, "")
        for line in lines_of(run)
    ]
    frame = pd.DataFrame(rows)
    for name in numbers_of(Kind.LOAD):
        frame[name] = frame[name].astype(float) if name in frame else float("nan")
    frame.insert(0, "run", run.name)
    return frame


def tables(run: Run) -> dict[str, tuple[str, str, str]]:
    return {
        made.name: (to_csv(made), to_markdown(made), to_latex(made)) for made in tables_of(evaluate([run]))
    }


@pytest.mark.parametrize("rows", [pytest.param(1, marks=pytest.mark.thorough), 7])
def test_batches_change_nothing(large: Path, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordcolumns, "BATCH_ROWS", rows)
    pd.testing.assert_frame_equal(load(large).records, at_once(large), check_exact=True)


@pytest.mark.thorough
def test_kept_records_give_the_very_tables(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordtable, "LARGE_BYTES", 0)
    plain, first, again = load(large), load(large, tmp_path), load(large, tmp_path)
    assert len(list(tmp_path.glob("*.parquet"))) == 1
    for other in (first, again):
        pd.testing.assert_frame_equal(other.records, plain.records, check_exact=True)
        assert (other.condition_columns, other.kind, other.notes) == (
            plain.condition_columns,
            plain.kind,
            plain.notes,
        )
    assert tables(again) == tables(plain)


def test_a_column_of_several_types_is_text_in_whichever_batch(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = lines_of(run)
    for line, odd in zip(lines, [1, 2.5, None, "text", True], strict=False):
        line["odd"] = odd
    lines[0]["late"], lines[-1]["late"] = 1, 2.5
    write_lines(run / "records.jsonl", lines)
    monkeypatch.setattr(recordcolumns, "BATCH_ROWS", 2)
    records = load(run).records
    assert records["odd"].fillna("-").tolist()[:6] == ["1", "2.5", "-", "text", "True", "-"]
    assert records["late"].dropna().tolist() == [1.0, 2.5]


def test_columns_stand_in_the_order_in_which_rows_name_them(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = lines_of(run)
    lines[4]["zzz"], lines[6]["aaa"] = 1, 2
    write_lines(run / "records.jsonl", lines)
    monkeypatch.setattr(recordcolumns, "BATCH_ROWS", 3)
    assert list(load(run).records) == list(at_once(run))


class TestKept:
    """What is kept is never that of other records."""

    @pytest.fixture(autouse=True)
    def kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recordtable, "LARGE_BYTES", 0)

    def test_a_change_of_the_same_size_and_time_is_seen(self, run: Path, tmp_path: Path) -> None:
        path = run / "records.jsonl"
        assert load(run, tmp_path / "kept").records["server"].unique().tolist() == ["apache"]
        before = path.stat()
        path.write_text(path.read_text().replace("apache", "caddyx"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_size == before.st_size
        assert load(run, tmp_path / "kept").records["server"].unique().tolist() == ["caddyx"]

    def test_another_plan_gives_other_notes(self, run: Path, tmp_path: Path) -> None:
        assert load(run, tmp_path / "kept").notes == ()
        plan = run / "plan.jsonl"
        plan.write_text(plan.read_text().replace('"trial": "00002"', '"trial": "99999"'))
        assert "plan.jsonl does not hold" in load(run, tmp_path / "kept").notes[0]

    def test_a_run_that_goes_on_meanwhile_is_not_kept(
        self, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        keys = iter(["before", "after"])
        monkeypatch.setattr(recordcache, "key_of", lambda _: next(keys))
        load(run, tmp_path / "kept")
        assert not (tmp_path / "kept").exists()

    @pytest.mark.parametrize("damage", [b"", b"PAR1 and nothing else"])
    def test_a_damaged_entry_is_made_anew(self, run: Path, tmp_path: Path, damage: bytes) -> None:
        load(run, tmp_path / "kept")
        (entry,) = (tmp_path / "kept").glob("*.parquet")
        whole = entry.stat().st_size
        entry.write_bytes(damage)
        assert len(load(run, tmp_path / "kept").records) == 17
        assert entry.stat().st_size == whole

    def test_odd_names_are_kept(self, run: Path, tmp_path: Path) -> None:
        lines = lines_of(run)
        lines[0] |= {"": 1, "a.b": 2, "'": 3, "0": 4, "\u00e9": 5}
        write_lines(run / "records.jsonl", lines)
        first, again = (load(run, tmp_path / "kept").records for _ in range(2))
        pd.testing.assert_frame_equal(first, again, check_exact=True)
        assert {"", "a.b", "'", "0", "\u00e9"} <= set(again)

    def test_without_a_place_for_it_nothing_is_kept(self, run: Path, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert len(load(run, tmp_path / "file").records) == 17

    def test_the_least_used_go(self, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recordcache, "MOST_ENTRIES", 2)
        for number in range(4):
            (run / "looks.jsonl").write_text("\n" * number)
            load(run, tmp_path / "kept")
        assert len(list((tmp_path / "kept").iterdir())) == 2

    def test_damaged_records_are_refused_as_ever(self, run: Path, tmp_path: Path) -> None:
        load(run, tmp_path / "kept")
        path = run / "records.jsonl"
        path.write_text(path.read_text().replace('{"schema"', '{schema"', 1))
        with pytest.raises(RecordsError, match=r"records\.jsonl:1 is damaged"):
            load(run, tmp_path / "kept")
        path.write_text(path.read_text().replace('{schema"', '{"schema"', 1)[:-30])
        assert "incomplete" in load(run, tmp_path / "kept").notes[0]


def test_small_runs_are_not_kept(run: Path, tmp_path: Path) -> None:
    load(run, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
