"""The table of machines tells what each did."""

from __future__ import annotations

import json
from pathlib import Path

from analysis.evaluation.results import evaluate
from analysis.runs.rundirectory import load
from analysis.tables.calibration import calibration
from analysis.tables.machinetable import machines
from tests.unit.analysis.synthetic import Synthetic


def run_on_two(folder: Path) -> Path:
    """Block 1 on a, block 2 begun on a and again on b, block 3 on b."""
    Synthetic(trials=3).write(folder)
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    made = []
    for each in lines:
        if each["block"] == 2:
            made += [{**each, "machine": "lab-a"}] if each["trial"] == lines[len(lines) // 3]["trial"] else []
            made.append({**each, "attempt": 4, "machine": "lab-b", "restart": 1})
        else:
            made.append({**each, "machine": "lab-a" if each["block"] == 1 else "lab-b"})
    (folder / "records.jsonl").write_text("".join(json.dumps(each) + "\n" for each in made))
    readings = [json.loads(line) for line in (folder / "calibration.jsonl").read_text().splitlines()]
    told = [{**each, "machine": name} for name in ("lab-a", "lab-b") for each in readings]
    (folder / "calibration.jsonl").write_text("".join(json.dumps(each) + "\n" for each in told))
    return folder


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


def test_a_run_on_one_machine_has_no_such_table(tmp_path: Path) -> None:
    results = evaluate([load(Synthetic(trials=3).write(tmp_path / "run"))])
    assert machines(results) is None
