"""The machines or lanes of a run, with what they did; and its links, with what was configured and measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.runs.rundirectory import EXECUTOR, executor_of_reading, executors, tells_executors
from analysis.tables.table import Shown, Table
from harness.input.jsontext import part

SPEED = "machine_speed"
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
DISTANCE = "distance_"  # how the figures of a reading begin that are round trips at a distance
PLACES = {
    "rtt_ms": 2,
    "client_delay_down_ms": 2,
    "client_delay_up_ms": 2,
    "loss_down_percent": 1,
    "loss_up_percent": 1,
}


def machines(results: Results) -> Table | None:
    """A row per run and executor; None where no record names its machine or its lane."""
    if not tells_executors(results.records):
        return None
    records = results.records.assign(where=executors(results.records))
    named = records[records["where"] != ""]
    what = "machine" if "machine" in named and named["machine"].notna().any() else "lane"
    kept = results.sifted.kept.index
    by = [*(name for name in EXECUTOR if name in named), "where"]
    data = pd.DataFrame(
        {"run": run, what: made["where"].iloc[0], **_done(made, kept)}
        for run, of_run in named.groupby("run", sort=False)
        for _, made in of_run.groupby(by, dropna=False)
    )
    speeds = [("Speed", SPEED)] if data[SPEED].notna().any() else []
    latest = _latest_readings(results)
    data["links"] = [_links(latest.get(key, {})) for key in zip(data["run"], data[what], strict=True)]
    return Table(
        name=f"{what}s",
        title=f"{what.capitalize()}s",
        note=f"A {what} is a level like a run of its own: nothing is compared across {what}s. Blocks that were begun "
        f"again were left behind by another {what}.",
        data=data,
        head=(
            "Run",
            what.capitalize(),
            *(head for head, _ in speeds),
            "Links",
            "Blocks",
            "Begun again",
            "Attempts",
            "Left out",
            "Most often because",
        ),
        rows=tuple(
            (
                Shown(row["run"]),
                Shown(row[what]),
                *(Shown(words.number(row[key], 2)) for _, key in speeds),
                Shown(row["links"] or words.DASH),
                *(Shown(words.number(row[key])) for key in ("blocks", "restarts", "attempts", "left_out")),
                Shown(row["reason"] or words.DASH),
            )
            for row in data.to_dict("records")
        ),
        keys=2,
    )


def _latest_readings(results: Results) -> Mapping[tuple[str, str], Mapping[str, bool]]:
    """Whether each link was right when it was measured last, by run and executor and by its name."""
    links: defaultdict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
    for name, run in results.by_name.items():
        for reading in run.calibration:
            link, executor = reading.get("link"), executor_of_reading(reading)
            if executor is not None and isinstance(link, dict):
                links[name, executor][str(link.get("name"))] = reading.get("ok") is True
    return links


def _links(right: Mapping[str, bool]) -> str:
    """`3 within tolerance`, or the names of those that were off; nothing where no link was measured."""
    off = [name for name, ok in right.items() if not ok]
    return f"off: {', '.join(off)}" if off else f"{len(right)} within tolerance" if right else ""


def _done(made: pd.DataFrame, kept: pd.Index[int]) -> dict[str, object]:
    restart = made["restart"].fillna(0) if "restart" in made else pd.Series(0, index=made.index)
    reasons = made["left_out"].dropna().value_counts()
    return {
        SPEED: pd.to_numeric(made[SPEED], errors="coerce").median() if SPEED in made else float("nan"),
        "blocks": len(set(zip(made["block"], restart, strict=True))),
        "restarts": made.loc[restart > 0, "block"].nunique(),
        "attempts": len(made),
        "left_out": len(made) - int(made.index.isin(kept).sum()),
        "reason": f"{reasons.index[0]} {reasons.iloc[0]}" if len(reasons) else "",
    }


def calibration(results: Results) -> Table | None:
    """Every reading of every link: configured against measured."""
    readings = [reading for run in results.runs for reading in run.calibration]
    if not readings:
        return None
    every = ONE_FOR_ALL | PER_CLIENT | LOSSES
    figures = {key: heads for key, heads in every.items() if any(key in reading for reading in readings)}
    percentile = "rtt_ms" in figures
    distant = any(map(distance_errors, readings))
    where = [executor_of_reading(reading) for reading in readings]
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
            *(["Distances", "RTT there, off at most (ms)"] if distant else []),
            *("Emulator", "Within tolerance"),
        ),
        rows=tuple(
            (
                *([Shown(executor or words.DASH)] if heads else []),
                *_reading(reading, tuple(figures), percentile=percentile, distant=distant),
            )
            for reading, executor in zip(readings, where, strict=True)
        ),
        keys=1 + len(heads),
    )


def distance_errors(reading: Mapping[str, Any]) -> list[float]:
    """How far the round trip at each distance behind a link was off, in ms; none of a link without."""
    parts = (part(reading, key) for key in reading if key.startswith(DISTANCE))
    pairs = [(round_trip.get("configured"), round_trip.get("measured")) for round_trip in parts]
    return [
        abs(measured - told)
        for told, measured in pairs
        if words.is_number(told) and words.is_number(measured)
    ]


def _reading(
    reading: Mapping[str, Any], figures: Sequence[str], *, percentile: bool, distant: bool
) -> tuple[Shown, ...]:
    beyond = distance_errors(reading) if distant else []
    parts = [(part(reading, key), PLACES.get(key, 3)) for key in figures]
    emulator = [str(reading[key]) for key in ("backend", "scheduling") if reading.get(key)]
    return (
        Shown(str(part(reading, "link").get("name") or words.DASH)),
        *(
            shown
            for each, digits in parts
            for shown in (
                Shown(words.plain(each.get("configured"))),
                Shown(words.number(each.get("measured"), digits)),
            )
        ),
        *([Shown(words.number(part(reading, "rtt_ms").get("p99"), 2))] if percentile else []),
        *(
            [Shown(str(len(beyond) or words.DASH)), Shown(words.number(max(beyond, default=None), 2))]
            if distant
            else []
        ),
        Shown(", ".join(emulator) or words.DASH),
        Shown("yes" if reading.get("ok") is True else "no" if reading.get("ok") is False else words.DASH),
    )
