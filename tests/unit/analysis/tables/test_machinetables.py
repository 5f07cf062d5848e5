"""The table of machines tells what each did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.evaluation.results import evaluate
from analysis.labels import words
from analysis.runs.rundirectory import load
from analysis.tables.machinetables import calibration, machines
from tests.unit.analysis.synthetic import Synthetic


def run_on_two(folder: Path) -> Path:
    """Block 1 on a, block 2 begun on a and again on b, block 3 on b."""
    Synthetic(trials=3).write(folder)
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    made = []
    for line in lines:
        if line["block"] == 2:
            made += [{**line, "machine": "lab-a"}] if line["trial"] == lines[len(lines) // 3]["trial"] else []
            made.append({**line, "attempt": 4, "machine": "lab-b", "restart": 1})
        else:
            made.append({**line, "machine": "lab-a" if line["block"] == 1 else "lab-b"})
    (folder / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in made))
    readings = [json.loads(line) for line in (folder / "calibration.jsonl").read_text().splitlines()]
    told = [{**reading, "machine": name} for name in ("lab-a", "lab-b") for reading in readings]
    (folder / "calibration.jsonl").write_text("".join(json.dumps(reading) + "\n" for reading in told))
    return folder


@pytest.mark.thorough
def test_every_machine_has_a_row(tmp_path: Path) -> None:
    results = evaluate([load(run_on_two(tmp_path / "run"))])
    assert not any("earlier attempt" in note for run in results.runs for note in run.notes)
    table = machines(results)
    assert table is not None
    keys = ("blocks", "restarts", "attempts", "left_out")
    rows = {row["machine"]: [row[key] for key in keys] for row in table.data.to_dict("records")}
    conditions = results.records["cell"].nunique()
    assert rows == {"lab-a": [2, 0, conditions + 1, 0], "lab-b": [2, 1, 2 * conditions, 0]}
    readings = calibration(results)
    assert readings is not None
    assert readings.head[0] == "Machine"
    assert {row[0].text for row in readings.rows} == {"lab-a", "lab-b"}


@pytest.mark.thorough
def test_the_round_trips_at_distances_are_told_where_there_are_any(tmp_path: Path) -> None:
    folder = run_on_two(tmp_path / "run")
    plain = calibration(evaluate([load(folder)]))
    assert plain is not None
    assert "Distances" not in plain.head
    path = folder / "calibration.jsonl"
    first, *others = [json.loads(line) for line in path.read_text().splitlines()]
    for ms, off in ((12, 0.04), (80.5, -0.11)):
        there = first["rtt_ms"]["configured"] + ms
        first[f"distance_{ms:g}_ms"] = {**first["rtt_ms"], "configured": there, "measured": there + off}
    path.write_text("".join(json.dumps(line) + "\n" for line in (first, *others)))
    table = calibration(evaluate([load(folder)]))
    assert table is not None
    at = table.head.index("Distances")
    assert [[cell.text for cell in row[at : at + 2]] for row in table.rows[:2]] == [
        ["2", "0.11"],
        [words.DASH, words.DASH],
    ]


@pytest.mark.thorough
def test_the_latest_reading_of_each_link_of_a_machine_says_whether_it_was_right(tmp_path: Path) -> None:
    folder = run_on_two(tmp_path / "run")
    path = folder / "calibration.jsonl"
    readings = [json.loads(line) for line in path.read_text().splitlines()]
    links = sorted({reading["link"]["name"] for reading in readings})
    first = next(reading for reading in readings if reading["machine"] == "lab-b")
    # The first link of b was off and then right, another one was right and then off.
    other = {**first, "link": {**first["link"], "name": "other"}}
    made = [*readings, {**first, "ok": False}, {**first, "ok": True}, other, {**other, "ok": False}]
    path.write_text("".join(json.dumps(reading) + "\n" for reading in made))
    table = machines(evaluate([load(folder)]))
    assert table is not None
    column = table.head.index("Links")
    assert {row[1].text: row[column].text for row in table.rows} == {
        "lab-a": f"{len(links)} within tolerance",
        "lab-b": "off: other",
    }


@pytest.mark.thorough
def test_two_runs_in_folders_of_one_name_have_rows_of_their_own(tmp_path: Path) -> None:
    runs = [load(run_on_two(tmp_path / parent / "run")) for parent in ("one", "two")]
    table = machines(evaluate(runs))
    assert table is not None
    column = table.head.index("Links")
    assert len(table.rows) == 4
    assert all("within tolerance" in row[column].text for row in table.rows)


def in_lanes(folder: Path) -> Path:
    """Blocks 1 and 3 in the tenth of twelve lanes, block 2 in the second, whose link was off."""
    Synthetic(trials=3).write(folder)
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    made = [{**line, "lane": 2 if line["block"] == 2 else 10, "lanes": 12} for line in lines]
    (folder / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in made))
    readings = [json.loads(line) for line in (folder / "calibration.jsonl").read_text().splitlines()]
    told = [
        {**reading, "lane": lane, "lanes": 12, "ok": lane == 10}
        for lane in (10, 2)
        for reading in readings[:1]
    ]
    (folder / "calibration.jsonl").write_text("".join(json.dumps(reading) + "\n" for reading in told))
    return folder


@pytest.mark.thorough
def test_every_lane_has_a_row(tmp_path: Path) -> None:
    results = evaluate([load(in_lanes(tmp_path / "run"))])
    table = machines(results)
    assert table is not None
    assert (table.name, table.title, table.head[1]) == ("lanes", "Lanes", "Lane")
    assert "nothing is compared across lanes" in table.note
    rows = [(row["lane"], row["blocks"], row["links"]) for row in table.data.to_dict("records")]
    link = results.runs[0].calibration[0]["link"]["name"]
    assert rows == [("lane 2 of 12", 1, f"off: {link}"), ("lane 10 of 12", 2, "1 within tolerance")]
    readings = calibration(results)
    assert readings is not None
    assert readings.head[0] == "Lane"
    assert {row[0].text for row in readings.rows} == {"lane 10 of 12", "lane 2 of 12"}


@pytest.mark.thorough
def test_a_run_on_one_machine_has_no_such_table(tmp_path: Path) -> None:
    results = evaluate([load(Synthetic(trials=3).write(tmp_path / "run"))])
    assert machines(results) is None
