"""Films of loads that failed: shown as such, beside those that count, and in no estimate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.charts.waterfallview import view
from analysis.evaluation.loads import MOST_LOADS, failed_loads, load_changes, median_films, median_loads
from analysis.evaluation.results import Results, evaluate
from analysis.runs.harfile import HarLoad, load_of
from analysis.runs.rundirectory import load as load_run
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic, timed_out
from tests.unit.analysis.synthetic_film import keep_film, keep_films
from tests.unit.analysis.synthetic_har import entry, har_of, keep_hars, load

MADE = Synthetic(
    pages=("p",), protocols=("http1", "h2", "h3"), rates_mbps=(10.0,), rtts_ms=(20.0, 50.0, 100.0), trials=3
)


def failing(folder: Path, trials: int) -> Path:
    """A run whose first trials failed and have short films."""
    run = keep_films(keep_hars(MADE.write(folder)))
    records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    for number, record in enumerate(records[:trials]):
        record |= {"outcome": "page-timeout", "reason": "no load event within 3 s", "plt_ms": None}
        for each in (run / "trials" / record["trial"] / "filmstrip").iterdir():
            each.unlink()
        (run / "trials" / record["trial"] / "filmstrip").rmdir()
        if number != 1:
            keep_film(run / "trials" / record["trial"], [900.0], outcome="page-timeout")
    (run / "records.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in records))
    return run


def results(run: Path) -> Results:
    return evaluate([load_run(run)])


@pytest.mark.thorough
def test_the_first_of_each_condition_is_shown_and_none_is_estimated(tmp_path: Path) -> None:
    found = results(failing(tmp_path / "run", 3))
    failed = failed_loads(found)
    assert [(each.outcome, each.film.outcome) for each in failed] == [("page-timeout", "page-timeout")] * 2
    counted = median_films(found)
    assert not {each.trial for each in failed} & {each.trial for each in counted.loads}
    shown = view(median_loads(found), counted, failed)
    assert shown is not None
    loads = json.loads(shown.data)["loads"]
    assert len(loads) == len(counted.loads) + 2
    assert [f"failed: page-timeout, trial {failed[0].trial}" in each["label"] for each in loads].count(
        True
    ) == 1
    assert loads[-1]["film"]["frames"][-1][0] == 900
    assert tells(shown.note, "2 loads that failed", "in no estimate")


@pytest.mark.thorough
def test_of_many_the_first_are_shown(tmp_path: Path) -> None:
    assert len(failed_loads(results(failing(tmp_path / "run", 9)))) == MOST_LOADS


@pytest.mark.thorough
def test_without_any_there_is_nothing(tmp_path: Path) -> None:
    assert failed_loads(results(keep_hars(MADE.write(tmp_path / "run")))) == ()


def loaded(*urls: str) -> HarLoad:
    return load_of(har_of([entry(url, number) for number, url in enumerate(urls)]))


def test_the_same_load_by_another_scheme_changed_nothing() -> None:
    found = load_changes(
        loaded("http://a.example/", "http://a.example/b"), loaded("https://a.example/", "https://a.example/b")
    )
    assert (found.only_first, found.only_second, found.common, found.moved) == ((), (), 2, 0)
    sizes = ("2 requests and 2", "2.0 kB and 2.0 kB", "2 connections and 2")
    assert tells([found.text], *sizes, "in both in the same order")


def test_what_only_one_has_and_what_moved() -> None:
    first = loaded(*(f"https://a.example/{name}" for name in "abcdef"))
    second = loaded(*(f"https://a.example/{name}" for name in "acbdxyf"))
    found = load_changes(first, second)
    assert (found.only_first, found.only_second) == (("a.example/e",), ("a.example/x", "a.example/y"))
    assert (found.common, found.moved) == (5, 1)
    alone = ("1 in the first alone", "2 in the second alone")
    assert tells([found.text], *alone, "in both 1 of 5 in another order")


def test_a_repeated_request_counts_as_often_as_it_was_made() -> None:
    found = load_changes(loaded("https://a.example/", "https://a.example/"), loaded("https://a.example/"))
    assert (found.only_first, found.common) == (("a.example/",), 1)


def test_loads_without_a_request_are_alike() -> None:
    empty = load_of(har_of([]))
    assert load_changes(empty, empty).common == 0
    assert load_changes(empty, load_of(load(3))).only_second


@pytest.mark.thorough
def test_no_load_is_near_a_median_that_is_a_time_out(tmp_path: Path) -> None:
    late = timed_out(
        MADE,
        lambda record: (
            record["condition"]["protocol"] == "http1"
            and record["condition"]["link"]["rtt_ms"] == 20.0
            and record["block"] <= 2
        ),
    )
    found = median_loads(results(keep_hars(late.write(tmp_path / "run"))))
    assert found.conditions == len(MADE.conditions()) - 1
    assert {each.trials for each in found.loads} == {3}
    assert "20 ms RTT, HTTP/1.1" not in {each.label for each in found.loads}
