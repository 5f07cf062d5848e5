"""The page docs/results/headline.md, made of data/headline.json: every word and number of it. Pure."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from analysis.statistics import CONFIDENCE, LEAST_PAIRS
from analysis.statistics.contrast import contrast
from benchmarks.headline.row import Row

DATA, FIGURES = "data/headline.json", "../results.md#how-to-read-the-figures"
COMMAND = "python -m benchmarks.headline"
HEAD = f"""# Beside other tools

One of the pages behind [results.md](../results.md), which says [how to read the figures]({FIGURES}).

What coldload does beside another tool that does the same, measured by turns on one machine. `make headline` measures
all of it and writes this page from DATA, where every turn is;
`{COMMAND} --only ROW` measures one row anew. Figures are medians of the turns.
`there / here` is the other tool's figure in units of ours, with its 95 % interval, taken inside the turns by
[the statistic of reports](../methodology.md#estimates). Where the two are not of one time, it is the ratio of the
medians, without an interval. Turns are of one sitting: how much sittings differ, no interval tells. What earlier ones
gave stands below each table.
"""
COLUMNS = ("what", "other tool", "here", "there", "there / here", "n")
VERSION = re.compile(r"\d+(?:\.\d+)+(?:-\w+)?")
Told = Mapping[str, Any]


def page(data: Told, rows: Mapping[str, Row]) -> str:
    """The whole page."""
    told: Mapping[str, Told] = data.get("rows", {})
    front = [
        cells(figure) for name in rows for figure in told.get(name, {}).get("figures", ()) if figure["front"]
    ]
    file = f"[{DATA}]({DATA})" if told else f"`{DATA}`"  # nothing leads to it before it is there
    blocks = [HEAD.replace("DATA", file), session(told, rows)]
    if front:
        blocks.append(table(front))
    blocks += [section(name, row, told.get(name)) for name, row in rows.items()]
    return "\n".join(blocks)


def session(told: Mapping[str, Told], rows: Mapping[str, Row]) -> str:
    """Whether all rows are of one day, machine and version."""
    measured = [told[name] for name in rows if "figures" in told.get(name, {})]
    if not measured:
        return "Nothing of it was measured yet.\n"
    kinds = {(row["date"], row["machine"]["processor"], version_of(row)) for row in measured}
    count = f"{len(measured)} of {len(rows)} rows"  # each has lines of its own for what could not be measured
    if len(kinds) > 1:
        return f"{count} were run, not all on one day, machine and version: each says its own below.\n"
    date, processor, version = kinds.pop()
    return f"{count} were run, on {date}, {processor}, {version}.\n"


def section(name: str, row: Row, told: Told | None) -> str:
    return "\n".join([f"## {row.title}", row.how, "", *found(name, told)])


def found(name: str, told: Told | None) -> Iterator[str]:
    """What a row gave, or that it gave nothing."""
    command = f"`{COMMAND} --only {name}`"
    if told is None:
        yield f"Not measured yet ({command}).\n"
        return
    if "figures" not in told:
        yield f"Not measured ({told['date']}): {told['not_measured']} ({command}).\n"
        return
    machine, load = told["machine"], told["load_average"]
    versions = "".join(f", {version}" for version in spoken(told["versions"]))
    yield (
        f"{command}, {told['date']}, {version_of(told)}{versions}; {machine['cores']} cores of "
        f"{machine['processor']}, Linux {machine['kernel']}, {machine['system']}; load average {load['before'][0]:.1f} "
        f"before and {load['after'][0]:.1f} after; {told['minutes']:.0f} minutes."
    )
    yield ""
    yield table([cells(figure) for figure in told["figures"]])
    yield from earlier(told)
    missing = dict.fromkeys(figure["why"] for figure in told["figures"] if figure["why"])
    yield from (f"- Not measured beside it: {why}." for why in missing)
    yield from (f"- Left out: {omission}." for omission in told["left_out"] or ["nothing"])
    yield ""


def version_of(told: Told) -> str:
    commit = told.get("commit")
    return f"coldload {told['coldload']}" + (f" of commit {commit}" if commit else "")


def earlier(told: Told) -> Iterator[str]:
    """What earlier sittings gave of the same figures."""
    names = [(figure["what"], figure["peer"]) for figure in told["figures"]]
    lines = [
        (f"{sitting['date']} {sitting['began_utc']}", *cells(figure))
        for name in names
        for sitting in told.get("earlier", ())
        for figure in sitting["figures"]
        if (figure["what"], figure["peer"]) == name
    ]
    if lines:
        yield "Earlier sittings:\n"
        yield table(lines, ("began (UTC)", *COLUMNS))


def spoken(versions: Mapping[str, str]) -> Iterator[str]:
    """`chromium 156.0.8078.108`: name and number, of whatever a program says of itself."""
    for name, said in versions.items():
        number = VERSION.search(said)
        yield f"{name} {number[0] if number else said}"


def cells(figure: Told) -> tuple[str, ...]:
    """A line of a table."""
    pairs = figure["pairs"]
    here = figure["here"] or [one for one, _ in pairs]
    there = [two for _, two in pairs]
    return (
        figure["what"],
        figure["peer"],
        amount(here, figure["unit"]),
        amount(there, figure["unit"]) if there else "not measured",
        ratio(pairs, in_turns=figure["in_turns"]),
        str(len(here)),
    )


def amount(values: Sequence[float], unit: str) -> str:
    return f"{number(statistics.median(values))} {unit}" if values else "not measured"


def number(value: float) -> str:
    """In three digits, or all those before the point."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def ratio(pairs: Sequence[tuple[float, float]], *, in_turns: bool) -> str:
    """The second in units of the first, with an interval where turns give one."""
    if not pairs:
        return ""
    if in_turns and len(pairs) >= LEAST_PAIRS and all(one > 0 and two > 0 for one, two in pairs):
        seen = contrast(np.array([math.log(two / one) for one, two in pairs]))
        low, high = (math.exp(end) for end in seen.interval(CONFIDENCE))
        return f"{number(math.exp(seen.centre))} ({number(low)} to {number(high)})"
    here, there = (statistics.median(side) for side in zip(*pairs, strict=True))
    return number(there / here) if here > 0 else "not known"


def table(lines: Sequence[Sequence[str]], columns: Sequence[str] = COLUMNS) -> str:
    ruled = (columns, [*["---"] * (len(columns) - 4), *["---:"] * 4], *lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in ruled)
