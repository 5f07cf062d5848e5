"""The report of 100,000 records, beside bare reading, as we know no other tool to set it against.

Bare reading is a process that reads the same file by Python's own json, keeps the four fields that a median takes, and
prints that of each condition. A first report finds nothing in its cache, a next one finds the records there. The run is
made up (`python -m benchmarks.scale`), and nothing in it was measured.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.headline.row import Figure, Found, Size
from benchmarks.scale import Bench, Cost, LargeRun, measurements

TITLE, TURNS, MINUTES = "Report of 100,000 records", 3, 9
WHOLE, SMALL = LargeRun(), LargeRun(pages=1, trials=4)
PEER = "bare reading"
FIRST, NEXT = "first report", "next report"
BARE = """
import json, sys
import pandas as pd
with open(sys.argv[1], encoding="utf-8") as file:
    fields = ("outcome", "left_out", "condition", "plt_ms")
    records = pd.DataFrame([record.get(name) for name in fields] for record in map(json.loads, file))
    records.columns = fields
counted = records[(records["outcome"] == "ok") & records["left_out"].isna()]
print(counted.groupby(counted["condition"].map(str))["plt_ms"].median().to_string())
"""


def measure(size: Size) -> Mapping[str, object]:
    large = SMALL if size.quick else WHOLE
    with TemporaryDirectory(dir="/var/tmp") as folder:
        bench = Bench(Path(folder) / "large", large)
        bench.make()
        records = bench.folder / "whole" / "records.jsonl"
        count = len(records.read_bytes().splitlines())
        reports = measurements(bench)["report"]
        seen: dict[str, list[Cost]] = {name: [] for name in (PEER, *reports)}
        for _ in range(size.turns):
            seen[PEER].append(bench.cost_of((sys.executable, "-c", BARE, str(records))))
            for name, report in reports.items():
                seen[name].append(report())
    kinds: Sequence[tuple[str, str, Callable[[Cost], float]]] = (
        ("wall time", "s", lambda cost: cost.wall_s),
        ("memory", "MB", lambda cost: cost.memory_mb),
    )
    figures = [
        Figure(
            f"{what} of the {name} of {count:,} records",
            unit,
            PEER,
            [(value(one), value(two)) for one, two in zip(seen[name], seen[PEER], strict=True)],
            front=name == FIRST,
        )
        for what, unit, value in kinds
        for name in (FIRST, NEXT)
    ]
    return Found(figures, {"pandas": version("pandas")}).to_json()
