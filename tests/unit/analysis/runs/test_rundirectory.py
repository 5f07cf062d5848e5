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
from analysis.runs.rundirectory import load, write_parquet
from harness.errors import RecordsError
from harness.model.kind import Kind
from harness.study.claim import Claim, Publication, Published
from harness.study.figure import FigureKind, FigureSeries, StudyFigure
from harness.study.metrics import metrics_of
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study
from tests.unit.analysis.synthetic import Synthetic, write_lines

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


CLAIM = Claim(name="h2", subject={"protocol": "h2"}, reference={"protocol": "http1"}, ratio_below=0.95)
FIGURE = StudyFigure(
    name="1",
    title="Figure 1",
    kind=FigureKind.LINES,
    x="rtt_ms",
    series=(FigureSeries({"protocol": "http1"}),),
    metric="plt_ms",
)
PAPER = Publication(
    title="A paper",
    source="2012",
    differs=("much",),
    claims=(Claim(name="a", published=Published(text="b", stands="c", low=1.0, not_comparable="no")),),
)


def test_what_the_study_says_stands_in_the_plan(run: Path) -> None:
    assert (load(run).claims, load(run).options) == ((), ())
    told = {"claims": [CLAIM.to_json()], "figures": [FIGURE.to_json()], "published": PAPER.to_json()}
    change_plan(run, **told, options=[["--only", "page=a"]])
    seen = load(run)
    assert (seen.claims, seen.options) == ((CLAIM,), (("--only", "page=a"),))
    assert seen.plan is not None
    assert (seen.plan.figures, seen.plan.published) == ((FIGURE,), PAPER)
    assert seen.study_as_run.endswith("\n# run with --only page=a\n")


@pytest.mark.parametrize(
    "of",
    [
        {"claims": 7},
        {"claims": [7]},
        {"claims": [{"name": "h2"}]},
        {"figures": {"a": 1}},
        {"figures": [3]},
        {"figures": [FIGURE.to_json() | {"x": "page"}]},
        {"figures": [FIGURE.to_json() | {"name": "../../x"}]},
        {"published": []},
        {"published": {}},
        {"published": PAPER.to_json() | {"claims": [{}]}},
        {"published": PAPER.to_json() | {"claims": [{"name": "a", "text": "b", "stands": "c"}]}},
        {"published": PAPER.to_json() | {"claims": [PAPER.claims[0].to_json() | {"low": "1"}]}},
        {"published": PAPER.to_json() | {"differs": 3}},
        {"options": 7},
        {"options": [["--only"]]},
        {"options": [["only", "page=a"]]},
        {"options": [["--only", "page=a\nb"]]},
        {"options": [["--only", "page=a"]] * 101},
        {"trials": 3},
        {"schema": 2},
        {"sets": 7},
        {"sets": {"old": []}},
        {"sets": {"old": ["a/b"]}},
        {"sets": {"a": ["x"], "b": ["x"]}},
    ],
)
def test_a_damaged_header_is_one_line(run: Path, of: dict[str, Any]) -> None:
    change_plan(run, **of)
    with pytest.raises(RecordsError, match=r"plan\.jsonl is damaged") as caught:
        load(run)
    assert "\n" not in str(caught.value)


def test_a_run_is_one_row_per_trial(run: Path) -> None:
    loaded = load(run)
    assert len(loaded.records) == loaded.planned == 16
    assert (loaded.study, loaded.title) == ("made-up", "A made-up study")
    assert {key for key, each in metrics_of(Kind.LOAD).items() if each.unit.is_number} <= set(loaded.records)
    assert set(loaded.records["link"]) == {"10mbps-20ms", "10mbps-100ms"}
    assert loaded.records["link_reading_down_late_p99_us"].eq(40.0).all()
    assert loaded.notes == ()


def test_what_was_not_observed_is_nan_and_never_zero(run: Path) -> None:
    change(run, 1, plt_ms=None)
    records = load(run).records
    assert math.isnan(records["plt_ms"].tolist()[0])
    assert records["speed_index_ms"].isna().all()


