"""The sentences of every comparison in full: budgets, and what differs between protocols."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from analysis.evaluation.results import evaluate
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
