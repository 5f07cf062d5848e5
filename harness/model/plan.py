"""The plan of a run: every trial in its order, and what the study says of them. It writes and reads plan.jsonl."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import msgspec

from harness.errors import RecordsError, StudyError
from harness.input import jsontext, keys
from harness.input.keys import NAME_PATTERN
from harness.input.shown import shown
from harness.model.claim import Claim
from harness.model.condition import Condition
from harness.model.engine import Engine
from harness.model.figure import StudyFigure
from harness.model.kind import Kind
from harness.model.link import Link
from harness.model.pageset import SETS, Sets, sets_from_json, to_json
from harness.model.published import Publication
from harness.model.trials import USUAL_ATTEMPTS, Trials

PLAN_SCHEMA = 1
MAX_PLANNED = 1_000_000  # at a second each: 12 days


@dataclass(frozen=True)
class PlannedTrial:
    """One trial to come. `trial` is its id; `order` its position in the whole run, from 1."""

    trial: str
    block: int
    order: int
    condition: Condition

    def to_json(self) -> dict[str, Any]:
        return {
            "trial": self.trial,
            "block": self.block,
            "order": self.order,
            "condition": self.condition.to_json(),
        }

    @classmethod
    def from_json(
        cls, data: Mapping[str, Any], condition: Callable[[Any], Condition] = Condition.from_json
    ) -> PlannedTrial:
        """Inverse of `to_json`; `condition` reads the trial's condition."""
        trial, block, order = data["trial"], data["block"], data["order"]
        if not isinstance(trial, str) or not NAME_PATTERN.fullmatch(trial):  # it names a folder
            raise StudyError(f"trial is {shown(trial)}")
        for key, value in (("block", block), ("order", order)):
            keys.checked_number(key, value, 1, MAX_PLANNED, whole=True)
        return cls(trial, block, order, condition(data["condition"]))


class ConditionReader:
    """Reads conditions from JSON, equal ones as one object, and each only once: trials are many, conditions are few."""

    def __init__(self, known: Iterable[Condition] = ()) -> None:
        self._same = {condition: condition for condition in known}
        self._read: dict[bytes, Condition] = {}

    def __call__(self, data: Any) -> Condition:
        """`data` is JSON that was read, or its text."""
        key = bytes(data) if isinstance(data, msgspec.Raw) else msgspec.json.encode(data)
        if key not in self._read:
            condition = Condition.from_json(jsontext.parse(key))
            self._read[key] = self._same.setdefault(condition, condition)
        return self._read[key]


class _Planned(msgspec.Struct):
    """A line of a plan, its condition as text: most of them are known."""

    trial: Annotated[str, msgspec.Meta(pattern=rf"\A{NAME_PATTERN.pattern}\Z")]
    block: Annotated[int, msgspec.Meta(ge=1, le=MAX_PLANNED)]
    order: Annotated[int, msgspec.Meta(ge=1, le=MAX_PLANNED)]
    condition: msgspec.Raw


_PLANNED = msgspec.json.Decoder(_Planned)


def _planned(line: bytes, condition: ConditionReader) -> PlannedTrial:
    try:
        told = _PLANNED.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return PlannedTrial.from_json(jsontext.parse(line), condition)  # which says what is wrong
    return PlannedTrial(told.trial, told.block, told.order, condition(told.condition))


@dataclass(frozen=True)
class Plan:
    """The trials of a run with the seed that ordered them. The same study and seed give the same plan.

    `claims` are those of the study or, where it names none, the default ones; `sets`, `figures` and `published` are
    what the report needs of the study beside them. The plan of an older version has no claims, and its `per_condition`
    is None. `companions` are the files that the study names, empty in what was read from plan.jsonl.
    """

    study: str
    seed: int
    trials: tuple[PlannedTrial, ...]
    per_condition: Trials | None = None
    claims: tuple[Claim, ...] = ()
    sets: Sets = field(default_factory=dict)
    figures: tuple[StudyFigure, ...] = ()
    published: Publication | None = None
    companions: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def attempts(self) -> int:
        """How many attempts a trial may have."""
        return self.per_condition.attempts if self.per_condition else USUAL_ATTEMPTS

    @property
    def looks(self) -> tuple[int, ...]:
        """The blocks after which a condition may stop."""
        return self.per_condition.looks if self.per_condition else ()

    @cached_property
    def _shared(self) -> tuple[Condition, ...]:
        """The conditions as objects, which many trials share: a hundred thousand are not hashed where hundreds are."""
        return tuple({id(trial.condition): trial.condition for trial in self.trials}.values())

    @cached_property
    def distinct(self) -> frozenset[Condition]:
        """Every condition of the plan."""
        return frozenset(self._shared)

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
        """The conditions without those that repeat another (A/A), which older versions did not plan."""
        return frozenset(condition for condition in self._shared if not condition.again)

    def to_lines(self) -> str:
        """The text of plan.jsonl: a header line, then a line per trial."""
        header = {
            "schema": PLAN_SCHEMA,
            "study": self.study,
            "seed": self.seed,
            "trials": len(self.trials),
            "blocks": self.blocks,
            "conditions": self.conditions,
            **({"per_condition": self.per_condition.to_json()} if self.per_condition else {}),
            **({"claims": [claim.to_json() for claim in self.claims]} if self.claims else {}),
            **({SETS: to_json(self.sets)} if self.sets else {}),
            **({"figures": [figure.to_json() for figure in self.figures]} if self.figures else {}),
            **({"published": self.published.to_json()} if self.published else {}),
        }
        rows = [header, *(trial.to_json() for trial in self.trials)]
        return "".join(json.dumps(row) + "\n" for row in rows)

    @classmethod
    def from_lines(cls, text: str, where: str, known: Iterable[Condition] = ()) -> Plan:
        """Inverse of `to_lines`; raises RecordsError when the text is not a whole plan.

        Of conditions that equal a `known` one it has that one.
        """
        try:
            first, *lines = text.encode().splitlines()
            header, condition = jsontext.parse(first), ConditionReader(known)
            trials = tuple(_planned(line, condition) for line in lines)
            seed = keys.checked_number("seed", header["seed"], 0, jsontext.MAX_WHOLE, whole=True)
            each = header.get("per_condition")
            per_condition = None if each is None else Trials.from_json(each)
            kind = trials[0].condition.kind if trials else Kind.LOAD
            claims = tuple(Claim.from_json(claim, kind) for claim in header.get("claims", ()))
            figures = tuple(StudyFigure.from_json(each, kind) for each in header.get("figures", ()))
            published = header.get("published")
            sets = sets_from_json(header.get(SETS, {}))
            plan = cls(
                keys.text(header, "study"),
                int(seed),
                trials,
                per_condition,
                claims,
                sets,
                figures,
                None if published is None else Publication.from_json(published, kind),
            )
            complete = header["schema"] == PLAN_SCHEMA and header["trials"] == len(trials)
        except (ValueError, KeyError, TypeError, StudyError) as error:
            raise RecordsError(
                f"{where} is not a plan ({error}); start the study in a new directory"
            ) from error
        if not complete:
            raise RecordsError(f"{where} is not a complete plan; start the study in a new directory")
        return plan