def test_unknown_keys_of_a_record_are_left_out(run: Path) -> None:
    change(run, 1, rebuffered=3, nested={"a": 1})
    assert not {"rebuffered", "nested"} & set(load(run).records)


@pytest.mark.parametrize("of_link", [True, False])
def test_a_condition_with_a_key_that_is_not_known_is_refused(run: Path, of_link: bool) -> None:
    """Two conditions that differ in it might be taken for one."""
    condition = SMALL.conditions()[0]
    (condition["link"] if of_link else condition)["lost_share"] = 0.01
    change(run, 1, condition=condition)
    with pytest.raises(RecordsError, match=r"records\.jsonl:1 .*'lost_share'"):
        load(run)


def test_a_truncated_last_line_is_left_out_with_a_note(run: Path) -> None:
    path = run / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    loaded = load(run)
    assert len(loaded.records) == 15
    (note,) = loaded.notes
    assert all(fact in note for fact in ("records.jsonl", "incomplete", "line 16"))


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


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{}", "digest"),
        ('{"digest": "x"}', "urls"),
        ('{"digest": "x", "urls": null}', "urls is None"),
        ('{"digest": "x", "urls": "https://site.example/"}', "urls is 'https"),
        ('{"digest": 3, "urls": []}', "digest is 3"),
    ],
)
def test_a_damaged_list_of_what_was_asked_for_is_named(run: Path, line: str, why: str) -> None:
    (run / "requested.jsonl").write_text(f'{{"digest": "a", "urls": ["b"]}}\n{line}\n')
    with pytest.raises(RecordsError, match=rf"requested\.jsonl:2 is damaged \(.*{why}") as caught:
        load(run)
    assert "\n" not in str(caught.value)


def test_a_trial_recorded_twice_is_an_error(run: Path) -> None:
    change(run, 7, trial="00002")
    with pytest.raises(RecordsError, match=r"records\.jsonl:7: attempt 1 at trial 00002 .*line 2"):
        load(run)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"trial": None}, "trial is None"),
        ({"trial": "../x"}, "trial is '../x'"),
        ({"block": "one"}, "block is 'one'"),
        ({"block": 0}, "block is 0"),
        ({"outcome": 3}, "outcome is 3"),
        ({"condition": {"link": {}}}, "page must be a text"),
        ({"condition": 7}, "not a condition|not a JSON object"),
        ({"plt_ms": "fast"}, "plt_ms is 'fast'"),
        ({"requests": True}, "requests is True"),
        ({"server_requests": "12"}, "server_requests is '12'"),
        ({"blank": "no"}, "blank is 'no'"),
        ({"missed": "a.png"}, "missed is 'a.png'"),
        ({"link_reading": []}, r"link_reading is \[\]"),
        ({"protocols": []}, r"protocols is \[\]"),
        ({"protocols": {"h2": "many"}}, "protocols.* is "),
        ({"plt_ms": 1.01e12}, "plt_ms is 1010000000000"),
        ({"plt_ms": 1e-9}, "no page loads in less than"),
        ({"schema": 1}, "schema 1; .*load .*reads schema 2"),
        ({"schema": 3}, "schema 3; .*load .*reads schema 2"),
        ({"kind": "users"}, "kind is 'users', .*load"),
        ({"kind": "odd"}, "kind is 'odd'"),
    ],
)
def test_a_record_without_its_essentials_is_an_error(run: Path, fields: dict[str, Any], named: str) -> None:
    change(run, 2, **fields)
    with pytest.raises(RecordsError, match=rf"records\.jsonl:2 is damaged .*({named})"):
        load(run)


def test_an_empty_run_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match="not a run directory"):
        load(tmp_path)
    (tmp_path / "records.jsonl").write_text('{"schema": 1, "tri')
    with pytest.raises(RecordsError, match="no complete record yet"):
        load(tmp_path)


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
    (note,) = load(run).notes
    assert "1 of 16 records" in note
    assert "plan.jsonl" in note


