"""Records as columns: the same rows whatever the batches, and whether they were read or kept."""

from __future__ import annotations

import json
import math
import os
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis.evaluation.results import evaluate
from analysis.runs import recordtable
from analysis.runs.rundirectory import Run, load
from analysis.tables.table import to_csv, to_latex, to_markdown
from analysis.tables.tables import tables_of
from benchmarks.scale import LargeRun
from harness.errors import RecordsError
from tests.unit.analysis.synthetic import Synthetic, write_lines

SMALL = Synthetic(
    pages=("dummy-2012",),
    rates_mbps=(10.0,),
    rtts_ms=(20.0, 100.0),
    trials=2,
    outcomes={"00003": "missing-objects"},
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


def tables(run: Run) -> dict[str, tuple[str, str, str]]:
    return {
        made.name: (to_csv(made), to_markdown(made), to_latex(made)) for made in tables_of(evaluate([run]))
    }


@pytest.mark.thorough
def test_batches_change_nothing(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = load(large).records
    monkeypatch.setattr(recordtable, "BATCH_ROWS", 7)
    pd.testing.assert_frame_equal(load(large).records, whole, check_exact=True)


@pytest.mark.thorough
def test_rows_hold_what_the_lines_say(large: Path) -> None:
    rows = load(large).records.to_dict("records")
    for row, line in zip(rows, lines_of(large), strict=True):
        assert (row["trial"], row["attempt"], row["outcome"]) == (
            line["trial"],
            line["attempt"],
            line["outcome"],
        )
        assert row["plt_ms"] == line["plt_ms"] or (math.isnan(row["plt_ms"]) and line["plt_ms"] is None)
        assert (row["page"], row["rtt_ms"]) == (
            line["condition"]["page"],
            line["condition"]["link"]["rtt_ms"],
        )


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


def reading(run: Path, *readings: dict[str, Any] | None) -> pd.DataFrame:
    """The records of a run whose first ones have these readings of the link, and the others none."""
    lines = lines_of(run)
    for line, given in zip_longest(lines, readings):
        line["link_reading"] = given
    write_lines(run / "records.jsonl", lines)
    return load(run).records


def test_nested_values_stand_in_their_order_under_the_keys_that_lead_to_them(run: Path) -> None:
    read = reading(run, {"b": 1, "down": {"c": [1], "d": {"e": 2.5}}, "a": "last"})
    assert [name for name in read if str(name).startswith("link_reading")] == [
        "link_reading_b",
        "link_reading_down_d_e",
        "link_reading_a",
    ]
    assert read["link_reading_down_d_e"].tolist()[0] == 2.5


def test_a_reading_of_several_types_is_text_in_whichever_batch(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordtable, "BATCH_ROWS", 2)
    odd: list[Any] = [1, 2.5, None, "text", True]
    read = reading(run, *({"odd": each, "rate": number} for number, each in enumerate(odd)), {"rate": 2.5})
    assert read["link_reading_odd"].fillna("-").tolist()[:6] == ["1", "2.5", "-", "text", "true", "-"]
    assert read["link_reading_rate"].dropna().tolist() == [0, 1, 2, 3, 4, 2.5]


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
        monkeypatch.setattr(recordtable, "_key_of", lambda _: next(keys))
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
        odd = {"": 1, "a.b": 2, "'": 3, "0": 4, "\u00e9": 5}
        reading(run, odd)
        first, again = (load(run, tmp_path / "kept").records for _ in range(2))
        pd.testing.assert_frame_equal(first, again, check_exact=True)
        assert {f"link_reading_{name}" for name in odd} <= set(again)

    def test_without_a_place_for_it_nothing_is_kept(self, run: Path, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert len(load(run, tmp_path / "file").records) == 17

    def test_the_least_used_go(self, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recordtable, "MOST_ENTRIES", 2)
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
