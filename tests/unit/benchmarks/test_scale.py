"""The made-up large run: its records count, and do not, as those of a real run."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import pytest

from benchmarks.scale import SEED, Bench, LargeRun
from harness.errors import Outcome
from harness.study.metrics import unsound
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study


def test_records_say_of_themselves_what_the_rules_say_of_them() -> None:
    large = LargeRun(pages=2, trials=30)
    records = list(large.records(make_plan(parse_study(large.study_text, "study.toml"), SEED)))
    assert [each.left_out for each in records] == [unsound(each.to_json()) for each in records]
    assert {each.left_out for each in records} == {None, "late-packets-down"}
    late = [each for each in records if each.outcome is Outcome.PAGE_TIMEOUT]
    assert late
    assert all(each.left_out is None and each.observation.plt_ms is None for each in late)


def test_the_memory_of_a_command_is_its_own(tmp_path: Path) -> None:
    """A process begins with the peak of the one that started it, here this one's."""
    ours_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    bench = Bench(tmp_path, LargeRun())
    small, large = (
        bench.cost_of((sys.executable, "-c", f"made = b'.' * ({mb} << 20)")).memory_mb for mb in (0, 50)
    )
    assert small < ours_mb / 2
    assert 45 < large - small < 60


def test_a_command_that_fails_ends_the_measurement(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "raise SystemExit('no such study')")
    with pytest.raises(SystemExit, match="ended with 1: no such study"):
        Bench(tmp_path, LargeRun()).cost_of(command)
