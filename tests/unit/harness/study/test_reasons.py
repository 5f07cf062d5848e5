"""Which attempts count, told from the record of one attempt."""

from __future__ import annotations

from typing import Any

import pytest

from harness.errors import Outcome
from harness.model.kind import Kind
from harness.model.link import Way
from harness.model.soundness import (
    FOREIGN_CPU_LIMIT,
    IDLE_LIMIT,
    MEANINGS,
    STALLED_LIMIT,
    STALLED_TIMEOUT_US,
    Limit,
    disturbed,
)
from harness.probes.processor import (
    FOREIGN_CPU_ALONE_LIMIT,
    RUNNER_LATE_LIMIT_MS,
    RUNNER_LATE_TIMEOUT_MS,
    WAITING_LIMIT,
)
from harness.study.metrics import disturbance, kind_of, machine_reasons, reasons_of, unsound

LOADED: dict[str, Any] = {"outcome": "ok", "plt_ms": 1500.0}


def test_a_load_of_which_nothing_bad_is_known_counts() -> None:
    assert unsound(LOADED) is None
    assert unsound({**LOADED, "link_reading": None, "foreign_cpu_share": None}) is None


COUNT = (Outcome.OK, Outcome.PAGE_TIMEOUT)


def test_a_load_that_timed_out_counts_unless_the_machine_was_busy() -> None:
    late = {"outcome": "page-timeout", "plt_ms": None}
    assert unsound(late) is None
    assert unsound({**late, "foreign_cpu_share": 1.0}) == "busy-machine"
    waited = {**late, "client_thread_late_ms": 9000.0}
    assert unsound({**waited, "foreign_cpu_share": FOREIGN_CPU_ALONE_LIMIT + 0.01}) == "busy-machine"
    assert unsound({**waited, "foreign_cpu_share": FOREIGN_CPU_ALONE_LIMIT}) is None


@pytest.mark.parametrize("way", Way)
def test_a_load_that_timed_out_over_a_late_link_does_not_count(way: Way) -> None:
    def found(**reading: float | None) -> str | None:
        return unsound({"outcome": "page-timeout", "plt_ms": None, "link_reading": {way.value: reading}})

    assert found(stalled_us=STALLED_TIMEOUT_US) is None
    assert found(stalled_us=STALLED_TIMEOUT_US + 1) == f"late-packets-{way}"
    assert found(stalled_us=None) is None


@pytest.mark.parametrize("outcome", [each for each in Outcome if each not in COUNT])
def test_an_outcome_is_its_own_reason_whatever_else_is_wrong(outcome: Outcome) -> None:
    assert unsound({"outcome": outcome.value, "plt_ms": None, "foreign_cpu_share": 1.0}) == outcome.value


def test_what_is_not_known_does_not_count() -> None:
    assert unsound({**LOADED, "outcome": "from-the-future"}) == "unknown-outcome"
    assert unsound({}) == "unknown-outcome"
    assert unsound({**LOADED, "plt_ms": None}) == "no-load-time"
    assert unsound({**LOADED, "plt_ms": 0}) == "no-load-time"


def test_a_limit_is_kept_by_what_reaches_it() -> None:
    plain = Limit(("share",), 0.1)
    assert not plain.exceeded(0.1, None)
    assert plain.exceeded(0.11, None)
    assert not plain.exceeded(None, 1000)


def test_a_share_of_the_load_allows_a_long_load_more() -> None:
    stalled = Limit(("stalled_us",), 0.01, unit=1e-3)
    assert stalled.exceeded(15_000, 1000)
    assert not stalled.exceeded(10_000, 1000)
    assert not stalled.exceeded(15_000, 2000)
    assert not stalled.exceeded(15_000, None)


def test_all_limits_must_be_exceeded_and_another_decides_where_a_number_is_missing() -> None:
    reason = disturbed("busy", "", [Limit(("a", "b"), 1), Limit(("c",), 5)], instead=Limit(("d",), 7))
    said = {
        (2, 6, 0): True,
        (2, 5, 8): False,
        (1, 6, 8): False,
        (None, 6, 8): True,
        (2, None, 7): False,
        (None, None, None): False,
    }
    assert {values: reason.applies(1000.0, *values) for values in said} == said


def test_a_runner_that_stood_still_leaves_a_load_out() -> None:
    """A load that timed out may have lasted while it stood."""
    assert unsound({**LOADED, "runner_late_ms": RUNNER_LATE_LIMIT_MS + 1}) == "late-runner"
    assert unsound({**LOADED, "runner_late_ms": RUNNER_LATE_LIMIT_MS}) is None
    timed_out = {"outcome": "page-timeout", "plt_ms": None}
    assert unsound({**timed_out, "runner_late_ms": RUNNER_LATE_TIMEOUT_MS}) is None
    assert unsound({**timed_out, "runner_late_ms": RUNNER_LATE_TIMEOUT_MS + 1}) == "late-runner"
    assert unsound({**LOADED, "runner_late_ms": None}) is None
    assert "late-runner" in machine_reasons()


@pytest.mark.parametrize("name", ["runner_late_ms", "ahead_ms"])
@pytest.mark.parametrize("once_ms", [5.0, 15.0, 45.0, 100.0])
def test_what_happens_once_in_a_load_counts_by_itself(name: str, once_ms: float) -> None:
    """As a share of the load's time it would leave out the fast loads of a condition."""
    found = {unsound({**LOADED, "plt_ms": plt_ms, name: once_ms}) for plt_ms in (100.0, 1000.0, 10_000.0)}
    assert len(found) == 1


