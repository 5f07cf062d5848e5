"""docs/reference is what the code gives. Every key of a study and of the files of a run has a meaning there."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from typing import Any, Literal, NotRequired, TypedDict

import msgspec
import pytest

from benchmarks.declared import declared, members
from benchmarks.filereference import link_meanings
from benchmarks.meanings import (
    CALIBRATION,
    COLUMNS,
    DECLARED,
    KEYS,
    MUST,
    OF_TRIALS,
    OF_VARIANTS,
    USUAL_VALUES,
    of_each_way,
)
from benchmarks.reference import FILES, FOLDER
from harness.errors import Outcome, StudyError
from harness.lab.calibration import CalibratedFigure, Calibration
from harness.model.condition import CacheState, Condition
from harness.model.kind import Kind
from harness.model.link import NO_LINK, Link
from harness.model.trials import PlannedTrial, Trials
from harness.records import Record, StoredRecord
from harness.study.advising import toml_of
from harness.study.metrics import metrics_of, observation_of
from harness.study.planning import make_plan
from harness.study.study import Study
from harness.study.studyfile import OF_KINDS, parse_study
from harness.study.studytext import StudyText
from tests.unit.harness.study.kindstudies import REQUESTS, USERS

RENEW = "renew it: .venv/bin/python -m benchmarks.reference"


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_what_the_code_gives(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == FILES[name](), RENEW


def test_there_is_no_other_file() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*FILES}


@pytest.mark.parametrize("name", DECLARED)
def test_the_keys_are_those_that_a_study_takes(name: str) -> None:
    assert {*KEYS[name]} == {*DECLARED[name]}


def study(kind: Kind, name: str = "", key: str = "", value: str = "") -> Study:
    """One of the kind with a key of a table set to a value, or without the key."""
    links: dict[str, Any] = {"rtt_ms": 20, "down_mbps": 10}
    told: dict[str, Any] = {"name": "x", "pages": ["x"], "protocols": ["http1"], "links": [links]}
    told |= {"kind": kind} | ({"server": "nginx"} if kind is Kind.REQUESTS else {})
    of_kind: dict[str, Any] = {"users": {"steps": [1], "step_s": 60}, "requests": {"connections": 1}}
    told |= {kind: of_kind[kind]} if kind in of_kind else {}
    table = told if not name else links if name == "links" else told.setdefault(name, {})
    table.pop(key, None)
    if value:
        table[key] = tomllib.loads(f"value = {value}")["value"]
    text = "\n".join(f"{key} = {toml_of(each)}" for key, each in told.items() if each != {})
    return replace(parse_study(text, "x"), text=StudyText())


KINDS = {key: kind for kind, own in OF_KINDS.items() for key in own}


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [(name, key, value) for name, told in USUAL_VALUES.items() for key, value in told.items()],
)
def test_what_is_left_out_is_what_the_page_says(name: str, key: str, value: str) -> None:
    kind = KINDS.get(name or key, Kind.LOAD)
    key = key.replace("WAY", "down")
    if value == MUST:
        with pytest.raises(StudyError, match=key):
            study(kind, name, key)
    else:
        assert study(kind, name, key) == study(kind, name, key, value)


def test_no_column_has_a_meaning_that_the_data_do_not_have() -> None:
    text = (FOLDER / "columns.md").read_text(encoding="utf-8")
    assert [name for name in COLUMNS if f"| `{name}` |" not in text] == []


# --- the files of a run: what is written has the keys that the types declare

LOADS = """
name = "mine"
pages = ["one"]
protocols = ["h2"]
links = ["cable"]
variants = ["core"]
trials = 1
"""
STUDIES = {Kind.LOAD: LOADS, Kind.USERS: USERS, Kind.REQUESTS: REQUESTS}


def first_trial(kind: Kind) -> PlannedTrial:
    return make_plan(parse_study(STUDIES[kind], "mine.toml"), 1).trials[0]


def unusual(condition: Condition) -> Condition:
    """With a value in all that is left out where it is usual."""
    variant = replace(condition.variant, without=("inline_css",)).with_settings(
        (("inline_css.max_bytes", 1),)
    )
    return replace(condition, variant=variant, factor="slow", cpu_slowdown=2, cache=CacheState.WARM)


@pytest.mark.parametrize("kind", Kind)
def test_a_record_has_the_keys_of_its_type_and_the_metrics_of_its_kind(kind: Kind) -> None:
    planned = first_trial(kind)
    record = Record(
        planned,
        Outcome.OK,
        None,
        "2026-01-01T00:00:00.000Z",
        observation_of(kind)(),
        2.0,
        machine_speed=100.0,
        machine="other",
        lane=1,
        lanes=2,
        restart=1,
    )
    told = {*record.to_json(), "kind"}  # a load tells none
    assert told == {*declared(StoredRecord), *metrics_of(kind)}


def test_a_condition_has_the_keys_of_its_type_and_those_of_its_variant() -> None:
    told = unusual(first_trial(Kind.LOAD).condition).to_json()
    assert {*told, "workload"} == {*declared(Condition), *OF_VARIANTS}


@pytest.mark.parametrize("kind", [Kind.USERS, Kind.REQUESTS])
def test_a_workload_has_keys_of_its_table_in_a_study(kind: Kind) -> None:
    told = first_trial(kind).condition.to_json()["workload"]
    assert {*told} <= {*KEYS[kind]}


def test_a_link_has_the_keys_that_have_a_meaning() -> None:
    many = Link.of(10, 20, delays_ms=(5, 15))
    many = replace(many, per_client=True, shared_down_mbps=100.0, shared_up_mbps=100.0)
    assert {*of_each_way([*many.to_json(), *NO_LINK.to_json()])} == {*link_meanings()}
    assert all(link_meanings().values())


def test_the_trials_of_a_plan_have_the_keys_of_their_types() -> None:
    assert {*Trials.of(3).to_json()} == {*declared(Trials), *OF_TRIALS}
    portrayed = replace(first_trial(Kind.LOAD), portrait=True, own_draw=3)
    assert {*portrayed.to_json()} == {*declared(PlannedTrial)}


def test_a_reading_of_a_link_has_keys_that_have_a_meaning() -> None:
    figure = CalibratedFigure("round-trip time", "ms", 20, 20, 20, 1)
    names = ("rtt_ms", "down_mbps", "up_mbps")
    taken = Calibration(Link.of(5, 20), "tun", "fifo", "2026-01-01T00:00:00Z", dict.fromkeys(names, figure))
    told = taken.to_json()
    assert {*of_each_way(told)} <= {*CALIBRATION}
    assert {*told["rtt_ms"]} == {*declared(CalibratedFigure)} - {"what", "unit"}


# --- how fields are read


@dataclass
class Fields:
    """As a type of the tree declares them."""

    plain: int
    """a number
    on two lines"""
    ranged: msgspec.Raw
    """an object"""
    chosen: Literal["a", "b"] | None = None
    """one of two"""
    many: tuple[str, ...] = ()
    """several"""
    pair: tuple[str, int] = ("", 0)
    """two"""


class Keys(TypedDict):
    """A key may be missing."""

    told: NotRequired[list[dict[str, Any]]]
    """said or not"""


class MoreKeys(Keys):
    """With those of its base."""

    more: float | None
    """said as well"""


@dataclass
class Untold:
    """A field without a text, and one that a base class tells of."""

    said: int
    """something"""
    unsaid: int
    other: int
    """something else"""


def test_fields_are_told_with_what_may_stand_there() -> None:
    assert {name: tuple(field) for name, field in declared(Fields).items()} == {
        "plain": ("whole number", "a number on two lines"),
        "ranged": ("object", "an object"),
        "chosen": ("`a`, `b` or null", "one of two"),
        "many": ("list of texts", "several"),
        "pair": ("list", "two"),
    }
    assert {name: tuple(field) for name, field in declared(MoreKeys).items()} == {
        "told": ("list", "said or not"),
        "more": ("number or null", "said as well"),
    }


def test_a_field_without_a_meaning_is_named() -> None:
    with pytest.raises(ValueError, match=r"Untold: no text stands below unsaid;"):
        declared(Untold)


def test_an_enum_tells_each_of_its_values() -> None:
    assert {*members(Outcome)} == {*Outcome}
    with pytest.raises(ValueError, match="COLD, WARM"):
        members(CacheState)
