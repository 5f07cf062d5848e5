"""The head of a report: what was run, when, on what, how far it got, and what a reader should know first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from analysis.evaluation.results import Results
from analysis.evaluation.variantforms import forms
from analysis.labels import engines, words
from analysis.report.kindtexts import TEXTS
from analysis.runs.alike import environment_differences, leaves
from analysis.statistics.contrast import LEAST_LEVELS
from harness.input.shown import shortened
from harness.model.kind import Kind

DIFFERENCES_SHOWN = 6
LONGEST_SHOWN = 100  # characters of a difference


def title(results: Results) -> str:
    return _each((run.title for run in results.runs), " + ")


def facts(results: Results) -> list[tuple[str, str]]:
    """Label and value, in reading order; what is not known is left out."""
    runs, records = results.runs, results.records
    found = [
        ("Study", _each(run.study for run in runs)),
        ("Design", ", ".join(_design(results))),
        ("Variants", "; ".join(forms(results.runs))),
        ("Load", _load(results)),
        ("Trials", f"{len(records):,} recorded, {len(results.sifted.kept):,} of them in the estimates"),
        ("Measured", _dates(records)),
        ("Seed", _each(str(run.plan.seed) for run in runs if run.plan.seed is not None)),
        ("Browser" if results.kind is Kind.LOAD else "Generator", _engines(results)),
        ("Server", _servers(results)),
        ("Machine", _each((machine(run.environment) for run in runs), "; ")),
        ("Machine speed", _each((machine_speed(run.records) for run in runs), "; ")),
    ]
    return [(name, value) for name, value in found if value]


def _design(results: Results) -> list[str]:
    """How many values of what the conditions are made of."""
    records = results.records
    rates = words.count(records.groupby(["down_mbps", "up_mbps"], dropna=False).ngroups, "rate")
    design = [
        words.count(records["page"].nunique(), "page"),
        words.count(records["variant"].nunique(), "variant"),
        words.count(len(results.protocols), "protocol"),
    ]
    if results.kind is Kind.LOAD:
        return [*design, rates, words.count(records["rtt_ms"].nunique(), "RTT")]
    codings, servers = (records[name].nunique(dropna=False) for name in ("compression", "server"))
    return [
        *(
            each
            for each, several in zip(design, (True, records["variant"].nunique() > 1, True), strict=True)
            if several
        ),
        *([words.count(codings, "compression")] if codings > 1 else []),
        words.count(servers, "server"),
        *([rates] if rates != "1 rate" else []),
    ]


def _load(results: Results) -> str:
    """What the generators put on the server; empty for page loads."""
    records = results.records
    if results.kind is Kind.USERS:
        return "; ".join(f"users {each}" for each in sorted(records["users"].dropna().unique()))
    said = []
    for name in ("connections", "depth") if results.kind is Kind.REQUESTS else ():
        if name in records:
            values = sorted(records[name].dropna().unique())
            said.append(f"{name} {', '.join(words.number(value) for value in values)}")
    return "; ".join(said)


def progress(results: Results) -> str:
    """How far the run got; empty when every planned trial has a record, or the plan is not known."""
    recorded = results.records.groupby(["run", "trial"]).ngroups
    planned = results.planned
    if planned is None or recorded >= planned:
        return ""
    return f"{recorded:,} of {planned:,} trials are recorded. The run is not complete: estimates may change."


def notes(results: Results) -> list[str]:
    """What was odd about reading the runs."""
    several = len(results.runs) > 1
    said = [
        f"{run.directory.resolve().name}: {note}" if several else note
        for run in results.runs
        for note in run.notes
    ]
    if results.records["engine"].nunique() > 1:
        said.append(_several_engines(results))
    if several:
        said.append(_levels(results))
    differences = [_difference(key, values) for key, values in environment_differences(results.runs).items()]
    if differences:
        shown = shortened(differences, DIFFERENCES_SHOWN, separator="; ", noun="setting")
        said.append(f"The runs were not made alike: {shown}.")
    return said


def _several_engines(results: Results) -> str:
    if results.kind is Kind.LOAD:
        return f"Two engines: QtWebKit (SPDY/3, pipelining) and Chromium. {engines.NOT_COMPARED}"
    names = [engines.label(each) for each in engines.ordered(results.records["engine"].dropna().astype(str))]
    return f"{len(names)} generators: {words.listed(names)}. {TEXTS[results.kind].one_engine_alone}"


def _levels(results: Results) -> str:
    """What several runs mean for the intervals."""
    runs = words.count(len(results.runs), "run")
    most = max((len(row.by_run) for row in results.claims), default=0)
    if most < 2:
        return f"{runs} stand side by side: blocks are paired within their run, no claim is measured in two of them."
    if most < LEAST_LEVELS:
        return (
            f"{runs} are taken together; blocks are paired within their run only. Two runs cannot show how much runs "
            "differ: intervals are of these runs alone. A third run would show it."
        )
    return (
        f"{runs} are taken together: in a comparison every run counts once, and intervals allow for how much the runs "
        "differ. Medians are those of all trials."
    )


def _difference(key: str, values: Iterable[str]) -> str:
    text = f"{key} is {_each(values, ' or ')}"
    return text if len(text) <= LONGEST_SHOWN else f"{key} differs"


def machine_speed(records: pd.DataFrame) -> str:
    """Its median over the blocks, and its range; empty where the records do not tell it."""
    if "machine_speed" not in records or not records["machine_speed"].notna().any():
        return ""
    speeds = records["machine_speed"].dropna()
    low, high = words.number(speeds.min(), 1), words.number(speeds.max(), 1)
    return f"{words.number(speeds.median(), 1)} runs a second of a fixed piece of work ({low} to {high})"


def machine(environment: Mapping[str, Any]) -> str:
    """The machine in one line, from whatever the environment says under `machine`."""
    found = environment.get("machine")
    if not isinstance(found, dict):
        return str(found or "")
    parts = [found.get("processor"), found.get("system")]
    if words.is_number(found.get("cores")):
        parts.insert(1, words.count(int(found["cores"]), "core"))
    if words.is_number(found.get("memory_kib")):
        parts.insert(-1, f"{found['memory_kib'] / 2**20:.0f} GiB")
    if found.get("kernel"):
        parts.append(f"kernel {found['kernel']}")
    known = ", ".join(str(part) for part in parts if part)
    return known or ", ".join(str(value) for _, value in leaves(found))


def _servers(results: Results) -> str:
    """Each server with its version, where that is known."""
    names = sorted(results.records["server"].dropna().astype(str).unique())
    return _each((_programs(results, name) or name for name in names), "; ")


def _programs(results: Results, name: str) -> str:
    programs = (run.environment.get("programs") for run in results.runs)
    return _each(str(found[name]) for found in programs if isinstance(found, dict) and found.get(name))


def _engines(results: Results) -> str:
    """Each engine with its version, where that is known, and of browsers their drivers."""
    if results.kind is not Kind.LOAD:
        names = engines.ordered(results.records["engine"].dropna().astype(str))
        return "; ".join(_programs(results, name) or engines.label(name) for name in names)
    drivers = results.records.dropna(subset=["engine", "driver"]).groupby("engine")["driver"].unique()
    return "; ".join(
        f"{_programs(results, str(name)) or engines.label(str(name))} driven by {_each(sorted(map(str, by)))}"
        for name, by in drivers.items()
    )


def _dates(records: pd.DataFrame) -> str:
    """First and last start, to the minute, in UTC."""
    if "started_utc" not in records:
        return ""
    started = pd.to_datetime(records["started_utc"], errors="coerce", utc=True, format="ISO8601").dropna()
    if started.empty:
        return ""
    first, last = started.min(), started.max()
    same_day = first.date() == last.date()
    until = f"{last:%H:%M}" if same_day else f"{last:%Y-%m-%d %H:%M}"
    return f"{first:%Y-%m-%d %H:%M} to {until} UTC"


def _each(values: Iterable[str], between: str = ", ") -> str:
    return between.join(dict.fromkeys(value for value in values if value))
