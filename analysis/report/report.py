"""report.html, figures and tables from one or more run directories, and from nothing else."""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup, escape

from analysis.charts import claimcharts, figures, plots
from analysis.charts.headchart import HEAD
from analysis.charts.waterfallview import WaterfallView, view
from analysis.claims.claimresult import ClaimRow
from analysis.evaluation.loads import failed_loads, median_films, median_loads
from analysis.evaluation.results import IDS, Results, evaluate
from analysis.labels.markup import templates
from analysis.report import facts, paper, portraits, summary
from analysis.report.advice import Advice, advice
from analysis.report.answers import MOST_QUESTIONS, answers, cautions
from analysis.report.methodtexts import TEXTS, statistics_texts
from analysis.report.paper import Figure
from analysis.report.portraits import Portraits
from analysis.report.portraits import portraits as portraits_of
from analysis.runs.alike import leaves, refuse_copies
from analysis.runs.rundirectory import Run, load, write_parquet
from analysis.runs.selection import with_counts
from analysis.tables import table
from analysis.tables.tables import PREFIX, tables_of
from harness.errors import RecordsError, StorageFailed
from harness.input.shown import in_page
from harness.model.kind import Kind
from harness.study.budget import PageBudget

TEMPLATE = "report.html.j2"
MOST_ROWS = 30  # of a table that is not folded
MOST_OPENING = 4  # figures that are not folded
# Tables that have a place of their own in the page.
PLACED = (
    *("published", "published-by-page", "published-by-run"),
    *("claims", "equal-baselines", "claims-by-run", "claims-of-all"),
    *("attempts", "exclusions", "exclusion-shares", "calibration"),
    "factors",
    *("comparisons", "effects", "compressions", "loads-that-differ"),
    *("crowds", "rates"),
)
FORMATS = {"tables": table.FORMATS, "figures": tuple(plots.NO_DATE)}  # by the folder that the files are in
LINK = re.compile(r'<a href="(tables|figures)/([\w.-]+)\.\w+">[A-Z]+</a>')


@dataclass(frozen=True)
class Report:
    """A written report: where it is, and what it tells.

    `paper`: where it is as a LaTeX document, if asked for. `advice`: of a run of `coldload advise`, written beside it.
    """

    path: Path
    results: Results
    paper: Path | None = None
    advice: Advice | None = None

    @property
    def recorded(self) -> int:
        """The number of attempts."""
        return self.results.tally.attempts

    @property
    def left_out(self) -> Mapping[str, int]:
        """How many of them each rule has left out, where it has."""
        return {rule: count for rule, count in self.results.sifted.by_rule().items() if count}

    @property
    def claims(self) -> tuple[ClaimRow, ...]:
        return self.results.claims

    @property
    def published(self) -> tuple[ClaimRow, ...]:
        return self.results.published

    @property
    def provisional(self) -> str:
        """What a run that is not complete is worth, else empty."""
        return facts.progress(self.results)


