"""Reading a run directory: tolerant of a run that is still going, strict where numbers could change."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis.evaluation.results import evaluate
from analysis.report.facts import progress
from analysis.runs.flatrecord import numbers_of
from analysis.runs.rundirectory import load, write_parquet
from analysis.tables.tables import tables_of
from harness.errors import RecordsError
from harness.model.claim import Claim
from harness.model.kind import Kind
from harness.model.observation import MAIN_METRIC, METRICS
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study
from tests.unit.analysis.synthetic import Synthetic, write_lines

LATER = METRICS.keys() - {MAIN_METRIC}
SMALL = Synthetic(pages=("dummy-2012",), rates_mbps=(10.0,), rtts_ms=(20.0, 100.0), trials=2)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return SMALL.write(tmp_path / "run")


def change(run: Path, number: int, **fields: Any) -> None:
    """Change fields of one line (from 1) of records.jsonl."""
    path = run / "records.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    records[number - 1] |= fields
    write_lines(path, records)


def change_plan(run: Path, **fields: Any) -> None:
    """Change fields of the header of plan.jsonl."""
    header, *planned = (json.loads(line) for line in (run / "plan.jsonl").read_text().splitlines())
    write_lines(run / "plan.jsonl", [header | fields, *planned])


def test_the_claims_stand_in_the_plan_and_older_runs_have_none(run: Path) -> None:
    assert load(run).plan.claims is None
    claim = Claim(name="h2", subject={"protocol": "h2"}, reference={"protocol": "http1"}, ratio_below=0.95)
    change_plan(run, claims=[claim.to_json()])
    assert load(run).plan.claims == (claim,)


@pytest.mark.parametrize("claims", [7, [7], [{"name": "h2"}]])
def test_a_damaged_claim_is_refused(run: Path, claims: Any) -> None:
    change_plan(run, claims=claims)
    with pytest.raises(RecordsError, match=r"plan\.jsonl: .*damaged"):
        load(run)


def test_a_run_is_one_row_per_trial(run: Path) -> None:
    loaded = load(run)
    assert len(loaded.records) == loaded.planned == 16
    assert (loaded.study, loaded.title, loaded.plan.seed) == ("made-up", "A made-up study", 2012)
    assert set(numbers_of(Kind.LOAD)) <= set(loaded.records)
    assert set(loaded.records["link"]) == {"10mbps-20ms", "10mbps-100ms"}
    assert loaded.records["link_reading_down_late_p99_us"].eq(40.0).all()
    assert loaded.notes == ()


def test_what_was_not_observed_is_nan_and_never_zero(run: Path) -> None:
    change(run, 1, plt_ms=None)
    records = load(run).records
    assert math.isnan(records["plt_ms"].tolist()[0])
    assert records["speed_index_ms"].isna().all()


def test_unknown_scalar_fields_become_columns(run: Path) -> None:
    change(run, 1, rebuffered=3, nested={"a": 1})
    records = load(run).records
    assert records["rebuffered"].tolist()[0] == 3
    assert "nested" not in records


def test_a_new_field_of_a_condition_tells_conditions_apart(run: Path) -> None:
    first = json.loads((run / "records.jsonl").read_text().splitlines()[0])
    change(
        run, 1, condition={**first["condition"], "link": {**first["condition"]["link"], "loss_share": 0.01}}
    )
    loaded = load(run)
    assert "link_loss_share" in loaded.condition_columns
    assert loaded.records["link_loss_share"].notna().sum() == 1


def test_a_truncated_last_line_is_left_out_with_a_note(run: Path) -> None:
    path = run / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    loaded = load(run)
    assert len(loaded.records) == 15
    assert loaded.notes == ("The last line of records.jsonl is incomplete and was left out (line 16).",)


def test_a_last_line_of_nul_bytes_is_left_out(run: Path) -> None:
    with (run / "records.jsonl").open("ab") as handle:
        handle.write(b"\0" * 512)
    assert len(load(run).records) == 16


@pytest.mark.parametrize("damage", [b'{"schema":1,"tri', b"[1, 2]", b'{"plt_ms": NaN}', b"\xff\xfe"])
def test_a_damaged_line_in_the_middle_is_an_error_that_names_it(run: Path, damage: bytes) -> None:
    path = run / "records.jsonl"
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:3], damage, *lines[4:], b""]))
    with pytest.raises(RecordsError, match=r"records\.jsonl:4 is damaged"):
        load(run)


def test_a_trial_recorded_twice_is_an_error(run: Path) -> None:
    change(run, 7, trial="00002")
    with pytest.raises(
        RecordsError, match=r"records\.jsonl:7: attempt 1 at trial 00002 is already on line 2"
    ):
        load(run)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"trial": None}, "trial is None"),
        ({"block": "one"}, "block is 'one'"),
        ({"outcome": 3}, "outcome is 3"),
        ({"condition": {"link": {}}}, "a record of schema 1 without page, protocol, down_mbps, rtt_ms"),
        ({"plt_ms": "fast"}, "plt_ms is 'fast'"),
        ({"requests": True}, "requests is True"),
        ({"server_requests": "12"}, "server_requests is '12'; it must be a number or null"),
        ({"blank": "no"}, "blank is 'no'; expected: true or false, or null"),
        ({"missed": "a.png"}, "missed is 'a.png'; expected: list of texts, or null"),
        ({"link_reading": []}, r"link_reading is \[\]; expected: object, or null"),
    ],
)
def test_a_record_without_its_essentials_is_an_error(run: Path, fields: dict[str, Any], named: str) -> None:
    change(run, 2, **fields)
    with pytest.raises(RecordsError, match=rf"records\.jsonl:2: {named}"):
        load(run)


def test_an_empty_run_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match="not a run directory"):
        load(tmp_path)
    (tmp_path / "records.jsonl").write_text('{"schema": 1, "tri')
    with pytest.raises(RecordsError, match="no complete record yet"):
        load(tmp_path)


@pytest.mark.thorough
def test_records_of_older_versions_lack_keys(run: Path) -> None:
    records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    write_lines(run / "records.jsonl", [{k: v for k, v in r.items() if k not in LATER} for r in records])
    results = evaluate([load(run)])
    assert results.records[list(LATER & set(numbers_of(Kind.LOAD)))].isna().all(axis=None)
    assert [made.name for made in tables_of(results)] == [
        "claims",
        "median-times",
        "comparisons",
        "calibration",
    ]


def test_records_alone_are_enough(run: Path) -> None:
    for path in run.iterdir():
        if path.name != "records.jsonl":
            path.unlink()
    loaded = load(run)
    assert loaded.study == "run"
    assert loaded.planned is None
    assert "plan.jsonl is missing" in loaded.notes[0]


def test_records_that_the_plan_does_not_hold_are_noted(run: Path) -> None:
    change(run, 1, trial="99999")
    assert load(run).notes == ("1 of 16 records are of trials that plan.jsonl does not hold.",)


def test_parquet_holds_every_row(run: Path, tmp_path: Path) -> None:
    change(run, 1, odd="text")
    change(run, 2, odd=7)
    records = load(run).records
    write_parquet(records, tmp_path / "records.parquet")
    back = pd.read_parquet(tmp_path / "records.parquet")
    assert list(back) == list(records)
    assert back["plt_ms"].tolist() == records["plt_ms"].tolist()
    assert back["odd"].tolist()[:2] == ["text", "7"]


def test_an_attempt_is_a_row_and_a_trial_is_planned_once(run: Path) -> None:
    path = run / "records.jsonl"
    first, *others = (json.loads(line) for line in path.read_text().splitlines())
    spoilt = first | {"attempt": 1, "left_out": "busy-machine"}
    write_lines(path, [spoilt, first | {"attempt": 2, "left_out": None}, *others])
    loaded = load(run)
    assert loaded.planned == 16
    assert loaded.records["attempt"].tolist() == [1, 2, *[1] * 15]
    assert loaded.records["attempt"].dtype == int
    assert loaded.records["left_out"].fillna("").tolist()[:3] == ["busy-machine", "", ""]
    assert progress(evaluate([loaded])) == ""
    write_lines(path, [spoilt, spoilt, *others])
    with pytest.raises(RecordsError, match=r"attempt 1 at trial 00001 is already on line 1"):
        load(run)


def test_a_condition_that_is_measured_again_is_another_one(run: Path) -> None:
    assert load(run).records["again"].tolist() == [False] * 16
    change(run, 1, condition=SMALL.conditions()[0] | {"again": True})
    assert load(run).records["again"].tolist() == [True, *[False] * 15]
    change(run, 1, condition=SMALL.conditions()[0] | {"again": "yes"})
    with pytest.raises(RecordsError, match="again is 'yes'; it must be true or false"):
        load(run)


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """Of two conditions, a look after block 2 stopped one; the other was measured in block 3, too."""
    text = (
        'name = "mine"\npages = ["one"]\nprotocols = ["http1", "h2"]\naa = false\n'
        'trials = {least = 2, most = 3, until = "2 %"}\n[[links]]\ndown_mbps = 10\nrtt_ms = 20\n'
    )
    plan = make_plan(parse_study(text, "mine.toml"), 1)
    (tmp_path / "plan.jsonl").write_text(plan.to_lines())
    (tmp_path / "study.toml").write_text(text)
    stopped = next(str(trial.condition) for trial in plan.trials if trial.condition.protocol == "h2")
    write_lines(tmp_path / "looks.jsonl", [{"schema": 1, "block": 2, "stopped": [stopped], "facts": {}}])
    records = [
        trial.to_json()
        | {"schema": 1, "attempt": 1, "left_out": None, "outcome": "ok", "plt_ms": 100.0 + trial.order}
        for trial in plan.trials
        if trial.block < 3 or trial.condition.protocol == "http1"
    ]
    write_lines(tmp_path / "records.jsonl", records)
    return tmp_path


def test_a_run_that_stopped_early_is_complete(stopped: Path) -> None:
    loaded = load(stopped)
    assert loaded.plan.looks == (2, 3)
    assert loaded.planned == len(loaded.records) == 5
    assert loaded.notes == ()


def test_a_trial_after_the_look_that_stopped_its_condition_is_noted(stopped: Path) -> None:
    path = stopped / "looks.jsonl"
    look = json.loads(path.read_text())
    write_lines(path, [look, look | {"block": 3, "stopped": []}])
    assert load(stopped).notes == ()
    path.write_text(path.read_text().replace(" h2 ", " http1 "))
    loaded = load(stopped)
    assert loaded.planned == 5
    assert loaded.notes == ("1 of 5 records are of trials after a look that stopped their condition.",)


@pytest.mark.parametrize(
    ("look", "says"),
    [
        ({"block": 1}, "looks.jsonl:1: block is 1; plan.jsonl has no look after that block"),
        ({"stopped": ["x"]}, "looks.jsonl:1: condition 'x' is not in plan.jsonl"),
        ({"stopped": "x"}, "looks.jsonl:1: stopped is 'x'"),
        ({"block": "2"}, "looks.jsonl:1: block is '2'"),
    ],
)
def test_a_look_that_contradicts_the_plan_is_refused(stopped: Path, look: dict[str, Any], says: str) -> None:
    path = stopped / "looks.jsonl"
    write_lines(path, [json.loads(path.read_text()) | look])
    with pytest.raises(RecordsError, match=says):
        load(stopped)


@pytest.mark.parametrize("wrong", [{"looks": []}, {"until": None}, {"looks": None}])
def test_looks_go_with_until(stopped: Path, wrong: dict[str, Any]) -> None:
    """Whether a run looked decides how wide its intervals are."""
    path = stopped / "plan.jsonl"
    header, *trials = map(json.loads, path.read_text().splitlines())
    write_lines(path, [header | {"per_condition": header["per_condition"] | wrong}, *trials])
    with pytest.raises(RecordsError, match=r"plan\.jsonl: .*(damaged)"):
        load(stopped)


@pytest.mark.parametrize("attempt", [0, -1, "2", 1.5, None])
def test_attempts_are_numbered_from_one(run: Path, attempt: Any) -> None:
    change(run, 1, attempt=attempt)
    with pytest.raises(RecordsError, match=r"records\.jsonl:1: attempt is"):
        load(run)


@pytest.mark.parametrize(
    ("changed", "note"),
    [
        ({"block": 2}, "1 of 16 records have another block or condition than their trial has in plan.jsonl."),
        (
            {"condition": SMALL.conditions()[0] | {"page": "other"}},
            "1 of 16 records have another block or condition than their trial has in plan.jsonl.",
        ),
        ({"trial": "x"}, "1 of 16 records are of trials that plan.jsonl does not hold."),
        ({"schema": 3}, "1 of 16 records do not say schema 1 or 2; they are read as if they did."),
        (
            {"left_out": "busy-machine"},
            "1 of 16 records count by left_out and not by the rules of this version, or the other way round; the rules "
            "decide.",
        ),
        ({"left_out": None}, None),
    ],
)
def test_a_record_that_is_taken_although_it_is_odd_is_noted(
    run: Path, changed: dict[str, Any], note: str | None
) -> None:
    change(run, 1, **changed)
    assert load(run).notes == ((note,) if note else ())


def test_a_second_attempt_that_counts_is_noted(run: Path) -> None:
    path = run / "records.jsonl"
    first, *others = (json.loads(line) for line in path.read_text().splitlines())
    write_lines(path, [first, first | {"attempt": 2}, *others])
    assert load(run).notes == ("1 of 17 records count although an earlier attempt at their trial does.",)


def test_a_plan_with_two_headers_is_refused(run: Path) -> None:
    path = run / "plan.jsonl"
    header, *planned = (json.loads(line) for line in path.read_text().splitlines())
    write_lines(path, [header, *planned, header | {"claims": []}])
    with pytest.raises(RecordsError, match=r"plan\.jsonl:18: a second header"):
        load(run)


def test_the_plan_tells_the_set_of_a_page(run: Path) -> None:
    assert "set" not in load(run).records
    change_plan(run, sets={"old": ["dummy-2012", "other"]})
    seen = load(run)
    assert seen.plan.sets == {"old": ("dummy-2012", "other")}
    assert set(seen.records["set"]) == {"old"}
    assert "set" in seen.condition_columns


@pytest.mark.parametrize("sets", [7, {"old": []}, {"old": ["a/b"]}, {"a": ["x"], "b": ["x"]}])
def test_damaged_sets_are_refused(run: Path, sets: Any) -> None:
    change_plan(run, sets=sets)
    with pytest.raises(RecordsError, match=r"plan\.jsonl: .*damaged"):
        load(run)
