"""What is promised of the statistics, each with the simulated figures that show it: one table of all of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.simulation.keeping import KeptPart, KeptParts

FILE = "simulation.properties.csv"
NOT_KEPT = "not kept"
MISSED = "!"
Figures = Sequence[Sequence[tuple[float, str]]]  # by row: each as a number, and as it was printed


def ends(rows: Figures) -> str:
    """`94.7 to 96.4`."""
    figures = sorted((figure for row in rows for figure in row), key=lambda figure: figure[0])
    low, high = figures[0][1], figures[-1][1]
    return low if low == high else f"{low} to {high}"


def largest_distances(rows: Figures) -> str:
    """`0.00 to 0.15`, whatever the sign."""
    return ends([[(abs(value), text.lstrip("+-")) for value, text in row] for row in rows])


def largest_rise(rows: Figures) -> str:
    """By how much a later figure of a row is above an earlier one at most."""
    rises = [later[0] - earlier[0] for row in rows for i, earlier in enumerate(row) for later in row[i:]]
    return f"{max(rises):.1f}"


@dataclass(frozen=True)
class Property:
    """What is promised of the statistics, and the figures that show it: rows of the first table of a part.

    `of`: the promise in a word. `rows`: how their names begin; all rows where there is none. `held_to`: in per cent.
    """

    name: str
    of: str
    text: str
    held_to: str
    part: str
    rows: tuple[str, ...] = ("",)
    reached: Callable[[Figures], str] = ends

    def figures(self, part: KeptPart) -> Figures:
        return [
            [(float(cell.split()[0]), cell.split()[0]) for cell in cells if cell]
            for name, *cells in part.tables[0].rows
            if name.startswith(self.rows)
        ]

    def told(self, part: KeptPart) -> str:
        """What was reached; with a mark where the part has a figure that misses its bound."""
        return f"{self.reached(self.figures(part))}{f' {MISSED}' * bool(part.failures)}"


SETTINGS = "n = 5, 10, 20"
EVERY_PROPERTY = (
    Property(
        "ratios",
        "intervals",
        "95 % interval of one ratio (lognormal, drifting, bursty)",
        "94 to 97",
        "coverage",
        ("lognormal", "drifting", "bursty"),
    ),
    Property(
        "told",
        "sizes",
        f"told sizes that hold the truth, by report; 40 comparisons, a tenth true by 1, 3, 10 %, {SETTINGS}",
        "94 to 97",
        "told",
        ("as told, by report",),
    ),
    Property(
        "compared",
        "sizes",
        f"the same as `compare` tells them of two runs, {SETTINGS}, 40",
        "94 to 97",
        "compared",
        ("B/A as told",),
    ),
    Property(
        "compared-relative",
        "sizes",
        "the same relative to the baselines of both runs",
        "at least 94",
        "compared",
        ("against the baseline as told",),
    ),
    Property(
        "changed-claims",
        "sizes",
        "intervals of claims with another verdict in a second run, as `compare` tells them, n = 5, 20",
        "at least 94",
        "changed-claims",
        ("intervals that hold",),
    ),
    Property(
        "largest",
        "sizes",
        f"the largest of 5, 10, 20 savings, as `advise` tells it, {SETTINGS}",
        "at least 95",
        "largest",
        ("all save 3 %: as told", "they save 0 to 3 %: as told"),
    ),
    Property(
        "floor",
        "floor",
        f"equal conditions beyond the floor, of 1, 4, 12 settings, {SETTINGS}",
        "at most 5",
        "floor",
    ),
    Property(
        "floor-compared",
        "floor",
        f"conditions of an unchanged study beyond the floor of two runs, {SETTINGS}, 40",
        "at most 5",
        "unchanged",
        ("conditions beyond the floor",),
    ),
    Property(
        "pages",
        "pages",
        "interval over pages, from three on; also of unlike n and spread",
        "94 to 97",
        "pages",
    ),
    Property(
        "pages-runs",
        "pages",
        "interval over pages in 3 and 5 runs, where pages, runs or both differ",
        "at least 94",
        "pages-runs",
        ("pages", "runs"),
    ),
    Property("runs", "runs", "interval over runs, from three on", "at least 93", "runs", ("3 ", "4 ", "5 ")),
    Property(
        "bias",
        "exclusions",
        "bias of a ratio by leaving out, where one condition loses two to three times the share of the other",
        "at most 0.2",
        "bias",
        ("what counts",),
        largest_distances,
    ),
    Property(
        "equal-shares",
        "exclusions",
        "different shares of attempts told where all conditions lose the same",
        "at most 5",
        "shares",
        ("equal shares",),
    ),
    Property(
        "unequal-shares",
        "exclusions",
        "different shares of attempts told where one of four protocols loses 15.3 %, the others 6.5 %, n = 5, 10",
        "no bound",
        "shares",
        ("15.3 %",),
    ),
    Property(
        "time-outs",
        "exclusions",
        "a direction told of equal conditions of which a tenth of the loads time out",
        "at most 5",
        "time-outs",
        ("equal conditions",),
    ),
    Property(
        "published",
        "published claims",
        "a range of 1.15 to 1.25 reproduced where the truth is 1.25 or 1.35, loads spread by 0.5 to 20 %",
        "at most 5",
        "published",
        ("true 1.25: reproduced", "true 1.35: reproduced"),
    ),
    Property(
        "published-noise",
        "published claims",
        "how much more often it is reproduced at a larger spread, where the truth is 1.2",
        "0",
        "published",
        ("true 1.2: reproduced",),
        largest_rise,
    ),
    Property(
        "bound",
        "published claims",
        "a bound reproduced where the truth is on it or beyond, by the same spreads",
        "at most 5",
        "bound",
        ("true 1: reproduced", "true 0.95: reproduced"),
    ),
    Property(
        "bound-noise",
        "published claims",
        "how much more often it is reproduced at a larger spread, where the truth is within",
        "0",
        "bound",
        ("true 1.05: reproduced",),
        largest_rise,
    ),
    Property(
        "false",
        "verdicts",
        f"studies of equal conditions with any false verdict, of 4 to 40 comparisons, {SETTINGS}",
        "at most 5",
        "false",
    ),
    Property(
        "false-compared",
        "verdicts",
        f"two runs of an unchanged study of which `compare` tells any direction, {SETTINGS}, 40",
        "at most 5",
        "unchanged",
        ("any direction",),
    ),
    Property(
        "looks", "looks", "95 % interval of a ratio where looks ended the trials", "at least 94", "looks"
    ),
    Property(
        "levels-looks",
        "looks",
        "interval over 3, 4, 6 equal pages or 3 lanes where looks ended the trials",
        "at least 95",
        "levels-looks",
    ),
    Property(
        "medians-looks",
        "looks",
        "95 % interval of a median where looks ended the trials",
        "at least 94",
        "medians-looks",
    ),
    Property(
        "false-looks",
        "looks",
        "studies of equal conditions with any false verdict where looks ended the trials",
        "at most 5",
        "false-looks",
    ),
)


def quoted(parts: KeptParts) -> str:
    """The properties of which there are figures, as the CSV file whose cells documents quote."""
    file = io.StringIO()
    head = ("row", "of", "property", "held_to", "reached", "studies", "seed", "commit", "date")
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(head)
    for promise in EVERY_PROPERTY:
        if part := parts.get(promise.part):
            figures = (promise.told(part), part.studies, part.seed, part.commit or NOT_KEPT, part.date)
            rows.writerow((promise.name, promise.of, promise.text, promise.held_to, *figures))
    return file.getvalue()
