"""Where a run goes, and what is said before of what it can find."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.statistics.power import Question, power, smallest_difference, trials_needed
from harness.cli.commands import main
from harness.cli.plan import comparisons_of, finding, no_verdict_warning, seen_so_far
from harness.cli.run import new_folder
from harness.model.kind import Kind
from harness.model.trials import Trials
from harness.records import SCHEMAS
from harness.study.planning import make_plan
from harness.study.study import Study
from harness.study.studyfile import parse_study
from tests.facts import tells
from tests.unit.harness.study.kindstudies import GOOD


def test_runs_begun_in_one_second_get_a_folder_each(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: new_folder(tmp_path / "runs", "mine-20260101T000000Z"), range(8)))
    names = {folder.name for folder in made if folder.is_dir()}
    assert names == {"mine-20260101T000000Z", *(f"mine-20260101T000000Z-{n}" for n in range(2, 9))}


def test_verdicts_are_counted_as_they_are_corrected() -> None:
    """A claim has one for each setting, and for each of two pages: below three they are told one by one."""
    assert (
        comparisons_of(parse_study(GOOD, "x")) == 2 * 2 * 2
    )  # one pair, per page, round-trip time and driver
    one = GOOD.replace('["http1", "h2"]', '["h2"]')
    assert comparisons_of(parse_study(one, "x")) == 0
    assert comparisons_of(parse_study(f'variants = ["plain", "core", "minify"]\n{one}', "x")) == 8 * 2


def study_of(trials: str, protocols: str = '["http1", "h2"]') -> Study:
    text = GOOD.replace("trials = 3", f"trials = {trials}").replace('["http1", "h2"]', protocols)
    return parse_study(text, "x")


def percents(lines: Iterable[str], row: str) -> list[float]:
    """The figures of a row."""
    (line,) = (each for each in lines if each.startswith(row))
    return [float(each) for each in re.findall(r"([\d.]+)(?: %|$|\s\s)", line.removeprefix(row))]


def test_a_plan_says_what_power_says() -> None:
    lines = list(finding(study_of("10")))
    for percent, found in zip((1, 2, 3), percents(lines, "10 trials find"), strict=True):
        known = smallest_difference(10, Question(percent / 100, 8))
        assert known is not None
        assert found == pytest.approx(100 * known, rel=0.06)
    needed = [trials_needed(0.05, Question(cv, 8)) for cv in (0.01, 0.02, 0.03)]
    assert percents(lines, "5 % needs trials") == needed


def test_a_study_that_looks_pays_and_shows_both_ends() -> None:
    lines = list(finding(study_of('{least = 5, most = 40, until = "2 %"}')))
    assert tells(lines[:1], "all others", "the looks")
    few, many = percents(lines, "10 trials find"), percents(lines, "40 trials find")  # below 10 nothing stops
    assert all(less > more for less, more in zip(few, many, strict=True))
    assert few[0] > percents(finding(study_of("10")), "10 trials find")[0]


def test_nothing_is_said_where_nothing_is_compared() -> None:
    alone = study_of("3", '["h2"]')
    assert list(finding(alone)) == []
    assert no_verdict_warning(alone) is None


@pytest.mark.parametrize(
    ("trials", "facts"),
    [
        ("1", ("1 trial per condition", "no interval", "no verdict")),
        ("2", ("2 trials per condition", "no interval", "no verdict")),
        ("3", ("only differences from 14 % on", "verdict")),
        ("5", ()),
        ("10", ()),
        ('{least = 3, most = 40, until = "2 %"}', ()),
    ],
)
def test_trials_that_tell_nothing_are_warned_of(trials: str, facts: tuple[str, ...]) -> None:
    warning = no_verdict_warning(study_of(trials))
    assert (warning is None) == (not facts)
    assert warning is None or tells([str(warning)], *facts)


def test_what_the_warning_advises_is_enough() -> None:
    found = re.search(r"--trials (\d+)$", str(no_verdict_warning(study_of("3"))))
    assert found
    assert power(0.05, int(found[1]), Question(0.01, 4)) >= 0.8
    assert no_verdict_warning(study_of(found[1])) is None


def write_run(folder: Path, study: Study, cv: float, blocks: int = 40) -> None:
    """Records of a run whose conditions have that CV inside blocks that differ by much more."""
    random = np.random.default_rng(7)
    shared = np.exp(random.normal(0, 0.3, blocks + 1))
    lines = [
        json.dumps(
            {
                **trial.to_json(),
                **{"schema": SCHEMAS[Kind.LOAD], "attempt": 1, "left_out": None},
                "outcome": "ok",
                "plt_ms": 1000 * float(shared[trial.block] * np.exp(random.normal(0, cv))),
            }
        )
        for trial in make_plan(replace(study, trials=Trials.of(blocks)), 1).trials
    ]
    folder.mkdir(parents=True)
    (folder / "records.jsonl").write_text("".join(f"{line}\n" for line in lines))


def test_the_cv_of_the_latest_run_is_that_inside_its_blocks(tmp_path: Path) -> None:
    study = study_of("10")
    write_run(tmp_path / f"{study.name}-20260101T000000Z", study, 0.05)
    write_run(tmp_path / f"{study.name}-20260201T000000Z", study, 0.02)
    write_run(tmp_path / "another-20260301T000000Z", study, 0.1)
    seen = seen_so_far(study, tmp_path)
    assert seen is not None
    assert seen.run.name == f"{study.name}-20260201T000000Z"
    assert seen.cv == pytest.approx(0.02, rel=0.15)
    lines = list(finding(study, seen))
    assert lines[-1].endswith(f"was seen in {seen.run})")
    assert percents(lines, "10 trials find")[3] == pytest.approx(
        percents(lines, "10 trials find")[1], rel=0.2
    )


def test_runs_that_tell_no_cv_are_passed_over(tmp_path: Path) -> None:
    study = study_of("10")
    assert seen_so_far(study, tmp_path / "missing") is None
    write_run(tmp_path / f"{study.name}-20260101T000000Z", study, 0.02)
    write_run(tmp_path / f"{study.name}-20260102T000000Z", study, 0.02, blocks=2)
    damaged = tmp_path / f"{study.name}-20260103T000000Z"
    damaged.mkdir()
    (damaged / "records.jsonl").write_text('{"outcome": "ok", "condition": 5}\nnot JSON\n')
    (tmp_path / f"{study.name}-20260104T000000Z").mkdir()
    seen = seen_so_far(study, tmp_path)
    assert seen is not None
    assert seen.run.name.endswith("20260101T000000Z")


def test_a_plan_says_what_it_can_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sites.archive import write_archive
    from sites.response import Response
    from sites.warc import About

    page = [Response("http://a.example/", 200, (), b"x")]
    for name in ("one", "two"):
        write_archive(tmp_path, name, About("http://a.example/", "test", "", ()), page)
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(tmp_path))
    study = tmp_path / "mine.toml"
    study.write_text(f'title = "[/red] [link=x]"\n{GOOD}')
    assert main(["plan", str(study)]) == 0
    said = capsys.readouterr().out
    assert "only differences from 14 % on" in said
    assert "5 % needs trials" in said
    assert "[/red] [link=x]: 24 conditions" in said
    assert main(["plan", str(study), "--trials", "9"]) == 0
    assert "warning" not in capsys.readouterr().out
    assert main(["plan", str(study), "--until", "2 %"]) == 0
    assert re.search(r"estimated time: about \d+ \w+ to \d+ \w+, as the looks find", capsys.readouterr().out)
