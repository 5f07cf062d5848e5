"""A report as a LaTeX document: complete, with everything escaped, and built where TeX is installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.evaluation.results import Results, evaluate
from analysis.report.methodtexts import method_texts
from analysis.report.paper import ACROSS, GAP, MOST_LONG_ROWS, MOST_ROWS, bibliography, paper_table
from analysis.report.report import build
from analysis.runs.rundirectory import load
from analysis.tables.table import Shown, Table
from harness.study.claim import Claim
from harness.study.figure import FigureKind, FigureSeries, StudyFigure
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic, entitled
from tests.unit.analysis.synthetic_capacity import SyntheticCrowd

CLAIM = Claim(
    name="50 % less & more_of #1",
    subject={"protocol": "h2"},
    reference={"protocol": "http1"},
    ratio_below=0.95,
)
RUN = Synthetic(
    pages=("dummy-2012",),
    protocols=("http1", "h2"),
    rates_mbps=(10.0,),
    rtts_ms=(20.0, 100.0),
    trials=6,
    aa=True,
    outcomes={"00001": "page-error", "00005": "wrong-protocol"},
    claims=(CLAIM,),
)
SERIES = (FigureSeries({"protocol": "http1"}), FigureSeries({"protocol": "h2"}))
PAGES = tuple(f"page-{number}" for number in range(40))
DRAWN = StudyFigure(
    name="1",
    title="Figure 1",
    kind=FigureKind.BARS,
    x="page",
    series=SERIES,
    metric="plt_ms",
    where={"page": PAGES[:9]},
)
CROWDED = replace(DRAWN, name="2", title="Figure 2", where={})
LISTED = replace(DRAWN, name="3", title="Figure 3", kind=FigureKind.TABLE)
MANY = replace(
    RUN, pages=PAGES, rtts_ms=(20.0,), outcomes={}, aa=False, trials=2, figures=(DRAWN, CROWDED, LISTED)
)
HOSTILE = r"\input{/etc/passwd} \write18{id} $x_1^2$ 50% #1 & {open ~ \end{document}"
FOREIGN = f"{HOSTILE} 中😀"  # a page's name is drawn in figures, too, whose font has no such signs


def hostile_run(folder: Path) -> Path:
    """A run whose every text is somebody else's."""
    run = replace(RUN, pages=(HOSTILE,)).write(folder)
    entitled(run, FOREIGN)
    environment = json.loads((run / "environment.json").read_text())
    environment["coldload"] = FOREIGN
    environment["machine"]["processor"] = FOREIGN
    environment["programs"]["chromium"] = FOREIGN
    environment["archives"] = {FOREIGN: {"digest": "ab" * 32, "start_url": f"http://a.example/{FOREIGN}"}}
    (run / "environment.json").write_text(json.dumps(environment))
    return run


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The folder of the paper of an ordinary run, of a hostile one, and of a crowd."""
    folder = tmp_path_factory.mktemp("papers")
    runs = {
        "usual": RUN.write(folder / "usual"),
        "hostile": hostile_run(folder / "hostile"),
        "crowd": SyntheticCrowd(trials=3).write(folder / "crowd"),
        "many": MANY.write(folder / "many"),
    }
    for name, run in runs.items():
        report = build([run], folder / f"{name}-report", folder / f"{name}-paper")
        assert report.paper == folder / f"{name}-paper" / "paper.tex"
    return {name: folder / f"{name}-paper" for name in runs}


def text(folder: Path) -> str:
    return (folder / "paper.tex").read_text(encoding="utf-8")


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["usual", "hostile", "crowd", "many"])
def test_every_figure_and_table_is_there_and_every_environment_closed(
    name: str, written: Mapping[str, Path]
) -> None:
    folder = written[name]
    everything = text(folder) + "".join(path.read_text() for path in (folder / "tables").iterdir())
    shown = re.findall(r"\\shown(?:\[[^]]*\])?\{([^}]*)\}", everything)
    tables = re.findall(r"\\input\{([^}]*)\}", text(folder))
    assert sorted(shown) == sorted(path.name for path in (folder / "figures").iterdir())
    assert sorted(tables) == sorted(f"tables/{path.name}" for path in (folder / "tables").iterdir())
    opened = re.findall(r"(?<!\\)\\begin\{(\w+)\}", everything)
    assert sorted(opened) == sorted(re.findall(r"(?<!\\)\\end\{(\w+)\}", everything))
    assert opened.count("document") == 1
    bare = re.sub(r"\\[\\{}]", "", everything)
    assert bare.count("{") == bare.count("}")


@pytest.mark.thorough
def test_every_figure_of_the_study_is_drawn_or_a_table(written: Mapping[str, Path]) -> None:
    said = text(written["many"])
    assert r"{study-1.pdf}" in said
    assert r"\input{tables/figure-1.tex}" not in said
    for name in ("2", "3"):
        assert f"study-{name}.pdf" not in said
        assert rf"\input{{tables/figure-{name}.tex}}" in said
    crowded = (written["many"] / "tables" / "figure-2.tex").read_text()
    assert tells(crowded, "table", "40 groups", "drawing")
    assert tells(crowded, "first 40 of 80 rows", "figure-2.csv", "has all")


@pytest.mark.thorough
def test_nothing_of_a_hostile_run_is_a_command(written: Mapping[str, Path]) -> None:
    folder = written["hostile"]
    everything = text(folder) + "".join(path.read_text() for path in folder.rglob("*.tex"))
    everything += (folder / "references.bib").read_text()
    assert r"\textbackslash{}input" in everything
    for command in (r"\input{/etc", r"\write18", r"\end{document} "):
        assert command not in everything.replace(r"\textbackslash{}", "")
    assert everything.isascii()


def results_of(folder: Path) -> Results:
    return evaluate([load(RUN.write(folder))])


@pytest.mark.thorough
def test_the_methods_tell_versions_seeds_n_exclusions_and_calibration(tmp_path: Path) -> None:
    said = {each.head: each.text for each in method_texts(results_of(tmp_path / "run"))}
    assert "HTTP/1.1, HTTP/2 (TLS)" in said["Conditions."]
    assert tells(said["Conditions."], "10 Mbit/s", "RTT of 20, 100 ms")
    assert "Chromium 999.0" in said["Set-up."]
    assert "Made-up CPU 3000, 2 cores" in said["Set-up."]
    assert "seed 2012" in said["Sample."]
    assert tells(said["Sample."], "36 attempts of 36 planned trials", "recorded", "34 of them")
    assert tells(said["Sample."], "n is 5 to 6")
    assert tells(said["Exclusions."], "2 of 36 attempts", "left out")
    assert "wrong-protocol (" in said["Exclusions."]
    assert "2 readings of 2 links" in said["Calibration of the links."]
    off = ("off by at most 0.06 ms", "rate by at most 0.09 %")
    assert tells(said["Calibration of the links."], *off)
    assert "paired t test" in said["Comparisons"]


@pytest.mark.thorough
def test_a_reading_that_was_off_is_told_apart_from_those_that_trials_follow(tmp_path: Path) -> None:
    run = RUN.write(tmp_path / "run")
    readings = run / "calibration.jsonl"
    off = json.loads(readings.read_text().splitlines()[0]) | {"ok": False}
    off["rtt_ms"]["measured"] += 35.9
    readings.write_text(f"{json.dumps(off)}\n{readings.read_text()}")
    said = {each.head: each.text for each in method_texts(evaluate([load(run)]))}["Calibration of the links."]
    assert tells(said, "2 readings of 2 links", "within the tolerance")
    assert tells(said, "round-trip time", "at most 0.06 ms")
    assert tells(said, "1 other reading", "outside the tolerance")


@pytest.mark.thorough
def test_the_bibliography_names_coldload_in_its_version(tmp_path: Path) -> None:
    run = RUN.write(tmp_path / "run")
    environment = json.loads((run / "environment.json").read_text()) | {"coldload": "1.2.3"}
    (run / "environment.json").write_text(json.dumps(environment))
    entries = bibliography(evaluate([load(run)]))
    assert "note = {Version 1.2.3}" in entries
    assert "year = {2026}" in entries


@pytest.mark.thorough
def test_the_same_records_give_the_same_paper(written: Mapping[str, Path], tmp_path: Path) -> None:
    build([RUN.write(tmp_path / "usual")], tmp_path / "report", tmp_path / "paper")
    made = {
        path.relative_to(tmp_path / "paper"): path.read_bytes() for path in (tmp_path / "paper").rglob("*.*")
    }
    assert made == {name: (written["usual"] / name).read_bytes() for name in made}


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="TeX is not installed")
@pytest.mark.parametrize("name", ["usual", "hostile", "crowd", "many"])
def test_the_paper_builds(name: str, written: Mapping[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "paper"
    shutil.copytree(written[name], folder)
    latex = ("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper")
    for command in (latex, ("bibtex", "paper"), latex, latex):
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
        assert done.returncode == 0, done.stdout[-3000:]
    log = (folder / "paper.log").read_text(errors="replace")
    assert "undefined" not in log
    assert "Missing character" not in log
    assert "Float too large" not in log
    assert (folder / "paper.pdf").read_bytes().startswith(b"%PDF")


NARROW = Table(
    name="narrow",
    title="Narrow",
    note="",
    data=pd.DataFrame(),
    head=("Claim", "n"),
    rows=tuple((Shown(f"claim {number}"), Shown(str(number))) for number in range(300)),
    keys=1,
)
LONG_TEXT = Shown("a text of many words that goes on and on, at 10 % & more")


def wide(columns: int) -> Table:
    return Table(
        name="wide",
        title="Wide",
        note="",
        data=pd.DataFrame(),
        head=tuple(f"Head {number}" for number in range(columns)),
        rows=((LONG_TEXT,) * columns,) * 300,
        keys=0,
    )


def test_a_narrow_table_is_a_float_of_its_first_rows() -> None:
    made = paper_table(NARROW)
    assert r"\begin{table}[htbp]" in made
    assert "longtable" not in made
    assert f"claim {MOST_ROWS - 1} &" in made
    assert f"claim {MOST_ROWS} &" not in made
    assert tells(made, f"first {MOST_ROWS} of 300 rows", "narrow.csv", "has all")


def test_a_wide_table_goes_across_pages_and_repeats_its_head() -> None:
    made = paper_table(wide(6))
    assert r"\begin{landscape}" in made
    assert r"\label{tab:wide}" in made
    assert made.count("Head 0 &") == 2
    assert made.count(r"at 10 \% \& more \\") == MOST_LONG_ROWS
    assert f"first {MOST_LONG_ROWS} of 300 rows" in made


def test_columns_share_the_longer_side_of_a_page() -> None:
    for columns in (6, 9, 12):
        widths = [float(each) for each in re.findall(r"p\{([\d.]+)cm\}", paper_table(wide(columns)))]
        assert len(widths) == columns
        assert sum(widths) <= ACROSS - GAP * columns + 0.01 * columns
        assert min(widths) > 1


def test_what_does_not_fit_side_by_side_stays_on_one_page_and_is_made_smaller() -> None:
    made = paper_table(wide(25))
    assert r"\fitted{" in made
    assert "longtable" not in made
