"""A run directory is append-only, goes on after a kill at any byte, and is written by one process at a time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.engines.browserlog import BrowserLog
from harness.errors import Outcome, RecordsError
from harness.input.jsontext import MAX_LINE_BYTES
from harness.probes.registry import Observation, observe
from harness.records import Record, RecordReader
from harness.run.directory import JoinedMachine, open_run
from harness.study.plan import Plan
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study
from harness.study.studytext import StudyText
from tests.facts import tells
from tests.unit.harness.probes.goodload import START, evidence, request, served

STUDY = """
name = "mine"
pages = ["one"]
protocols = ["http1", "h2"]
trials = 2
[[links]]
down_mbps = 10
rtt_ms = 20
"""
MADE_WITH: dict[str, Any] = {
    "link": {"backend": "tun"},
    "programs": {"chromium": "Chromium 156", "qtwebkit": "QtWebKit 5.212"},
    "archives": {"one": {"digest": "aa"}},
}
PLAN = make_plan(parse_study(STUDY, "mine.toml"), 1)
BOTH_ENGINES = f'engines = ["chromium", "qtwebkit"]\n{STUDY}'
BOTH_PLAN = make_plan(parse_study(BOTH_ENGINES, "mine.toml"), 1)


def programs(chromium: str | None, qtwebkit: str | None) -> dict[str, Any]:
    """An environment's entry of browsers."""
    return {"programs": {"chromium": chromium, "qtwebkit": qtwebkit}}


def record(number: int, plan: Plan = PLAN) -> Record:
    return Record(
        planned=plan.trials[number],
        outcome=Outcome.OK,
        reason=None,
        started_utc="2026-01-01T00:00:00.000Z",
        observation=Observation(plt_ms=100.5 + number),
        overhead_ms=500.0,
    )


