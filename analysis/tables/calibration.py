"""The links of a run as a table: what was configured, and what was measured before the first trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.runs.places import place_of_reading
from analysis.tables.table import Shown, Table

# Keys of a reading with the heads of their columns: of one link for all, of a link per client, and where a link is to
# lose packets.
ONE_FOR_ALL = {
    "rtt_ms": ("RTT (ms)", "RTT measured"),
    "down_mbps": ("Down (Mbit/s)", "Down measured"),
    "up_mbps": ("Up (Mbit/s)", "Up measured"),
}
PER_CLIENT = {
    "client_down_mbps": ("Down of a client (Mbit/s)", "Down measured, median client"),
    "client_up_mbps": ("Up of a client (Mbit/s)", "Up measured, median client"),
    "client_delay_down_ms": ("Delay down (ms)", "Delay down measured"),
    "client_delay_up_ms": ("Delay up (ms)", "Delay up measured"),
}
LOSSES = {
    "loss_down_percent": ("Loss down (%)", "Loss down measured"),
    "loss_up_percent": ("Loss up (%)", "Loss up measured"),
}
PLACES = {
    "rtt_ms": 2,
    "client_delay_down_ms": 2,
    "client_delay_up_ms": 2,
    "loss_down_percent": 1,
    "loss_up_percent": 1,
}


def calibration(results: Results) -> Table | None:
    """Every reading of every link: configured against measured."""
    readings = [reading for run in results.runs for reading in run.calibration]
    if not readings:
        return None
    every = ONE_FOR_ALL | PER_CLIENT | LOSSES
    figures = {key: heads for key, heads in every.items() if any(key in reading for reading in readings)}
    percentile = "rtt_ms" in figures
    where = [place_of_reading(reading) for reading in readings]
    heads = ["Machine" if any("machine" in reading for reading in readings) else "Lane"] if any(where) else []
    return Table(
        name="calibration",
        title="Links, configured and measured",
        note="Measured through the emulator before the first trial. A dash: not recorded.",
        data=pd.json_normalize([dict(reading) for reading in readings], sep="_"),
        head=(
            *heads,
            "Link",
            *(head for heads in figures.values() for head in heads),
            *(["RTT, 99th percentile"] if percentile else []),
            *("Emulator", "Within tolerance"),
        ),
        rows=tuple(
            (
                *([Shown(place or words.DASH)] if heads else []),
                *_reading(reading, tuple(figures), percentile=percentile),
            )
            for reading, place in zip(readings, where, strict=True)
        ),
        keys=1 + len(heads),
    )


def _reading(reading: Mapping[str, Any], figures: Sequence[str], *, percentile: bool) -> tuple[Shown, ...]:
    parts = [(_part(reading, key), PLACES.get(key, 3)) for key in figures]
    emulator = [str(reading[key]) for key in ("backend", "scheduling") if reading.get(key)]
    return (
        Shown(str(_part(reading, "link").get("name") or words.DASH)),
        *(
            shown
            for part, places in parts
            for shown in (
                Shown(words.plain(part.get("configured"))),
                Shown(words.number(part.get("measured"), places)),
            )
        ),
        *([Shown(words.number(_part(reading, "rtt_ms").get("p99"), 2))] if percentile else []),
        Shown(", ".join(emulator) or words.DASH),
        Shown("yes" if reading.get("ok") is True else "no" if reading.get("ok") is False else words.DASH),
    )


def _part(reading: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = reading.get(key)
    return part if isinstance(part, dict) else {}
