"""The made-up large run: its records count, and do not, as those of a real run."""

from __future__ import annotations

from benchmarks.scale import SEED, LargeRun
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
