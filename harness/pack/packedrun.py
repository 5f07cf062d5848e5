"""What of a run directory goes into a pack: everything that its report and its study need, and nothing of the machine.

Files that a study had kept of trials (logs, packets, pictures) hold what the pages hold, which is not ours to pass on.
They are counted. So is nothing else: report, figures and tables are made anew from what the pack holds.
"""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.errors import RecordsError
from harness.input import jsontext, tomltext
from harness.input.shown import clipped, one_line
from harness.model.rate import RateFormat, RecordedRate
from harness.pack.privacy import told_of_nobody
from harness.study.plan import Plan

SERIES = ("buckets.jsonl", "pages.jsonl", "seconds.jsonl")  # of a crowd: figures are drawn from them
RATES, SETS, TRIALS = "rates", "sets", "trials"
STUDY, PLAN, ENVIRONMENT, RECORDS = "study.toml", "plan.jsonl", "environment.json", "records.jsonl"
LONGEST_REASON = 200  # characters
FREE_TEXT = "reason"  # of a record: what programs said
_TRACE = re.compile(r"""((?:trace|steps)_(?:up|down)\s*=\s*)("(?:[^"\\\n]|\\.)*"|'[^'\n]*')""")


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
    (target / STUDY).write_text(_without_places(_study(run), rates), encoding="utf-8")
    for path in sorted(run.glob("*.jsonl")):
        lines = _records(path, names) if path.name == RECORDS else _whole_lines(path)
        with (target / path.name).open("wb") as file:
            file.writelines(lines)
    _copy_environment(run / ENVIRONMENT, target / ENVIRONMENT, names)
    for rate in rates.values():
        _copy(run / RATES / f"{rate.sha256[:12]}-{rate.file}", target / _place(rate))
    for path in sorted((run / SETS).glob("*.toml")):
        _copy(path, target / SETS / path.name)
    return Counter(_copy_series(run / TRIALS, target / TRIALS))


def _study(run: Path) -> str:
    try:
        return tomltext.read_text(run / STUDY)
    except (OSError, tomltext.TomlRefusedError) as error:
        why = getattr(error, "strerror", None) or error
        raise RecordsError(f"cannot read {run / STUDY}: {why}") from error


def _rates(plan: Plan) -> dict[str, RecordedRate]:
    """The traces and step lists of the links, by the names of their files; RecordsError when two share one."""
    found: dict[str, RecordedRate] = {}
    for link in plan.links:
        for direction in link.directions:
            rate = direction.rate
            if isinstance(rate, RecordedRate) and found.setdefault(rate.file, rate).sha256 != rate.sha256:
                raise RecordsError(
                    f"the study has two {RateFormat.TRACE}s or step lists called {rate.file}; give them two names to "
                    "pack a run of it"
                )
    return found


def _place(rate: RecordedRate) -> str:
    """Where a trace lies in a pack: under its own name, which is a part of the plan."""
    return f"{RATES}/{rate.sha256[:12]}/{rate.file}"


def _without_places(text: str, rates: Mapping[str, RecordedRate]) -> str:
    """A study that finds its traces in the pack. Comments lose their paths, too."""

    def moved(value: str) -> str:
        name = Path(value).name
        return _place(rates[name]) if name in rates else name

    def rewritten(found: re.Match[str]) -> str:
        value = tomllib.loads(f"value = {found[2]}")["value"]
        return f"{found[1]}{json.dumps(moved(value))}"

    made = _TRACE.sub(rewritten, tomltext.with_comments(text, lambda comment: told_of_nobody(comment, ())))
    try:
        before, after = tomltext.parse(text), tomltext.parse(made)
    except tomltext.TomlRefusedError as error:
        raise RecordsError(
            f"the run's {STUDY} is damaged ({one_line(str(error))}); it cannot be packed"
        ) from error
    if _moved(before, moved) != after:
        raise RecordsError(
            f'the run\'s {STUDY} names its traces in a way that cannot be packed; write each as trace_down = "FILE" on '
            "one line"
        )
    return made


def _moved(value: Any, moved: Any, key: str = "") -> Any:
    """Parsed TOML with the places of its traces replaced."""
    if isinstance(value, dict):
        return {name: _moved(each, moved, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_moved(each, moved, key) for each in value]
    return moved(value) if isinstance(value, str) and key.startswith(("trace_", "steps_")) else value


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
    if not path.is_file():
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
        if path.name in SERIES and path.parent.parent == trials:
            _copy(path, target / path.parent.name / path.name)
        else:
            yield path.name if path.parent.parent == trials else f"{path.parent.name}/"


def _copy(path: Path, target: Path) -> None:
    if not path.is_file():
        raise RecordsError(f"the run lacks {path}, which its plan names; it cannot be packed")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)
