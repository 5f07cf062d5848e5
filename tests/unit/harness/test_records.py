"""A record is read as it was written, and what is none of ours is refused in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.errors import Outcome
from harness.model.kind import Kind
from harness.model.metric import Unit
from harness.records import SCHEMAS, Record, RecordReader, not_run, stored_type
from harness.study.metrics import metrics_of, observation_of
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study
from tests.unit.harness.study.kindstudies import GOOD, REQUESTS, USERS

STUDIES = {Kind.LOAD: GOOD, Kind.USERS: USERS, Kind.REQUESTS: REQUESTS}
HELD: dict[Unit, Any] = {
    Unit.FLAG: True,
    Unit.TEXT: "a",
    Unit.TEXTS: ["a"],
    Unit.COUNTS: {"h2": 3},
    Unit.READING: {"down": {"packets_out": 7}},
}


def full(kind: Kind) -> Record:
    """A record that says everything that one of its kind can."""
    planned = make_plan(parse_study(STUDIES[kind], "x"), 1).trials[0]
    seen = {key: HELD.get(each.unit, 1.5) for key, each in metrics_of(kind).items()}
    return Record(
        planned=planned,
        outcome=Outcome.OK,
        reason="none",
        started_utc="2026-01-01T00:00:00.000Z",
        observation=observation_of(kind)(**seen),
        overhead_ms=2.0,
        archive_digest="d",
        attempt=4,
        left_out="busy-machine",
        machine_speed=7.0,
        machine="a",
        lane=1,
        lanes=2,
        restart=1,
    )


def line(record: Record, **changed: Any) -> bytes:
    return json.dumps(record.to_json() | changed).encode()


@pytest.mark.parametrize("kind", Kind)
def test_a_record_is_read_as_it_was_written(kind: Kind) -> None:
    record, read = full(kind), RecordReader()
    stored = read(line(record))
    told = record.to_json()
    assert told.keys() | {"kind"} == {*stored_type(kind).__struct_fields__}
    assert read.condition(stored.condition) == record.planned.condition
    assert {key: getattr(stored, key) for key in told if key != "condition"} == {
        key: value for key, value in told.items() if key != "condition"
    }
    assert (read.kind, stored.kind, stored.executor) == (kind, kind.value, record.executor)


@pytest.mark.parametrize("kind", Kind)
def test_what_was_not_observed_is_none_and_never_zero(kind: Kind) -> None:
    record = not_run(make_plan(parse_study(STUDIES[kind], "x"), 1).trials[0], "no engine")
    stored = RecordReader()(line(record))
    numbers = [key for key, each in metrics_of(kind).items() if each.unit.is_number]
    assert all(getattr(stored, key) is None for key in numbers)
    assert (stored.unsound, stored.executor, stored.restart) == ("testbed-failed", None, None)


def test_a_run_is_of_one_kind_and_one_schema() -> None:
    read = RecordReader()
    read(line(full(Kind.LOAD)))
    for other in (line(full(Kind.USERS)), line(full(Kind.LOAD), schema=SCHEMAS[Kind.LOAD] + 1)):
        with pytest.raises(ValueError, match=r"a run is of one kind|this version reads schema"):
            read(other)


def test_a_crowd_whose_bound_was_3_s_always_is_read_no_more() -> None:
    with pytest.raises(ValueError, match=r"of kind users .*reads schema 3"):
        RecordReader()(line(full(Kind.USERS), schema=2))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"trial": "../x"}, "trial is '../x'"),
        ({"lane": 0}, "lane is 0"),
        ({"restart": -1}, "restart is -1"),
        ({"plt_ms": 2e12}, "plt_ms is 2000000000000"),
        ({"plt_ms": 1e-9}, "no page loads in less than"),
        ({"protocols": {"h2": "many"}}, "protocols"),
        ({"schema": "2"}, "schema is '2'"),
    ],
)
def test_what_no_record_of_ours_holds_is_one_line(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        RecordReader()(line(full(Kind.LOAD), **changed))
    assert "\n" not in str(caught.value)


def test_what_is_missing_is_named() -> None:
    for key in ("trial", "block", "attempt", "left_out", "outcome"):
        told = full(Kind.LOAD).to_json()
        del told[key]
        with pytest.raises(ValueError, match=key):
            RecordReader()(json.dumps(told).encode())


def test_a_key_that_is_not_known_is_passed_over() -> None:
    stored = RecordReader()(line(full(Kind.LOAD), new={"a": [1]}))
    assert not hasattr(stored, "new")
