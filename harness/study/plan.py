"""The plan of a run: every trial in its order, and what the study says of them. It writes and reads plan.jsonl.

A condition has been measured enough when a look at the records says so. Looks are taken after blocks that were fixed
beforehand, and what is enough is a question of statistics, asked of whoever runs the study (`Enough`). What a look
found is stored in looks.jsonl. It holds for the rest of the run, also when that is killed and goes on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict
from typing import Protocol as Interface

import msgspec

from harness.errors import RecordsError, StudyError
from harness.input import jsontext, keys
from harness.input.keys import NAME_PATTERN
from harness.input.shown import one_line, shown
from harness.model.condition import Condition, Sets
from harness.model.engine import Engine
from harness.model.kind import Kind
from harness.model.link import Link
from harness.model.trials import PlannedTrial, Trials
from harness.study.claim import Claim, Publication
from harness.study.figure import StudyFigure
from harness.study.pageset import sets_from_json, to_json
from harness.study.studytext import StudyText

PLAN, PLAN_SCHEMA = "plan.jsonl", 1
PORTRAIT = "portrait-"  # before the id of a trial: the load of its condition that is looked at
MOST_OPTIONS = 100
OptionName = Annotated[str, msgspec.Meta(pattern=r"\A--[a-z-]+\Z")]
OptionValue = Annotated[str, msgspec.Meta(pattern=r"\A[^\x00-\x1f\x7f]*\Z")]
MAX_PLANNED = 1_000_000  # at a second each: 12 days
MOST_DRAWN = 2**53  # what JSON and tables hold as it is

Options = Annotated[tuple[tuple[OptionName, OptionValue], ...], msgspec.Meta(max_length=MOST_OPTIONS)]


class ConditionReader:
    """Reads the JSON text of conditions, equal ones as one object, and each only once: trials are many, conditions few.

    StudyError also for a condition with keys that this version does not know: two of them might be taken for one.
    """

    def __init__(self, known: Iterable[Condition] = ()) -> None:
        self._same = {condition: condition for condition in known}
        self._read: dict[bytes, Condition] = {}

    def __call__(self, text: msgspec.Raw) -> Condition:
        key = bytes(text)
        if key not in self._read:
            data = jsontext.parse(key)
            condition = Condition.from_json(data)
            _refuse_unknown(data, condition)
            self._read[key] = self._same.setdefault(condition, condition)
        return self._read[key]


def _refuse_unknown(data: Mapping[str, Any], condition: Condition) -> None:
    told = condition.to_json()
    unknown = [*(data.keys() - told.keys()), *(data["link"].keys() - told["link"].keys())]
    if unknown:
        raise StudyError(f"a condition with {shown(min(unknown))}, which this version does not know")


class PlanHeader(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The first line of a plan.jsonl. What there is nothing of is absent."""

    schema: int
    """version of the plan's format"""
    study: str
    """name of the study"""
    seed: Annotated[int, msgspec.Meta(ge=0)]
    """seed of the order of the trials"""
    trials: int
    """trials of the whole run"""
    blocks: int
    """blocks of the whole run"""
    conditions: int
    """conditions of the whole run"""
    title: str = ""
    """title of the study; absent where it is the name"""
    options: Options = ()
    """options of the command line that changed the study, as pairs: a run goes on with the same ones only"""
    portraits: bool = False
    """true where each condition gets one more load, to look at"""
    per_condition: dict[str, Any]
    """trials of each condition"""
    claims: list[dict[str, Any]] = []
    """claims of the study, or the default ones where it has none and repeats none"""
    sets: dict[str, list[str]] = {}
    """pages of each set that the study names"""
    figures: list[dict[str, Any]] = []
    """figures that the study asks for"""
    published: dict[str, Any] | None = None
    """what the study repeats; absent where it repeats nothing"""


