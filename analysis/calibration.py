"""The links of a run as a table: what was configured, and what was measured before the first trial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis import words
from analysis.results import Results
from analysis.table import Shown, Table


def calibration(results: Results) -> Table | None:
    """Every reading of every link: configured against measured."""
    readings = [reading for run in results.runs for reading in run.calibration]
    if not readings:
        return None
    return Table(
        name="calibration",
        title="Links, configured and measured",
        note="Measured through the emulator before the first trial. A dash: not recorded.",
        data=pd.json_normalize([dict(reading) for reading in readings], sep="_"),
        head=(
            "Link",
            *("RTT (ms)", "RTT measured", "99th percentile"),
            *("Down (Mbit/s)", "Down measured", "Up (Mbit/s)", "Up measured"),
            *("Emulator", "Within tolerance"),
        ),
        rows=tuple(_reading(reading) for reading in readings),
        keys=1,
    )


def _reading(reading: Mapping[str, Any]) -> tuple[Shown, ...]:
    rtt, down, up = (_part(reading, key) for key in ("rtt_ms", "down_mbps", "up_mbps"))
    emulator = [str(reading[key]) for key in ("backend", "scheduling") if reading.get(key)]
    return (
        Shown(str(_part(reading, "link").get("name") or words.DASH)),
        Shown(words.plain(rtt.get("configured"))),
        Shown(words.number(rtt.get("measured"), 2)),
        Shown(words.number(rtt.get("p99"), 2)),
        *(
            shown
            for way in (down, up)
            for shown in (
                Shown(words.plain(way.get("configured"))),
                Shown(words.number(way.get("measured"), 3)),
            )
        ),
        Shown(", ".join(emulator) or words.DASH),
        Shown({True: "yes", False: "no"}.get(reading.get("ok", words.DASH), words.DASH)),
    )


def _part(reading: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = reading.get(key)
    return part if isinstance(part, dict) else {}
