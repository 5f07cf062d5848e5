"""What a benchmark of disturbances tells of loads: how far off they are, and what a rule drops and keeps."""

from __future__ import annotations

from typing import Any

from benchmarks import common
from benchmarks.disturbance import IN_FORCE, RULES, report
from benchmarks.rules import NOTHING, Rule, by_rule, with_ratios
from harness.errors import Outcome
from harness.model.protocol import Protocol
from harness.probes.registry import Observation
from harness.records import Record

USUAL_MS = 1000.0
LATE, WORK = "link late by 20 ms each 200 ms", "1 program, 100%"
OF_LATE_LINK, OF_OTHERS = "stalled > 0.03", "foreign > 0.1 and client thread > 0.1"


def row(
    disturbance: str, plt_ms: float, stalled: float = 0, foreign: float = 0, waits: float = 0
) -> dict[str, Any]:
    """A load, with the shares of its time that its link and its browser waited, and of the cores that others had."""
    calm = {"lateness_p99_us": 30.0, "stalled_us": 0.0}
    seen = Observation(
        plt_ms=plt_ms,
        navigate_ms=plt_ms + 12,
        runner_late_ms=3.0,
        foreign_cpu_share=foreign,
        steal_share=0.0,
        server_late_ms=1.0,
        client_thread_late_ms=waits * plt_ms,
        link_reading={"down": {**calm, "stalled_us": stalled * plt_ms * 1000}, "up": calm},
    )
    planned = common.planned(1, common.condition("dummy-2012", Protocol.H2))
    record = Record(planned, Outcome.OK, None, "2026-01-01T00:00:00.000Z", seen, 600.0)
    return {
        "kind": "short",
        "disturbance": disturbance,
        "programs": 0 if foreign == 0 else 1,
        "record": record.to_json(),
    }


def measured() -> list[dict[str, Any]]:
    """Calm loads, some of a late link, which are twice as much longer as it was, and some beside others' work."""
    calm = [row(NOTHING, USUAL_MS + off) for off in (-10, -5, 0, 5, 10)]
    late = [
        row(LATE, USUAL_MS * (1 + 2 * share), stalled=share)
        for share in (0.01, 0.01, 0.02, 0.02, 0.05, 0.05, 0.05)
    ]
    work = [row(WORK, USUAL_MS * 1.2, foreign=0.5, waits=0.4)] * 4
    return [*calm, *late, *work]


def test_each_disturbance_is_told_with_what_the_rule_in_force_drops_of_it() -> None:
    table, called = report(measured())["loads"]
    assert called == ["load", "disturbance"]
    told = {each["disturbance"]: each for each in table}
    assert [*told] == [NOTHING, LATE, WORK]
    assert (told[NOTHING]["ratio"], told[NOTHING]["dropped"]) == ("1.000 (0.990 to 1.010)", "0")
    assert (told[LATE]["n"], told[LATE]["ratio"], told[LATE]["dropped"]) == (
        "7",
        "1.040 (1.020 to 1.100)",
        "3",
    )
    assert (told[WORK]["ratio"], told[WORK]["dropped"]) == ("1.200 (1.200 to 1.200)", "4")
    assert (told[WORK]["foreign"], told[WORK]["client_thread"]) == ("0.500", "0.400")
    assert told[NOTHING]["navigate_longer_ms"] == "12.000"


def test_a_rule_is_told_by_what_it_drops_and_by_the_bias_of_what_it_keeps() -> None:
    none, in_force = by_rule(with_ratios(measured()), [Rule(), IN_FORCE])
    assert (none["rule"], none["undisturbed_dropped"], none["disturbed_dropped"]) == (
        "none",
        "0 of 5",
        "0 of 11",
    )
    assert in_force["rule"] == f"{OF_LATE_LINK} or {OF_OTHERS}"
    assert (in_force["undisturbed_dropped"], in_force["disturbed_dropped"]) == ("0 of 5", "7 of 11")
    assert in_force["bias_of_the_kept"] == "+3.0 % (0.6)"
    assert none["bias_of_the_kept"] == "+10.3 % (2.1)"


def test_rules_have_names_of_their_own_and_the_one_in_force_is_among_them() -> None:
    assert IN_FORCE in RULES
    assert len({rule.name for rule in RULES}) == len(RULES)