class _Planned(msgspec.Struct):
    """A line of a plan, its condition as text: most of them are known."""

    trial: Annotated[str, msgspec.Meta(pattern=rf"\A{NAME_PATTERN.pattern}\Z")]
    block: Annotated[int, msgspec.Meta(ge=1, le=MAX_PLANNED)]
    order: Annotated[int, msgspec.Meta(ge=1, le=MAX_PLANNED)]
    condition: msgspec.Raw
    own_draw: Annotated[int, msgspec.Meta(ge=0, le=MOST_DRAWN)] | None = None


_PLANNED = msgspec.json.Decoder(_Planned)


def _planned(line: bytes, condition: ConditionReader) -> PlannedTrial:
    told = jsontext.decoded(line, _PLANNED)
    return PlannedTrial(told.trial, told.block, told.order, condition(told.condition), own_draw=told.own_draw)


@dataclass(frozen=True)
class Plan:
    """The trials of a run with the seed that ordered them. The same study, seed and draw give the same plan.

    `claims` are those of the study or, where it names none and repeats none, the default ones; `sets`, `figures` and
    `published` are what the report needs of the study beside them. `options` are those of the command line that changed
    the study. `title` is "" where the study has none but its name.
    `study_text` is the study's file, `companions` are the files that it names: a run keeps them beside plan.jsonl, and
    what was read from that has none. `portrayed`: once all is measured, each condition gets one more load, to look at.
    """

    study: str
    seed: int
    trials: tuple[PlannedTrial, ...]
    per_condition: Trials
    claims: tuple[Claim, ...] = ()
    sets: Sets = field(default_factory=dict)
    figures: tuple[StudyFigure, ...] = ()
    published: Publication | None = None
    options: Options = ()
    title: str = ""
    study_text: StudyText = field(default_factory=StudyText, repr=False, compare=False)
    companions: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    portrayed: bool = False

    @property
    def every_claim(self) -> tuple[Claim, ...]:
        """Its claims, and the published ones that its conditions are compared for."""
        return (*self.claims, *(self.published.compared if self.published else ()))

    @property
    def attempts(self) -> int:
        """How many attempts a trial may have."""
        return self.per_condition.attempts

    @property
    def looks(self) -> tuple[int, ...]:
        """The blocks after which a condition may stop."""
        return self.per_condition.looks

    @cached_property
    def _shared(self) -> tuple[Condition, ...]:
        """The conditions as objects, which many trials share: a hundred thousand are not hashed where hundreds are."""
        return tuple({id(trial.condition): trial.condition for trial in self.trials}.values())

    @cached_property
    def distinct(self) -> frozenset[Condition]:
        """Every condition of the plan."""
        return frozenset(self._shared)

    @cached_property
    def portraits(self) -> Mapping[str, PlannedTrial]:
        """The loads to look at by their ids, each named after the first trial of its condition; none unless wanted."""
        firsts: dict[int, PlannedTrial] = {}
        for trial in self.trials if self.portrayed else ():
            if not trial.condition.again:
                firsts.setdefault(self.numbered[trial.trial], trial)
        block, before = self.blocks + 1, len(self.trials)
        made = (
            replace(
                first,
                trial=f"{PORTRAIT}{first.trial}",
                block=block,
                order=before + number,
                portrait=True,
            )
            for number, first in enumerate(firsts.values(), start=1)
        )
        return {planned.trial: planned for planned in made}

    @cached_property
    def numbered(self) -> Mapping[str, int]:
        """Of every trial, by its id, the number of its condition: equal ones have the same."""
        numbers: dict[Condition, int] = {}
        known = {id(condition): numbers.setdefault(condition, len(numbers)) for condition in self._shared}
        return {trial.trial: known[id(trial.condition)] for trial in self.trials}

    @property
    def conditions(self) -> int:
        return len(self.distinct)

    @property
    def blocks(self) -> int:
        return max((trial.block for trial in self.trials), default=0)

    @property
    def links(self) -> tuple[Link, ...]:
        """Every link of the plan, once."""
        return tuple(dict.fromkeys(condition.link for condition in self._shared))

    @property
    def kind(self) -> Kind:
        """What the trials measure, all of them the same."""
        return next((trial.condition.kind for trial in self.trials), Kind.LOAD)

    @property
    def engines(self) -> tuple[Engine, ...]:
        """Every engine of the plan, once."""
        return tuple(dict.fromkeys(condition.engine for condition in self._shared))

    def with_conditions_of(self, other: Plan) -> Plan:
        """The same trials with the equal conditions of another plan, which hold the text of their traces."""
        theirs = set(map(id, other._shared))
        known = {condition: condition for condition in other.distinct if not condition.again}
        same = {
            id(condition): replace(known[replace(condition, again=False)], again=condition.again)
            for condition in self._shared
            if id(condition) not in theirs
        }
        if not same:
            return self
        trials = (
            replace(trial, condition=same.get(id(trial.condition), trial.condition)) for trial in self.trials
        )
        return replace(self, trials=tuple(trials))

    @property
    def cells(self) -> frozenset[Condition]:
        """The conditions without those that repeat another (A/A), which follow from the others."""
        return frozenset(condition for condition in self._shared if not condition.again)

    def to_lines(self) -> str:
        """The text of plan.jsonl: a header line, then a line per trial."""
        header = PlanHeader(
            schema=PLAN_SCHEMA,
            study=self.study,
            seed=self.seed,
            trials=len(self.trials),
            blocks=self.blocks,
            conditions=self.conditions,
            title=self.title,
            options=self.options,
            portraits=self.portrayed,
            per_condition=self.per_condition.to_json(),
            claims=[claim.to_json() for claim in self.claims],
            sets=to_json(self.sets),
            figures=[figure.to_json() for figure in self.figures],
            published=None if self.published is None else self.published.to_json(),
        )
        rows = [msgspec.to_builtins(header), *(trial.to_json() for trial in self.trials)]
        return "".join(json.dumps(row) + "\n" for row in rows)

    @classmethod
    def read(cls, path: Path, known: Iterable[Condition] = ()) -> Plan:
        """The plan of a plan.jsonl; `from_lines`. OSError when it cannot be read."""
        return cls.from_lines(path.read_text(errors="replace"), str(path), known)

    @classmethod
    def from_lines(cls, text: str, where: str, known: Iterable[Condition] = ()) -> Plan:
        """Inverse of `to_lines`; raises RecordsError when the text is not a whole plan.

        Of conditions that equal a `known` one it has that one.
        """
        try:
            first, *lines = text.encode().splitlines()
            header, condition = msgspec.convert(jsontext.parse(first), PlanHeader), ConditionReader(known)
            trials = tuple(_planned(line, condition) for line in lines)
            kind = trials[0].condition.kind if trials else Kind.LOAD
            plan = cls(
                study=keys.text({"study": header.study}, "study"),
                seed=header.seed,
                trials=trials,
                per_condition=Trials.from_json(header.per_condition),
                claims=tuple(Claim.from_json(claim, kind) for claim in header.claims),
                sets=sets_from_json(header.sets),
                figures=tuple(StudyFigure.from_json(figure, kind) for figure in header.figures),
                published=None if header.published is None else Publication.from_json(header.published, kind),
                options=header.options,
                title=header.title and keys.text({"title": header.title}, "title"),
                portrayed=header.portraits,
            )
            whole = header.schema == PLAN_SCHEMA and header.trials == len(trials)
        except (ValueError, KeyError, TypeError, AttributeError, StudyError) as error:
            raise RecordsError(
                f"{where} is damaged or not a plan of ours ({one_line(str(error))}); start the study in a new directory"
            ) from error
        if not whole:
            raise RecordsError(
                f"{where} is damaged: it is not a whole plan; start the study in a new directory"
            )
        return plan


