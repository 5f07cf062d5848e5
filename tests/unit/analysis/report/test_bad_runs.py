"""Reports of runs that hold next to nothing: each says what happened."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.comparing.runpair import read_pair
from analysis.report.report import build
from harness.errors import RecordsError
from tests.unit.analysis.synthetic import Synthetic, write_lines

pytestmark = pytest.mark.thorough
SMALL = Synthetic(
    pages=("one",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(50.0,), trials=6, aa=True
)
BUSY = {"foreign_cpu_share": 1.0, "client_thread_late_ms": None}


def page_of(run: Path) -> str:
    build([run])
    text = re.sub(
        r"<(style|script).*?</\1>|<[^>]+>", " ", (run / "report.html").read_text("utf-8"), flags=re.DOTALL
    )
    return " ".join(html.unescape(text).split())


def disturbed(run: Path, *protocols: str) -> Path:
    """The machine was busy in every load by these protocols."""
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    write_lines(
        run / "records.jsonl",
        [each | (BUSY if each["condition"]["protocol"] in protocols else {}) for each in lines],
    )
    return run


def all_ending(outcome: str, *protocols: str) -> Synthetic:
    failed = {
        each["trial"]: outcome for each in SMALL.records() if each["condition"]["protocol"] in protocols
    }
    return replace(SMALL, outcomes=failed)


def test_a_condition_of_which_nothing_counts(tmp_path: Path) -> None:
    said = page_of(disturbed(SMALL.write(tmp_path / "run"), "h2"))
    assert (
        "HTTP/2 (TLS) against HTTP/1.1: no data: HTTP/2 (TLS): 6 of 6 attempts left out: busy-machine."
        in said
    )
    assert "was not observed in any trial" not in said


def test_nothing_counts_at_all(tmp_path: Path) -> None:
    said = page_of(disturbed(SMALL.write(tmp_path / "run"), "h2", "http1"))
    assert "HTTP/2 (TLS): 6 of 6 attempts left out: busy-machine" in said
    assert "HTTP/1.1: 6 of 6 attempts left out: busy-machine" in said
    assert "18 of 18 attempts were left out (100.0 %)." in said
    assert "was not observed in any trial" not in said


def test_a_run_that_all_was_left_out_of_is_not_compared(tmp_path: Path) -> None:
    a, b = SMALL.write(tmp_path / "a"), replace(SMALL, seed=7).write(tmp_path / "b")
    disturbed(b, "h2", "http1")
    with pytest.raises(RecordsError, match="18 of 18 attempts left out: busy-machine"):
        read_pair(a, b)


def test_a_condition_that_always_timed_out(tmp_path: Path) -> None:
    said = page_of(all_ending("page-timeout", "h2").write(tmp_path / "run"))
    assert "HTTP/2 (TLS): 6 of 6 trials timed out, so it has no median time" in said
    assert said.index("timed out") < said.index("Every comparison in full")
    assert "HTTP/2 (TLS) against HTTP/1.1: slower, by an unknown amount: loads timed out" in said


def test_a_run_of_time_outs_alone(tmp_path: Path) -> None:
    said = page_of(all_ending("page-timeout", "h2", "http1").write(tmp_path / "run"))
    assert "both sides timed out in every block that holds both" in said
    assert "HTTP/1.1: 6 of 6 trials timed out" in said


def test_half_of_a_condition_timed_out(tmp_path: Path) -> None:
    """Every second block: the median is a time-out, and what is known of the ratio has no upper end."""
    late = {
        each["trial"]: "page-timeout"
        for each in SMALL.records()
        if each["condition"]["protocol"] == "h2" and each["block"] % 2
    }
    said = page_of(replace(SMALL, outcomes=late).write(tmp_path / "run"))
    assert "HTTP/2 (TLS): 3 of 6 trials timed out" in said


@pytest.mark.parametrize("trials", [1, 2])
def test_one_block_or_two(trials: int, tmp_path: Path) -> None:
    said = page_of(replace(SMALL, trials=trials).write(tmp_path / "run"))
    assert f"not known yet: {trials} block{'s' * (trials > 1)} of at least 3" in said
    assert (
        "1 setting measured twice, in fewer than 3 blocks: too few to say what equal conditions can show."
        in said
    )
