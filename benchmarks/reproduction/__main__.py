"""Run the studies again, report them, and renew docs/reproduction.md and the files that it quotes.

    .venv/bin/python -m benchmarks.reproduction [--quick] [--only STUDY] [--no-runs]

Hours; `--quick` runs the short forms with few trials, in under 15 minutes. A run that was interrupted goes on with the
same command. To measure anew, remove its folder below runs/reproduction. `--no-runs` makes the files from the runs that
are there.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from analysis.evaluation.results import evaluate
from analysis.report.report import build
from analysis.runs.rundirectory import load
from benchmarks.reproduction.document import renewed
from benchmarks.reproduction.keeping import keep
from benchmarks.reproduction.studies import STUDIES, RepeatedStudy

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
    parser.add_argument("--no-runs", action="store_true")
    arguments = parser.parse_args()
    for study in STUDIES:
        if arguments.only in (None, study.study):
            code = _reproduce(study, quick=arguments.quick, run=not arguments.no_runs)
            if code:
                return code
    DOCUMENT.write_text(renewed(DOCUMENT.read_text(encoding="utf-8"), DOCS), encoding="utf-8")
    print(f"renewed: {DOCUMENT}")
    return 0


def _reproduce(study: RepeatedStudy, *, quick: bool, run: bool) -> int:
    """Run a study in its folder and keep the small files of its report; the exit code of a run that went wrong."""
    name = study.name(quick=quick)
    folder = RUNS / name
    if run:
        words = ("run", *study.command(quick=quick), "--out", str(folder))
        print(f"coldload {' '.join(words)}", flush=True)
        code = subprocess.run([sys.executable, "-m", "harness.cli", *words], check=False).returncode
        if code not in (0, A_CLAIM_FAILED):
            return code
    elif folder.is_dir():
        build([folder])
    else:
        print(f"{name}: no run in {folder}")
        return 0
    keep(name, evaluate([load(folder)]), folder, DATA, study.figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
