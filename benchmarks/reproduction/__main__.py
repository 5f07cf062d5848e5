"""Run the studies again, report them, and renew docs/reproduction.md, the pages behind it and the files they quote.

    .venv/bin/python -m benchmarks.reproduction [--quick] [--only STUDY] [--run N] [--unpack] [--no-runs]

Hours; `--quick` runs the short forms with few trials, in under 15 minutes. A run that was interrupted goes on with the
same command. `--run 2` is a second run of each study, of another day: figures are then of both. To measure anew, remove
the folder of a run below runs/reproduction. `--no-runs` makes the files from the runs that are there.

Every run of a long form is also kept as a pack beside the files that it gave. `--unpack` puts the runs of these packs
below runs/reproduction first: `--unpack --no-runs` makes the document from the records that it was made from.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from analysis.evaluation.results import evaluate
from analysis.report.report import written
from analysis.runs.rundirectory import Run, load
from benchmarks.reproduction.document import renewed
from benchmarks.reproduction.keeping import STUDIES, RepeatedStudy, keep
from harness.errors import ColdloadError
from harness.pack.packfile import RUN, open_pack
from harness.study.published import Publication
from harness.study.publishedfile import left_of
from harness.study.studyfile import read_study, shipped_studies
from harness.system.files import move_into_place, temporary_folder

DOCS = Path(__file__).resolve().parents[2] / "docs"
DOCUMENT, DATA = DOCS / "reproduction.md", DOCS / "reproduction"
RUNS = Path("runs") / "reproduction"
A_CLAIM_FAILED = 1  # of `coldload run`: the run itself is whole


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=[each.study for each in STUDIES])
    parser.add_argument("--run", type=int, default=1, metavar="N")
    parser.add_argument("--unpack", action="store_true")
    parser.add_argument("--no-runs", action="store_true")
    arguments = parser.parse_args()
    for study in STUDIES:
        if arguments.only not in (None, study.study) or (arguments.quick and study.quick is None):
            continue
        try:
            if arguments.unpack:
                _unpack(study)
            code = 0 if arguments.no_runs else _run(study, arguments.run, quick=arguments.quick)
            if code:
                return code
            _keep(study, quick=arguments.quick)
        except ColdloadError as error:
            print(error, file=sys.stderr)
            return error.exit_code
    renew()
    return 0


def documents() -> list[Path]:
    """The document and the pages behind it."""
    return [DOCUMENT, *sorted(DATA.glob("*.md"))]


def renew() -> None:
    """Write figures and tables of the documents anew from the data files."""
    for path in documents():
        path.write_text(renewed(path.read_text(encoding="utf-8"), path.parent), encoding="utf-8")
        print(f"renewed: {path}")


def _run(study: RepeatedStudy, number: int, *, quick: bool) -> int:
    """Run a study, or go on with its run; the exit code of a run that went wrong, else 0."""
    folder = RUNS / f"{study.name(quick=quick)}-run{number}"
    code = _coldload("run", *study.command(quick=quick), "--out", str(folder))
    if code not in (0, A_CLAIM_FAILED):
        return code
    return 0 if quick else _pack(folder)


def _pack(folder: Path) -> int:
    DATA.mkdir(exist_ok=True)
    return _coldload("pack", str(folder), "--no-report", "--out", str(DATA / f"{folder.name}.zip"))


def _coldload(*words: str) -> int:
    print(f"coldload {' '.join(words)}", flush=True)
    return subprocess.run([sys.executable, "-m", "harness.cli", *words], check=False).returncode


def _unpack(study: RepeatedStudy) -> None:
    """Put the runs that are kept as packs where runs are, unless they are there."""
    for path in sorted(DATA.glob(f"{study.study}-run*.zip")):
        if not (RUNS / path.stem).exists():
            with open_pack(path) as pack, temporary_folder(RUNS, path.stem) as made:
                move_into_place(pack.unpack(RUN, made / path.stem), RUNS / path.stem)


def _keep(study: RepeatedStudy, *, quick: bool) -> None:
    """Report all runs of a study, and keep the small files of that report."""
    name = study.name(quick=quick)
    runs = sorted(RUNS.glob(f"{name}-run*"))
    if not runs:
        print(f"{name}: no run in {RUNS}")
        return
    report = RUNS / f"{name}-report"
    claims = read_study(shipped_studies()[name]).published
    results = evaluate([_held_against(claims, load(run)) for run in runs])
    written(results, report)
    keep(name, results, report, DATA, study.figures)


def _held_against(claims: Publication | None, run: Run) -> Run:
    """The run with what is known today of what was published: a run's own claims are those of its day."""
    if claims is None or run.plan is None or run.plan.published is None:
        return run
    rows = run.records[list(run.condition_columns)].drop_duplicates().to_dict("records")
    measured = [{str(key): value for key, value in row.items()} for row in rows]
    claims = left_of(claims, measured, [figure.name for figure in run.plan.figures])
    return replace(run, plan=replace(run.plan, published=claims))


if __name__ == "__main__":
    sys.exit(main())
