"""What of a run directory goes into a pack: everything that its report and its study need, and nothing of the machine.

Files that a study had kept of trials (logs, packets, pictures) hold what the pages hold, which is not ours to pass on.
They are counted. So is nothing else: report, figures and tables are made anew from what the pack holds.
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
from harness.model.rate import RateFormat, RecordedRate
from harness.pack.privacy import told_of_nobody
from harness.pack.studytext import place_of, study_without_places
from harness.study.plan import Plan

SERIES = ("buckets.jsonl", "pages.jsonl", "seconds.jsonl")  # of a crowd: figures are drawn from them
RATES, SETS, TRIALS = "rates", "sets", "trials"
STUDY, PLAN, ENVIRONMENT, RECORDS = "study.toml", "plan.jsonl", "environment.json", "records.jsonl"
LONGEST_REASON = 200  # characters
DIGEST = re.compile("[0-9a-f]{64}")
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


def copy_run(run: Path, target: Path, plan: Plan, names: Collection[str]) -> Counter[str]:
    """The run in `target`, without `names` and the machine's paths; how many files of each name were left out."""
    target.mkdir(parents=True)
    rates = _rates(plan)
    text = study_without_places(_study(run), {name: place_of(rate) for name, rate in rates.items()})
    (target / STUDY).write_text(text, encoding="utf-8")
    for path in filter(_is_own, sorted(run.glob("*.jsonl"))):
        lines = _records(path, names) if path.name == RECORDS else _whole_lines(path)
        with (target / path.name).open("wb") as file:
            file.writelines(lines)
    _copy_environment(run / ENVIRONMENT, target / ENVIRONMENT, names)
    for rate in rates.values():
        kept = run / RATES / f"{rate.sha256[:12]}-{rate.file}"
        _copy(
            kept if kept.exists() else run / place_of(rate), target / place_of(rate)
        )  # of a pack that was unpacked
    for path in filter(_is_own, sorted((run / SETS).glob("*.toml"))):
        _copy(path, target / SETS / path.name)
    return Counter(_copy_series(run / TRIALS, target / TRIALS))


def _study(run: Path) -> str:
    try:
        return tomltext.read_text(run / STUDY)
    except (OSError, tomltext.TomlRefusedError) as error:
        why = getattr(error, "strerror", None) or error
        raise RecordsError(f"cannot read {run / STUDY}: {why}") from error


def _rates(plan: Plan) -> dict[str, RecordedRate]:
    """The traces and step lists of the links, by the names of their files; RecordsError for names that cannot be."""
    found: dict[str, RecordedRate] = {}
    for rate in (direction.rate for link in plan.links for direction in link.directions):
        if not isinstance(rate, RecordedRate):
            continue
        if PurePosixPath(rate.file).name != rate.file or not DIGEST.fullmatch(rate.sha256):
            raise RecordsError(
                f"the plan names a trace {shown(rate.file)}; it is damaged and cannot be packed"
            )
        if found.setdefault(rate.file, rate).sha256 != rate.sha256:
            raise RecordsError(
                f"the study has two {RateFormat.TRACE}s or step lists called {rate.file}; give them two names to pack "
                "a run of it"
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
        environment = jsontext.parse(path.read_bytes())
    except ValueError as error:
        raise RecordsError(f"{path} is damaged ({one_line(str(error))}); it cannot be packed") from error
    told = json.dumps(told_of_nobody(environment, names), indent=1)
    target.write_text(f"{told}\n", encoding="utf-8")


def _copy_series(trials: Path, target: Path) -> Iterator[str]:
    """Copy the series of trials; the names of all else that trials have."""
    for path in sorted(trials.glob("*/**/*")):
        if not path.is_file():
            continue
        if path.name in SERIES and path.parent.parent == trials and _is_own(path):
            _copy(path, target / path.parent.name / path.name)
        else:
            yield path.name if path.parent.parent == trials else f"{path.parent.name}/"


def _is_own(path: Path) -> bool:
    """Whether a file lies in the run. A link leads to something else, which nobody meant to pass on."""
    return path.is_file() and not path.is_symlink()


def _copy(path: Path, target: Path) -> None:
    if not _is_own(path):
        raise RecordsError(f"the run lacks {path}, which its plan names; it cannot be packed")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)
