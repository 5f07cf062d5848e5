"""Loads that asked for something else are told with the URLs; a load that has lost its page does not count."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.evaluation.results import Results, evaluate
from analysis.runs.rundirectory import load
from analysis.tables.trialtables import attempts, exclusions, loads_that_differ
from tests.unit.analysis.runpairs import edit
from tests.unit.analysis.synthetic import Synthetic, write_lines

SETS = {
    "usual": ["site.example/", "site.example/a.css", "site.example/b.png"],
    "less": ["site.example/"],
    "fonts": ["site.example/", "site.example/a.css", "site.example/b.png", "site.example/f.woff2"],
}


def made(folder: Path, changes: dict[int, dict[str, Any]]) -> Path:
    """A run of four trials of one page by http1 and four by h2; `changes` to records by their place."""
    one = Synthetic(
        pages=("news-mobile",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=4
    )
    one.write(folder)
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    for place, line in enumerate(lines):
        line.update({"requested_digest": "usual", "requests": 24} | changes.get(place, {}))
    (folder / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "requested.jsonl").write_text(
        "".join(json.dumps({"digest": key, "urls": urls}) + "\n" for key, urls in SETS.items())
    )
    return folder


def test_alike_loads_need_no_table(tmp_path: Path) -> None:
    assert loads_that_differ(evaluate([load(made(tmp_path / "run", {}))])) is None


def test_other_sets_are_told_with_their_urls_and_trials(tmp_path: Path) -> None:
    results = evaluate([load(made(tmp_path / "run", {0: {"requested_digest": "less"}}))])
    table = loads_that_differ(results)
    assert table is not None
    (row,) = table.data.to_dict("records")
    assert (row["trials"], row["of"], row["more"]) == (1, 4, "")
    assert row["missing"] == "site.example/a.css site.example/b.png"


def test_the_usual_sets_of_two_engines_are_compared(tmp_path: Path) -> None:
    other = made(tmp_path / "other", {place: {"requested_digest": "fonts"} for place in range(8)})
    text = (other / "records.jsonl").read_text()
    (other / "records.jsonl").write_text(text.replace('"engine": "chromium"', '"engine": "qtwebkit"'))
    table = loads_that_differ(evaluate([load(made(tmp_path / "run", {})), load(other)]))
    assert table is not None
    (row,) = table.data.to_dict("records")
    assert (row["engine"], row["trials"], row["of"]) == ("qtwebkit", 8, 8)
    assert (row["more"], row["missing"]) == ("site.example/f.woff2", "")


def test_loads_of_another_setting_are_not_expected_to_ask_for_the_same(tmp_path: Path) -> None:
    """A page that asks for less on a phone differs from nothing; the one load there that asks for more does."""
    run = made(tmp_path / "run", {place: {"requested_digest": "less"} for place in range(4)})

    def on_a_phone(record: dict[str, Any]) -> dict[str, Any]:
        mobile = record["requested_digest"] == "less"
        return record | {"condition": record["condition"] | {"device": "mobile" if mobile else "desktop"}}

    edit(run, on_a_phone)
    assert loads_that_differ(evaluate([load(run)])) is None
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    phone = next(line for line in lines if line["condition"]["device"] == "mobile")
    phone["requested_digest"] = "fonts"
    write_lines(run / "records.jsonl", lines)
    table = loads_that_differ(evaluate([load(run)]))
    assert table is not None
    (row,) = table.data.to_dict("records")
    assert (row["setting"], row["trials"]) == ("mobile", 1)
    assert str(table.rows[0][table.head.index("Loads")]).endswith(", mobile")


@pytest.mark.thorough
def test_what_is_no_page_any_more_does_not_count(tmp_path: Path) -> None:
    changes: dict[int, dict[str, Any]] = {
        0: {"requests": 11},
        1: {"requests": 12},
        2: {"fcp_ms": None, "requests": 17},
        3: {"fcp_ms": None},  # may have ended before its first paint
        4: {"fcp_ms": None, "blank": True},
        5: {"fcp_ms": None, "blank": False},
    }
    results = evaluate([load(made(tmp_path / "run", changes))])
    counts = results.sifted.by_rule()
    assert (counts["little-of-the-page"], counts["painted-nothing"]) == (1, 2)
    blank = evaluate([load(made(tmp_path / "blank", {n: {"fcp_ms": None, "blank": True} for n in range(8)}))])
    assert blank.sifted.by_rule()["painted-nothing"] == 0  # nothing tells that the page has anything to show


TWICE = Synthetic(
    pages=("news-mobile",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0,), trials=4, aa=True
)


def with_a_failure(folder: Path, protocol: str, *, again: bool) -> Results:
    """The first attempt of a condition failed, and a second one counts."""
    trial = next(
        record["trial"]
        for record in TWICE.records()
        if (record["condition"]["protocol"], record["condition"]["again"]) == (protocol, again)
    )
    made = replace(TWICE, outcomes={trial: "page-error"}, repeat=frozenset({trial}))
    return evaluate([load(made.write(folder / "run"))])


def test_what_was_left_out_of_a_condition_that_was_measured_again_is_shown(tmp_path: Path) -> None:
    results = with_a_failure(tmp_path, "http1", again=True)
    for table in (exclusions(results), attempts(results)):
        assert table is not None
        (row,), (shown,) = table.data.to_dict("records"), table.rows
        assert row["again"]
        assert shown[table.head.index("Protocol")].text == "HTTP/1.1 (again)"


def test_where_nothing_of_it_was_left_out_the_tables_are_without_it(tmp_path: Path) -> None:
    results = with_a_failure(tmp_path, "h2", again=False)
    for table in (exclusions(results), attempts(results)):
        assert table is not None
        assert "again" not in table.data
        assert [row[table.head.index("Protocol")].text for row in table.rows] == ["HTTP/2 (TLS)"]
