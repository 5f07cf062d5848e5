"""What `import coldload` gives: a study run, the records of a run and its medians as tables of pandas."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.paths import given_run, run_folders
from harness.errors import ColdloadError, EnvironmentLacks, MeasurementRefused, UsageError
from harness.system import interruption
from harness.system.folders import cannot_start, records_cache

if TYPE_CHECKING:
    import pandas as pd

    from analysis.runs.rundirectory import Run
    from harness.system.process import Conversation


NameOrPath = str | PathLike[str]
ERRORS = {error.exit_code: error for error in (MeasurementRefused, UsageError, EnvironmentLacks)}
REPORT = "report: "  # what a run says last
WAIT_S = 3600.0  # for a line; then again
LAST_S = 60.0  # from the last line to the end


def run(study: NameOrPath, *options: str) -> Path:
    """Run a study as `coldload run STUDY` does, with its options as words: `run("study.toml", "--trials", "5")`.

    `study`: a file, the name of a study that ships, or a pack. Prints what the command prints. Returns the run
    directory, also where a claim of the study fails. The same call goes on with a run that was interrupted. Raises a
    ColdloadError with the command's own line: UsageError for a wrong study or option, EnvironmentLacks where the
    machine lacks something, MeasurementRefused where no trial counts.
    """
    from harness.system.process import conversing
    from harness.system.program import Command

    words = ("-P", "-m", "harness.cli", "run", str(study), *options)
    command = Command.of(sys.executable, *words).named("coldload run").dying_with_us()
    command = command.with_environment(PYTHONIOENCODING="utf-8")  # as lines are heard, whatever the locale
    folder = None
    with tempfile.TemporaryDirectory(prefix="coldload-") as temporary:
        log = Path(temporary) / "said"
        with conversing(command, log) as process:
            for line in _lines(process):
                _print(line)
                if line.startswith(REPORT):
                    folder = Path(line.removeprefix(REPORT)).parent
            process.ends_within(LAST_S)
            code = process.end()
        said = log.read_text(errors="replace").splitlines()
    if code == interruption.EXIT_CODE:
        raise KeyboardInterrupt
    mistakes = [line for line in said if line.startswith("coldload")]
    if mistakes or folder is None:  # with a report and 1 without a word, a claim fails
        told = (mistakes or said or [f"coldload run: it ended with {code} and said nothing"])[-1]
        raise ERRORS.get(code, ColdloadError)(told.partition(": ")[2] or told)
    return folder


def read(run: NameOrPath) -> pd.DataFrame:
    """The records of a run, a row per attempt at a trial. docs/reference/columns.md lists the columns.

    `run`: a run directory or a pack, the name of a run, or `latest`. Rows of the report have `counts`; what was not
    observed is NaN or None. A run that still goes on gives what it has. RecordsError for what is no run, or is damaged.
    """
    with _opened(run) as opened:
        from analysis.runs.selection import given_out

        return given_out(opened)


def medians(run: NameOrPath) -> pd.DataFrame:
    """The median of each condition in each metric that a visitor feels, with its interval: a row for both.

    Columns: what names the condition, `metric`, `unit`, `trials`, `median`, and `low` to `high`, which hold the median
    with 95 % (of 2 to 4 trials the least and the greatest). Values that time-outs leave open are infinite.
    MeasurementRefused where no trial counts.
    """
    with _opened(run) as opened:
        from analysis.evaluation.results import evaluate
        from analysis.tables.medians import as_frame, medians

        return as_frame(medians(evaluate([opened])))


def _print(line: str) -> None:
    """Print a line; characters that standard output has none for are told by their numbers."""
    encoding = sys.stdout.encoding or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding), flush=True)


def _lines(process: Conversation) -> Iterator[str]:
    """What it prints, line by line, until it has gone."""
    with contextlib.suppress(EOFError):
        while True:
            with contextlib.suppress(TimeoutError):
                yield process.hear(WAIT_S)


@contextlib.contextmanager
def _opened(run: NameOrPath) -> Iterator[Run]:
    """A run as it is read. What a part of pandas needs and is not installed is told in one line."""
    try:
        from analysis.runs.rundirectory import load

        with run_folders([given_run(str(run))]) as (folder,):
            yield load(folder, records_cache())
    except argparse.ArgumentTypeError as error:
        raise UsageError(str(error)) from error
    except ImportError as error:
        raise EnvironmentLacks(cannot_start(error)) from error
