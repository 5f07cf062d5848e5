"""The head of a report: what was run, when, on what, how far it got, and what a reader should know first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import pandas as pd

from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.labels.conditions import (
    BESIDE_VARIANTS,
    COMPARED,
    GENERATORS,
    NOT_COMPARED,
    POINT,
    cell_text,
    engine_label,
    engines_in_order,
    varying,
)
from analysis.runs.alike import environment_differences, leaves, not_alike_text
from analysis.runs.rundirectory import Run
from analysis.statistics import LEAST_LEVELS, LEAST_PAIRS
from analysis.tables.medians import starts
from harness.errors import StudyError
from harness.input.jsontext import part
from harness.input.shown import clipped, one_line
from harness.model.condition import OF_VARIANTS, value, variant_of
from harness.model.kind import Kind
from harness.study.claim import Claim

LONGEST_WHY = 300  # characters
FORM = ("page", "variant", *OF_VARIANTS)
TIME_OUTS_SHOWN = 8
LONGEST_SHOWN = 100  # characters of a distance


def forms(runs: Sequence[Run]) -> list[str]:
    """`agency: core without inline_css`, `core with shard.hosts=4`, `article: inline is its original (...)`."""
    return list(dict.fromkeys(text for run in runs for text in (*_beside(run), *_originals(run))))


def form_of(row: Mapping[str, Any]) -> str:
    """A variant with what is beside its name: `core without inline_css`."""
    told = [BESIDE_VARIANTS[name](row[name]) for name in OF_VARIANTS if value(row, name) is not None]
    return " ".join([str(row["variant"]), *told])


def variants_of(run: Run) -> list[dict[str, Any]]:
    """Each variant of each page as its records have it."""
    there = run.records.reindex(columns=[*FORM]).drop_duplicates().dropna(subset=["page", "variant"])
    return [{str(name): each for name, each in row.items()} for row in there.to_dict("records")]


def _beside(run: Run) -> Iterator[str]:
    for row in variants_of(run):
        if value(row, "without") is not None:
            yield f"{row['page']}: {form_of(row)}"
        elif value(row, "filter_settings") is not None:
            yield form_of(row)


def unchanged(results: Results) -> dict[tuple[str, str], str]:
    """Why a variant of a page is its original, by page and variant."""
    return {(page, variant): why for run in results.runs for page, variant, _, why in _unchanged(run)}


def _originals(run: Run) -> Iterator[str]:
    for page, form, engine, why in _unchanged(run):
        where = f" in {engine_label(engine)}" if engine else ""
        yield f"{page}: {form} is its original{where} ({why})"


def _unchanged(run: Run) -> Iterator[tuple[str, str, str, str]]:
    """The variants of which the digest is that of the page: page, variant, engine and the reason, where the run tells
    it.
    """
    known = part(run.environment, "archives")
    for row in variants_of(run):
        try:
            variant = variant_of({name: each for name, each in row.items() if value(row, name) is not None})
        except (StudyError, ValueError):  # of another version
            continue
        served = variant.served_name(str(row["page"]))
        for name in known:  # engines that get different archives have one each
            why = part(known, name).get("unchanged")
            place, _, engine = str(name).partition(", ")
            if place == served and isinstance(why, list):
                reasons = clipped(one_line("; ".join(map(str, why)) or "it has no filter"), LONGEST_WHY)
                yield str(row["page"]), form_of(row), engine, reasons


def title(results: Results) -> str:
    return words.distinct((run.title for run in results.runs), " + ")


def facts(results: Results) -> list[tuple[str, str]]:
    """Label and value, in reading order; what is not known is left out."""
    runs, records, tally = results.runs, results.records, results.tally
    attempts = f" in {tally.attempts:,} attempts" if tally.attempts > tally.trials else ""
    pairs = [
        ("Study", words.distinct(run.study for run in runs)),
        ("Design", ", ".join(_design(results))),
        ("Variants", "; ".join(forms(results.runs))),
        ("Distances", "; ".join(distances(results.runs))),
        ("Load", _load(results)),
        ("Trials", f"{tally.trials:,} recorded{attempts}, {tally.counted:,} of them in the estimates"),
        ("Measured", _dates(records)),
        ("Seed", words.distinct(str(run.plan.seed) for run in runs if run.plan)),
        ("Browser" if results.kind is Kind.LOAD else "Generator", _engines(results)),
        ("Server", _servers(results)),
        (
            "Machine",
            words.distinct((machine(environment) for run in runs for environment in run.environments), "; "),
        ),
        ("Machine speed", words.distinct((machine_speed(run.records) for run in runs), "; ")),
    ]
    return [(name, value) for name, value in pairs if value]


def distances(runs: Sequence[Run]) -> list[str]:
    """How far the hosts of the pages were beyond the link, with and without each factor: `recorded: 3 hosts at 0 to
    88.3 ms, median 40.5 ms`. Nothing where all were equally far.
    """
    return list(dict.fromkeys(text for run in runs for text in _distances(run.environment)))


def _distances(environment: Mapping[str, Any]) -> Iterator[str]:
    for factor, told in {"": environment, **part(environment, "factors")}.items():
        replay = part(told, "replay")
        pages = [page for page in part(replay, "distances_ms").values() if isinstance(page, dict)]
        delays = sorted(ms for page in pages for ms in page.values() if words.is_number(ms))
        if delays:
            named = clipped(
                one_line(f"{factor}: " * bool(factor) + str(replay.get("distance"))), LONGEST_SHOWN
            )
            low, middle, high = (f"{round(ms, 1):g}" for ms in (delays[0], median(delays), delays[-1]))
            hosts = f"{words.count(len(delays), 'host')} of {words.count(len(pages), 'archive')}"
            yield f"{named}: {hosts} {low} to {high} ms beyond the link, median {middle} ms"


def _design(results: Results) -> list[str]:
    """How many values of what the conditions are made of."""
    records = results.records
    rates = words.count(records.groupby(["down_mbps", "up_mbps"], dropna=False).ngroups, "rate")
    pages, variants = (words.count(records[name].nunique(), name) for name in ("page", "variant"))
    spoken = words.count(len(results.protocols), "protocol")
    if results.kind is Kind.LOAD:
        return [pages, variants, spoken, rates, words.count(records["rtt_ms"].nunique(), "RTT")]
    codings, servers = (
        words.count(records[name].nunique(dropna=False), name) for name in ("compression", "server")
    )
    design = [pages, variants, spoken, codings, servers, rates]
    needless = {"1 variant", "1 compression", "1 rate"}
    return [text for text in design if text not in needless]


def _load(results: Results) -> str:
    """What the generators put on the server; empty for page loads."""
    records = results.records
    if results.kind is Kind.USERS:
        return "; ".join(f"users {users}" for users in sorted(records["users"].dropna().unique()))
    said = []
    for name in ("connections", "depth") if results.kind is Kind.REQUESTS else ():
        if name in records:
            values = sorted(records[name].dropna().unique())
            said.append(f"{name} {', '.join(words.number(value) for value in values)}")
    return "; ".join(said)


def progress(results: Results) -> str:
    """How far the run got, and what it is worth so far; empty when every planned trial has a record, or the plan is not
    known.
    """
    recorded = results.tally.trials
    planned = results.planned
    if planned is None or recorded >= planned:
        return ""
    return f"The run is not complete: {recorded:,} of {planned:,} trials are recorded. {_worth(results)}"


def _worth(results: Results) -> str:
    """What the trials that count are good for, beside all that are planned: intervals narrow with the root of those."""
    here = int(results.cells["n"].median()) if len(results.cells) else 0  # the second baseline came first
    if here < LEAST_PAIRS:
        return (
            f"Most conditions have {words.count(here, 'trial')} that count{'s' * (here == 1)}, and an interval takes "
            f"{LEAST_PAIRS}: nothing can be said yet."
        )
    plan = results.runs[0].plan if len(results.runs) == 1 and not results.runs[0].looked else None
    wider = (
        f" Intervals are about {math.sqrt(plan.blocks / here):.1f} times as wide as they will be."
        if plan and plan.blocks > here
        else ""
    )
    return f"What stands here holds for these, unless the run was ended because of what it showed.{wider}"


def notes(results: Results) -> list[str]:
    """What a reader should know first: conditions that mostly timed out, and what was odd about reading the runs."""
    return [*timed_out(results), *of_vitals(results), *of_the_runs(results)]


def of_the_runs(results: Results) -> list[str]:
    """What was odd about reading the runs, and what several of them or several engines mean."""
    several = len(results.runs) > 1
    noted: dict[str, list[str]] = {}
    for run in results.runs:
        for note in run.notes:
            noted.setdefault(note, []).append(run.directory.resolve().name)
    said = [f"{', '.join(names)}: {note}" if several else note for note, names in noted.items()]
    if results.records["engine"].nunique() > 1:
        said.append(_several_engines(results))
    if several:
        said.append(_levels(results))
    if results.drawn_again:
        said.append(drawn_again(results))
    apart = not_alike_text(environment_differences(results.runs), results.runs)
    return [*said, apart] if apart else said


def drawn_again(results: Results) -> str:
    """How many trials are no observations of their own, and why; empty where all are."""
    if not results.drawn_again:
        return ""
    return (
        f"{words.count(results.drawn_again, 'trial')} over a link that loses at random lost the very packets of "
        "the same trial of another run, as runs of before 2026-11-30 do: one of each counts."
    )


def of_vitals(results: Results) -> list[str]:
    """In how many loads vitals are of a part of what the page did, or missing."""
    loads = results.sifted.kept.reindex(
        columns=["settled", "observed_ms", "unread_frames", "dropped_entries"]
    )
    unread, dropped = (
        pd.to_numeric(loads[name], errors="coerce") > 0 for name in ("unread_frames", "dropped_entries")
    )
    restless, observed = loads["settled"].eq(False), loads["observed_ms"].notna()
    told = {
        "the page had not come to rest within 10 s after its load: LCP, layout shift, blocked time and Speed Index are "
        "of what was seen until then (`settled`)": restless & observed,
        "the page hung, crashed or went to another address after its load: LCP, layout shift and blocked time are "
        "missing (`settled`)": restless & ~observed,
        "not all frames could be read: LCP and layout shift leave them out, and may be too early or too small "
        "(`unread_frames`)": unread,
        "the browser dropped entries of the page unseen: LCP may be too early, layout shift and blocked time too small "
        "(`dropped_entries`)": dropped,
    }
    counted = {said: int(those.sum()) for said, those in told.items()}
    return [
        f"In {many} of {words.count(len(loads), 'load')} {said}." for said, many in counted.items() if many
    ]


def timed_out(results: Results) -> list[str]:
    """The conditions of which half of the trials timed out, or more: they have no median time."""
    cells = results.cells
    told = varying(cells, [*results.panel_columns, *POINT])
    late = cells[(cells["timed_out"] > 0) & (2 * cells["timed_out"] >= cells["n"])]
    said = [
        f"{cell_text(cell, told)}: {cell['timed_out']} of {words.count(cell['n'], 'trial')} timed out, so it has no "
        "median time; the time-outs are the longest times of the condition."
        for cell in late.to_dict("records")
    ]
    rest = len(said) - TIME_OUTS_SHOWN
    more = (
        [f"{words.count(rest, 'further condition')} timed out in half of the trials or more."]
        if rest > 0
        else []
    )
    return said[:TIME_OUTS_SHOWN] + more


def _several_engines(results: Results) -> str:
    names = [
        engine_label(engine) for engine in engines_in_order(results.records["engine"].dropna().astype(str))
    ]
    if results.kind is Kind.LOAD:
        asked = dict.fromkeys(row.claim.title for row in results.claims if _between_engines(row.claim))
        said = f"{COMPARED}: {words.listed(list(asked))}." if asked else NOT_COMPARED
        return f"{len(names)} engines: {words.listed(names)}. {said}"
    return f"{len(names)} generators: {words.listed(names)}. {GENERATORS}"


def _between_engines(claim: Claim) -> bool:
    return not claim.is_budget and claim.subject.get("engine") != claim.reference.get("engine")


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
    level = "run" if most <= len(results.runs) else "machine or lane of a run"
    few = " Two runs cannot show how much runs differ." if len(results.runs) < LEAST_LEVELS else ""
    return (
        f"{runs} are taken together: in a comparison every {level} counts once, and intervals allow for how much these "
        f"differ.{few} Medians are those of all trials."
    )


def machine_speed(records: pd.DataFrame) -> str:
    """Its median over the blocks, and its range; empty where the records do not tell it."""
    if "machine_speed" not in records or not records["machine_speed"].notna().any():
        return ""
    speeds = records["machine_speed"].dropna()
    low, high = words.number(speeds.min(), 1), words.number(speeds.max(), 1)
    return f"{words.number(speeds.median(), 1)} runs a second of a fixed piece of work ({low} to {high})"


def machine(environment: Mapping[str, Any]) -> str:
    """The machine in one line, from whatever the environment says under `machine`."""
    hardware = environment.get("machine")
    if not isinstance(hardware, dict):
        return str(hardware or "")
    parts = [hardware.get("processor"), hardware.get("system")]
    if words.is_number(hardware.get("cores")):
        parts.insert(1, words.count(int(hardware["cores"]), "core"))
    if words.is_number(hardware.get("memory_kib")):
        parts.insert(-1, f"{hardware['memory_kib'] / 2**20:.0f} GiB")
    if hardware.get("kernel"):
        parts.append(f"kernel {hardware['kernel']}")
    known = ", ".join(str(text) for text in parts if text)
    return known or ", ".join(str(value) for _, value in leaves(hardware))


def _servers(results: Results) -> str:
    """Each server with its version, where that is known."""
    names = sorted(results.records["server"].dropna().astype(str).unique())
    return words.distinct((_programs(results, name) or name for name in names), "; ")


def _programs(results: Results, name: str) -> str:
    programs = (
        part(environment, "programs").get(name) for run in results.runs for environment in run.environments
    )
    return words.distinct(str(program) for program in programs if program)


def _engines(results: Results) -> str:
    """Each engine with its version, where that is known, and of browsers their drivers."""
    if results.kind is not Kind.LOAD:
        names = engines_in_order(results.records["engine"].dropna().astype(str))
        return "; ".join(_programs(results, name) or engine_label(name) for name in names)
    drivers = results.records.dropna(subset=["engine", "driver"]).groupby("engine")["driver"].unique()
    return "; ".join(
        f"{_programs(results, str(name)) or engine_label(str(name))} driven by {words.distinct(sorted(map(str, by)))}"
        for name, by in drivers.items()
    )


def _dates(records: pd.DataFrame) -> str:
    """First and last start, to the minute, in UTC."""
    started = starts(records)
    if started.empty:
        return ""
    first, last = started.min(), started.max()
    same_day = first.date() == last.date()
    until = f"{last:%H:%M}" if same_day else f"{last:%Y-%m-%d %H:%M}"
    return f"{first:%Y-%m-%d %H:%M} to {until} UTC"
