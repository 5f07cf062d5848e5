"""What a run's plan.jsonl promises, and which of its trials looks made needless."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from analysis.runs.runfields import canonical, lines_if_there, optional, read_lines, required, workload_in
from harness.errors import RecordsError, StudyError
from harness.input import jsontext
from harness.input.shown import shown
from harness.model.claim import Claim
from harness.model.condition import Condition
from harness.model.figure import StudyFigure
from harness.model.kind import Kind
from harness.model.pageset import SETS, Sets, sets_from_json
from harness.model.published import Publication
from harness.model.workload import Workload

Told = TypeVar("Told")
PLAN, LOOKS = "plan.jsonl", "looks.jsonl"
PLAN_NUMBERS = ("seed", "blocks", "conditions")
OF_EVERY_PLANNED = (("block", int), ("condition", dict))


@dataclass(frozen=True)
class PlanHeader:
    """What plan.jsonl promises. Everything is None when the file is missing, `claims` also in older runs.

    `trials`: of each its block, and its condition as JSON. `planned` are those that are to be made: not those of
    conditions that a look (looks.jsonl) has stopped (`stopped`). `sets` is empty where the study names no set of pages.
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
    figures: tuple[StudyFigure, ...] = ()
    published: Publication | None = None
    sets: Sets = field(default_factory=dict)


@dataclass(frozen=True)
class _Look:
    """A line of looks.jsonl: the conditions that were stopped, by their names, after a block."""

    where: str
    block: int
    stopped: tuple[str, ...]


class _PlannedLine(msgspec.Struct):
    """A line of a plan, its condition as text: most of them are known."""

    trial: str
    block: Annotated[int, msgspec.Meta(ge=-jsontext.MAX_WHOLE, le=jsontext.MAX_WHOLE - 1)]
    condition: msgspec.Raw


_PLANNED = msgspec.json.Decoder(_PlannedLine)


class _PlanLines:
    """Reads the lines of a plan. Conditions are few, and each is read once."""

    def __init__(self) -> None:
        self._conditions: dict[bytes, Mapping[str, Any]] = {}

    def __call__(self, line: bytes) -> Mapping[str, Any]:
        try:
            planned = _PLANNED.decode(line)
            text = bytes(planned.condition)
            if text not in self._conditions:
                self._conditions[text] = jsontext.parse(text)
        except (msgspec.DecodeError, ValueError, RecursionError):
            return jsontext.parse(line)  # the header, or what is wrong
        return {"trial": planned.trial, "block": planned.block, "condition": self._conditions[text]}


def _read_looks(path: Path, notes: list[str]) -> list[_Look]:
    found = []
    for number, data in lines_if_there(path, notes):
        where = f"{path}:{number}"
        names = tuple(map(str, required(data, "stopped", list, where)))
        found.append(_Look(where, required(data, "block", int, where), names))
    return found


def read_plan(directory: Path, notes: list[str]) -> PlanHeader:
    """The plan of a run directory, empty when it is missing; RecordsError when it or its looks are damaged."""
    path, looks = directory / PLAN, _read_looks(directory / LOOKS, notes)
    if not path.is_file():
        notes.append("plan.jsonl is missing, so the number of planned trials is not known.")
        return PlanHeader()
    header: Mapping[str, Any] = {}
    trials: dict[str, tuple[int, str]] = {}
    texts: dict[bytes, str] = {}
    workload: Workload | None = None
    for number, data in read_lines(path, notes, _PlanLines()):
        where = f"{path}:{number}"
        if "trial" in data:
            trial = required(data, "trial", str, where)
            block, condition = (required(data, key, kind, where) for key, kind in OF_EVERY_PLANNED)
            workload = workload if trials else workload_in(condition, where)
            encoded = msgspec.json.encode(condition)
            trials[trial] = block, texts.get(encoded) or texts.setdefault(encoded, canonical(condition))
        elif header:
            raise RecordsError(f"{where}: a second header, or a line without trial; the plan is damaged")
        else:
            header = data
            optional(header, "study", str, where)
            for key in PLAN_NUMBERS:
                optional(header, key, int, where)
    planned_looks = _looks(header, str(path))
    stopped = _stopped(looks, planned_looks, trials, str(path))
    kind = workload.kind if workload else Kind.LOAD
    claims = _told(
        header, "claims", list, path, lambda found: [Claim.from_json(each, kind) for each in found]
    )
    figures = _told(
        header, "figures", list, path, lambda found: [StudyFigure.from_json(each, kind) for each in found]
    )
    return PlanHeader(
        study=header.get("study"),
        seed=header.get("seed"),
        blocks=header.get("blocks"),
        conditions=header.get("conditions"),
        trials=trials,
        planned=frozenset(trials.keys() - stopped),
        stopped=stopped,
        looks=planned_looks,
        claims=None if claims is None else tuple(claims),
        figures=tuple(figures or ()),
        published=_told(header, "published", dict, path, lambda found: Publication.from_json(found, kind)),
        sets=_sets(header, path),
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


def _looks(header: Mapping[str, Any], where: str) -> tuple[int, ...]:
    """The blocks after which the run looked at its records; none in older runs."""
    each = optional(header, "per_condition", dict, where) or {"until": None, "looks": []}
    looks = required(each, "looks", list, where)
    if bool(looks) is (each.get("until") is None):
        raise RecordsError(
            f"{where}: until is {shown(each.get('until'))}, and looks are {shown(looks)}; one is damaged"
        )
    return tuple(required({"looks": look}, "looks", int, where) for look in looks)


def _told(
    header: Mapping[str, Any], key: str, kind: type, path: Path, read: Callable[[Any], Told]
) -> Told | None:
    """What a header says of the study; None where it says nothing, RecordsError when it is damaged."""
    found = optional(header, key, kind, str(path))
    try:
        return None if found is None else read(found)
    except StudyError as error:
        raise RecordsError(f"{path}: the plan is damaged, or not one of ours: {error}") from error


def _sets(header: Mapping[str, Any], path: Path) -> Sets:
    """The sets of pages; none in runs of studies that name none."""
    try:
        return sets_from_json(header.get(SETS, {}))
    except StudyError as error:
        raise RecordsError(f"{path}: the plan is damaged, or not one of ours: {error}") from error
