"""What the terminal and CI are told of many places: each finding and each loss, and nothing else as one."""

from __future__ import annotations

from dataclasses import replace

from analysis.claims.junit import Ending
from analysis.comparing.answers import Answered, Place
from analysis.comparing.between import Change
from analysis.statistics.compare import NOTHING, UNTOLD
from harness.cli.comparelines import PLACES_TOLD, answered, cases
from harness.model.kind import Kind
from tests.facts import tells
from tests.unit.analysis.comparing.test_answers import change, of_values

QUIET = change(1.0), change(1.0, "fcp_ms")
BLOCKED = change(1.0), of_values([0.0] * 4, [300.0, 290.0, 310.0, 300.0])
LOST = change(1.0), replace(change(1.0, "lcp_ms"), n=(20, 0), comparison=NOTHING, judgement=UNTOLD)


def answers_of(*places: tuple[Change, ...]) -> Answered:
    named = tuple(Place(f"place {number}", changes) for number, changes in enumerate(places, start=1))
    return Answered(Kind.LOAD, ("one", "two"), 0.03, named)


def test_of_many_places_every_finding_and_every_loss_is_told() -> None:
    said = list(answered(answers_of(BLOCKED, LOST, *[QUIET] * PLACES_TOLD), None))
    assert tells(said, "Blocked time", "0 ms in A, 0.30 s in B")
    assert tells(said, "Largest paint", "no value in B")
    assert not tells(said, "First paint")
    assert said[-1].startswith(f"{PLACES_TOLD} further metrics without a change or not known yet")


def test_of_many_places_one_with_nothing_to_tell_is_not_named() -> None:
    paints = change(1.0, "fcp_ms"), change(1.0, "lcp_ms")
    later = change(1.5, "fcp_ms"), change(1.0, "lcp_ms")
    heads = [line for line in answered(answers_of(later, *[paints] * PLACES_TOLD), None) if "place" in line]
    assert heads == ["place 1"]


def test_a_case_for_ci_that_fails_is_of_no_unknown_kind() -> None:
    told = {case.name: (case.ending, case.kind) for case in cases(answers_of(BLOCKED, LOST), 3)}
    assert told["place 1: blocked time"] == (Ending.FAILED, "slower")
    assert told["place 2: largest paint"] == (Ending.ERROR, "no data in B")


def test_a_condition_that_b_has_not_is_a_skipped_case() -> None:
    *others, case = cases(replace(answers_of(QUIET), missing=("two, h2",)), 3)
    assert (case.name, case.ending) == ("two, h2", Ending.SKIPPED)
    assert others == list(cases(answers_of(QUIET), 3))
