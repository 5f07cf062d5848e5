"""The sentences of every comparison in full: budgets, and what differs between protocols."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from analysis.evaluation.results import Results, evaluate
from analysis.report import summary
from analysis.runs.rundirectory import load
from harness.study.claim import Claim
from tests.facts import tells
from tests.unit.analysis.runpairs import edit
from tests.unit.analysis.synthetic import Synthetic

H2 = {"protocol": "h2"}
SHIFTS = Claim(name="shifts", subject=H2, metric="cls", at_most=0.1)
TIME = Claim(name="time", subject=H2, at_most=5000.0)
CORE = Claim(name="core", subject={"variant": "core"}, reference={"variant": "plain"})


def test_budgets_of_many_settings_have_the_digits_and_the_unit_of_their_limit(tmp_path: Path) -> None:
    made = Synthetic(
        pages=tuple(f"page-{number}" for number in range(summary.MOST_SENTENCES + 1)),
        protocols=("h2",),
        rates_mbps=(10.0,),
        rtts_ms=(50.0,),
        trials=3,
        claims=(SHIFTS, TIME),
    )
    shifts, time = summary.claims(evaluate([load(made.write(tmp_path / "run"))]))
    assert "; mean 0.012, all intervals inside [0.012\N{EN DASH}0.012]" in shifts.text
    assert re.search(r"; mean \d+ to \d+ ms, all intervals inside \[\d+\N{EN DASH}\d+\]", time.text)


def test_a_protocol_of_which_too_little_is_known_is_named(tmp_path: Path) -> None:
    """An effect that is the same by three protocols, one of which has two blocks alone."""
    made = Synthetic(
        pages=("one",),
        variants=("plain", "core"),
        protocols=("http1", "h2", "h3"),
        rates_mbps=(10.0,),
        rtts_ms=(50.0,),
        trials=10,
        claims=(CORE,),
    )
    run = made.write(tmp_path / "run")

    def changed(record: dict[str, Any]) -> dict[str, Any] | None:
        condition = record["condition"]
        if condition["protocol"] == "h3" and record["block"] > 2:
            return None
        share = 0.7 if condition["variant"] == "core" else 1.0
        return record | {"plt_ms": 1000 * share * (1 + 0.004 * ((record["order"] * 7919) % 11 - 5) / 5)}

    edit(run, changed)
    (said,) = summary.interactions(evaluate([load(run)]))
    assert tells(said, "Of HTTP/3 (QUIC) too little is known")
    assert tells(said, "ratio with any other", "of that with HTTP/1.1")


SEVERAL = Synthetic(
    pages=("one",),
    variants=("plain", "core"),
    protocols=("http1", "h2", "h3"),
    rates_mbps=(10.0,),
    rtts_ms=(20.0, 100.0),
    trials=10,
    claims=(CORE,),
)


def with_other_protocols(run: Path, differing: float) -> Results:
    """At 20 ms HTTP/1.1 and HTTP/2, at 100 ms HTTP/2 and HTTP/3, with which `core` takes another share."""

    def changed(record: dict[str, Any]) -> dict[str, Any] | None:
        condition = record["condition"]
        if (condition["link"]["rtt_ms"], condition["protocol"]) in ((20.0, "h3"), (100.0, "http1")):
            return None
        share = differing if condition["protocol"] == "h3" else 0.7
        share = share if condition["variant"] == "core" else 1.0
        return record | {"plt_ms": 1000 * share * (1 + 0.004 * ((record["order"] * 7919) % 11 - 5) / 5)}

    edit(run, changed)
    return evaluate([load(run)])


def test_an_effect_that_differs_is_set_against_the_protocol_of_its_own_setting(tmp_path: Path) -> None:
    (said,) = summary.interactions(with_other_protocols(SEVERAL.write(tmp_path / "run"), 0.9))
    assert tells(said, "With HTTP/3 (QUIC)", "higher than with HTTP/2 (TLS) (", "100 ms RTT")
    assert "HTTP/1.1" not in said


def test_of_settings_with_other_protocols_all_references_are_named(tmp_path: Path) -> None:
    (said,) = summary.interactions(with_other_protocols(SEVERAL.write(tmp_path / "run"), 0.7))
    assert tells(said, "ratio with any of them", "of that with HTTP/1.1 or HTTP/2 (TLS)", "whichever")


@pytest.mark.parametrize(
    ("whole", "told"), [((), "No ratio has an interval"), ((100.0,), "1 of 2 without one")]
)
def test_a_ratio_without_an_interval_is_not_said_to_move_by_less_than_half_of_it(
    whole: tuple[float, ...], told: str, tmp_path: Path
) -> None:
    """At 20 ms two blocks, of which a busy machine spoiled one; at the others all."""
    made = Synthetic(
        pages=("one",),
        protocols=("http1", "h2"),
        rates_mbps=(10.0,),
        rtts_ms=(20.0, *whole),
        trials=6,
        claims=(Claim(name="h2", subject=H2, reference={"protocol": "http1"}),),
    )
    run = made.write(tmp_path / "run")

    def changed(record: dict[str, Any]) -> dict[str, Any] | None:
        if record["condition"]["link"]["rtt_ms"] != 20:
            return record
        busy = {"foreign_cpu_share": 0.9, "client_thread_late_ms": 5000.0} if record["block"] == 2 else {}
        return record | busy if record["block"] <= 2 else None

    edit(run, changed)
    said = summary.of_all(evaluate([load(run)]))
    assert tells(said, "every verdict is the same")
    assert tells(said, told)
    assert ("half its interval" in said) == bool(whole)
