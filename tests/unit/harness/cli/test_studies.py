"""Where a run goes, and what is said before one that cannot tell anything."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from analysis.reach import clear_ones_needed, least_trials

from harness.cli.main import main
from harness.cli.run import new_folder
from harness.cli.studychoice import comparisons_of
from harness.study.studyfile import parse_study
from tests.unit.harness.study.test_studyfile import GOOD


def test_runs_begun_in_one_second_get_a_folder_each(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: new_folder(tmp_path / "runs", "mine-20260101T000000Z"), range(8)))
    names = {folder.name for folder in made if folder.is_dir()}
    assert names == {"mine-20260101T000000Z", *(f"mine-20260101T000000Z-{n}" for n in range(2, 9))}


def test_comparisons_are_counted_as_they_are_corrected() -> None:
    assert comparisons_of(parse_study(GOOD, "x")) == 2 * 2 * 2  # one pair, per page, time and driver
    one = GOOD.replace('["http1", "h2"]', '["h2"]')
    assert comparisons_of(parse_study(one, "x")) == 0
    assert comparisons_of(parse_study(f'variants = ["plain", "core", "minify"]\n{one}', "x")) == 8 * 2


@pytest.mark.parametrize(
    ("comparisons", "trials", "clear"),
    [
        (1, 4, None),  # no interval
        (1, 5, 1),  # Mann-Whitney: 2 / 252
        (7, 5, 2),
        (1, 6, 1),  # Wilcoxon: 2 / 64
        (2, 6, 2),
        (140, 5, 23),
        (140, 13, 1),
    ],
)
def test_how_many_must_differ_for_a_verdict(comparisons: int, trials: int, clear: int | None) -> None:
    assert clear_ones_needed(comparisons, trials) == clear


def test_the_least_trials_are_enough_and_one_less_is_not() -> None:
    for comparisons in (1, 2, 10, 100):
        least = least_trials(comparisons, 1)
        assert clear_ones_needed(comparisons, least) == 1
        assert clear_ones_needed(comparisons, least - 1) != 1


def test_a_plan_says_that_it_can_give_no_verdict(
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
    assert "warning: 8 comparisons with 3 trials can give no verdict; at least 5 trials, and 9 for" in said
    assert "[/red] [link=x]: 24 conditions" in said
    assert main(["plan", str(study), "--trials", "9"]) == 0
    assert "verdict" not in capsys.readouterr().out