LOOKS, LOOKS_SCHEMA = "looks.jsonl", 1


@dataclass(frozen=True)
class Found:
    """What a look found: the conditions that need no more trials, and what that was seen from, as JSON can hold it."""

    stopped: frozenset[Condition]
    facts: Mapping[str, Any]


class LookLine(TypedDict):
    """A line of looks.jsonl."""

    schema: int
    """version of the format"""
    block: int
    """block after which the look was taken"""
    stopped: list[str]
    """conditions of which later blocks have no trials, as `agency plain h2 10mbps-20ms playwright`"""
    facts: dict[str, Any]
    """figures that decided"""
    unmeasurable: NotRequired[str]
    """reason by which this machine cannot measure the condition: no planned look; absent for a planned one"""


class Enough(Interface):
    """Says what the records of a run directory are enough for, up to and including a block that is whole."""

    def __call__(self, folder: Path, block: int) -> Found: ...


class Looks:
    """The looks of a run: those that are planned, those that were taken, and what they stopped."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._planned = plan.looks
        self._conditions = {key_of(condition): condition for condition in plan.distinct}
        self._stopped: dict[Condition, int] = {}
        self._taken: set[int] = set()

    def due(self, block: int) -> tuple[int, ...]:
        """The looks to take before the first trial of this block."""
        return tuple(look for look in self._planned if look < block and look not in self._taken)

    def note(self, block: int, stopped: Iterable[str], unmeasurable: str | None = None) -> None:
        """A look was taken after a block, and stopped conditions, by their keys.

        `unmeasurable`: it was no look of the plan; this machine cannot measure them, for that reason. ValueError for a
        look or a condition that is not of the plan.
        """
        if unmeasurable is None and block not in self._planned:
            raise ValueError(f"plan.jsonl has no look after block {block}")
        for key in stopped:
            if key not in self._conditions:
                raise ValueError(f"condition {shown(key)} is not in plan.jsonl")
            self._stopped.setdefault(self._conditions[key], block)
        if unmeasurable is None:
            self._taken.add(block)

    def needs(self, planned: PlannedTrial) -> bool:
        """Whether a trial is still wanted: its condition was not stopped after an earlier block."""
        return not self._stopped or self._stopped.get(planned.condition, planned.block) >= planned.block

    @property
    def stopped(self) -> frozenset[str]:
        """The ids of the trials that looks made needless."""
        return frozenset(
            planned.trial for planned in self._plan.trials if self._stopped and not self.needs(planned)
        )

    def line(self, block: int, found: Found) -> LookLine:
        """What looks.jsonl says of a look: the conditions that it stopped, and no earlier one did."""
        new = sorted(key_of(condition) for condition in found.stopped - self._stopped.keys())
        return LookLine(schema=LOOKS_SCHEMA, block=block, stopped=new, facts=dict(found.facts))

    def line_of_unmeasurable(self, block: int, condition: Condition, reason: str) -> LookLine | None:
        """What looks.jsonl says of a condition that this machine cannot measure; None when it is stopped already."""
        if condition in self._stopped:
            return None
        stopped = [key_of(condition)]
        return LookLine(schema=LOOKS_SCHEMA, block=block, stopped=stopped, facts={}, unmeasurable=reason)


def key_of(condition: Condition) -> str:
    """A condition's name, which no other of its plan has."""
    return str(condition)


def of_trials(plan: Plan, trials: Iterable[str]) -> frozenset[Condition]:
    """The conditions of trials, by their ids."""
    wanted = set(trials)
    return frozenset(trial.condition for trial in plan.trials if trial.trial in wanted)


def read_looks(path: Path, plan: Plan) -> Looks:
    """The looks that looks.jsonl tells of; a last line that a kill cut off is no look yet."""
    looks = Looks(plan)
    for _ in jsontext.each(path, partial(_note, looks)):
        pass
    return looks


def _note(looks: Looks, text: bytes) -> None:
    line = jsontext.parse(text)
    block = keys.checked_number("block", line["block"], 1, MAX_PLANNED, whole=True)
    if not isinstance(line["stopped"], list):
        raise TypeError(f"stopped is {shown(line['stopped'])}")
    reason = line.get("unmeasurable")
    looks.note(int(block), map(str, line["stopped"]), None if reason is None else str(reason))
