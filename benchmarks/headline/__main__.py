"""Measure coldload beside other tools, by turns, and write docs/results/headline.md and the data file it is made of.

    .venv/bin/python -m benchmarks.headline [--only ROW ...] [--quick] [--into docs/results] [--page]

A row takes the place of what was measured of it before, which the data file and the page keep as an earlier sitting;
one whose peer is missing says so, and leaves it. `--quick` is
one small turn of each, which shows that a row can be measured: it writes nothing. `--page` measures nothing and writes
the page from the data file.

Peers. browsertime and Lighthouse come from npm by themselves; k6 by `coldload setup k6`. By hand: geckodriver for
Firefox in browsertime (`cargo install geckodriver`), and Mahimahi (`python -m benchmarks.mahimahi --help`, with
--prefix=/opt/mahimahi). Nothing of it is needed by other commands.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import harness
from benchmarks import common
from benchmarks.headline.page import DATA, page
from benchmarks.headline.row import NotThereError, Row, Size
from benchmarks.headline.rows import ROWS
from harness.lab.environment import describe_machine
from harness.system.files import replace_text

PAGE = "headline.md"
QUICK_TURNS = 1


def measured(row: Row, *, quick: bool) -> dict[str, Any]:
    """What the data file has of a row that was measured now, or why it could not be."""
    machine, before, began = describe_machine(), os.getloadavg(), time.monotonic()
    now = datetime.now(UTC)
    told: dict[str, Any] = {"date": f"{now:%Y-%m-%d}", "began_utc": f"{now:%H:%M}"}
    turns = QUICK_TURNS if quick else row.turns
    try:
        result = row.measure(Size(turns, quick))
    except NotThereError as missing:
        return told | {"not_measured": str(missing)}
    commit = subprocess.run(
        ("git", "rev-parse", "--short", "HEAD"), capture_output=True, text=True, check=False
    )
    return told | {
        "commit": commit.stdout.strip(),
        "minutes": round((time.monotonic() - began) / 60, 1),
        "coldload": harness.__version__,
        "machine": {name: machine[name] for name in ("processor", "cores", "kernel", "system", "as_root")},
        "load_average": {"before": before, "after": os.getloadavg()},
        "turns": turns,
        **result,
    }


def kept(data: Mapping[str, Any], name: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """The data with a row as it is told, what was of it being an earlier sitting; one that was not measured leaves
    that.
    """
    rows = dict(data.get("rows", {}))
    was = rows.get(name, {})
    if "figures" not in was:
        rows[name] = told
    elif "figures" in told:
        earlier = [*was.get("earlier", ()), {key: was[key] for key in was if key != "earlier"}]
        rows[name] = {**told, "earlier": earlier}
    return {"schema": 1, "rows": {row_name: rows[row_name] for row_name in ROWS if row_name in rows}}


def read(file: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return data


def one(name: str, into: Path, *, quick: bool) -> int:
    """Measure a row, in this process."""
    row = ROWS[name]
    print(
        f"{row.title}: {'one small turn' if quick else f'about {row.minutes} minutes'}; {common.machine()}",
        flush=True,
    )
    told = measured(row, quick=quick)
    data = kept({} if quick else read(into / DATA), name, told)
    if quick:
        print(page(data, {name: row}).partition("## ")[2])
    else:
        (into / DATA).parent.mkdir(parents=True, exist_ok=True)
        replace_text(into / DATA, json.dumps(data, indent=1, allow_nan=False) + "\n")
    if "figures" not in told:
        print(f"{name} is not measured: {told['not_measured']}", file=sys.stderr)
        return 1
    return 0


def main() -> int:
    parser = common.parser(__doc__)
    parser.epilog = "rows:\n" + "\n".join(
        f"  {name:10}{row.title[0].lower()}{row.title[1:]}, about {row.minutes} minutes"
        for name, row in ROWS.items()
    )
    parser.add_argument("--only", nargs="+", choices=list(ROWS), default=list(ROWS), metavar="ROW")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--into", type=Path, default=Path("docs/results"))
    parser.add_argument("--page", action="store_true")
    asked = parser.parse_args()
    code = 0
    if not asked.page and len(asked.only) == 1:
        code = one(asked.only[0], asked.into, quick=asked.quick)
    elif not asked.page:  # each row in a process of its own: an enclosure wants one without threads
        for name in asked.only:
            words = [sys.executable, "-m", "benchmarks.headline", "--only", name, "--into", str(asked.into)]
            code |= subprocess.run([*words, *["--quick"] * asked.quick], check=False).returncode
    if not asked.quick:
        replace_text(asked.into / PAGE, page(read(asked.into / DATA), ROWS))
    return code


if __name__ == "__main__":
    sys.exit(main())
