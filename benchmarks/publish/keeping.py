"""The small files of a study that a document quotes: tables and figures of its report.

Every cell is text as a reader meets it, so that a number in the document and the cell it names are the same characters.
The first column, `row`, names the row.
"""

from __future__ import annotations

import fnmatch
import math
import re
import shutil
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from playwright.sync_api import ViewportSize, sync_playwright

from analysis.charts import studyfigures
from analysis.claims.claimresult import ClaimRow, ClaimVerdict
from analysis.claims.doubleratios import ENGINE, FACTOR
from analysis.claims.stopping import of_logs
from analysis.evaluation.results import Results
from analysis.labels.words import slug
from analysis.report import facts
from analysis.report.methodtexts import method_texts
from analysis.tables.claimtables import double_ratios
from benchmarks.publish.editions import RepeatedStudy
from harness.system.program import find_program

ROW = "row"
IN_SHORT = "claims-in-short"
RUNS_DIFFER = "runs-differ"
CROWDS = "crowds"
STUDY_FIGURE = "study-"  # what the drawings of a study's own figures begin with
FIGURE = "figure-"  # what the tables of a study's own figures begin with
FACTORS = "factors"
BY_RUN = "published-by-run"
WATERFALLS = "waterfalls_"  # what their drawings begin with
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
OF_RUNS = ("loads-by-run", "runs-apart")
ALIKE = 0.01  # how far medians of two runs are apart that repeat each other
SAME_BYTES = "same bytes"  # on both sides of an effect
HEAD: ViewportSize = {"width": 1280, "height": 960}  # pixels of a report's picture
OF_CROWDS = ("page", "compression", "server", "protocol", "factor", "users")
PLACES = ("claims-at-a-place", "alike-in-all-runs")
RATIOS = ("ratios-of-each-run", "ratios-that-meet")
OF_METHODS = ("Set-up.", "Sample.", "Exclusions.", "Calibration of the links.")


def keep(name: str, results: Results, report: Path, target: Path, study: RepeatedStudy) -> None:
    """Write the files of a study, `NAME.*`, into `target`, in place of those that were there.

    Waterfalls are drawn from files that a study keeps of its trials. A report of packs has none: the old ones stay.
    """
    target.mkdir(parents=True, exist_ok=True)
    figures = sorted((report / "figures").glob("*.svg"))
    redrawn = any(figure.name.startswith(WATERFALLS) for figure in figures)
    for old in (*target.glob(f"{name}.*.csv"), *target.glob(f"{name}.*.svg")):
        if redrawn or not old.name.startswith(f"{name}.{WATERFALLS}"):
            old.unlink()
    for part, frame in small_tables(report / "tables"):
        _write(frame, target / f"{name}.{part}.csv")
    _write(said_of_the_run(results), target / f"{name}.run.csv")
    _write(deviations(results), target / f"{name}.differs.csv")
    _write(figures_drawn(results, report / "figures"), target / f"{name}.figures.csv")
    for part in study.tables:
        _write(ASKED[part](report / "tables"), target / f"{name}.{part}.csv")
    if "loads" in study.tables and len(results.runs) > 1:
        for part, frame in zip(OF_RUNS, medians_by_run(results), strict=True):
            _write(frame, target / f"{name}.{part}.csv")
    if study.head:
        _picture(report / "report.html", target / f"{name}.report.png")
    for figure in figures:
        if any(fnmatch.fnmatch(figure.stem, pattern) for pattern in study.figures):
            shutil.copyfile(figure, target / f"{name}.{figure.stem}.svg")


def keep_changes(name: str, whole: Results, by_page: Mapping[str, Results], target: Path) -> None:
    """Write what each engine changes against the first one, and what factors and engines change on each page, where a
    study has several.

    A claim over pages tells of pages like these; by page it tells of these pages, which nobody named before the run.
    """
    for dimension in (FACTOR, ENGINE):
        if dimension == ENGINE and (frame := _changes(whole, dimension)) is not None:
            _write(
                _of_changes(frame, ("claim", "where", dimension), "verdict"),
                target / f"{name}.{dimension}s.csv",
            )
        tables = [
            frame.assign(page=page)
            for page, results in by_page.items()
            if (frame := _changes(results, dimension)) is not None
        ]
        if len(tables) > 1:
            frame = pd.concat(tables).sort_values("claim", kind="stable")
            _write(
                _of_changes(frame, ("claim", "where", "page", dimension)),
                target / f"{name}.{dimension}s-by-page.csv",
            )


