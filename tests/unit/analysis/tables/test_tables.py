"""Tables as they are read, and the sentences made from them."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.evaluation.results import Results, evaluate
from analysis.labels.conditions import panel_columns
from analysis.labels.markup import escape_latex
from analysis.runs.rundirectory import load
from analysis.statistics.compare import WIDER
from analysis.tables import tables
from analysis.tables.claimtables import equal_baselines
from analysis.tables.machinetables import calibration
from analysis.tables.table import Shown, Table, tabular, to_csv, to_latex, to_markdown
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic, write_lines


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    made = Synthetic(pages=("dummy-2012",), rtts_ms=(20.0, 200.0), trials=6)
    return evaluate([load(made.write(tmp_path_factory.mktemp("run")))])


TABLE = Table(
    name="demo",
    title="A | table & more",
    note="50 % of it",
    data=pd.DataFrame({"page": ["a_b", "a_b"], "ms": [1234.5678, 2.0]}),
    head=("Page", "RTT", "Median"),
    rows=(
        (Shown("a_b"), Shown("20"), Shown("1,235", "[1,200\N{EN DASH}1,260]")),
        (Shown("a_b"), Shown("50"), Shown("\N{MINUS SIGN}2")),
    ),
    keys=2,
)


def test_csv_keeps_full_precision() -> None:
    assert to_csv(TABLE) == "page,ms\na_b,1234.5678\na_b,2.0\n"


def test_markdown() -> None:
    assert to_markdown(TABLE).splitlines()[4:] == [
        "| Page | RTT | Median |",
        "| --- | ---: | ---: |",
        "| a_b | 20 | 1,235 [1,200\N{EN DASH}1,260] |",
        "| a_b | 50 | \N{MINUS SIGN}2 |",
    ]


def test_latex_is_booktabs_with_everything_escaped() -> None:
    latex = to_latex(TABLE)
    for part in (
        r"\caption{A \textbar{} table \& more. 50 \% of it.}",
        r"\begin{tabular}{lrr@{~}l}",
        r"Page & RTT & \multicolumn{2}{r}{Median} \\",
        r"a\_b & 20 & 1,235 & [1,200--1,260] \\",
        r" & 50 & $-$2 &  \\",
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
    ):
        assert part in latex.splitlines() or part in latex
    assert escape_latex("\\~^<>{}#$") == (
        r"\textbackslash{}\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}\{\}\#\$"
    )


@pytest.mark.parametrize("wrapped", ["", "4cm"])
def test_a_row_of_latex_has_as_many_cells_as_columns_also_with_words_beside_words(wrapped: str) -> None:
    verdict = (Shown("reproduced", "direction open"), Shown("not comparable"))
    rows = tuple((*row, each) for row, each in zip(TABLE.rows, verdict, strict=True))
    lines = tabular(replace(TABLE, head=(*TABLE.head, "Verdict"), rows=rows), wrapped=wrapped).splitlines()
    assert lines[0] == r"\begin{tabular}{lrr@{~}ll}"
    assert r"1,235 & [1,200--1,260] & reproduced direction open \\" in lines[4]
    assert [line.count(" & ") for line in lines if line.endswith(r"\\")] == [3, 4, 4]


@pytest.mark.thorough
def test_protocols_stand_side_by_side_as_long_as_they_fit(results: Results, tmp_path: Path) -> None:
    few = tables.median_times(results)
    assert few.head[:2] == ("Page", "Rate (Mbit/s)")
    assert len(few.rows) == 4
    many = Synthetic(
        pages=("a",),
        protocols=("http1-close", "http1", "https1", "spdy", "h2", "h3"),
        rates_mbps=(1.0,),
        rtts_ms=(9.0,),
        trials=1,
    )
    long = tables.median_times(evaluate([load(many.write(tmp_path / "run"))]))
    assert long.head[-2:] == ("Median (ms)", "n")
    assert len(long.rows) == 6


def test_numbers_are_told_with_separators_and_intervals(results: Results) -> None:
    cell = tables.median_times(results).rows[0][-1]
    exact = results.cells.query("protocol == 'h2' and rtt_ms == 20 and down_mbps == 1").iloc[0]
    assert cell == Shown(f"{exact['median']:,.0f}", f"[{exact['low']:,.0f}\N{EN DASH}{exact['high']:,.0f}]")


def test_what_was_never_observed_has_no_column(results: Results) -> None:
    times = tables.other_times(results)
    assert times is not None
    assert "Speed index (ms)" not in times.head
    assert "First paint (ms)" in times.head


def test_what_a_time_out_had_done_until_then_is_in_no_table(tmp_path: Path) -> None:
    made = Synthetic(pages=("dummy-2012",), protocols=("h2",), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=3)
    run = replace(made, aa=False, outcomes=dict.fromkeys(["00001", "00002"], "page-timeout")).write(
        tmp_path / "run"
    )
    told = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    for record in told[:2]:
        record |= {"requests": 3, "bytes_down": 4000, "server_requests": 3}
        record["link_reading"]["down"]["drops_queue"] = 900
    write_lines(run / "records.jsonl", told)
    found = evaluate([load(run)])
    traffic, times = tables.traffic(found), tables.other_times(found)
    assert traffic is not None
    assert times is not None
    shown = dict(zip(traffic.head, map(str, traffic.rows[0]), strict=True))
    assert (shown["Requests"], shown["Lost in queue"]) == ("24", "2")
    assert tells(traffic.note, "loads that ended", "2 timed out")
    assert str(times.rows[0][times.head.index("navigate() (ms)")]) == "\N{INFINITY}"


def test_comparisons_are_against_http1(results: Results) -> None:
    found = tables.against_baseline(results)
    assert found is not None
    assert set(found.data["reference"]) == {"http1"}
    assert len(found.rows) == 3 * 4
    back = pd.read_csv(io.StringIO(to_csv(found)))
    assert {"ratio", "low", "high", "p", "q", "p_size", "q_size", "verdict", "small", "trials", "n"} <= set(
        back
    )


def test_a_reading_with_missing_keys_shows_dashes(tmp_path: Path) -> None:
    run = Synthetic(rtts_ms=(20.0,), trials=1).write(tmp_path / "run")
    write_lines(run / "calibration.jsonl", [{"link": {"name": "x"}, "rtt_ms": {"configured": 20}}, {}])
    found = calibration(evaluate([load(run)]))
    assert found is not None
    assert [str(cell) for cell in found.rows[0]] == ["x", "20", *["\N{EN DASH}"] * 4]
    assert [str(cell) for cell in found.rows[1]] == ["\N{EN DASH}"] * 6


def test_links_of_clients_have_columns_of_their_own(tmp_path: Path) -> None:
    run = Synthetic(rtts_ms=(20.0,), trials=1).write(tmp_path / "run")
    each = {"configured": 5.0, "measured": 5.0021, "n": 50}
    write_lines(run / "calibration.jsonl", [{"link": {"name": "x"}, "client_up_mbps": each, "ok": True}])
    found = calibration(evaluate([load(run)]))
    assert found is not None
    assert found.head == (
        "Link",
        "Up of a client (Mbit/s)",
        "Up measured, median client",
        "Emulator",
        "Within tolerance",
    )
    assert [str(cell) for cell in found.rows[0]] == ["x", "5", "5.002", "\N{EN DASH}", "yes"]


def test_loss_has_columns_where_a_link_loses_packets(tmp_path: Path) -> None:
    run = Synthetic(rtts_ms=(20.0,), trials=1).write(tmp_path / "run")
    lossy = {"link": {"name": "x"}, "loss_up_percent": {"configured": 2.0, "measured": 2.3333}}
    write_lines(run / "calibration.jsonl", [{"link": {"name": "y"}}, lossy])
    found = calibration(evaluate([load(run)]))
    assert found is not None
    column = found.head.index("Loss up (%)")
    assert [str(cell) for cell in found.rows[1][column : column + 2]] == ["2", "2.3"]
    assert "Loss down (%)" not in found.head


def test_a_queue_splits_panels_only_where_points_would_collide() -> None:
    base = {"page": "a", "protocol": "h2", "down_mbps": 10.0, "engine": "chromium"}
    columns = [*base, "rtt_ms", "link", "queue_down_bytes"]
    apart = pd.DataFrame([base | {"rtt_ms": t, "link": f"l{t}", "queue_down_bytes": 100 * t} for t in (1, 2)])
    assert panel_columns(apart, columns) == ("page", "down_mbps", "engine")
    same = pd.DataFrame([base | {"rtt_ms": 1, "link": f"l{q}", "queue_down_bytes": q} for q in (10, 20)])
    assert panel_columns(same, columns) == ("page", "down_mbps", "engine", "queue_down_bytes")


def test_tables_of_sizes_that_were_chosen_say_that_some_intervals_are_wider(tmp_path: Path) -> None:
    made = Synthetic(
        pages=("dummy-2012", "news-mobile"),
        variants=("plain", "core"),
        compressions=("none", "gzip-6"),
        protocols=("http1", "h2"),
        rates_mbps=(10.0,),
        rtts_ms=(20.0, 200.0),
        trials=6,
        noise=0.05,
        aa=True,
    )
    found = evaluate([load(made.write(tmp_path / "run"))])
    made_of = (tables.against_baseline, tables.variant_effects, tables.compression_effects, equal_baselines)
    chosen = [table for function in made_of if (table := function(found)) is not None]
    assert len(chosen) == len(made_of)
    assert all(tells([f"{table.title} {table.note}"], "95 % interval", WIDER) for table in chosen)
    assert {level for table in chosen for level in table.data["confidence"]} > {0.95}
    assert WIDER not in tables.median_times(found).title