def test_parquet_holds_every_row(run: Path, tmp_path: Path) -> None:
    records = load(run).records
    write_parquet(records, tmp_path / "records.parquet")
    back = pd.read_parquet(tmp_path / "records.parquet")
    assert list(back) == list(records)
    assert back["plt_ms"].tolist() == records["plt_ms"].tolist()


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
    with pytest.raises(RecordsError, match="again must be true or false"):
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
        | {"schema": 2, "attempt": 1, "left_out": None, "outcome": "ok", "plt_ms": 100.0 + trial.order}
        for trial in plan.trials
        if trial.block < 3 or trial.condition.protocol == "http1"
    ]
    write_lines(tmp_path / "records.jsonl", records)
    return tmp_path


def test_a_run_that_stopped_early_is_complete(stopped: Path) -> None:
    loaded = load(stopped)
    assert loaded.looked
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
    (note,) = loaded.notes
    assert "1 of 5 records" in note
    assert "after a look" in note


@pytest.mark.parametrize(
    ("look", "says"),
    [
        ({"block": 1}, "no look after block 1"),
        ({"stopped": ["x"]}, "condition 'x' is not in plan.jsonl"),
        ({"stopped": "x"}, "stopped is 'x'"),
        ({"block": "2"}, "block must be a whole number"),
    ],
)
def test_a_look_that_contradicts_the_plan_is_refused(stopped: Path, look: dict[str, Any], says: str) -> None:
    path = stopped / "looks.jsonl"
    write_lines(path, [json.loads(path.read_text()) | look])
    with pytest.raises(RecordsError, match=rf"looks\.jsonl:1 is damaged .*{says}"):
        load(stopped)


@pytest.mark.parametrize("wrong", [{"looks": []}, {"until": None}, {"looks": None}])
def test_looks_go_with_until(stopped: Path, wrong: dict[str, Any]) -> None:
    """Whether a run looked decides how wide its intervals are."""
    path = stopped / "plan.jsonl"
    header, *trials = map(json.loads, path.read_text().splitlines())
    write_lines(path, [header | {"per_condition": header["per_condition"] | wrong}, *trials])
    with pytest.raises(RecordsError, match=r"plan\.jsonl is damaged"):
        load(stopped)


@pytest.mark.parametrize("attempt", [0, -1, "2", 1.5, None])
def test_attempts_are_numbered_from_one(run: Path, attempt: Any) -> None:
    change(run, 1, attempt=attempt)
    with pytest.raises(RecordsError, match=r"records\.jsonl:1 is damaged \(attempt is"):
        load(run)


@pytest.mark.parametrize(
    ("changed", "odd"),
    [
        ({"block": 2}, "another block or condition"),
        ({"condition": SMALL.conditions()[0] | {"page": "other"}}, "another block or condition"),
        ({"trial": "x"}, "plan.jsonl does not hold"),
        ({"left_out": "busy-machine"}, "by left_out and not by the rules"),
        ({"left_out": None}, None),
        ({"outcome": "odd", "left_out": "unknown-outcome"}, None),
    ],
)
def test_a_record_that_is_taken_although_it_is_odd_is_noted(
    run: Path, changed: dict[str, Any], odd: str | None
) -> None:
    change(run, 1, **changed)
    notes = load(run).notes
    assert len(notes) == (odd is not None)
    assert all(note.startswith("1 of 16 records ") and str(odd) in note for note in notes)


def test_a_second_attempt_that_counts_is_noted(run: Path) -> None:
    path = run / "records.jsonl"
    first, *others = (json.loads(line) for line in path.read_text().splitlines())
    write_lines(path, [first, first | {"attempt": 2}, *others])
    (note,) = load(run).notes
    assert "1 of 17 records" in note
    assert "earlier attempt" in note


def test_a_plan_with_two_headers_is_refused(run: Path) -> None:
    path = run / "plan.jsonl"
    header, *planned = (json.loads(line) for line in path.read_text().splitlines())
    write_lines(path, [header, *planned, header | {"claims": []}])
    with pytest.raises(RecordsError, match=r"plan\.jsonl is damaged"):
        load(run)


def test_the_plan_tells_the_set_of_a_page(run: Path) -> None:
    assert "set" not in load(run).records
    change_plan(run, sets={"old": ["dummy-2012", "other"]})
    seen = load(run)
    assert set(seen.records["set"]) == {"old"}
    assert "set" in seen.condition_columns
