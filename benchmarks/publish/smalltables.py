"""The tables of a report as a document quotes them: the columns that it needs, in short texts.

Every cell is text as a reader meets it, so that a number in the document and the cell it names are the same characters.
The first column, `row`, names the row.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.claims.claimresult import ClaimVerdict
from analysis.claims.doubleratios import FACTOR
from analysis.claims.stopping import of_logs
from analysis.evaluation.results import Results
from analysis.labels.words import slug

ROW = "row"
IN_SHORT = "claims-in-short"
RUNS_DIFFER = "runs-differ"
CROWDS = "crowds"
FIGURE = "figure-"  # what the tables of a study's own figures begin with
FACTORS = "factors"
BY_RUN = "published-by-run"
OF_FACTORS = ("ratio", "interval", "usual_ratio", "usual_interval", "change_ratio", "change_interval", "n")
# The columns of a table that a document can quote, by the table's name.
KEPT: Mapping[str, tuple[str, ...]] = {
    "published": (
        *("claim", "text", "stands", "where", "metric", "published", "here", "low", "high", "interval"),
        *("n", "verdict", "reason", "differs"),
    ),
    "published-by-page": ("claim", "where", "page", "n", "here", "low", "high", "interval"),
    BY_RUN: ("claim", "where", "run", "n", "here", "low", "high", "interval", "verdict"),
    "claims": (
        *("claim", "where", "metric", "ratio", "low", "high", "interval", "half_width", "n", "expected"),
        "verdict",
    ),
    FACTORS: ("claim", "factor", "where", *OF_FACTORS, "verdict"),
    "claims-by-run": ("claim", "where", "run", "n", "ratio", "low", "high", "interval"),
}
OF_FIGURES = ("series", "n", "value", "low", "high")
NAMED_BY = ("claim", "factor", "where", "page", "run")
# What tells the conditions of a study of page loads apart.
OF_LOADS = (
    *("page", "variant", "compression", "server", "engine", "driver", "protocol", "cache", "device"),
    *("factor", "down_mbps", "rtt_ms"),
)
# Of the table of what one load is for its server.
OF_SERVERS = ("bytes_down", "server_connections", "server_cpu_s")
ALIKE = 0.01  # how far medians of two runs are apart that repeat each other
SAME_BYTES = "same bytes"  # on both sides of an effect
OF_CROWDS = ("page", "compression", "server", "protocol", "factor", "users")


def small_tables(tables: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """The tables that are kept, by name, with short texts for numbers."""
    there = {path.stem: path for path in sorted(tables.glob("*.csv"))}
    for name, columns in KEPT.items():
        if name in there:
            frame = _with_spans(pd.read_csv(there[name]))
            told = {"where"} if name == FACTORS and not frame.duplicated(["claim", FACTOR]).any() else set()
            present = [column for column in columns if column in frame and column not in told]
            yield name, small(frame, present, [column for column in NAMED_BY if column in present])
    if "published" in there:
        yield IN_SHORT, in_short(pd.read_csv(there["published"]))
    if CROWDS in there:
        yield CROWDS, page_rates(pd.read_csv(there[CROWDS]))
    if BY_RUN in there:
        yield RUNS_DIFFER, runs_differ(pd.read_csv(there[BY_RUN]))
    for name, path in there.items():
        if name.startswith(FIGURE):
            frame = pd.read_csv(path)
            x = str(frame.columns[0])
            yield name, small(frame, [x, *OF_FIGURES], (x, "series"))


def page_rates(crowds: pd.DataFrame) -> pd.DataFrame:
    """A row for each condition of a crowd, by what tells them apart: the most pages a second, and of how many trials.

    `from_to` are the bounds that the report gives it: an interval, or the range of a few trials.
    """
    bounds = zip(crowds["pages_per_s_low"], crowds["pages_per_s_high"], strict=True)
    named = [column for column in OF_CROWDS if column in crowds and crowds[column].nunique() > 1]
    frame = crowds.assign(from_to=[_span(low, high) for low, high in bounds], n=crowds["trials"])
    return small(frame, [*named, "pages_per_s", "from_to", "n"], named)


def in_short(published: pd.DataFrame) -> pd.DataFrame:
    """A row for each claim: the least and the greatest value of its places, how many places came out how, and what
    differs, or why it cannot be compared.
    """
    rows = []
    for claim, places in published.groupby("claim", sort=False):
        verdicts = places["verdict"].value_counts()
        rows.append(
            {
                ROW: slug(str(claim)),
                "text": places["text"].iloc[0],
                "stands": places["stands"].iloc[0],
                "published": _published(places.iloc[0]),
                "here": _ends(places["here"]),
                "n": _ends(places["n"]),
                "verdict": str(verdicts.index[0])
                if len(verdicts) == 1
                else ", ".join(f"{verdict} {count}" for verdict, count in verdicts.items()),
                "differs": text(places["differs" if _comparable(places) else "reason"].iloc[0]),
            }
        )
    return pd.DataFrame(rows)


def _comparable(places: pd.DataFrame) -> bool:
    return bool((places["verdict"] != ClaimVerdict.NOT_COMPARABLE).any())


def _published(place: pd.Series[Any]) -> str:
    """`1222000, within 5 %`: what was published, and how far off ours may be."""
    told = _range(text(place["published_low"]), text(place["published_high"]))
    return f"{told}, within {100 * place['tolerance']:g} %" if place["tolerance"] > 0 else told


def runs_differ(by_run: pd.DataFrame) -> pd.DataFrame:
    """A row for each claim and place that has not one verdict in all runs: what came out in which run."""
    rows = []
    for (claim, where), runs in by_run.fillna({"where": ""}).groupby(["claim", "where"], sort=False):
        if runs["verdict"].nunique() > 1:
            told = runs[["run", "verdict", "here", "low", "high"]].itertuples(index=False)
            rows.append(
                {
                    ROW: slug(f"{claim} {where}".strip()),
                    "claim": claim,
                    "where": where,
                    "runs": "; ".join(
                        f"{run}: {verdict}, {text(here)} {_span(low, high)}".rstrip()
                        for run, verdict, here, low, high in told
                    ),
                }
            )
    return pd.DataFrame(rows, columns=[ROW, "claim", "where", "runs"])


def loads(tables: Path) -> pd.DataFrame:
    """A row for each condition of a study of page loads, by what tells them apart: the median page-load time with its
    bounds, and the medians of what went over the link to the client, of connections that carried a request, and of the
    server's CPU time.
    """
    times, served = pd.read_csv(tables / "median-times.csv"), pd.read_csv(tables / "server.csv")
    named = _telling_apart(times, OF_LOADS)
    frame = times.merge(served[[*named, *OF_SERVERS]], on=named, validate="one_to_one")
    bounds = zip(frame["low_ms"], frame["high_ms"], strict=True)
    told = frame.assign(
        interval=[_span(low, high) for low, high in bounds],
        kb=(frame["bytes_down"] / 1000).round(),
        server_cpu_s=frame["server_cpu_s"].map("{:.2f}".format),
    )
    return small(told, [*named, "median_ms", "interval", "n", "kb", *OF_SERVERS[1:]], named)


def medians_by_run(results: Results) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How far several runs of a study of page loads are apart: a row for each condition with the median page-load time
    of each run, its range, and by how much the greatest median exceeds the least; and what that comes to.
    """
    named, timed = _telling_apart(results.cells, OF_LOADS), results.sifted.timed
    rows, apart = list[dict[str, Any]](), list[float]()
    for cell in results.cells.to_dict("records"):
        of_cell = timed[timed["cell"] == cell["cell"]]
        times = [of_cell.loc[of_cell["run"] == name, results.metric] for name in results.by_name]
        medians = [float(each.median()) for each in times]
        known = all(map(math.isfinite, medians))  # not of a condition that timed out, or has no load in a run
        if known:
            apart.append(max(medians) / min(medians) - 1)
        told = {
            f"run_{number}": f"{text(each.median())} ({text(each.min())} to {text(each.max())})"
            if len(each)
            else ""
            for number, each in enumerate(times, start=1)
        }
        rows.append(
            {
                **{name: cell[name] for name in named},
                **told,
                "apart": f"{100 * apart[-1]:.1f} %" if known else "",
            }
        )
    sums = {
        "conditions": str(len(apart)),
        "within-1-percent": str(sum(each <= ALIKE for each in apart)),
        **(
            {"median": f"{100 * statistics.median(apart):.1f} %", "most": f"{100 * max(apart):.1f} %"}
            if apart
            else {}
        ),
    }
    return small(pd.DataFrame(rows), [*rows[0]], named), pd.DataFrame(
        {ROW: [*sums], "value": [*sums.values()]}
    )


