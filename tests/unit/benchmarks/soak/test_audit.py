"""The audit of a soak finds what is lost, there twice, counted wrongly, left behind or growing, and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.hostile.truth import HONEST
from benchmarks.soak.audit import (
    ENDED,
    GREW,
    LEFT,
    LONG,
    LOST,
    TWICE,
    WRONG,
    Attempt,
    Audit,
    Call,
    Journal,
    Strike,
    growth,
    seconds,
    wrongly_spared,
)
from harness.errors import Outcome
from harness.model.trials import PlannedTrial
from harness.probes.registry import Observation
from harness.records import RECORDS, Record
from harness.study.plan import PLAN, Plan
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study
from harness.system.files import utc_text
from tests.facts import tells

NAME = "001-one"
STUDY = """
name = "mine"
pages = ["{page}"]
protocols = [{protocols}]
trials = {{least = 3, attempts = 3}}
aa = false
[[links]]
down_mbps = 2
rtt_ms = 50
"""
BEGAN_S = seconds("2026-01-01T00:00:00Z")
APART_S = 10.0  # from one record to the next
PLT_MS, OVERHEAD_MS = 2000.0, 1000.0


def plan_of(page: str = "one", protocols: str = '"http1", "h2"') -> Plan:
    return make_plan(parse_study(STUDY.format(page=page, protocols=protocols), "mine.toml"), 1)


PLAN_OF_ONE = plan_of()
NOTHING = Journal()


def record(planned: PlannedTrial, number: int, **changed: Any) -> Record:
    """A good record, the one of that number in its run; `changed` are fields of it, or of what was observed."""
    seen: dict[str, Any] = {
        "plt_ms": PLT_MS,
        "navigate_ms": PLT_MS + 10,
        "requests": 20,
        "protocols": {planned.condition.protocol.wire: 20},
        "server_connections": 2,
        "service_requests": 0,
        "bytes_down": 400_000,
    }
    made: dict[str, Any] = {
        "outcome": Outcome.OK,
        "reason": None,
        "started_utc": utc_text(datetime.fromtimestamp(BEGAN_S + number * APART_S, UTC), "milliseconds"),
        "overhead_ms": OVERHEAD_MS,
    }
    seen |= {key: value for key, value in changed.items() if key in seen}
    made |= {key: value for key, value in changed.items() if key not in seen}
    return Record(planned, observation=Observation(**seen), **made)


def whole(plan: Plan = PLAN_OF_ONE) -> list[Record]:
    return [record(planned, number) for number, planned in enumerate(plan.trials)]


def run_of(
    folder: Path, records: Sequence[Record], plan: Plan = PLAN_OF_ONE, *, measured: bool = True
) -> Path:
    """A run directory; each link of the plan was measured before the first trial."""
    run = folder / NAME / "run"
    run.mkdir(parents=True)
    (run / PLAN).write_text(plan.to_lines())
    (run / RECORDS).write_text("".join(json.dumps(each.to_json()) + "\n" for each in records))
    taken = utc_text(datetime.fromtimestamp(BEGAN_S - 5, UTC))
    readings = [{"link": link.to_json(), "ok": measured, "taken_utc": taken} for link in plan.links]
    (run / "calibration.jsonl").write_text("".join(json.dumps(each) + "\n" for each in readings))
    return run


def found(run: Path, journal: Journal = NOTHING, *, hostile: bool = False) -> list[tuple[str, str]]:
    audit = Audit()
    audit.add_run(NAME, run, journal, hostile=hostile, over=True)
    return [(each.what, each.said) for each in audit.findings]


def struck(number: int, fault: str = "stop") -> Strike:
    """A fault within the load of the record of that number."""
    at_s = BEGAN_S + number * APART_S + 1
    return Strike(NAME, fault, "runner", at_s, at_s + 0.1)


def call(**changed: Any) -> Call:
    return replace(Call(NAME, 100.0, None, (), (), 0, hashlib.sha256().hexdigest()), **changed)


def test_a_whole_run_is_whole(tmp_path: Path) -> None:
    assert found(run_of(tmp_path, whole())) == []


def test_an_attempt_that_was_made_again_is_whole(tmp_path: Path) -> None:
    first, *others = whole()
    failed = record(
        first.planned, 0, outcome=Outcome.TESTBED_FAILED, reason="caddy died", left_out="testbed-failed"
    )
    assert found(run_of(tmp_path, [failed, replace(first, attempt=2), *others])) == []


@pytest.mark.parametrize("place", range(len(PLAN_OF_ONE.trials)))
def test_a_lost_record_is_found(tmp_path: Path, place: int) -> None:
    records = whole()
    lost = records.pop(place)
    ((what, said),) = found(run_of(tmp_path, records))
    assert what == LOST
    assert f"trial {lost.planned.trial} " in said


def test_a_lost_attempt_is_found(tmp_path: Path) -> None:
    first, *others = whole()
    assert [what for what, _ in found(run_of(tmp_path, [replace(first, attempt=2), *others]))] == [LOST]


@pytest.mark.parametrize("attempt", [1, 2])
def test_a_record_that_is_there_twice_is_found(tmp_path: Path, attempt: int) -> None:
    """Also a second attempt at what counts already."""
    records = whole()
    again = [*records, replace(records[-1], attempt=attempt)]
    assert [what for what, _ in found(run_of(tmp_path, again))] == [TWICE]


def test_a_record_that_was_stored_and_is_gone_is_found(tmp_path: Path) -> None:
    run = run_of(tmp_path, whole())
    stored = (run / RECORDS).read_bytes()
    kept = call(stored=len(stored), digest=hashlib.sha256(stored).hexdigest())
    other = call(stored=len(stored), digest=hashlib.sha256(stored[:-2]).hexdigest())
    assert found(run, Journal(calls=(kept,))) == []
    assert [what for what, _ in found(run, Journal(calls=(other,)))] == [LOST]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"outcome": Outcome.TESTBED_FAILED, "reason": "caddy died"}, "it is testbed-failed"),
        ({"left_out": "busy-machine"}, "left_out is busy-machine"),
        (
            {"outcome": Outcome.TESTBED_FAILED, "reason": "dnsmasq died", "left_out": "engine-missing"},
            "missing: dnsmasq died",
        ),
        ({"protocols": {"h2": 10, "http/1.1": 10}}, "its requests went by"),
        ({"protocols": {}}, "its requests went by"),
        ({"service_requests": 1}, "was not cold or alone"),
        ({"server_connections": 0}, "was not cold or alone"),
        ({"bytes_down": 800_000}, "800000 bytes take 3200 ms"),
        ({"plt_ms": 49.0, "bytes_down": 1000}, "less than a round trip"),
    ],
)
def test_an_attempt_that_counts_wrongly_is_found(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    *others, last = whole()
    wrong = record(last.planned, len(others), **changed)
    told = [each for what, each in found(run_of(tmp_path, [*others, wrong])) if what == WRONG]
    assert any(said in each for each in told), told
    assert all(f"trial {last.planned.trial}, attempt 1" in each for each in told)


def test_a_link_that_was_off_is_found(tmp_path: Path) -> None:
    records = whole()
    told = found(run_of(tmp_path, records, measured=False))
    assert [what for what, _ in told] == [WRONG] * len(records)
    assert all(tells([said], "not measured before, or was off") for _, said in told)


def test_a_fault_that_made_a_load_longer_leaves_it_out(tmp_path: Path) -> None:
    """A fault of the same trial that changed nothing lets it count; so does a longer load that nothing hit."""
    planned = PLAN_OF_ONE.trials[-1]
    *others, last = whole()
    longer = record(planned, len(others), plt_ms=2 * PLT_MS)
    fewer = record(planned, len(others), requests=10)
    journal = Journal(strikes=(struck(len(others)),))

    def spared(folder: str, made: Record, journal: Journal) -> list[Attempt]:
        run = run_of(tmp_path / folder, [*others, made])
        attempts = Audit().add_run(NAME, run, journal, hostile=False, over=True)
        return [attempt for attempt, _ in wrongly_spared(attempts)]

    assert [each.record.trial for each in spared("longer", longer, journal)] == [planned.trial]
    assert [each.record.trial for each in spared("fewer", fewer, journal)] == [planned.trial]
    assert spared("alike", last, journal) == []
    assert spared("unstruck", longer, Journal()) == []


def test_a_fault_that_made_a_load_time_out_leaves_it_out(tmp_path: Path) -> None:
    """A page that also times out when nothing hits it may do so by itself."""
    *others, last = whole()
    twin = next(n for n, each in enumerate(others) if each.planned.condition == last.planned.condition)
    late, also_late = (
        record(PLAN_OF_ONE.trials[n], n, outcome=Outcome.PAGE_TIMEOUT, reason="no load event", plt_ms=None)
        for n in (len(others), twin)
    )
    slow = [*others[:twin], also_late, *others[twin + 1 :]]

    def spared(folder: str, made: Sequence[Record], journal: Journal) -> list[tuple[str, str]]:
        run = run_of(tmp_path / folder, made)
        attempts = Audit().add_run(NAME, run, journal, hostile=False, over=True)
        return [(attempt.record.trial, why) for attempt, why in wrongly_spared(attempts)]

    journal = Journal(strikes=(struck(len(others)),))
    ((trial, why),) = spared("hit", [*others, late], journal)
    assert trial == last.planned.trial
    assert tells([why], "timed out and counts", "plt_ms of others is 2000 at most", "stop of runner")
    left_out = replace(late, left_out="late-runner")
    assert spared("left out", [*others, left_out], journal) == []
    assert spared("unstruck", [*others, late], Journal()) == []
    assert spared("by itself", [*slow, late], journal) == []


@pytest.mark.parametrize(("protocols", "findings"), [({}, 0), ({"http/1.1": 3, "h2": 1}, 1)])
def test_a_load_that_timed_out_is_of_its_protocol_and_of_a_measured_link(
    tmp_path: Path, protocols: dict[str, int], findings: int
) -> None:
    *others, last = whole()
    late = record(
        last.planned,
        len(others),
        outcome=Outcome.PAGE_TIMEOUT,
        reason="no load event",
        plt_ms=None,
        protocols=protocols,
    )
    assert len(found(run_of(tmp_path / "measured", [*others, late]))) == findings
    assert len(found(run_of(tmp_path / "off", [*others, late], measured=False))) == findings + len(others) + 1


def test_a_fault_between_two_trials_is_one_of_the_next(tmp_path: Path) -> None:
    between = Strike(NAME, "server", "caddy", BEGAN_S + APART_S - 3, BEGAN_S + APART_S - 3)
    run = run_of(tmp_path, whole())
    attempts = Audit().add_run(NAME, run, Journal(strikes=(between,)), hostile=False, over=True)
    assert [bool(attempt.strikes) for attempt in attempts] == [False, True, False, False, False, False]


@pytest.mark.thorough  # all hostile pages are made
def test_a_hostile_page_that_made_a_false_time_count_is_found(tmp_path: Path) -> None:
    """Its picture takes a second on the link. Of an attempt that a fault hit nothing is known."""
    plan = plan_of(HONEST, '"http1"')
    *others, last = whole(plan)
    forged = record(last.planned, len(others), plt_ms=300.0, navigate_ms=310.0, bytes_down=50_000)
    run = run_of(tmp_path, [*others, forged], plan)
    ((what, said),) = found(run, hostile=True)
    assert what == WRONG
    assert "the picture alone takes" in said
    assert found(run, Journal(strikes=(struck(len(others)),)), hostile=True) == []


@pytest.mark.thorough
@pytest.mark.parametrize(("after_s", "true"), [(APART_S, True), (5.0, False)])
def test_a_time_out_lasts_until_the_next_attempt_at_most(
    tmp_path: Path, after_s: float, *, true: bool
) -> None:
    """Its record tells no times. The limit is 8 s."""
    plan = plan_of("reach-metadata", '"http1"')
    first, *others = whole(plan)
    began = utc_text(datetime.fromtimestamp(BEGAN_S + APART_S - after_s, UTC), "milliseconds")
    late = {"outcome": Outcome.PAGE_TIMEOUT, "plt_ms": None, "navigate_ms": None, "overhead_ms": None}
    timed_out = record(first.planned, 0, started_utc=began, reason="no load event within 8 s", **late)
    said = [
        said
        for _, said in found(run_of(tmp_path, [timed_out, *others], plan), hostile=True)
        if "timed out" in said
    ]
    assert [each.partition("forged: ")[2] for each in said] == (
        [] if true else ["it timed out in a trial of 5000 ms"]
    )


@pytest.mark.thorough
def test_a_hostile_page_that_is_blamed_wrongly_is_found(tmp_path: Path) -> None:
    plan = plan_of(HONEST, '"http1"')
    *others, last = whole(plan)
    failed = record(last.planned, len(others), outcome=Outcome.PAGE_ERROR, left_out="page-error", reason="x")
    again = replace(last, attempt=2)
    ((what, said),) = found(run_of(tmp_path, [*others, failed, again], plan), hostile=True)
    assert what == WRONG
    assert "misblamed: page-error: x" in said


def test_a_call_that_left_something_or_ended_badly_is_found() -> None:
    audit = Audit()
    steady = (100.0,) * LONG
    grown = (*steady, *((120.0,) * LONG))
    audit.add_calls(
        Journal(
            (
                Strike(NAME, "kill", "command", 1.0, 1.0),
                Strike(NAME, "interrupt", "command", 2.0, 2.0, drawn=False),
            ),
            (
                call(memory_mb=steady),
                call(left=("process caddy", "mount x")),
                call(ill="it does not end"),
                call(memory_mb=grown),
            ),
        )
    )
    assert [each.what for each in audit.findings] == [LEFT, LEFT, ENDED, GREW]
    assert audit.faults == {"kill": 1}


def test_calls_of_all_shares_are_counted() -> None:
    audit = Audit()
    for calls in ((call(), call()), (call(),), ()):
        audit.add_calls(Journal((), calls))
    assert audit.calls == 3
    assert audit.hours == pytest.approx(300 / 3600)


def test_growth_is_of_a_long_call_alone() -> None:
    assert growth([100.0] * (LONG - 1)) is None
    assert growth([*([100.0] * LONG), *([110.0] * LONG)]) == pytest.approx(0.1)
    assert growth([*([70.0] * LONG), *([100.0] * (3 * LONG))]) == 0  # loaded once


def test_a_journal_is_read_as_it_was_written_but_for_a_line_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    assert Journal.read(path) == Journal()
    lines = [{"strike": asdict(struck(1))}, {"call": asdict(call(memory_mb=(1.5, 2.0)))}]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + '{"call": {"stu')
    assert Journal.read(path) == Journal((struck(1),), (call(memory_mb=(1.5, 2.0)),))


def test_a_part_that_died_may_be_missed_much_later(tmp_path: Path) -> None:
    """A server of its own serves each page by each protocol."""
    *others, last = whole()
    failed = record(
        last.planned,
        len(others),
        outcome=Outcome.TESTBED_FAILED,
        reason="caddy died",
        left_out="testbed-failed",
    )
    run = run_of(tmp_path, [*others, failed, replace(last, attempt=2)])
    attempts = Audit().add_run(NAME, run, Journal(strikes=(struck(0, "server"),)), hostile=False, over=True)
    assert [bool(attempt.strikes) for attempt in attempts] == [True, *([False] * 4), True, False]
