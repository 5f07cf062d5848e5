"""What a run stops at its looks, what it says when it is interrupted, and when nothing counts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli.commands import main
from harness.cli.run import _unfinished_run_of, enough_for, left_at, refuse_unless_one_counts
from harness.errors import MeasurementRefused, Outcome
from harness.model.kind import Kind
from harness.model.trials import Trials
from harness.records import SCHEMAS
from harness.run.directory import open_run
from harness.study.plan import Looks, Plan
from harness.study.planning import make_plan
from harness.study.study import Study
from harness.study.studyfile import parse_study
from tests.facts import tells
from tests.unit.harness.run.test_attempts import BUSY, PLAN, STUDY, record
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


def test_an_interrupted_run_says_what_is_done_and_how_to_go_on(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", PLAN) as run:
        assert tells([left_at(run, fresh=False)], "no trial is recorded", "the same command goes on")
        run.append(*(record(planned, 1, None) for planned in PLAN.trials[:2]))
        said = left_at(run, fresh=True)
        assert said.startswith(f"2 of {len(PLAN.trials)} trials are done in {tmp_path / 'run'}; ")
        assert tells([said], "same command without --new", "`coldload report ")
        run.append(*(record(planned, 1, None) for planned in PLAN.trials[2:]))
        assert "goes on" in left_at(run, fresh=False)  # its portraits are left


@pytest.mark.parametrize("damaged", ["plan.jsonl", "records.jsonl", "looks.jsonl"])
def test_a_run_that_cannot_be_read_is_told_of_and_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damaged: str
) -> None:
    study = parse_study(STUDY, "mine.toml")
    with open_run(tmp_path, PLAN):
        assert _unfinished_run_of(tmp_path, study)
    assert capsys.readouterr().out == ""
    (tmp_path / damaged).write_text("no JSON\n")
    assert not _unfinished_run_of(tmp_path, study)
    (line,) = capsys.readouterr().out.splitlines()
    assert tells([line], "warning: ", f"{tmp_path} is passed over", f"{tmp_path / damaged}", "damaged")


def test_a_run_whose_set_was_changed_since_is_not_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "sets").mkdir()
    text = STUDY.replace('pages = ["one"]', 'pages = ["@small"]')

    def study_of(pages: str) -> Study:
        (tmp_path / "sets" / "small.toml").write_text(f"pages = {pages}\n")
        return parse_study(text, "mine.toml", tmp_path)

    before = study_of('["one", "two"]')
    with open_run(tmp_path / "run", make_plan(before, 1)):
        assert _unfinished_run_of(tmp_path / "run", before)
    assert not _unfinished_run_of(tmp_path / "run", study_of('["one", "three"]'))
    assert _unfinished_run_of(tmp_path / "run", study_of('["one", "two"]'))


@pytest.mark.parametrize(
    "words", [["run", "demo-quick"], ["versus", "one", "two"], ["advise", "one"]], ids=lambda words: words[0]
)
def test_nothing_new_begins_where_a_run_is(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_run(tmp_path / "run", PLAN):
        pass
    assert main([*words, "--new", "--out", str(tmp_path / "run")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert tells([line], f"--new cannot begin in --out {tmp_path / 'run'}", "leave --new out")


def test_a_run_in_which_nothing_counts_is_refused_with_the_reasons(tmp_path: Path) -> None:
    first, second, third = PLAN.trials[:3]
    with open_run(tmp_path / "run", PLAN) as run:
        run.append(*(record(first, attempt, BUSY) for attempt in (1, 2, 3)))
        timed_out = replace(record(second, 1, None), outcome=Outcome.PAGE_TIMEOUT, reason="no load event")
        run.append(timed_out)
        with pytest.raises(MeasurementRefused) as refused:
            refuse_unless_one_counts(run)
        lost = "(3 busy-machine; 1 page-timeout: no load event)"
        assert tells([str(refused.value)], lost, "end what else runs")
        run.append(record(third, 1, None))
        refuse_unless_one_counts(run)
