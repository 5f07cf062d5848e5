"""From the statistics of a look to the conditions that the runner stops."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from harness.cli.run import enough_for
from harness.model.kind import Kind
from harness.model.trials import Trials
from harness.records import SCHEMAS
from harness.study.plan import Looks, Plan
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study
from tests.unit.harness.study.kindstudies import GOOD


def planned(trials: Trials) -> Plan:
    return make_plan(replace(parse_study(GOOD, "x"), trials=trials, aa=True), 1)


def test_a_fixed_number_of_trials_has_no_looks() -> None:
    assert enough_for(planned(Trials.of(5))) is None


HEAD = {"schema": SCHEMAS[Kind.LOAD], "attempt": 1, "left_out": None, "outcome": "ok"}


def test_equal_loads_are_enough_and_stop_every_condition(tmp_path: Path) -> None:
    plan = planned(Trials(10, 30, 0.02))
    (tmp_path / "plan.jsonl").write_text(plan.to_lines())
    seen = [trial for trial in plan.trials if trial.block <= 10]
    (tmp_path / "records.jsonl").write_text(
        "".join(
            json.dumps({**HEAD, **trial.to_json(), "plt_ms": 1000.0 + trial.block}) + "\n" for trial in seen
        )
    )
    enough = enough_for(plan)
    assert enough is not None
    found = enough(tmp_path, 10)
    assert found.stopped == {trial.condition for trial in plan.trials}
    looks = Looks(plan)
    line = json.loads(json.dumps(looks.line(10, found)))
    looks.note(10, line["stopped"])
    assert not any(looks.needs(trial) for trial in plan.trials if trial.block > 10)
    assert all(each["enough"] for each in line["facts"]["settings"])
