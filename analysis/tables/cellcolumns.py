"""The columns of a table that say which condition a row is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.evaluation.results import Results
from analysis.labels import engines, protocols, words
from analysis.tables.table import Shown
from harness.model.kind import Kind

HEADS = {
    "page": "Page",
    "variant": "Variant",
    "compression": "Compression",
    "engine": "Engine",
    "driver": "Driver",
    "server": "Server",
    "device": "Device",
    "users": "Users",
    "connections": "Connections",
    "depth": "Depth",
}
OF_GENERATORS = {"engine": "Generator"}


def place_heads(results: Results) -> tuple[str, ...]:
    names = HEADS if results.kind is Kind.LOAD else HEADS | OF_GENERATORS
    heads = (names.get(column, column.replace("_", " ")) for column in ("page", *results.split_columns))
    return (*heads, "Rate (Mbit/s)", "RTT (ms)")


def cell_heads(results: Results) -> tuple[str, ...]:
    return (*place_heads(results), "Protocol")


def place_of(results: Results, row: Mapping[Any, Any]) -> tuple[Shown, ...]:
    where = (_setting(column, row[column]) for column in ("page", *results.split_columns))
    speed = words.rate(row["down_mbps"], row.get("up_mbps"))
    return (*(Shown(text) for text in where), Shown(speed), Shown(words.plain(row["rtt_ms"])))


def cell_of(results: Results, row: Mapping[Any, Any]) -> tuple[Shown, ...]:
    return (*place_of(results, row), Shown(protocols.label(str(row["protocol"]))))


def ratio_of(row: Mapping[Any, Any]) -> tuple[Shown, Shown, Shown]:
    """Ratio with its interval, n, and the corrected p-value."""
    return (
        Shown(words.number(row["ratio"], 3), words.span(row["low"], row["high"], 3)),
        Shown(words.number(row["n"])),
        Shown(words.probability(row["q"])),
    )


def _setting(column: str, value: Any) -> str:
    if column == "engine":
        return engines.label(str(value))
    return value if isinstance(value, str) else words.plain(value)
