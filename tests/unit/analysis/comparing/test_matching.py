"""Which conditions two runs have in common."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.comparing.matching import Side, matched
from analysis.runs.rundirectory import load
from harness.errors import RecordsError
from tests.unit.analysis.runpairs import STUDY, edit, measured_twice, two_runs
from tests.unit.analysis.synthetic import Synthetic

SMALL = replace(STUDY, pages=("one",), rtts_ms=(50.0,), trials=3)


def sides(a: Path, b: Path) -> tuple[Side, Side]:
    return Side.of(load(a)), Side.of(load(b))


def untold(run: Path, column: str) -> Side:
    """A run of which nobody can tell a column of its conditions."""
    told = load(run)
    columns = tuple(name for name in told.condition_columns if name != column)
    return Side.of(replace(told, records=told.records.drop(columns=column), condition_columns=columns))


def with_condition(**changed: Any) -> Any:
    return lambda record: record | {"condition": record["condition"] | changed}


def with_link(**changed: Any) -> Any:
    return lambda record: (
        record | {"condition": record["condition"] | {"link": record["condition"]["link"] | changed}}
    )


def test_all_conditions_of_a_study_are_matched_in_reading_order(tmp_path: Path) -> None:
    found = matched(*sides(*two_runs(tmp_path, study=SMALL)))
    told = [(one["protocol"], other["protocol"]) for one, other in found.pairs]
    assert told == [(each, each) for each in ("http1-close", "http1", "https1", "h2")]
    assert found.only == ((), ())


def test_conditions_of_one_run_alone_are_named(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    edit(a, lambda each: None if each["condition"]["protocol"] == "h2" else each)
    edit(b, lambda each: None if each["condition"]["protocol"] == "https1" else each)
    found = matched(*sides(a, b))
    assert [[each["protocol"] for each in only] for only in found.only] == [["https1"], ["h2"]]
    assert len(found.pairs) == 2


def test_a_baseline_measured_again_is_no_condition(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    measured_twice(b, 1.0)
    found, (_, twice) = matched(*sides(a, b)), sides(a, b)
    assert len(found.pairs) == 4
    assert [each["protocol"] for each in twice.again] == ["http1"]


def test_another_device_is_another_condition(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    edit(b, with_condition(device="desktop"))
    assert len(matched(*sides(a, b)).pairs) == 4
    edit(b, with_condition(device="mobile"))
    with pytest.raises(RecordsError, match="device is desktop in one and mobile in the other"):
        matched(*sides(a, b))


def test_what_one_run_does_not_tell_is_taken_to_be_the_same(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    found = matched(untold(a, "server"), sides(a, b)[1])
    assert len(found.pairs) == 4
    assert "server" not in found.names


def test_a_link_whose_queue_was_changed_is_the_same_condition(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    edit(b, with_link(queue_down_bytes=1_500_000))
    assert len(matched(*sides(a, b)).pairs) == 4


def test_what_no_condition_of_either_run_has_plays_no_part(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    for run in (a, b):
        edit(run, with_link(trace_down=None))
    assert len(matched(*sides(a, b)).pairs) == 4


@pytest.mark.thorough
def test_links_of_one_name_are_told_apart_by_what_differs(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    for run in (a, b):
        edit(run, lambda each: with_link(loss_down_percent=float(each["block"] % 2))(each))
    found = matched(*sides(a, b))
    assert len(found.pairs) == 8
    assert all(one["link_loss_down_percent"] == other["link_loss_down_percent"] for one, other in found.pairs)
    with pytest.raises(RecordsError, match=r"/b does not tell link_loss_down_percent\b"):
        matched(sides(a, b)[0], untold(b, "link_loss_down_percent"))


def test_runs_without_a_common_condition_say_in_what_they_differ(tmp_path: Path) -> None:
    a = SMALL.write(tmp_path / "a")
    b = replace(SMALL, pages=("other", "third")).write(tmp_path / "b")
    with pytest.raises(
        RecordsError, match=r"no condition in common: page .*\bone in one and other, third in"
    ):
        matched(*sides(a, b))


def test_runs_that_share_every_value_and_no_condition_say_so(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, study=Synthetic(("one", "two"), protocols=("http1", "h2"), trials=2))
    edit(
        a,
        lambda each: (
            each if (each["condition"]["page"] == "one") == (each["condition"]["protocol"] == "h2") else None
        ),
    )
    edit(
        b,
        lambda each: (
            each if (each["condition"]["page"] == "two") == (each["condition"]["protocol"] == "h2") else None
        ),
    )
    with pytest.raises(RecordsError, match="in every dimension"):
        matched(*sides(a, b))


def test_a_run_that_holds_no_condition_yet_says_so(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    measured_twice(b, 1.0)
    edit(b, lambda each: each if each["condition"]["again"] else None)
    for one, other in ((a, b), (b, a)):
        with pytest.raises(RecordsError, match=r"/b holds the second loads of baselines alone"):
            matched(*sides(one, other))
