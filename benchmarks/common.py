"""What benchmarks share: the machine and figures as they are printed, conditions and loads, small pages, npm packages.

A load counts when its outcome is ok. The rules by which a report leaves out disturbed loads are not applied.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from analysis.statistics import CONFIDENCE
from analysis.statistics.contrast import contrast
from benchmarks import quoted
from harness.errors import Outcome
from harness.input.shown import clipped
from harness.lab.environment import describe_machine
from harness.model.condition import Condition
from harness.model.engine import Driver, Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.trials import PlannedTrial
from harness.probes.probe import TrialOptions
from harness.probes.registry import Observation
from harness.records import Record, RecordReader, StoredRecord
from harness.system.folders import cache_folder
from harness.system.program import Command, run
from harness.trial.trial import BrowserLab, run_trial
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About

NPM, NODE = (Path(sys.executable).with_name(name) for name in ("npm", "node"))
NPM_SECONDS = 900
LINK = Link.of(20, 40)
ENGINE = Engine.CHROMIUM
DRIVERS = ENGINE.traits.drivers


def parser(about: str | None) -> argparse.ArgumentParser:
    """A parser that shows the docstring of a benchmark as its help."""
    return argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)


def machine() -> str:
    """The machine and its load, on one line."""
    told = describe_machine()
    load = os.getloadavg()[0]
    return f"{told['processor']}, {told['cores']} cores, kernel {told['kernel']}, load average {load:.1f}"


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]], naming: int = 1) -> str:
    """A table in Markdown, of figures but for the first columns, which name the rows."""
    rule = ["---" if number < naming else "---:" for number in range(len(columns))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, rule, *rows))


def as_table(rows: Sequence[Mapping[str, str]], naming: int) -> str:
    """Rows of the same keys, for a reader."""
    return markdown([name.replace("_", " ") for name in rows[0]], [[*row.values()] for row in rows], naming)


def add_rows(options: argparse.ArgumentParser) -> None:
    """The options by which records of a measurement are kept, and evaluated again."""
    file = options.add_mutually_exclusive_group()
    file.add_argument("--out", type=Path, help="measure, and add the records to this file")
    file.add_argument("--from", dest="read", type=Path, help="measure nothing, evaluate this file")
    quoted.add_into(options)


def kept_rows(given: argparse.Namespace, measure: Callable[[Path], int]) -> list[dict[str, Any]]:
    """The rows of a file: as an earlier call has left it (--from), or once this call has added some (--out, or, where
    only figures are kept, a file that goes with this call).

    SystemExit for a file without rows, and where figures are to be kept of what another machine may have measured.
    """
    if given.read:
        if given.into:
            raise SystemExit("--into keeps figures with the machine that measured them: not with --from")
        return _rows(given.read)
    print(machine())
    with TemporaryDirectory() as folder:
        out = given.out or Path(folder) / "rows"
        if code := measure(out):
            raise SystemExit(code)
        return _rows(out)


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path} cannot be read as rows that --out keeps: {error}") from error
    if not rows:
        raise SystemExit(f"{path} holds no rows; --out {path} measures some")
    return rows


def keep_rows(rows: Iterable[Mapping[str, Any]], out: Path) -> None:
    """Add rows to a file, each at once."""
    with out.open("a") as file:
        for row in rows:
            print(json.dumps(row), file=file, flush=True)


def part_of(
    benchmark: str, name: str, rows: Iterable[Mapping[str, Any]], engine: Engine = ENGINE
) -> quoted.Part:
    """The part of a benchmark that these rows make, which was begun when its first record was."""
    part = quoted.Part(benchmark, name, engine)
    started = (record_of(row["record"]).started_utc for row in rows)
    part.began = min(datetime.fromisoformat(each) for each in started if each)
    return part


def record_of(told: Mapping[str, Any]) -> StoredRecord:
    """The record in a row of such a file."""
    return RecordReader()(json.dumps(told).encode())


def spread(values: Iterable[float], digits: int = 1) -> str:
    """Median and range."""
    numbers = sorted(values)
    low, middle, high = (
        f"{round(number, digits) + 0.0:,.{digits}f}"  # no -0.0
        for number in (numbers[0], statistics.median(numbers), numbers[-1])
    )
    return f"{middle} ({low} to {high})"


def ratio(pairs: Sequence[tuple[float, float]]) -> str:
    """The ratio of the first to the second of each pair with its interval, by the statistic of reports."""
    seen = contrast(np.array([math.log(one / other) for one, other in pairs]))
    low, high = seen.interval(CONFIDENCE)
    return f"{math.exp(seen.centre):.3f} ({math.exp(low):.3f} to {math.exp(high):.3f}, {seen.method})"


def condition(
    page: str, protocol: Protocol = Protocol.H2, link: Link = LINK, driver: Driver = Driver.PLAYWRIGHT
) -> Condition:
    """A load by a driver, with all else as the engine usually has it and one address for all hosts."""
    return replace(Condition.usual(page, protocol, link, driver.engines[0]), driver=driver)


def planned(number: int, cell: Condition) -> PlannedTrial:
    """The trial of a condition that makes a block by itself."""
    return PlannedTrial(f"{number:05d}", number, number, cell)


def load(
    opened: BrowserLab, cell: Condition, number: int, files: Path, options: TrialOptions
) -> Record[Observation] | None:
    """The record of one load, in the block of this number; None when it does not count, which is printed."""
    record = run_trial(opened.testbed, opened.browsers, planned(number, cell), options, files)
    if record.outcome is Outcome.OK:
        return record
    print(f"  not counted: {cell.page}: {record.outcome}: {clipped(record.reason or '', 200)}")
    return None


def html(url: str, body: str | bytes) -> Response:
    """A document."""
    content = body.encode() if isinstance(body, str) else body
    return Response(url, 200, (("Content-Type", "text/html"),), content)


def archived(root: Path, name: str, page: Response, others: Iterable[Response] = ()) -> Archive:
    """An archive of a page and what else it is made of."""
    return write_archive(root, name, About(page.url, "benchmark", "", ()), chain([page], others))


def npm_modules(name: str, *packages: str) -> Path:
    """The modules of these packages of npm, each with its version, in the cache of a benchmark.

    Outside an enclosure, which has no network.
    """
    folder = cache_folder() / f"benchmark-{name}"
    modules = folder / "node_modules"
    if not all(_is_there(modules, package) for package in packages):
        folder.mkdir(parents=True, exist_ok=True)
        words = ("install", "--prefix", folder, "--save-exact", "--ignore-scripts", "--no-audit", "--no-fund")
        run(Command.of(NPM, *words, *packages), timeout_s=NPM_SECONDS, cwd=folder)
    return modules


def _is_there(modules: Path, package: str) -> bool:
    name, _, version = package.rpartition("@")
    about = modules / name / "package.json"
    return about.is_file() and json.loads(about.read_text())["version"] == version
