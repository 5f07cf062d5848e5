"""The table of request rates: what a server answers a second, how long an answer takes, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.tables.cellcolumns import cell_heads, cell_of
from analysis.tables.crowdtables import limits_text
from analysis.tables.table import Shown, Table

LATENCIES = {
    "latency_p50_ms": "Latency 50 % (ms)",
    "latency_p90_ms": "90 %",
    "latency_p99_ms": "99 %",
    "latency_p999_ms": "99.9 %",
}
CPU = "server_cpu_us_per_request"
FEW_MS = 10.0  # below, a latency needs two decimals


def rates(results: Results) -> Table | None:
    """A row per condition that has a trial that counts."""
    kept = results.sifted.kept
    if kept.empty:
        return None
    medians = kept.groupby("cell")[[*LATENCIES, CPU, "error_count"]].median()
    limits = kept.groupby("cell")["limited_by"].agg(limits_text) if "limited_by" in kept else None
    cells = results.cells[results.cells["n"] > 0].join(medians, on="cell")
    cells["limited_by"] = "" if limits is None else cells["cell"].map(limits).fillna("")
    heads = cell_heads(results)
    least, most = results.trials
    n = f"n = {least}" if least == most else f"n = {least} to {most}"
    brackets = "Brackets: 95 % interval" + ("; below five trials the range." if results.few else ".")
    figures = {"median": "requests_per_s", "low": "requests_per_s_low", "high": "requests_per_s_high"}
    told = [*results.condition_columns, *figures, "n", *LATENCIES, CPU, "error_count", "limited_by"]
    return Table(
        name="rates",
        title="Requests a second",
        note=f"Medians, {n} trials per condition. {brackets} Latency: so many per cent of the answers took no longer; "
        "a dash where the generator tells none (wrk tells none of pipelined requests). Errors: of one trial.",
        data=cells[told].rename(columns=figures),
        head=(*heads, "Requests/s", *LATENCIES.values(), "Server's CPU a request (µs)", "Errors", "Limit"),
        rows=tuple((*cell_of(results, row), *_shown(row)) for row in cells.to_dict("records")),
        keys=len(heads),
    )


def _shown(row: Mapping[Any, Any]) -> tuple[Shown, ...]:
    digits = words.decimals(row["median"])
    return (
        Shown(words.number(row["median"], digits), words.span(row["low"], row["high"], digits)),
        *(Shown(words.number(row[name], 2 if row[name] < FEW_MS else 1)) for name in LATENCIES),
        Shown(words.number(row[CPU], words.decimals(row[CPU]))),
        Shown(words.number(row["error_count"])),
        Shown(row["limited_by"] or words.DASH),
    )
