"""Whether an effect differs between protocols is tested, and said only then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.evaluation.results import Results, evaluate
from analysis.report import summary
from analysis.runs.rundirectory import load
from harness.model.claim import Claim
from tests.unit.analysis.synthetic import Synthetic

CORE = Claim(name="core", subject={"variant": "core"}, reference={"variant": "plain"})
MADE = Synthetic(
    pages=("a", "b", "c"),
    variants=("plain", "core"),
    protocols=("http1", "h2", "h3"),
    rates_mbps=(10.0,),
    rtts_ms=(50.0,),
    trials=10,
    claims=(CORE,),
)


def results(folder: Path, effects: dict[str, float]) -> Results:
    """A run in which `core` takes the share of each protocol's time."""
    run = MADE.write(folder / "run")
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    for number, line in enumerate(lines):
        condition = line["condition"]
        share = effects[condition["protocol"]] if condition["variant"] == "core" else 1.0
        line["plt_ms"] = 1000 * share * (1 + 0.004 * ((number * 7919) % 11 - 5) / 5)
    (run / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return evaluate([load(run)])


def test_a_difference_between_protocols_is_found_and_measured(tmp_path: Path) -> None:
    found = results(tmp_path, {"http1": 0.7, "h2": 0.7, "h3": 0.9})
    by_protocol = {each.protocol: each for each in found.interactions}
    assert set(by_protocol) == {"h2", "h3"}
    assert {each.reference for each in found.interactions} == {"http1"}
    assert by_protocol["h3"].comparison.ratio == pytest.approx(0.9 / 0.7, rel=0.01)
    assert by_protocol["h3"].judgement.q < 0.05
    (said,) = summary.interactions(found)
    assert said.startswith(
        "core against plain: the effect differs between protocols. With HTTP/3 (QUIC) the ratio is "
    )
    assert "higher than with HTTP/1.1 (3 pages), q below 0.001." in said


@pytest.mark.thorough
def test_no_difference_is_said_with_how_large_it_may_be(tmp_path: Path) -> None:
    (said,) = summary.interactions(results(tmp_path, {"http1": 0.7, "h2": 0.7, "h3": 0.7}))
    assert said.startswith(
        "core against plain: no difference between protocols was found. The ratio with any of them "
    )
    reach = float(said.split("is within ")[1].split(" %")[0])
    assert 0 < reach < 2