def effects(tables: Path) -> pd.DataFrame:
    """A row for each variant or filter that changes a page, by what tells its conditions apart: the page-load time with
    it in units of that without it, for each way in which that was taken, with its interval.
    """
    frame = _with_spans(pd.read_csv(tables / "effects.csv"))
    named = ["filter", *_telling_apart(frame, [name for name in OF_LOADS if name != "variant"])]
    rows = []
    for values, ways in frame.groupby(named, sort=False):
        if ways["idle"].all():
            continue
        row: dict[str, Any] = dict(zip(named, values, strict=True))
        for way in ways.to_dict("records"):
            column = slug(way["way"]).replace("-", "_")
            row |= {
                column: SAME_BYTES if way["idle"] else way["ratio"],
                f"{column}_interval": "" if way["idle"] else way["interval"],
            }
        rows.append({**row, "n": _ends(ways["n"])})
    made = pd.DataFrame(rows)
    return small(made, [*(str(name) for name in made if name != "n"), "n"], named)


def waits(tables: Path) -> pd.DataFrame:
    """A row for each condition and class of what loads waited for: the mean time with its interval, and its share of
    the mean page-load time.
    """
    frame = _with_spans(pd.read_csv(tables / "waits.csv"))
    named = [*_telling_apart(frame, OF_LOADS), "waiting"]
    told = frame.assign(share=[f"{100 * share:.0f} %" for share in frame["share"]])
    return small(told, [*named, "ms", "interval", "share", "n"], named)


