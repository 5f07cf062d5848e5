"""What of a run directory goes into a pack: everything that its report and its study need, and nothing of the machine.

Files that a study had kept of trials (logs, packets, pictures) hold what the pages hold, which is not ours to pass on.
The long series of a crowd, a line per page and per second, are nine tenths of a pack, and no figure is drawn from them.
Both are counted. So is nothing else: report, figures and tables are made anew from what the pack holds.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from harness.errors import RecordsError
from harness.input import jsontext, tomltext
from harness.input.shown import clipped, one_line, shown
from harness.model.plan import Plan
from harness.model.rate import RateFormat, RecordedRate
from harness.pack.privacy import told_of_nobody
from harness.pack.studytext import study_without_places, without_paths
from harness.study.companions import DIGITS, PUBLISHED, RATES
from harness.study.pageset import FOLDER as SETS

SHORT_SERIES = ("buckets.jsonl",)  # of a crowd: figures are drawn from it
LONG_SERIES = ("pages.jsonl", "seconds.jsonl")  # what the short one was made from
TRIALS = "trials"
STUDY, PLAN, ENVIRONMENT, RECORDS = "study.toml", "plan.jsonl", "environment.json", "records.jsonl"
LONGEST_REASON = 200  # characters
DIGEST = re.compile("[0-9a-f]{64}")
# As a run keeps a trace, and as a pack does, where it has its own name, which is a part of the plan.
KEPT_RATE = re.compile(rf"(?P<digest>[0-9a-f]{{{DIGITS}}})[-/](?P<file>[^/]+)")
FREE_TEXT = "reason"  # of a record: what programs said


def read_plan(run: Path) -> Plan:
    """The plan of a run directory; RecordsError when there is none."""
    try:
        text = (run / PLAN).read_text(errors="replace")
        try:
            return Plan.from_lines(text, str(run / PLAN))
        except RecordsError as error:
            why = clipped(str(error), LONGEST_REASON)
            raise RecordsError(f"{run} cannot be packed by this version: {why}") from error
    except OSError as error:
        raise RecordsError(
            f"{run} is not a run directory: it has no {PLAN} ({error.strerror}); give the path of a run"
        ) from error


def copy_run(
    run: Path, target: Path, plan: Plan, names: Collection[str], *, whole_series: bool
) -> Counter[str]:
    """The run in `target`, without `names` and the machine's paths; how many files of each name were left out."""
    target.mkdir(parents=True)
    rates, published = _rates(run, plan), _is_own(run / PUBLISHED)
    places = {name: f"{RATES}/{digest}/{name}" for name, (digest, _) in rates.items()}
    text = study_without_places(_text(run / STUDY), places, PUBLISHED if published else None)
    (target / STUDY).write_text(text, encoding="utf-8")
    if published:
        (target / PUBLISHED).write_text(without_paths(_text(run / PUBLISHED)), encoding="utf-8")
    for path in filter(_is_own, sorted(run.glob("*.jsonl"))):
        lines = _records(path, names) if path.name == RECORDS else _whole_lines(path)
        with (target / path.name).open("wb") as file:
            file.writelines(lines)
    _copy_environment(run / ENVIRONMENT, target / ENVIRONMENT, names)
    for name, (_, path) in rates.items():
        _copy(path, target / places[name])
    for path in filter(_is_own, sorted((run / SETS).glob("*.toml"))):
        _copy(path, target / SETS / path.name)
    series = (*SHORT_SERIES, *LONG_SERIES) if whole_series else SHORT_SERIES
    return Counter(_copy_series(run / TRIALS, target / TRIALS, series))


def _text(path: Path) -> str:
    try:
        return tomltext.read_text(path)
    except (OSError, tomltext.TomlRefusedError) as error:
        why = getattr(error, "strerror", None) or error
        raise RecordsError(f"cannot read {path}: {why}") from error


def _rates(run: Path, plan: Plan) -> dict[str, tuple[str, Path]]:
    """The digests (their beginnings) and copies of all traces and step lists of the study, by the names of their files.

    RecordsError when one of the plan is not among them, or two have the same name.
    """
    found: dict[str, tuple[str, Path]] = {}
    for path in filter(_is_own, sorted((run / RATES).glob("**/*"))):
        kept = KEPT_RATE.fullmatch(path.relative_to(run / RATES).as_posix())
        if kept is None:
            continue
        if found.setdefault(kept["file"], (kept["digest"], path))[0] != kept["digest"]:
            raise RecordsError(
                f"the study has two {RateFormat.TRACE}s or step lists called {kept['file']}; give them two names to "
                "pack a run of it"
            )
    for rate in (direction.rate for link in plan.links for direction in link.directions):
        if not isinstance(rate, RecordedRate):
            continue
        if PurePosixPath(rate.file).name != rate.file or not DIGEST.fullmatch(rate.sha256):
            raise RecordsError(
                f"the plan names a trace {shown(rate.file)}; it is damaged and cannot be packed"
            )
        if found.get(rate.file, ("",))[0] != rate.sha256[:DIGITS]:
            raise RecordsError(
                f"the run lacks {run / RATES / rate.file}, which its plan names; it cannot be packed"
            )
    return found


def _whole_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file; not one that is still being written."""
    for _, line, ended in jsontext.lines(path):
        if ended:
            yield line + b"\n"


def _records(path: Path, names: Collection[str]) -> Iterator[bytes]:
    for number, line in enumerate(_whole_lines(path), start=1):
        try:
            record = jsontext.parse(line)
        except ValueError as error:
            raise RecordsError(
                f"{path}:{number} is damaged ({one_line(str(error))}); mend or remove that line"
            ) from error
        told = {**record, FREE_TEXT: told_of_nobody(record.get(FREE_TEXT), names)}
        yield line if told == record or FREE_TEXT not in record else (json.dumps(told) + "\n").encode()


def _copy_environment(path: Path, target: Path, names: Collection[str]) -> None:
    if not _is_own(path):
        return
    try:
        environment = jsontext.read(path)
    except ValueError as error:
        raise RecordsError(f"{path} is damaged ({one_line(str(error))}); it cannot be packed") from error
    told = json.dumps(told_of_nobody(environment, names), indent=1)
    target.write_text(f"{told}\n", encoding="utf-8")


def _copy_series(trials: Path, target: Path, series: Collection[str]) -> Iterator[str]:
    """Copy these series of trials; the names of all else that trials have."""
    for path in sorted(trials.glob("*/**/*")):
        if not path.is_file():
            continue
        if path.name in series and path.parent.parent == trials and _is_own(path):
            _copy(path, target / path.parent.name / path.name)
        else:
            yield path.name if path.parent.parent == trials else f"{path.parent.name}/"


def _is_own(path: Path) -> bool:
    """Whether a file lies in the run. A link leads to something else, which nobody meant to pass on."""
    return path.is_file() and not path.is_symlink()


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)
