"""A run directory as one value: the plan's header, the calibration and one row per attempt.

Reading is tolerant where a run may still be going on (a truncated last line, a missing plan) and says so in
`Run.notes`; it is strict where numbers could silently change (a damaged line, an attempt recorded twice).
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from harness.errors import RecordsError, StudyError
from harness.input import jsontext, tomltext
from harness.input.shown import one_line, shown
from harness.model.claim import Claim
from harness.model.condition import Condition
from harness.model.kind import Kind
from harness.model.metrics import metrics_of
from harness.model.soundness import unsound
from harness.model.workload import Users, Workload, workload_of

SCHEMA = 1
RECORDS = "records.jsonl"
LINK_COLUMNS = {
    "name": "link",
    "down_mbps": "down_mbps",
    "up_mbps": "up_mbps",
    "rtt_ms": "rtt_ms",
    "queue_down_bytes": "queue_down_bytes",
    "queue_up_bytes": "queue_up_bytes",
}
LARGEST = 1e12  # of a metric or a link: what is beyond was not measured, and could not be reckoned with
SMALLEST_MS = 1e-3  # of a load
OF_A_RECORD = (
    "schema",
    "trial",
    "block",
    "order",
    "attempt",
    "left_out",
    "outcome",
    "reason",
    "kind",
)  # and its metrics: not of its condition
TAKEN = ("run", "panel", "place", "cell", "excluded_by")  # the analysis' own columns
PLAN_NUMBERS = ("seed", "blocks", "conditions")
COUNTED = (
    "protocols",
    "requests_by_protocol",
    "tls_versions",
    "errors",
)  # of the counts by name: also as one text
OF_EVERY_RECORD = ("trial", "block", "outcome", "condition")
OF_EVERY_PLANNED = (("block", int), ("condition", dict))
OF_EVERY_CONDITION = ("page", "protocol", "link")
OF_EVERY_LINK = ("down_mbps", "rtt_ms")
CONDITION_COLUMNS = ("page", "variant", "compression", "protocol", "engine", "driver", "origins", "server")


@dataclass(frozen=True)
class PlanHeader:
    """What plan.jsonl promises. Everything is None when the file is missing, `claims` also in older runs.

    `trials`: of each its block, and its condition as JSON. `planned` are those that are to be made: not those of
    conditions that a look (looks.jsonl) has stopped (`stopped`).
    """

    study: str | None = None
    seed: int | None = None
    blocks: int | None = None
    conditions: int | None = None
    trials: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    planned: frozenset[str] = frozenset()
    stopped: frozenset[str] = frozenset()
    looks: tuple[int, ...] = ()
    claims: tuple[Claim, ...] | None = None


@dataclass(frozen=True)
class Run:
    """One execution of a study, as its directory tells it."""

    directory: Path
    study: str
    title: str
    study_text: str
    plan: PlanHeader
    environment: Mapping[str, Any]
    calibration: tuple[Mapping[str, Any], ...]
    records: pd.DataFrame
    condition_columns: tuple[str, ...]
    notes: tuple[str, ...]
    kind: Kind = Kind.LOAD
    requested: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def planned(self) -> int | None:
        """The number of trials to be made, whatever the number of attempts."""
        if self.plan.planned:
            return len(self.plan.planned)
        if self.plan.blocks is None or self.plan.conditions is None:
            return None
        return self.plan.blocks * self.plan.conditions


def load(directory: Path) -> Run:
    """Read a run directory. Raises RecordsError when it holds no record or a damaged one."""
    path = directory / RECORDS
    if not path.is_file():
        raise RecordsError(f"{directory} is not a run directory: it has no {RECORDS}; give the path of a run")
    notes: list[str] = []
    plan = _read_plan(directory / "plan.jsonl", _read_looks(directory / "looks.jsonl", notes), notes)
    kind, rows, conditions = _read_records(path, plan, notes)
    if not rows:
        raise RecordsError(f"{path} holds no complete record yet; run the study first, or wait for one trial")
    study_text = _read_text(directory / "study.toml")
    described = _read_study(study_text, notes)
    environment = _read_environment(directory / "environment.json", notes)
    name = plan.study or described.get("name") or directory.resolve().name
    return Run(
        directory=directory,
        study=str(name),
        title=str(described.get("title") or name),
        study_text=study_text,
        plan=plan,
        environment=environment,
        calibration=tuple(data for _, data in _json_lines(directory / "calibration.jsonl", notes)),
        records=_frame(rows, directory.resolve().name, environment, numbers_of(kind)),
        condition_columns=conditions,
        kind=kind,
        requested={
            str(each["digest"]): frozenset(map(str, each["urls"]))
            for _, each in _json_lines(directory / "requested.jsonl", notes)
        },
        notes=tuple(notes),
    )


def write_parquet(records: pd.DataFrame, path: Path) -> None:
    """The flat records for other tools: one row per attempt, the columns of `Run.records`."""
    records.to_parquet(path, index=False)


def numbers_of(kind: Kind) -> tuple[str, ...]:
    return (*(key for key, each in metrics_of(kind).items() if each.unit.is_number), "overhead_ms")


def _read_records(
    path: Path, plan: PlanHeader, notes: list[str]
) -> tuple[Kind, list[dict[str, Any]], tuple[str, ...]]:
    """What was measured, flat rows, and the columns that together name a condition."""
    kind: Kind | None = None
    rows: list[dict[str, Any]] = []
    conditions: dict[str, None] = {}
    seen: dict[tuple[str, int], int] = {}
    odd: Counter[str] = Counter()
    counted: set[str] = set()
    for number, data in _json_lines(path, notes):
        where = f"{path}:{number}"
        _check_keys(data, where)
        kind = _kind(data, kind, where)
        condition = _flat_condition(data, kind, where)
        trial = _required(data, "trial", str, where)
        attempt = _required({"attempt": 1, **data}, "attempt", int, where)
        if attempt < 1:
            raise RecordsError(f"{where}: attempt is {attempt}; the first one is 1")
        if (trial, attempt) in seen:
            raise RecordsError(
                f"{where}: attempt {attempt} at trial {trial} is already on line {seen[trial, attempt]}; "
                "an attempt is recorded once"
            )
        seen[trial, attempt] = number
        _optional(data, "left_out", str, where)
        _required(data, "block", int, where)
        _required(data, "outcome", str, where)
        counts = unsound(data) is None
        odd.update(_oddities(data, plan, counts=counts, again=counts and trial in counted))
        counted |= {trial} if counts else set()
        rows.append({"left_out": None, **_flat_record(data, kind, where), "attempt": attempt, **condition})
        conditions.update(dict.fromkeys(condition))
    notes += [f"{count} of {len(rows)} records {oddity}." for oddity, count in odd.items()]
    return kind or Kind.LOAD, rows, tuple(conditions)


def _kind(data: Mapping[str, Any], above: Kind | None, where: str) -> Kind:
    """What the record is of, which is what those above it are of; records of older versions are of loads."""
    name = _optional(data, "kind", str, where) or Kind.LOAD.value
    if name not in list(Kind):
        raise RecordsError(
            f"{where}: kind is {shown(name)}; this version knows {', '.join(Kind)}: read the run with the version that "
            "wrote it"
        )
    if above is not None and name != above:
        raise RecordsError(f"{where}: kind is {name}, above it is {above}; a run is of one kind")
    return Kind(name)


def _oddities(record: Mapping[str, Any], plan: PlanHeader, *, counts: bool, again: bool) -> Iterator[str]:
    """What a report says of a record that it takes as it is. `again`: it counts, and so did one of its trial before."""
    if record.get("schema") != SCHEMA:
        yield f"do not say schema {SCHEMA}; they are read as if they did"
    if "left_out" in record and (record["left_out"] is None) is not counts:
        yield "count by left_out and not by the rules of this version, or the other way round; the rules decide"
    if again:
        yield "count although an earlier attempt at their trial does"
    if not plan.trials:
        return
    if record["trial"] not in plan.trials:
        yield "are of trials that plan.jsonl does not hold"
    elif plan.trials[record["trial"]] != (record["block"], _text(record["condition"])):
        yield "have another block or condition than their trial has in plan.jsonl"
    if record["trial"] in plan.stopped:
        yield "are of trials after a look that stopped their condition"


def _check_keys(data: Mapping[str, Any], where: str) -> None:
    """RecordsError that names what a record must hold and does not."""
    condition = data.get("condition")
    link = condition.get("link") if isinstance(condition, dict) else None
    missing = [
        key
        for holder, required in (
            (data, OF_EVERY_RECORD),
            (condition, OF_EVERY_CONDITION),
            (link, OF_EVERY_LINK),
        )
        for key in required
        if isinstance(holder, dict) and key not in holder
    ]
    if missing:
        raise RecordsError(
            f"{where}: a record of schema {shown(data.get('schema'))} without {', '.join(missing)}; this version reads "
            f"schema {SCHEMA}: read the run with the version that wrote it, or run its study again"
        )


def _flat_condition(data: Mapping[str, Any], kind: Kind, where: str) -> dict[str, Any]:
    condition = _required(data, "condition", dict, where)
    link = _required(condition, "link", dict, where)
    for key in ("page", "protocol"):
        _required(condition, key, str, where)
    for key in CONDITION_COLUMNS:
        _optional(condition, key, str, where)
    _optional(link, "name", str, where)
    for key in ("down_mbps", "rtt_ms"):
        _required(link, key, (int, float), where)
    for key in LINK_COLUMNS:
        if key != "name":
            check_number(link, key, where)
    flat = {key: condition.get(key) for key in CONDITION_COLUMNS}
    flat |= {column: link.get(key) for key, column in LINK_COLUMNS.items()}
    flat |= {f"link_{key}": _scalar(value) for key, value in link.items() if key not in LINK_COLUMNS}
    if not isinstance(condition.get("again", False), bool):
        raise RecordsError(f"{where}: again is {shown(condition['again'])}; it must be true or false")
    flat["again"] = condition.get("again", False)  # older records have none
    flat |= _flat_workload(condition, where)
    others = condition.keys() - {"link", "workload", *flat, *OF_A_RECORD, *numbers_of(kind)}
    return flat | {_free(key): _scalar(value) for key, value in condition.items() if key in others}


def _flat_workload(condition: Mapping[str, Any], where: str) -> dict[str, Any]:
    """How much load a trial put on its server; nothing for a page load."""
    workload = _workload(condition, where)
    if workload is None:
        return {}
    if isinstance(workload, Users):
        flat: dict[str, Any] = {"users": str(workload)}
        told: tuple[str, ...] = ("from", "to", "over_s", "steps", "step_s")
    else:
        flat = {"connections": workload.connections, "depth": workload.depth}
        told = ("connections", "depth")
    return flat | {f"workload_{key}": value for key, value in workload.to_json().items() if key not in told}


def _workload(condition: Mapping[str, Any], where: str) -> Workload | None:
    data = _optional(condition, "workload", dict, where)
    try:
        return None if data is None else workload_of(data)
    except StudyError as error:
        raise RecordsError(f"{where}: the workload is damaged or not one of ours: {error}") from error


def _flat_record(data: Mapping[str, Any], kind: Kind, where: str) -> dict[str, Any]:
    flat = {_free(key): value for key, value in data.items() if not isinstance(value, dict | list)}
    for key in numbers_of(kind):
        check_number(data, key, where)
    for key, metric in metrics_of(kind).items():
        if not metric.unit.is_number and data.get(key) is not None and not metric.unit.is_of(data[key]):
            raise RecordsError(f"{where}: {key} is {shown(data[key])}; expected: {metric.unit}, or null")
    load = data.get("plt_ms")
    if load is not None and 0 < load < SMALLEST_MS:
        raise RecordsError(f"{where}: plt_ms is {shown(load)}; no page loads in less than {SMALLEST_MS:g} ms")
    for key in COUNTED:
        if isinstance(data.get(key), dict):
            flat[key] = ", ".join(f"{name} {count}" for name, count in sorted(data[key].items()))
    if isinstance(data.get("errors"), dict):
        flat["error_count"] = sum(count for count in data["errors"].values() if _is_count(count))
    if isinstance(data.get("link_reading"), dict):
        flat |= dict(_leaves(data["link_reading"], "link_reading"))
    return flat


def _frame(
    rows: list[dict[str, Any]], run: str, environment: Mapping[str, Any], numbers: Sequence[str]
) -> pd.DataFrame:
    """One row per attempt; every metric that is a number is a float column, NaN where it was not observed.

    A column that holds values of several types becomes text, so that it sorts and can be stored.
    """
    frame = pd.DataFrame(rows)
    if frame["compression"].isna().all():  # in runs of older versions it was one for the whole study
        replay = environment.get("replay")
        known = replay.get("compression") if isinstance(replay, dict) else None
        frame["compression"] = known if isinstance(known, str) else None
    for column in numbers:
        frame[column] = frame[column].astype(float) if column in frame else math.nan
    frame.insert(0, "run", run)
    for name in list(frame):
        if pd.api.types.is_object_dtype(frame[name]) and frame[name].dropna().map(type).nunique() > 1:
            frame[name] = frame[name].map(str, na_action="ignore")
    return frame.copy()


@dataclass(frozen=True)
class _Look:
    """A line of looks.jsonl: the conditions that were stopped, by their names, after a block."""

    where: str
    block: int
    stopped: tuple[str, ...]


def _read_looks(path: Path, notes: list[str]) -> list[_Look]:
    found = []
    for number, data in _json_lines(path, notes):
        where = f"{path}:{number}"
        names = tuple(map(str, _required(data, "stopped", list, where)))
        found.append(_Look(where, _required(data, "block", int, where), names))
    return found


def _read_plan(path: Path, looks: Sequence[_Look], notes: list[str]) -> PlanHeader:
    if not path.is_file():
        notes.append("plan.jsonl is missing, so the number of planned trials is not known.")
        return PlanHeader()
    header: Mapping[str, Any] = {}
    trials: dict[str, tuple[int, str]] = {}
    workload: Workload | None = None
    for number, data in _json_lines(path, notes):
        where = f"{path}:{number}"
        if "trial" in data:
            trial = _required(data, "trial", str, where)
            block, condition = (_required(data, key, kind, where) for key, kind in OF_EVERY_PLANNED)
            workload = workload if trials else _workload(condition, where)
            trials[trial] = block, _text(condition)
        elif header:
            raise RecordsError(f"{where}: a second header, or a line without trial; the plan is damaged")
        else:
            header = data
            _optional(header, "study", str, where)
            for key in PLAN_NUMBERS:
                _optional(header, key, int, where)
    planned_looks = _looks(header, str(path))
    stopped = _stopped(looks, planned_looks, trials, str(path))
    return PlanHeader(
        study=header.get("study"),
        seed=header.get("seed"),
        blocks=header.get("blocks"),
        conditions=header.get("conditions"),
        trials=trials,
        planned=frozenset(trials.keys() - stopped),
        stopped=stopped,
        looks=planned_looks,
        claims=_claims(header, workload.kind if workload else Kind.LOAD, path),
    )


def _stopped(
    looks: Sequence[_Look], planned: Collection[int], trials: Mapping[str, tuple[int, str]], where: str
) -> frozenset[str]:
    """The trials that looks made needless; RecordsError for a look that contradicts the plan."""
    if not looks:
        return frozenset()
    names = {text: _name(text, where) for text in {text for _, text in trials.values()}}
    last: dict[str, int] = {}  # block of a condition
    for look in looks:
        if look.block not in planned:
            raise RecordsError(
                f"{look.where}: block is {look.block}; plan.jsonl has no look after that block"
            )
        for name in look.stopped:
            if name not in names.values():
                raise RecordsError(f"{look.where}: condition {shown(name)} is not in plan.jsonl")
            last.setdefault(name, look.block)
    return frozenset(trial for trial, (block, text) in trials.items() if block > last.get(names[text], block))


def _name(condition: str, where: str) -> str:
    """The name of a condition in looks.jsonl."""
    try:
        return str(Condition.from_json(json.loads(condition)))
    except StudyError as error:
        raise RecordsError(f"{where}: the plan is damaged, or not one of ours: {error}") from error


def _text(condition: Mapping[str, Any]) -> str:
    """A condition as JSON; one object for equal ones."""
    return sys.intern(json.dumps(condition, sort_keys=True))


def _looks(header: Mapping[str, Any], where: str) -> tuple[int, ...]:
    """The blocks after which the run looked at its records; none in older runs."""
    each = _optional(header, "per_condition", dict, where) or {"until": None, "looks": []}
    looks = _required(each, "looks", list, where)
    if bool(looks) is (each.get("until") is None):
        raise RecordsError(
            f"{where}: until is {shown(each.get('until'))}, and looks are {shown(looks)}; one is damaged"
        )
    return tuple(_required({"looks": look}, "looks", int, where) for look in looks)


def _claims(header: Mapping[str, Any], kind: Kind, path: Path) -> tuple[Claim, ...] | None:
    claims = _optional(header, "claims", list, str(path))
    try:
        return None if claims is None else tuple(Claim.from_json(claim, kind) for claim in claims)
    except StudyError as error:
        raise RecordsError(f"{path}: the plan is damaged, or not one of ours: {error}") from error


def _read_environment(path: Path, notes: list[str]) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        return jsontext.parse(path.read_bytes())
    except ValueError as error:
        notes.append(f"environment.json cannot be read ({one_line(str(error))}).")
        return {}


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _read_study(text: str, notes: list[str]) -> Mapping[str, Any]:
    try:
        return tomltext.parse(text)
    except tomltext.TomlRefusedError as error:
        notes.append(f"study.toml cannot be read ({error}).")
        return {}


def _json_lines(path: Path, notes: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Those of a file of the run; none without the file."""
    if path.is_file():
        yield from json_lines(path, notes)


