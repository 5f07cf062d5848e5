"""The small files of a study that a document quotes: tables and figures of its report."""

from __future__ import annotations

import fnmatch
import math
import shutil
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from playwright.sync_api import ViewportSize, sync_playwright

from analysis.charts import studyfigures
from analysis.claims.claimresult import ClaimRow, ClaimVerdict
from analysis.claims.doubleratios import ENGINE, FACTOR
from analysis.evaluation.results import Results
from analysis.labels.words import slug
from analysis.report import facts
from analysis.report.methodtexts import method_texts
from analysis.tables.claimtables import double_ratios
from benchmarks.publish.editions import RepeatedStudy
from benchmarks.publish.smalltables import ASKED, ROW, medians_by_run, of_changes, small_tables, text
from harness.system.program import find_program

STUDY_FIGURE = "study-"  # what the drawings of a study's own figures begin with
WATERFALLS = "waterfalls_"  # what their drawings begin with
OF_RUNS = ("loads-by-run", "runs-apart")
HEAD: ViewportSize = {"width": 1280, "height": 960}  # pixels of a report's picture
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


def _write(frame: pd.DataFrame, path: Path) -> None:
    path.write_text(frame.to_csv(index=False, lineterminator="\n"), encoding="utf-8")


def keep_changes(name: str, whole: Results, by_page: Mapping[str, Results], target: Path) -> None:
    """Write what each engine changes against the first one, and what factors and engines change on each page, where a
    study has several.

    A claim over pages tells of pages like these; by page it tells of these pages, which nobody named before the run.
    """
    for dimension in (FACTOR, ENGINE):
        if dimension == ENGINE and (frame := _changes(whole, dimension)) is not None:
            _write(
                of_changes(frame, ("claim", "where", dimension), "verdict"),
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
                of_changes(frame, ("claim", "where", "page", dimension)),
                target / f"{name}.{dimension}s-by-page.csv",
            )


def _changes(results: Results, dimension: str) -> pd.DataFrame | None:
    ratios = results.factors if dimension == FACTOR else results.interactions
    rows = [ratio for ratio in ratios if ratio.dimension == dimension]
    return double_ratios(rows) if rows else None


def said_of_the_run(results: Results) -> pd.DataFrame:
    """What the report says of how it was measured: facts of its head and sentences of its methods.

    Of several runs also how many claims that can be judged have the same verdict in each alone, and of how many ratios
    the intervals of all have a part in common.
    """
    said = [
        *facts.facts(results),
        *(
            (paragraph.head, paragraph.text)
            for paragraph in method_texts(results)
            if paragraph.head in OF_METHODS
        ),
    ]
    alone = [
        rows
        for rows in zip(*results.published_by_run.values(), strict=True)
        if any(row.verdict is not ClaimVerdict.NOT_COMPARABLE for row in rows)
    ]
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


def _picture(page: Path, target: Path) -> None:
    """What a reader of a report sees first."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_program("chromium"), args=["--no-sandbox"])
        shown = browser.new_page(viewport=HEAD, java_script_enabled=False)
        shown.goto(page.resolve().as_uri())
        shown.screenshot(path=target)
        browser.close()
