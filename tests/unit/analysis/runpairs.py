"""Two runs of one made-up study: run B as run A but for what a test changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.study.claim import Claim
from tests.unit.analysis.synthetic import Synthetic, write_lines

STUDY = Synthetic(pages=("one", "two"), rates_mbps=(10.0,), rtts_ms=(50.0, 100.0), trials=8, noise=0.01)

Factor = Callable[[Mapping[str, Any]], float]


def unchanged(_condition: Mapping[str, Any]) -> float:
    return 1.0


def slower(by: float, **where: Any) -> Factor:
    """A factor of the times of those conditions that have the values."""
    return lambda condition: by if all(condition[key] == each for key, each in where.items()) else 1.0


def two_runs(folder: Path, factor: Factor = unchanged, study: Synthetic = STUDY) -> tuple[Path, Path]:
    """Both with draws of their own; the times of B are multiplied."""
    a, b = study.write(folder / "a"), replace(study, seed=study.seed + 1).write(folder / "b")
    edit(b, lambda record: scaled(record, factor(record["condition"])))
    return a, b


def scaled(record: dict[str, Any], factor: float) -> dict[str, Any]:
    return record | {"plt_ms": record["plt_ms"] and record["plt_ms"] * factor}


def edit(run: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Replace each record by what the function makes of it; None takes it away."""
    path = run / "records.jsonl"
    made = [change(json.loads(line)) for line in path.read_text().splitlines()]
    write_lines(path, [record for record in made if record is not None])


def measured_twice(run: Path, factor: float, protocol: str = "http1") -> None:
    """Measure a protocol a second time under another name, and let the times be longer."""
    path = run / "records.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    twins = [
        scaled(record, factor)
        | {"trial": f"again-{record['trial']}", "condition": {**record["condition"], "again": True}}
        for record in records
        if record["condition"]["protocol"] == protocol
    ]
    write_lines(path, records + twins)


def claim_all(run: Path, *claims: Claim) -> None:
    """Write claims into the header of the plan."""
    header, *planned = (json.loads(line) for line in (run / "plan.jsonl").read_text().splitlines())
    write_lines(run / "plan.jsonl", [header | {"claims": [each.to_json() for each in claims]}, *planned])


def made_with(run: Path, **changed: Any) -> None:
    """Change keys of environment.json; None takes one away."""
    path = run / "environment.json"
    found = json.loads(path.read_text()) | changed
    path.write_text(json.dumps({key: each for key, each in found.items() if each is not None}))