def json_lines(path: Path, notes: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of each line; a last line without its newline may be torn and is then noted."""
    try:
        for number, line, ended in jsontext.lines(path):
            try:
                yield number, jsontext.parse(line)
            except ValueError as error:
                if not ended and len(line) <= jsontext.MAX_LINE_BYTES:
                    notes.append(
                        f"The last line of {path.name} is incomplete and was left out (line {number})."
                    )
                    return
                raise RecordsError(
                    f"{path}:{number} is damaged ({one_line(str(error))}); mend or remove that line"
                ) from error
    except OSError as error:
        raise RecordsError(f"cannot read {path}: {error.strerror}") from error


def _required(data: Mapping[str, Any], key: str, kind: type | tuple[type, ...], where: str) -> Any:
    value = data.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RecordsError(f"{where}: {key} is {shown(value)}; the record is damaged or not one of ours")
    return value


def _optional(data: Mapping[str, Any], key: str, kind: type | tuple[type, ...], where: str) -> Any:
    return None if data.get(key) is None else _required(data, key, kind, where)


def check_number(data: Mapping[str, Any], key: str, where: str) -> None:
    """RecordsError for what is neither null nor a number that can be reckoned with."""
    value = data.get(key)
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordsError(f"{where}: {key} is {shown(value)}; it must be a number or null")
    if abs(value) > LARGEST:
        raise RecordsError(f"{where}: {key} is {shown(value)}; it may be {LARGEST:g}")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _free(key: str) -> str:
    """A name for the column of a field."""
    return f"record_{key}" if key in TAKEN else key


def _scalar(value: Any) -> Any:
    """A nested value of a condition as text, so that it still tells two conditions apart."""
    return json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else value


def _leaves(data: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}_{key}")
        elif not isinstance(value, list):
            yield f"{prefix}_{key}", value