def _changes(results: Results, dimension: str) -> pd.DataFrame | None:
    ratios = results.factors if dimension == FACTOR else results.interactions
    rows = [ratio for ratio in ratios if ratio.dimension == dimension]
    return double_ratios(rows) if rows else None


def _of_changes(frame: pd.DataFrame, named: Sequence[str], *more: str) -> pd.DataFrame:
    return small(_with_spans(frame), [*named, *OF_FACTORS, *more], named)


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


def _picture(page: Path, target: Path) -> None:
    """What a reader of a report sees first."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_program("chromium"), args=["--no-sandbox"])
        shown = browser.new_page(viewport=HEAD, java_script_enabled=False)
        shown.goto(page.resolve().as_uri())
        shown.screenshot(path=target)
        browser.close()


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


def _ends(values: pd.Series[float]) -> str:
    """`0.973 to 0.987` of several, `0.973` of one, nothing of none."""
    ends = dict.fromkeys(map(text, (values.min(), values.max())))
    return " to ".join(filter(None, ends))


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


def _span(low: float, high: float) -> str:
    ends = text(low), text(high)
    return f"[{' to '.join(ends)}]" if all(ends) else ""


def _range(low: str, high: str) -> str:
    if low and high:
        return low if low == high else f"{low} to {high}"
    return f"above {low}" if low else f"below {high}" if high else ""


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


def said_of_the_run(results: Results) -> pd.DataFrame:
    """What the report says of how it was measured: facts of its head and sentences of its methods.

    Of several runs also how many claims have the same verdict in each alone, and of how many ratios the intervals of
    all have a part in common.
    """
    said = [
        *facts.facts(results),
        *(
            (paragraph.head, paragraph.text)
            for paragraph in method_texts(results)
            if paragraph.head in OF_METHODS
        ),
    ]
    alone = list(zip(*results.published_by_run.values(), strict=True))
    alike = sum(len({row.verdict for row in rows}) == 1 for rows in alone)
    ratios = [spans for row in results.claims if len(spans := _spans_by_run(row)) > 1]
    meet = sum(max(low for low, _ in spans) <= min(high for _, high in spans) for spans in ratios)
    counted = {
        "attempts": len(results.records),
        "kept": len(results.sifted.kept),
        **(dict(zip(PLACES, (len(alone), alike), strict=True)) if alone else {}),
        **(dict(zip(RATIOS, (len(ratios), meet), strict=True)) if ratios else {}),
    }
    return pd.DataFrame(
        {
            ROW: [*(slug(head) for head, _ in said), *counted],
            "value": [*(value for _, value in said), *map(str, counted.values())],
        }
    )


def _spans_by_run(row: ClaimRow) -> list[tuple[float, float]]:
    """The intervals of each run alone, of those that have one, with the digits that the table of them shows."""
    bounds = [(seen.low, seen.high) for _, seen in row.by_run if math.isfinite(seen.low + seen.high)]
    return [(float(text(low)), float(text(high))) for low, high in bounds]


def deviations(results: Results) -> pd.DataFrame:
    """What of the set-up is not as it was published."""
    differs = [difference for publication in results.publications for difference in publication.differs]
    return pd.DataFrame({ROW: [str(number) for number, _ in enumerate(differs, start=1)], "differs": differs})


def figures_drawn(results: Results, folder: Path) -> pd.DataFrame:
    """The study's own figures that were drawn, with titles and captions."""
    drawn = [
        drawing
        for drawing in results.figures
        if (folder / f"{STUDY_FIGURE}{drawing.figure.name}.svg").is_file()
    ]
    return pd.DataFrame(
        {
            ROW: [f"{STUDY_FIGURE}{drawing.figure.name}" for drawing in drawn],
            "title": [drawing.figure.title for drawing in drawn],
            "caption": [studyfigures.caption_drawn(drawing) for drawing in drawn],
        }
    )


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


def _write(frame: pd.DataFrame, path: Path) -> None:
    path.write_text(frame.to_csv(index=False, lineterminator="\n"), encoding="utf-8")