@pytest.mark.parametrize("way", Way)
def test_a_link_that_stalled_for_a_share_of_the_load(way: Way) -> None:
    most_us = STALLED_LIMIT * LOADED["plt_ms"] * 1000

    def found(**reading: float | None) -> str | None:
        return unsound({**LOADED, "link_reading": {way.value: reading}})

    assert found(stalled_us=most_us, lateness_p99_us=9000) is None
    assert found(stalled_us=most_us + 1, lateness_p99_us=40) == f"late-packets-{way}"
    assert found(lateness_p99_us=1001) == f"late-packets-{way}"  # of an older version
    assert found(stalled_us=None, lateness_p99_us=1000) is None


def test_others_disturb_when_they_run_and_the_browser_waits() -> None:
    most_ms = WAITING_LIMIT * LOADED["plt_ms"]

    def found(foreign: float, **waited: float | None) -> str | None:
        return unsound({**LOADED, "foreign_cpu_share": foreign, **waited})

    assert found(FOREIGN_CPU_LIMIT + 0.01, client_thread_late_ms=most_ms + 1) == "busy-machine"
    assert found(FOREIGN_CPU_LIMIT, client_thread_late_ms=most_ms + 1) is None  # it waited for itself
    assert found(1.0, client_thread_late_ms=most_ms) is None  # they ran on other cores
    assert found(FOREIGN_CPU_ALONE_LIMIT + 0.01, client_thread_late_ms=None) == "busy-machine"
    assert found(FOREIGN_CPU_ALONE_LIMIT) is None


def test_a_disturbance_is_a_reason_that_is_the_machines() -> None:
    found = disturbance({**LOADED, "foreign_cpu_share": 1.0, "client_thread_late_ms": LOADED["plt_ms"]})
    assert found is not None
    assert found.name == "busy-machine"
    assert disturbance(LOADED) is None
    assert disturbance({**LOADED, "outcome": "page-error"}) is None


def test_names_are_given_once_and_outcomes_are_no_fault_of_the_machine() -> None:
    for kind in Kind:
        names = [reason.name for reason in reasons_of(kind)]
        assert len(names) == len(set(names))
        assert set(names) & machine_reasons()
    assert set(MEANINGS) == set(Outcome) - {Outcome.OK}
    assert not machine_reasons() & {outcome.value for outcome in Outcome}


CROWD: dict[str, Any] = {"kind": "users", "outcome": "ok", "pages_per_s": 40.0, "duration_s": 100.0}
LOOP: dict[str, Any] = {"kind": "requests", "outcome": "ok", "requests_per_s": 9e4, "duration_s": 10.0}


@pytest.mark.parametrize("trial", [CROWD, LOOP])
def test_a_server_under_load_counts_unless_what_loads_it_was_the_limit(trial: dict[str, Any]) -> None:
    assert unsound(trial) is None
    for limit in ("workers", "server-cpu", "link", "nothing", None):
        assert unsound({**trial, "limited_by": limit}) is None
    assert unsound({**trial, "limited_by": "generator-cpu"}) == "generator-saturated"
    assert unsound({**trial, "limited_by": "emulator"}) == "emulator-saturated"
    assert unsound({**trial, "outcome": "page-error", "limited_by": "emulator"}) == "page-error"


@pytest.mark.parametrize("trial", [CROWD, LOOP])
def test_a_server_under_load_needs_the_whole_machine(trial: dict[str, Any]) -> None:
    assert unsound({**trial, "foreign_cpu_share": FOREIGN_CPU_LIMIT}) is None
    assert unsound({**trial, "foreign_cpu_share": FOREIGN_CPU_LIMIT + 0.01}) == "busy-machine"


def test_what_others_had_of_idle_cores_is_taken_from_nobody() -> None:
    busy = {**CROWD, "foreign_cpu_share": FOREIGN_CPU_LIMIT + 0.01}
    assert unsound({**busy, "cpu_idle_share": IDLE_LIMIT, "limited_by": "nothing"}) is None
    assert unsound({**busy, "cpu_idle_share": IDLE_LIMIT, "limited_by": "workers"}) is None
    assert unsound({**busy, "cpu_idle_share": IDLE_LIMIT - 0.01, "limited_by": "nothing"}) == "busy-machine"
    assert unsound({**busy, "cpu_idle_share": IDLE_LIMIT, "limited_by": "server-cpu"}) == "busy-machine"


@pytest.mark.parametrize("way", Way)
@pytest.mark.parametrize("trial", [CROWD, LOOP])
def test_a_link_that_stalled_for_a_share_of_the_trial(trial: dict[str, Any], way: Way) -> None:
    most_us = STALLED_LIMIT * trial["duration_s"] * 1e6

    def found(stalled_us: float | None, **changed: object) -> str | None:
        return unsound({**trial, "link_reading": {way.value: {"stalled_us": stalled_us}}, **changed})

    assert found(most_us) is None
    assert found(most_us * 1.01) == f"late-packets-{way}"
    assert found(None) is None  # a link that is none tells nothing
    assert found(most_us * 1.01, duration_s=None) is None


def test_a_trial_without_its_figure_does_not_count() -> None:
    assert unsound({**CROWD, "pages_per_s": 0}) == "no-page-rate"
    assert unsound({**LOOP, "requests_per_s": None}) == "no-request-rate"


def test_the_kind_of_a_record_decides_what_is_asked() -> None:
    assert kind_of({}) is Kind.LOAD
    assert unsound({**CROWD, "plt_ms": None}) is None
    assert unsound({**LOADED, "limited_by": "emulator"}) is None
    with pytest.raises(ValueError, match="crowds"):
        unsound({**CROWD, "kind": "crowds"})
