"""The page of a soak is made from its figures, and the one of docs/results shows those that are kept there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from benchmarks.publish.document import read
from benchmarks.soak.audit import KINDS, LOST, WRONG, Audit, Finding
from benchmarks.soak.striking import Fault
from benchmarks.soak.tallies import (
    DATA,
    PAGE,
    SUMS,
    WHAT_COMES,
    figures,
    is_whole,
    page,
    sums,
    text,
    write,
    written_into,
)
from tests.facts import tells

RESULTS = Path(__file__).parents[4] / "docs" / "results"
ASKED = {"trials": 170, "seed": 1, "busy": False, "beside": 1}
FOUND = Audit(
    studies=3,
    planned=170,
    recorded=170,
    counted=160,
    struck=9,
    struck_counted=2,
    attempts=181,
    hours=1.25,
    left_out=Counter({"testbed-failed": 20, "late-runner": 1}),
    faults=Counter({"stop": 5, "kill": 4}),
    hit=Counter({"stop": 5, "interrupt": 1}),
    hit_counted=Counter({"stop": 2}),
    calls=11,
    grown=[0.012],
    memory_mb=[99.0, 101.4],
)


def test_the_page_of_the_results_shows_the_data() -> None:
    """There is none of either before a soak was over."""
    shown, data = RESULTS / PAGE, RESULTS / DATA
    kept = page(written_into(RESULTS)) if data.exists() else None
    assert kept == (shown.read_text(encoding="utf-8") if shown.exists() else None)
    if data.exists():
        told = {row: cells["value"] for row, cells in read(RESULTS / SUMS).items()}
        assert told == sums(written_into(RESULTS))


def test_what_is_written_is_the_page_of_its_data(tmp_path: Path) -> None:
    told = figures(FOUND, ASKED, 3)
    write(told, tmp_path)
    assert written_into(tmp_path) == [{**told, "earlier": []}]
    made = (tmp_path / PAGE).read_text()
    assert made == page(written_into(tmp_path))
    assert tells(made, "170 trials", "160 of which count", "9 faults", "nothing was lost, wrong or left")
    assert "`python -m benchmarks.soak --trials 170 --seed 1`, " in made
    assert "--seed 1 --busy`, " in page([figures(FOUND, {**ASKED, "busy": True}, 3)])
    beside = page([figures(FOUND, {**ASKED, "busy": True, "beside": 3}, 3)])
    assert "--seed 1 --beside 3`, " in beside
    assert tells(beside, "the rules leave most of their attempts out")
    assert not tells(made, "the rules leave most of their attempts out")
    assert f"| {WHAT_COMES['stop']} | 5 | 5 | 2 |\n" in made
    assert f"| {WHAT_COMES['kill']} | 4 | 0 | 0 |\n" in made
    assert "| records lost | 0 |\n" in made
    assert "- Left out: 20 `testbed-failed`, 1 `late-runner`.\n" in made
    assert tells(made, "grew by 1.2% at most", "101 MB at most")
    assert {row: cells["value"] for row, cells in read(tmp_path / SUMS).items()} == {
        "trials": "170",
        "counted": "160",
        "faults": "9 faults",
        "found": "nothing was lost, wrong or left",
    }


def test_the_page_is_of_all_soaks_and_has_each_of_them_once(tmp_path: Path) -> None:
    grown = Audit(**{**vars(FOUND), "grown": [0.034], "memory_mb": [90.0]})
    for found, asked in ((FOUND, ASKED), (grown, {**ASKED, "seed": 2}), (FOUND, ASKED)):
        write(figures(found, asked, 3), tmp_path)
    made = (tmp_path / PAGE).read_text()
    assert tells(made, "340 trials", "18 faults")
    assert tells(made, "362 attempts", "320 count")
    assert "- Left out: 40 `testbed-failed`, 2 `late-runner`.\n" in made
    assert tells(made, "grew by 3.4% at most", "101 MB at most", "(2 of them)")
    assert made.count("python -m benchmarks.soak") == 2
    assert f"| {WHAT_COMES['stop']} | 10 | 10 | 4 |\n" in made


def test_what_an_earlier_end_found_stays_when_it_is_mended(tmp_path: Path) -> None:
    lost = Audit(**{**vars(FOUND), "findings": [Finding(LOST, "001-agency", "attempt 1 is not recorded")]})
    for found in (lost, FOUND, FOUND):
        write(figures(found, ASKED, 3), tmp_path)
    made = (tmp_path / PAGE).read_text()
    assert tells(made, "nothing was lost, wrong or left")
    assert made.count("- Found earlier by seed 1, and mended: lost: attempt 1 is not recorded\n") == 1


def test_how_many_attempts_could_be_tried_is_told_where_it_was_noted() -> None:
    noted = figures(Audit(**{**vars(FOUND), "struck_counted": 9, "held_against_others": 4}), ASKED, 3)
    assert tells(page([noted]), "Tried were 4 of 9 that count.")
    old = {**noted, "attempts": {**noted["attempts"], "struck_and_counted": 5}}
    del old["attempts"]["held_against_others"]
    assert "Tried were 4 of 9 that count. Of 5 more it was not noted" in page([noted, old])
    assert tells(page([old]), "Of 5 it was not noted")


def test_what_was_found_opens_the_page() -> None:
    lost = [Finding(LOST, "001-agency", "attempt 1 is not recorded")] * 2
    told = figures(Audit(**{**vars(FOUND), "findings": lost}), ASKED, 3)
    assert "among them: 2 records lost.\n" in page([told])
    assert tells(text(told), "lost: 001-agency", lost[0].said)


def test_a_person_sees_findings_that_are_alike_once() -> None:
    said = "trial 0000{}, attempt 1 (one http1 h2): an engine that is there is told missing: dnsmasq died"
    alike = [Finding(WRONG, "001-agency", said.format(number)) for number in range(1, 4)]
    other = Finding(WRONG, "001-agency", "trial 00009, attempt 1 (one http1 h2): " + "x" * 900)
    shown = text(figures(Audit(**{**vars(FOUND), "findings": [*alike, other]}), ASKED, 9)).splitlines()
    assert f"wrong: 001-agency: {alike[0].said} (and 2 more)" in shown
    assert sum(line.startswith("wrong: ") for line in shown) == 2
    assert max(map(len, shown)) < 400
    assert tells(shown[-1:], "not over", "the same call")


def test_each_fault_and_each_kind_of_finding_has_its_words() -> None:
    assert set(WHAT_COMES) == set(Fault)
    audited = figures(FOUND, ASKED, 3)["found"]
    assert list(audited) == list(KINDS)


def test_a_soak_is_whole_when_all_of_its_studies_are_over() -> None:
    assert is_whole(figures(FOUND, ASKED, 3))
    assert not is_whole(figures(FOUND, ASKED, 170))
