"""The columns of a table that say which condition a row is about, and what it is in units of another one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import compress
from typing import Any

import pandas as pd

from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.labels.conditions import NO_LINK, engine_label, is_linked, protocol_label
from analysis.statistics.compare import Verdict
from analysis.statistics.estimate import is_open
from analysis.statistics.plainly import direction_text, verdict_text
from analysis.tables.table import FoldedColumn, Shown, Table, counts, folded, ratio_with_interval, spread
from harness.model.condition import is_again
from harness.model.kind import Kind

HEADS = {
    "page": "Page",
    "variant": "Variant",
    "compression": "Compression",
    "engine": "Engine",
    "driver": "Driver",
    "server": "Server",
    "device": "Device",
    "cpu_slowdown": "CPU slowdown",
    "cache": "Cache",
    "factor": "Factor",
    "users": "Users",
    "connections": "Connections",
    "depth": "Depth",
}
OF_GENERATORS = {"engine": "Generator"}
# What a folded table says of ratios: how they are spread, and how often which verdict was given.
OF_RATIOS = (
    FoldedColumn("Ratio", "ratio", spread(words.ratio)),
    FoldedColumn("Verdicts", "verdict", counts),
)


def place_heads(results: Results) -> tuple[str, ...]:
    names = HEADS if results.kind is Kind.LOAD else HEADS | OF_GENERATORS
    heads = (names.get(column, column.replace("_", " ")) for column in ("page", *results.split_columns))
    return (*heads, *compress(("Rate (Mbit/s)", "RTT (ms)"), _of_links_told(results)))


def cell_heads(results: Results) -> tuple[str, ...]:
    return (*place_heads(results), "Protocol")


def place_of(results: Results, row: Mapping[Any, Any]) -> tuple[Shown, ...]:
    where = (_setting(column, row[column]) for column in ("page", *results.split_columns))
    linked = is_linked(row)
    speed = words.rate(row["down_mbps"], row.get("up_mbps")) if linked else NO_LINK
    link = (Shown(speed), Shown(words.plain(row["rtt_ms"]) if linked else words.DASH))
    return (*(Shown(text) for text in where), *compress(link, _of_links_told(results)))


def cell_of(results: Results, row: Mapping[Any, Any]) -> tuple[Shown, ...]:
    """A row's place and protocol; of a condition that was measured again the protocol is followed by `(again)`."""
    protocol = protocol_label(str(row["protocol"]))
    return (*place_of(results, row), Shown(f"{protocol} (again)" if is_again(row) else protocol))


def ratio_of(row: Mapping[Any, Any]) -> tuple[Shown, Shown, Shown]:
    """Ratio with its interval, n, and the corrected p-value."""
    ratio = ratio_with_interval(row["ratio"], row["low"], row["high"])
    return ratio, Shown(words.number(row["n"])), Shown(words.probability(row["q"]))


def reading_of_open(ratios: Iterable[float]) -> str:
    """What 0 and infinity among ratios and their bounds mean, for a note; empty where there are none."""
    return f" 0, {words.INFINITE}: open, as loads timed out." if any(map(is_open, ratios)) else ""


def ratio_table(results: Results, found: pd.DataFrame, *, name: str, title: str, note: str) -> Table:
    """A row per comparison, with its verdict: `found` tells the conditions, and the fields of a comparison."""
    heads = cell_heads(results)
    rows = tuple(
        (*cell_of(results, row), *ratio_of(row), Shown(verdict_text(row, results.margin, results.metric)))
        for row in found.to_dict("records")
    )
    head = (*heads, "Ratio", "n", "q", "Verdict")
    note += reading_of_open(found[["ratio", "low", "high"]].to_numpy(dtype=float).flat)
    return folded(
        Table(name, title, note, told(found, results.metric), head, rows, len(heads)), OF_RATIOS, len(heads)
    )


def told(found: pd.DataFrame, metric: str) -> pd.DataFrame:
    """With verdicts as that metric's direction is called."""
    return found.assign(verdict=[direction_text(Verdict(verdict), metric) for verdict in found["verdict"]])


def _of_links_told(results: Results) -> tuple[bool, bool]:
    """Whether rows say their rate and RTT: always of page loads, else where several were measured."""
    if results.kind is Kind.LOAD:
        return True, True
    rates = results.cells.groupby(["down_mbps", "up_mbps"], dropna=False).ngroups
    return rates > 1, results.cells["rtt_ms"].nunique() > 1


def _setting(column: str, value: Any) -> str:
    if column == "engine":
        return engine_label(str(value))
    return value if isinstance(value, str) else words.plain(value)