def test_records_are_lines_with_nulls_for_what_was_not_observed(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", PLAN) as run:
        run.append(record(0))
    (line,) = (tmp_path / "run" / "records.jsonl").read_text().splitlines()
    stored = json.loads(line)
    assert stored["plt_ms"] == 100.5
    assert stored["fcp_ms"] is None
    assert stored["condition"]["link"]["rtt_ms"] == 20
    assert stored["outcome"] == "ok"


@pytest.mark.thorough
def test_a_run_cut_at_any_byte_goes_on_with_what_was_whole(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with open_run(folder, PLAN) as run:
        for number in range(3):
            run.append(record(number))
    whole = (folder / "records.jsonl").read_bytes()
    first_end = whole.index(b"\n") + 1
    for cut in range(first_end, len(whole) + 1, 37):
        (folder / "records.jsonl").write_bytes(whole[:cut])
        with open_run(folder, PLAN) as run:
            left = run.standing().left
            done = len(PLAN.trials) - len(left)
            assert done == whole[:cut].count(b"\n")
            run.append(record(done))
            assert len(run.standing().left) == len(left) - 1


def test_the_stored_plan_wins_over_a_new_seed(tmp_path: Path) -> None:
    other = make_plan(parse_study(STUDY, "mine.toml"), 99)
    with open_run(tmp_path / "run", PLAN):
        pass
    with open_run(tmp_path / "run", other) as run:
        assert run.plan == PLAN


def test_a_folder_of_another_study_is_refused(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", PLAN):
        pass
    another = replace(PLAN, study_text=StudyText(f"{STUDY}#"))
    with pytest.raises(RecordsError, match="another study"), open_run(tmp_path / "run", another):
        pass


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RecordsError, match="not empty"), open_run(tmp_path, PLAN):
        pass
    assert (tmp_path / "thesis.tex").read_text() == "x"


def test_a_run_killed_before_its_plan_was_whole_is_started(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY)
    left = [folder / f".{name}.{16 * '0'}.new" for name in ("study.toml", "plan.jsonl")]
    for path in left:
        path.write_text(PLAN.to_lines()[:100])
    with open_run(folder, PLAN) as run:
        assert run.standing().left == list(PLAN.trials)
    assert Plan.from_lines((folder / "plan.jsonl").read_text(), "plan.jsonl") == PLAN
    assert not any(path.exists() for path in left)


def test_two_writers_are_refused(tmp_path: Path) -> None:
    with (
        open_run(tmp_path / "run", PLAN),
        pytest.raises(RecordsError, match="another coldload"),
        open_run(tmp_path / "run", PLAN),
    ):
        pass


@pytest.mark.parametrize(
    "damage", ['{"trial": "00001"}\nnot json\n', '{"trial": "99999"}\n', '{"trial": "00001"}\n' * 2]
)
def test_damage_in_the_middle_is_named_with_its_line(tmp_path: Path, damage: str) -> None:
    with open_run(tmp_path / "run", PLAN) as run:
        run.records_path.write_text(damage)
        with pytest.raises(RecordsError, match=r"records\.jsonl:[12] is damaged"):
            run.standing()


def test_damage_in_what_was_asked_for_is_named_before_any_load(tmp_path: Path) -> None:
    seen = Observation(plt_ms=1.0, requested_digest="aa", requested=("https://one/",))
    with open_run(tmp_path / "run", PLAN) as run:
        run.append(replace(record(0), observation=seen))
    with open_run(tmp_path / "run", PLAN) as run:
        run.append(replace(record(1), observation=seen))
        whole = run.requested_path.read_text()
        assert json.loads(whole) == {"digest": "aa", "urls": ["https://one/"]}  # once
        run.requested_path.write_text(f"{whole}{{}}\n{whole}")
    with (
        pytest.raises(RecordsError, match=r"requested\.jsonl:2 is damaged"),
        open_run(tmp_path / "run", PLAN),
    ):
        pass


@pytest.mark.parametrize(
    "asked",
    [
        [f"{START}{number}?{'x' * 3_000_000}" for number in range(7)],
        [f"https://elsewhere.example/{number}?{'x' * 2000}" for number in range(6000)],
    ],
    ids=["long", "many"],
)
def test_whatever_a_page_asks_for_its_lines_are_read(tmp_path: Path, asked: list[str]) -> None:
    requests = (request(START), *(request(url, status=404) for url in asked))
    seen = observe(evidence(browser_log=BrowserLog(requests, ()), served=(served(START),)))
    assert seen.failed_requests == len(asked)
    with open_run(tmp_path / "run", PLAN) as run:
        run.append(replace(record(0), observation=seen))
    with open_run(tmp_path / "run", PLAN) as run:
        assert len(run.standing().left) == len(PLAN.trials) - 1
        assert run.requested_path.stat().st_size < MAX_LINE_BYTES
        ((_, stored, _),) = RecordReader().of(run.records_path)
    assert stored.facts["failed_requests"] == len(asked)


def test_a_continued_run_keeps_both_environments(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", PLAN) as run:
        run.write_environment({"kernel": "1", **MADE_WITH})
        run.write_environment({"kernel": "2", **MADE_WITH})
        stored = json.loads((run.folder / "environment.json").read_text())
    assert stored == {"kernel": "1", **MADE_WITH, "continued": [{"kernel": "2", **MADE_WITH}]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"link": {"backend": "veth"}}, "link devices tun and cannot go on with veth"),
        (
            programs("Chromium 157", "QtWebKit 5.212"),
            "browser Chromium 156 and cannot go on with Chromium 157",
        ),
        (
            programs("Chromium 156", "QtWebKit 5.9"),
            "browser QtWebKit 5.212 and cannot go on with QtWebKit 5.9",
        ),
        (programs("Chromium 156", None), "browser QtWebKit 5.212 and cannot go on without; choose"),
        ({"archives": {"one": {"digest": "bb"}}}, "archive one aa and cannot go on with bb"),
    ],
)
def test_a_run_does_not_go_on_with_another_link_browser_or_archive(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    with open_run(tmp_path / "run", BOTH_PLAN) as run:
        run.write_environment(MADE_WITH)
        with pytest.raises(RecordsError, match=said):
            run.write_environment({**MADE_WITH, **change})


def test_an_engine_that_no_trial_of_the_run_uses_may_be_another(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", PLAN) as run:
        run.write_environment(MADE_WITH)
        run.write_environment({**MADE_WITH, **programs("Chromium 156", "QtWebKit 5.9")})


def test_an_engine_that_was_missing_at_first_may_come_but_then_only_that_one(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", BOTH_PLAN) as run:
        run.write_environment({**MADE_WITH, **programs("Chromium 156", None)})
        run.write_environment(MADE_WITH)
        with pytest.raises(RecordsError, match=r"QtWebKit 5\.212 .*cannot go on with QtWebKit 5\.9"):
            run.write_environment({**MADE_WITH, **programs("Chromium 156", "QtWebKit 5.9")})


def test_an_environment_without_an_engine_of_the_run_is_damaged(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", BOTH_PLAN) as run:
        run.write_environment({**MADE_WITH, "programs": {"chromium": "Chromium 156"}})
        with pytest.raises(RecordsError, match="is damaged"):
            run.write_environment(MADE_WITH)


def test_a_run_keeps_the_sets_of_its_study_so_that_it_can_run_again(tmp_path: Path) -> None:
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "small.toml").write_text('pages = ["one", "two"]\n')
    text = STUDY.replace('pages = ["one"]', 'pages = ["@small"]')
    plan = make_plan(parse_study(text, "mine.toml", tmp_path), 1)
    with open_run(tmp_path / "run", plan) as run:
        assert run.plan.sets == {"small": ("one", "two")}
    (tmp_path / "sets" / "small.toml").unlink()
    again = make_plan(parse_study(text, "study.toml", tmp_path / "run"), 1)
    assert again == plan
    with open_run(tmp_path / "run", again) as run:
        assert run.plan == plan


def test_a_run_without_sets_keeps_none(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", PLAN):
        assert not (tmp_path / "run" / "sets").exists()


def test_a_run_that_goes_on_with_something_else_says_so(tmp_path: Path) -> None:
    begun = {
        **MADE_WITH,
        "coldload": "1.0",
        "servers": {"chromium": {"settings": {"one": {"sendfile": "on", "certificate_bytes": 416}}}},
        "machine": {"kernel": "6.1", "processor": "A", "cores": 2, "load_average": [0.5]},
    }
    alike = {
        **begun,
        "taken_utc": "later",
        "servers": {"chromium": {"settings": {"one": {"sendfile": "on", "certificate_bytes": 415}}}},
        "machine": {"kernel": "6.1", "processor": "A", "cores": 1, "load_average": [9.5]},
    }
    later = {
        **begun,
        "coldload": "2.0",
        "programs": {**MADE_WITH["programs"], "nginx": "nginx/1.24"},  # which nothing was told of before
        "servers": {"chromium": {"settings": {"one": {"sendfile": "off", "certificate_bytes": 416}}}},
        "machine": {"kernel": "6.12", "processor": "A"},
    }
    with open_run(tmp_path / "run", PLAN) as run:
        assert run.write_environment(begun) is None
        assert run.write_environment(alike) is None
        told, *others = (run.write_environment(later) or "").split("; ")
        assert tells([told], "not made alike", "coldload was 1.0 and is 2.0")
        assert others == [
            "servers.chromium.settings.one.sendfile was on and is off",
            "machine.kernel was 6.1 and is 6.12",
        ]
        assert run.write_environment(begun) is None


def test_a_run_that_goes_on_under_another_root_says_so(tmp_path: Path) -> None:
    def made_on(system: str, **roots: str) -> dict[str, Any]:
        inside = {purpose: {"release": "12", "made_utc": made} for purpose, made in roots.items()}
        return {**MADE_WITH, "machine": {"system": system}, "debian": {"roots": inside}}

    with open_run(tmp_path / "run", PLAN) as run:
        assert run.write_environment(made_on("Debian 13")) is None
        assert run.write_environment(made_on("Debian 13")) is None
        told = run.write_environment(made_on("Debian 13", historical="2026-11-25T10:00:00Z")) or ""
        goes_on = "goes on under Debian 13 with the root historical of 2026-11-25"
        assert tells([told], "begun under Debian 13,", goes_on)
        assert run.write_environment(made_on("Debian 12")) is not None
    assert len(json.loads((tmp_path / "run" / "environment.json").read_text())["continued"]) == 3


def test_machines_of_a_run_may_come_in_another_order_but_have_its_archives(tmp_path: Path) -> None:
    one, other = MADE_WITH, {**MADE_WITH, **programs("Chromium 157", None), "link": {"backend": "veth"}}
    with open_run(tmp_path / "run", BOTH_PLAN) as run:
        for environment in (one, other, one):
            run.write_environment(environment, of_several=True)
        with pytest.raises(RecordsError, match="archive one aa and cannot go on with bb"):
            run.write_environment({**other, "archives": {"one": {"digest": "bb"}}}, of_several=True)
        with pytest.raises(RecordsError, match="link devices tun and cannot go on with veth"):
            run.write_environment(other)  # of this machine alone


def test_machines_that_joined_are_known_again(tmp_path: Path) -> None:
    joined = [
        JoinedMachine("lab-a", {"programs": {"chromium": "Chromium 156"}}, "0123"),
        JoinedMachine("lab-b", {}, None),
    ]
    with open_run(tmp_path / "run", PLAN) as run:
        assert run.machines() == []
        for machine in joined:
            run.append_machine(machine)
        assert run.machines() == joined
        with run.machines_path.open("a") as file:
            file.write('{"machine": 7}\n')
        with pytest.raises(RecordsError, match=r"machines\.jsonl:3 is damaged"):
            run.machines()


@pytest.mark.parametrize("name", ["machines.jsonl", "calibration.jsonl"])
def test_what_a_kill_cut_short_is_not_joined_to_the_next_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / "run" / name
    for _ in range(2):
        with open_run(tmp_path / "run", PLAN) as run:
            run.append_machine(JoinedMachine("lab-a", {}, None))
            run.append_calibration({"ok": True})
        with path.open("a") as file:
            file.write('{"cut": ')
    with open_run(tmp_path / "run", PLAN):
        assert len([json.loads(line) for line in path.read_text().splitlines()]) == 2


def test_a_set_that_was_changed_since_is_told_of_and_other_options_apart(tmp_path: Path) -> None:
    (tmp_path / "sets").mkdir()
    text = STUDY.replace('pages = ["one"]', 'pages = ["@small"]')

    def plan_of(pages: str) -> Plan:
        (tmp_path / "sets" / "small.toml").write_text(f"pages = {pages}\n")
        return make_plan(parse_study(text, "mine.toml", tmp_path), 1)

    before = plan_of('["one", "two"]')
    with open_run(tmp_path / "run", before):
        pass
    with pytest.raises(RecordsError) as refused, open_run(tmp_path / "run", plan_of('["one"]')):
        pass
    assert tells(
        [str(refused.value)], "sets, traces, links or variants", "have changed", "2 conditions gone and 0 new"
    )
    assert "as two plain" in str(refused.value)
    with open_run(tmp_path / "run", plan_of('["one", "two"]')):
        pass
    with_options = replace(before, options=(("--trials", "2"),))
    with (
        pytest.raises(RecordsError, match=r"other options \(none\)"),
        open_run(tmp_path / "run", with_options),
    ):
        pass
