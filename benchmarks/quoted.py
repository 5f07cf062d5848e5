"""What documents quote of a benchmark, as small files beside those of studies.

A part of a benchmark is `NAME.PART.csv` with a row for each figure, and `NAME.run.csv` tells of each part when it was
measured, by which version, on what machine and beside how much load. A part that is measured anew takes the place of
what was. Cells are as a reader meets them.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import harness
from analysis.labels.words import slug
from harness.lab.environment import describe_machine
from harness.model.engine import BROWSERS, Engine
from harness.system.files import replace_text

ROW, STUDY, MEASURED = "row", "study", "measured"
BROWSER, GENERATOR, DESIGN = "browser", "generator", "design"
CONCERNED = (BROWSER, GENERATOR, DESIGN)  # columns by which changes of numbers concern a part
OF_ALL = (STUDY, MEASURED, *CONCERNED)
OF_A_RUN = (ROW, "value", *CONCERNED, "coldload", "machine", "load")
VARIANTS = "variants"  # the design of what is measured of variants
LISTED = ", "
MINUTE = "%Y-%m-%d %H:%M"


def add_into(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--into", type=Path, metavar="DIR", help="keep the figures here, for documents to quote"
    )


class Part:
    """A part of a benchmark, from when it begins to be measured until its figures are there.

    Changes of numbers concern it by the engines that load pages for it, if any do, and by its design.
    """

    def __init__(self, benchmark: str, name: str, *engines: Engine, design: str = "") -> None:
        self.benchmark, self.name, self.engines, self.design = benchmark, name, engines, design
        self.began, self.load = datetime.now(UTC), os.getloadavg()[0]

    def keep(self, into: Path, figures: Sequence[Mapping[str, str]], named_by: Sequence[str]) -> None:
        """Write the figures, all of the same columns; each row is called by what stands in those of `named_by`.

        ValueError when two are called alike.
        """
        rows = [{ROW: slug(" ".join(figure[name] for name in named_by)), **figure} for figure in figures]
        if len({row[ROW] for row in rows}) < len(rows):
            raise ValueError(f"{self.benchmark}, {self.name}: two figures of one name")
        into.mkdir(parents=True, exist_ok=True)
        _write(into / f"{self.benchmark}.{self.name}.csv", rows)
        self._keep_run(into / f"{self.benchmark}.run.csv")

    def _keep_run(self, path: Path) -> None:
        """A row for each part that was measured, below those of all together."""
        told = {} if not path.is_file() else {row[ROW]: row for row in _read(path)}
        machine = describe_machine()
        told[self.name] = {
            ROW: self.name,
            "value": f"{self.began:{MINUTE}} to {datetime.now(UTC):{MINUTE}} UTC",
            **self._concerned(),
            "coldload": harness.__version__,
            "machine": f"{machine['processor']}, {machine['cores']} cores, kernel {machine['kernel']}",
            "load": f"{self.load:.1f} to {os.getloadavg()[0]:.1f}",
        }
        parts = [{**dict.fromkeys(OF_A_RUN, ""), **row} for name, row in told.items() if name not in OF_ALL]
        concerned = {
            kind: _listed(each for row in parts for each in row[kind].split(LISTED)) for kind in CONCERNED
        }
        spans = [row["value"].removesuffix(" UTC").split(" to ") for row in parts]
        oldest, newest = min(began for began, _ in spans), max(ended for _, ended in spans)
        of_all = {STUDY: self.benchmark, MEASURED: f"{oldest} to {newest} UTC", **concerned}
        blank = dict.fromkeys(OF_A_RUN, "")
        heads = [blank | {ROW: name, "value": value} for name, value in of_all.items() if value]
        _write(path, [*heads, *parts])

    def _concerned(self) -> Mapping[str, str]:
        told: dict[str, list[str]] = {DESIGN: [self.design]}
        for engine in self.engines:
            told.setdefault(BROWSER if engine in BROWSERS else GENERATOR, []).append(engine.traits.label)
        return {kind: _listed(labels) for kind, labels in told.items()}


def _listed(labels: Iterable[str]) -> str:
    return LISTED.join(sorted({*labels} - {""}))


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def _write(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    text = io.StringIO()
    table = csv.DictWriter(text, [*rows[0]], lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    replace_text(path, text.getvalue())