def _telling_apart(frame: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    return [name for name in columns if name in frame and frame[name].nunique() > 1]


# The tables that are kept of the studies that ask for them.
ASKED: Mapping[str, Callable[[Path], pd.DataFrame]] = {"loads": loads, "effects": effects, "waits": waits}


def of_changes(frame: pd.DataFrame, named: Sequence[str], *more: str) -> pd.DataFrame:
    """A row for each ratio and what changes it: without and with, and the change, each with its interval."""
    return small(_with_spans(frame), [*named, *OF_FACTORS, *more], named)


def small(frame: pd.DataFrame, columns: Sequence[str], named_by: Sequence[str]) -> pd.DataFrame:
    """Some columns as text, behind the row's name, which is made of what `named_by` says.

    ValueError when two rows have one name: a reader could not tell them apart.
    """
    shown = frame[list(columns)].map(text)
    names = [slug(" ".join(filter(None, parts))) for parts in shown[list(named_by)].itertuples(index=False)]
    alike = [name for name, count in Counter(names).items() if count > 1]
    if alike:
        raise ValueError(f"rows of one name: {', '.join(alike)}")
    shown.insert(0, ROW, names)
    return shown


def _with_spans(frame: pd.DataFrame) -> pd.DataFrame:
    """With the interval in one cell, its half-width, and what was published, too."""
    bounds = list(zip(frame["low"], frame["high"], strict=True))
    made = frame.assign(
        interval=[_span(low, high) for low, high in bounds],
        half_width=[
            f"{100 * of_logs(math.log(low), math.log(high)):.1f} %" if low > 0 else "" for low, high in bounds
        ],
    )
    if "change_low" in frame:
        for kind in ("change", "usual"):
            ends = zip(frame[f"{kind}_low"], frame[f"{kind}_high"], strict=True)
            made = made.assign(**{f"{kind}_interval": [_span(low, high) for low, high in ends]})
    if "published_low" not in frame:
        return made
    ends = zip(frame["published_low"].map(text), frame["published_high"].map(text), strict=True)
    return made.assign(published=[_range(low, high) for low, high in ends])


def _ends(values: pd.Series[float]) -> str:
    """`0.973 to 0.987` of several, `0.973` of one, nothing of none."""
    ends = dict.fromkeys(map(text, (values.min(), values.max())))
    return " to ".join(filter(None, ends))


def _span(low: float, high: float) -> str:
    ends = text(low), text(high)
    return f"[{' to '.join(ends)}]" if all(ends) else ""


def _range(low: str, high: str) -> str:
    if low and high:
        return low if low == high else f"{low} to {high}"
    return f"above {low}" if low else f"below {high}" if high else ""


def text(value: Any) -> str:
    """A number in as many digits as a reader needs; nothing for what is not known."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return re.sub(r"\s+", " ", str(value)).strip()
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    size = abs(value)
    return f"{value:.{0 if size >= 100 else 1 if size >= 20 else 3}f}"
