"""Run the studies and benchmarks of a document again, and renew the document, its pages and the files they quote.

    .venv/bin/python -m benchmarks.publish reproduction|results [--quick] [--only NAME] [--run N] [--unpack]
                                [--no-runs] [--no-files]

Hours; `--quick` runs the short forms with few trials, of docs/reproduction.md in under 15 minutes. A run that was
interrupted goes on with the same command. `--run 2` is a second run of each study, of another day: figures are then of
both. To measure anew, remove the folder of a run or of a benchmark below runs/reproduction or runs/results. `--no-runs`
makes the files from what is there, `--no-files` the documents from the files that are there.

Every run of a long form is also kept as a pack beside the files that it gave. `--unpack` puts the runs of these packs
where runs are first: `--unpack --no-runs` makes the document from the records that it was made from.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from analysis.claims.doubleratios import ENGINE
from analysis.evaluation.results import evaluate
from analysis.report.report import written
from analysis.runs.rundirectory import Run
from benchmarks import notebook
from benchmarks.publish.document import renewed
from benchmarks.publish.editions import EDITIONS, Edition, RepeatedBenchmark, RepeatedStudy
from benchmarks.publish.keeping import keep, keep_changes
from harness.cli.report import read_as_known_today
from harness.errors import ColdloadError
from harness.pack.packfile import RUN, open_pack
from harness.system.files import move_into_place, temporary_folder

A_CLAIM_FAILED = 1  # of `coldload run`: the run itself is whole


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("edition", choices=EDITIONS, metavar="DOCUMENT", help=" or ".join(EDITIONS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", metavar="NAME", help="of a study or a benchmark")
    parser.add_argument("--run", type=int, default=1, metavar="N")
    parser.add_argument("--unpack", action="store_true")
    parser.add_argument("--no-runs", action="store_true")
    parser.add_argument("--no-files", action="store_true")
    arguments = parser.parse_args()
    edition = EDITIONS[arguments.edition]
    names = [each.study for each in edition.studies] + [each.name for each in edition.benchmarks]
    if arguments.only not in (None, *names):
        parser.error(f"--only is {arguments.only}; those of {edition.name} are {', '.join(names)}")
    for study in () if arguments.no_files else edition.studies:
        if arguments.only not in (None, study.study) or (arguments.quick and study.quick is None):
            continue
        try:
            if arguments.unpack:
                _unpack(edition, study)
            code = 0 if arguments.no_runs else _run(edition, study, arguments.run, quick=arguments.quick)
            if code:
                return code
            _keep(edition, study, quick=arguments.quick)
        except ColdloadError as error:
            print(error, file=sys.stderr)
            return error.exit_code
    failed = 0
    for benchmark in () if arguments.no_files or arguments.quick else edition.benchmarks:
        if arguments.only in (None, benchmark.name):
            folder = edition.runs / benchmark.name
            if not arguments.no_runs:
                failed = _measure(benchmark, folder) or failed
            for path in sorted(folder.glob(f"{benchmark.name}.*.csv")):
                shutil.copyfile(path, edition.data / path.name)
    renew(edition)
    return failed


def renew(edition: Edition) -> None:
    """Write figures and tables of the documents anew from the data files; execute the notebook if its run is new."""
    for path in edition.documents:
        text = renewed(path.read_text(encoding="utf-8"), path.parent, edition.data)
        path.write_text(text, encoding="utf-8")
        print(f"renewed: {path}")
    if not notebook.is_of_the_run():
        notebook.main()


def _run(edition: Edition, study: RepeatedStudy, number: int, *, quick: bool) -> int:
    """Run a study, or go on with its run; the exit code of a run that went wrong, else 0."""
    folder = edition.runs / f"{study.name(quick=quick)}-run{number}"
    code = _coldload("run", *study.command(quick=quick), "--out", str(folder))
    if code not in (0, A_CLAIM_FAILED):
        return code
    return 0 if quick else _pack(folder, edition.data)


def _measure(benchmark: RepeatedBenchmark, folder: Path) -> int:
    """Measure the parts of a benchmark that are not in its folder; the code of what could not be measured, else 0.

    The others are measured all the same, and one that misses an aim is measured, as a study is of which a claim fails.
    """
    failed = 0
    for part, (module, *words) in benchmark.commands.items():
        kept = folder / f"{benchmark.name}.{part}.csv"
        if kept.exists():
            continue
        command = ["-m", f"benchmarks.{module}", *words, "--into", str(folder)]
        print(f"python {' '.join(command)}", flush=True)
        code = subprocess.run([sys.executable, *command], check=False).returncode
        if not kept.exists():
            failed = code or 1
            print(f"{benchmark.name}, {part}: not measured (exit code {failed})", file=sys.stderr, flush=True)
        elif code:
            print(f"{benchmark.name}, {part}: measured; an aim is missed (exit code {code})", flush=True)
    return failed


def _pack(folder: Path, data: Path) -> int:
    data.mkdir(exist_ok=True)
    return _coldload("pack", str(folder), "--no-report", "--out", str(data / f"{folder.name}.zip"))


def _unpack(edition: Edition, study: RepeatedStudy) -> None:
    """Put the runs that are kept as packs where runs are, unless they are there."""
    for path in sorted(edition.data.glob(f"{study.study}-run*.zip")):
        if not (edition.runs / path.stem).exists():
            with open_pack(path) as pack, temporary_folder(edition.runs, path.stem) as made:
                move_into_place(pack.unpack(RUN, made / path.stem), edition.runs / path.stem)


def _keep(edition: Edition, study: RepeatedStudy, *, quick: bool) -> None:
    """Report all runs of a study, and keep the small files of that report."""
    name = study.name(quick=quick)
    runs = sorted(edition.runs.glob(f"{name}-run*"))
    if not runs:
        print(f"{name}: no run in {edition.runs}")
        return
    report = edition.runs / f"{name}-report"
    loaded = [read_as_known_today(run) for run in runs]
    results = evaluate(loaded)
    written(results, report)
    keep(name, results, report, edition.data, study)
    if results.factors or any(interaction.dimension == ENGINE for interaction in results.interactions):
        by_page = {page: evaluate(_of_page(loaded, page)) for page in _pages(loaded)}
        keep_changes(name, results, by_page, edition.data)


def _pages(runs: Sequence[Run]) -> list[str]:
    return [str(page) for page in pd.concat([run.records["page"] for run in runs]).unique()]


def _of_page(runs: Sequence[Run], page: str) -> list[Run]:
    return [replace(run, records=run.records[run.records["page"] == page]) for run in runs]


def _coldload(*words: str) -> int:
    print(f"coldload {' '.join(words)}", flush=True)
    return subprocess.run([sys.executable, "-m", "harness.cli", *words], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