def build(
    run_dirs: Sequence[Path],
    out: Path | None = None,
    paper_dir: Path | None = None,
    read: Callable[[Path], Run] = load,
    budget: PageBudget | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Report:
    """Write report.html, figures/, tables/ and records.parquet into `out`, and the paper into `paper_dir`. Tables and
    figures of an earlier report in `out` that this one has not are removed.

    `out` is the directory of the first run unless given; without `paper_dir` there is no paper. `read` reads a run.
    `budget`: what runs are held to beside their claims. `tell` is told what is being made. Works on a run that is still
    going. Raises RecordsError when a run directory is empty, damaged or given twice, or the runs are not of one kind.
    """
    if not run_dirs:
        raise RecordsError("no run was named; give the directory of at least one run")
    if len({path.resolve() for path in run_dirs}) < len(run_dirs):
        raise RecordsError(
            f"the same run is given twice: {', '.join(map(str, run_dirs))}; name each run once"
        )
    runs = [read(path) for path in run_dirs]
    # A pack lies where it was unpacked, which tells a reader nothing.
    refuse_copies(
        runs, [f"run {number} ({path.resolve().name})" for number, path in enumerate(run_dirs, start=1)]
    )
    results = evaluate(runs, budget=budget)
    return written(results, out or run_dirs[0], paper_dir, tell)


def written(
    results: Results,
    directory: Path,
    paper_dir: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Report:
    """Write the report of runs that were evaluated into a directory, and the paper into `paper_dir`."""
    tables, advised = tables_of(results), advice(results)
    with _writing(directory):
        path, drawn = _write(results, tables, directory, tell)
        if advised is not None:
            advised.write(directory)
    made = None
    if paper_dir is not None:
        with _writing(paper_dir):
            made = paper.write(results, tables, drawn, directory, paper_dir)
    return Report(path, results, made, advised)


@contextlib.contextmanager
def _writing(directory: Path) -> Iterator[None]:
    """Make the directory; what goes wrong with the disk meanwhile is told as what it is about."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        yield
    except (FileExistsError, NotADirectoryError) as error:
        raise RecordsError(
            f"cannot write the report to {directory}: {error.filename} is in the way; choose another place"
        ) from error
    except OSError as error:
        raise StorageFailed(
            f"cannot write the report to {directory}: {error.strerror or error}; make room or choose another place"
        ) from error


def _write(
    results: Results, tables: Sequence[table.Table], directory: Path, tell: Callable[[str], None]
) -> tuple[Path, list[Figure]]:
    for made in tables:
        table.write(made, directory / "tables")
    write_parquet(
        with_counts(results.records.drop(columns=list(IDS)), results.sifted), directory / "records.parquet"
    )
    drawn = _draw(results, directory / "figures", tell)
    path = directory / "report.html"
    page = render(results, tables, drawn)
    _remove_others(
        directory, {*(("tables", made.name) for made in tables), *(("figures", made.name) for made in drawn)}
    )
    path.write_text(page, encoding="utf-8")
    return path, drawn


def _remove_others(directory: Path, written: Collection[tuple[str, str]]) -> None:
    """Remove the tables and figures, by folder and name, that an earlier report links to, or that bear the name of one
    of our tables, and that were not written now. Other files are the user's own, and so may a folder be that is a link.
    """
    page = directory / "report.html"
    earlier = page.read_text(encoding="utf-8", errors="replace") if page.is_file() else ""
    ours = {*LINK.findall(earlier), *(("tables", name) for name in PLACED)}
    for folder, name in ours.difference(written):
        for suffix in FORMATS[folder]:
            path = directory / folder / f"{name}.{suffix}"
            if path.is_file() and not path.parent.is_symlink():
                path.unlink()


def _draw(results: Results, directory: Path, tell: Callable[[str], None]) -> list[Figure]:
    drawn = []
    with plots.look():
        drawings = list(figures.draw(results))
        for number, drawing in enumerate(drawings, 1):
            tell(f"figure {number} of {len(drawings)}")
            files = plots.save(drawing.figure, directory, drawing.name)
            svg = base64.b64encode(files["svg"].read_bytes()).decode("ascii")
            links = {suffix: f"{directory.name}/{path.name}" for suffix, path in files.items()}
            wide = drawing.figure.get_figwidth() > claimcharts.WIDTH_INCHES
            uri = f"data:image/svg+xml;base64,{svg}"
            first = drawing.name.partition("_")[0] in (HEAD, figures.CLAIMS)
            if drawing.asked:
                links["csv"] = f"tables/{PREFIX}{drawing.asked}.csv"
            shown = (drawing.name, drawing.caption, wide, first, drawing.of_data, uri, links)
            drawn.append(Figure(*shown, asked=drawing.asked, title=drawing.title))
    return drawn


def unbroken(text: str) -> Markup:
    """A sentence whose intervals stay on one line."""
    return Markup(re.sub(r"\[[^\]]{1,40}\]", r"<span>\g<0></span>", str(escape(in_page(text)))))  # noqa: S704 - escaped before


def render(results: Results, tables: Sequence[table.Table], drawn: Sequence[Figure]) -> str:
    """The page as text: self-contained, nothing is fetched from anywhere."""
    environment = templates("analysis.report")
    environment.filters["unbroken"] = unbroken
    counts = results.sifted.by_rule()
    looked_at = portraits_of(results)
    return environment.get_template(TEMPLATE).render(
        title=facts.title(results),
        kind=TEXTS[results.kind],
        metric=results.metric,
        metric_label=results.metric_label,
        loads=results.kind is Kind.LOAD,
        facts=facts.facts(results),
        progress=facts.progress(results),
        answers=answers(results),
        most_answers=MOST_QUESTIONS,
        cautions=cautions(results),
        claims=summary.claims(results),
        named=results.named,
        interval=results.certainty.interval,
        floor=summary.floor(results) if results.claims else "",
        interactions=summary.interactions(results),
        of_all=summary.of_all(results),
        lost=summary.lost(results),
        publications=results.publications,
        opening=_opening(drawn),
        numbered=list(
            dict.fromkeys(drawing.name for drawing in (*_opening(drawn), *drawn) if not drawing.asked)
        ),
        asked=[figure for figure in drawn if figure.asked],
        of_figures=[made for made in tables if made.name.startswith(PREFIX)],
        drawn_tables={f"{PREFIX}{figure.asked}" for figure in drawn if figure.asked},
        figures=[figure for figure in drawn if not figure.asked],
        most_figures=figures.MOST_FIGURES,
        most_rows=MOST_ROWS,
        placed=(*PLACED, *(made.name for made in tables if made.name.startswith(PREFIX))),
        statistics=tuple(statistics_texts(results)),
        tables={made.name: made for made in tables},
        tally=results.tally,
        again=facts.drawn_again(results),
        rules=[(rule, counts[rule.name]) for rule in results.sifted.rules],
        runs=[(run, list(leaves(run.environment))) for run in results.runs],
        waterfalls=_waterfalls(results, looked_at),
        portraits=portraits.rendered(looked_at),
    )


def _opening(drawn: Sequence[Figure]) -> list[Figure]:
    """The figures that are not folded: what was measured, the claims, and what stands first of the rest.

    A study's own figures come before others; pictures of single trials do not open a report.
    """
    rest = sorted((figure for figure in drawn if not figure.of_data), key=_rank)
    return rest[:MOST_OPENING]


def _rank(figure: Figure) -> int:
    kinds = (figure.name == HEAD, bool(figure.asked), figure.first)
    return kinds.index(True) if True in kinds else len(kinds)


def _waterfalls(results: Results, looked_at: Portraits) -> WaterfallView | None:
    """Of loads that were measured where their files were kept, else of the portraits."""
    if results.kind is not Kind.LOAD:
        return None
    measured = view(median_loads(results), median_films(results), failed_loads(results))
    if measured is not None:
        return measured
    loads, films = looked_at.medians(lambda each: each.load), looked_at.medians(lambda each: each.film)
    return view(loads, films)
