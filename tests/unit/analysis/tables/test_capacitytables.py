"""The tables of crowds and request rates, from made-up runs whose answers are known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.evaluation.results import Results, evaluate
from analysis.labels.words import DASH
from analysis.runs.rundirectory import load
from analysis.tables.capacitytables import _over, crowds, rates
from analysis.tables.table import Table, to_latex, to_markdown, write
from tests.facts import tells
from tests.unit.analysis.synthetic import write_lines
from tests.unit.analysis.synthetic_capacity import SyntheticCrowd, SyntheticRate

pytestmark = pytest.mark.thorough

CROWD = SyntheticCrowd(protocols=("http1", "h2"), trials=3)
RATE = SyntheticRate(connections=(16, 64), made_by={"wrk": ("http1",), "h2load": ("http1", "h2")}, trials=3)


def made(tmp_path: Path, of: SyntheticCrowd | SyntheticRate) -> Results:
    return evaluate([load(of.write(tmp_path / "run"))])


def cell(table: Table, row: int, head: str) -> str:
    return str(table.rows[row][table.head.index(head)])


@pytest.fixture
def crowd(tmp_path: Path) -> tuple[Results, Table]:
    results = made(tmp_path, CROWD)
    table = crowds(results)
    assert table is not None
    return results, table


def test_the_table_of_the_2013_study_has_its_columns(crowd: tuple[Results, Table]) -> None:
    _, table = crowd
    assert [head for head in table.head if head not in ("Page", "Rate (Mbit/s)", "RTT (ms)", "Protocol")] == [
        *("Most pages/s", "At users"),
        *("Page at 100 (s)", "Page at 120 (s)", "Page at 200 (s)", "Page at 777 (s)"),
        *("First error (users)", "Over 3 s (users)", "CPU idle (%)", "Memory per user (kB)", "Limit"),
    ]


def test_its_figures_are_those_of_records_and_buckets(crowd: tuple[Results, Table]) -> None:
    results, table = crowd
    http1 = results.sifted.kept[
        (results.sifted.kept["protocol"] == "http1") & results.sifted.kept["cell"].isin(results.cells["cell"])
    ]
    assert len(http1) == 3
    data = table.data[table.data["protocol"] == "http1"].iloc[0]
    assert data["pages_per_s"] == http1["pages_per_s"].median()
    assert data["users_over_bound"] == http1["users_over_bound"].median()
    one = results.buckets[results.buckets["trial"] == http1["trial"].iloc[0]].set_index("users")["page_ms"]
    around = one[(one.index > 80) & (one.index < 120)]
    assert around.min() <= data["page_ms_at_100"] <= around.max() * 1.1
    assert cell(table, 0, "Limit") == "workers"
    assert 150 < data["memory_bytes_per_user"] / 1e3 < 230  # 190 kB were put in


def test_the_head_of_a_column_tells_the_bound_of_the_study() -> None:
    assert _over(pd.Series([3.0, 3.0])) == "Over 3 s"
    assert _over(pd.Series([0.5])) == "Over 0.5 s"
    assert _over(pd.Series([3.0, 1.0])) == "Over the bound"


@pytest.mark.thorough
def test_what_never_happened_is_a_dash_and_what_happened_sometimes_says_how_often(tmp_path: Path) -> None:
    results = made(tmp_path, replace(CROWD, protocols=("h2",), users=300))
    table = crowds(results)
    assert table is not None
    assert (cell(table, 0, "First error (users)"), cell(table, 0, "Over 3 s (users)")) == (DASH, DASH)
    path = tmp_path / "run" / "records.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    first = next(line for line in lines if not line["condition"].get("again"))
    first["first_error_users"], first["limited_by"] = 250, "workers"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    again = crowds(evaluate([load(tmp_path / "run")]))
    assert again is not None
    assert cell(again, 0, "First error (users)") == "250 (1 of 3)"
    assert cell(again, 0, "Limit") == "none 2, workers 1"


def test_a_small_crowd_is_told_at_quarters_of_its_users(tmp_path: Path) -> None:
    table = crowds(made(tmp_path, replace(CROWD, protocols=("h2",), users=62, seconds=600.0)))
    assert table is not None
    assert [head for head in table.head if head.startswith("Page at")] == [
        f"Page at {users} (s)" for users in (15, 30, 45, 60)
    ]
    assert DASH not in [cell(table, 0, head) for head in table.head if head.startswith("Page at")]


def test_a_crowd_without_series_has_its_records_alone(tmp_path: Path) -> None:
    run = CROWD.write(tmp_path / "run")
    for each in (run / "trials").rglob("*.jsonl"):
        each.unlink()
    table = crowds(evaluate([load(run)]))
    assert table is not None
    assert not [head for head in table.head if head.startswith("Page at")]
    assert cell(table, 0, "CPU idle (%)") == DASH


def test_rates_tell_latency_where_the_generator_does(tmp_path: Path) -> None:
    results = made(tmp_path, RATE)
    table = rates(results)
    assert table is not None
    where = ("Generator", "Connections", "Depth", "Protocol")
    found = {
        tuple(cell(table, row, head) for head in where): cell(table, row, "Latency 50 % (ms)")
        for row in range(len(table.rows))
    }
    assert found["wrk", "16", "8", "HTTP/1.1"] == DASH
    assert found["wrk", "16", "1", "HTTP/1.1"] != DASH
    assert found["h2load", "64", "8", "HTTP/2 (TLS)"] != DASH
    data = table.data
    assert set(data["limited_by"]) == {"server's CPU"}
    kept = results.sifted.kept
    mine = kept[(kept["engine"] == "h2load") & (kept["protocol"] == "h2") & (kept["connections"] == 64)]
    mine = mine[mine["depth"] == 8]
    row = data[(data["protocol"] == "h2") & (data["connections"] == 64) & (data["depth"] == 8)].iloc[0]
    assert row["requests_per_s"] == mine["requests_per_s"].median()
    assert (row["requests_per_s_low"], row["requests_per_s_high"]) == (
        mine["requests_per_s"].min(),
        mine["requests_per_s"].max(),
    )


def test_latencies_that_wrk_cannot_tell_are_the_longest(tmp_path: Path) -> None:
    run = replace(RATE, made_by={"wrk": ("http1",)}, connections=(16,), depths=(1,), aa=False).write(
        tmp_path / "run"
    )
    first, *others = (json.loads(line) for line in (run / "records.jsonl").read_text().splitlines())
    write_lines(run / "records.jsonl", [first | {"latency_p999_ms": None}, *others])
    table = rates(evaluate([load(run)]))
    assert table is not None
    (row,) = table.data.to_dict("records")
    assert row["latency_p999_ms"] == max(record["latency_p999_ms"] for record in others)


def test_both_come_in_three_formats(tmp_path: Path, crowd: tuple[Results, Table]) -> None:
    table = rates(made(tmp_path / "rate", RATE))
    assert table is not None
    for each in (crowd[1], table):
        write(each, tmp_path / "tables")
        assert len(pd.read_csv(tmp_path / "tables" / f"{each.name}.csv")) == len(each.rows)
        assert to_markdown(each).count("\n| ") == len(each.rows) + 2
        assert r"\toprule" in to_latex(each)


@pytest.mark.parametrize(("lost", "aside"), [(1, "(2 of 3)"), (2, "(1 of 3)"), (3, "")])
def test_a_trial_in_which_no_page_loaded_has_the_longest_page_time(
    lost: int, aside: str, tmp_path: Path
) -> None:
    run = replace(CROWD, protocols=("http1",), aa=False).write(tmp_path / "run")
    for path in sorted((run / "trials").rglob("buckets.jsonl"))[:lost]:
        buckets = [json.loads(line) for line in path.read_text().splitlines()]
        gone = {"pages": 0, "failed": 500, "page_ms": None, "page_p95_ms": None}
        write_lines(path, [each | gone if each["users"] < 150 else each for each in buckets])
    results = evaluate([load(run)])
    table = crowds(results)
    assert table is not None
    (row,) = table.data.to_dict("records")
    assert row["trials_loading_at_100"] == 3 - lost
    assert (cell(table, 0, "Page at 100 (s)") == DASH) == (lost == 3)
    assert cell(table, 0, "Page at 100 (s)").endswith(aside)
    assert cell(table, 0, "Page at 200 (s)").partition(" ")[2] == ""
    assert pd.isna(row["page_ms_at_100"]) == (lost > 1)
    assert tells(table.note, "of pages that loaded")
