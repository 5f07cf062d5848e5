"""What was measured but not claimed: variants, filters, compressions and protocols of a place against each other.

Every variant is set against `plain`. A factorial study also holds each filter of a variant alone (`rewrite_css`) and
the whole without each (`core,-rewrite_css`). An effect is a page-load time with the variant or filter in units of that
without it, so that below 1 it makes the page faster: alone against plain, among the others as whole against whole
without without it. Every compression is set against none, or against that recorded where none was not measured.

Baselines that were measured twice (A/A) are compared too: the second with the first, and the floor that follows for
every cell.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from analysis.claims.measured import archives_of, same_archive
from analysis.labels.conditions import POINT
from analysis.statistics.compare import FIGURES, Blocks, Certainty, Judgement, Verdict, compared
from analysis.statistics.contrast import Sample
from analysis.statistics.floor import Floors, floors
from harness.model.condition import AGAIN
from harness.model.variant import PLAIN
from harness.study.defaultclaims import WITHOUT, factors, single_filters

NO_CODING = ("none", "recorded")  # what compressions are set against: the first that was measured
TOGETHER, ALONE, AMONG = "together", "alone", "among the others"

# What a row says beside its figures, and the cells of subject and reference.
ComparedCells = tuple[dict[str, Any], int, int]
JUDGED = (*FIGURES, *Judgement.__dataclass_fields__)
# What the rows of each kind of comparison say beside that.
SAYS = (
    ("panel", "place", "rtt_ms", "protocol", "reference"),
    ("whole", "filter", "way", "idle"),
    ("compression", "reference"),
)
# A setting: what is compared inside it stands together in a block.
SETTING = (
    *("page", "link", "rtt_ms", "down_mbps", "engine", "driver", "device", "cpu_slowdown", "cache"),
    "factor",
)


def variant_pairs(
    cells: pd.DataFrame, by: Sequence[str], archives: Mapping[int, Collection[str]]
) -> list[ComparedCells]:
    """Per group of `by` each variant against plain (`together`), and each filter alone and among the others.

    `archives`: the digests of what a cell was served. `idle`: with and without it the very same archive was served, so
    the row shows the noise.
    """
    wanted = list(_contrasts(set(cells["variant"])))
    return [
        (
            {**place, **says, "idle": same_archive(archives, subject, reference)},
            subject,
            reference,
        )
        for place, found in _groups(cells, by, "variant")
        for says, one, other in wanted
        if one in found and other in found
        for subject, reference in [(found[one], found[other])]
    ]


def compression_pairs(cells: pd.DataFrame, by: Sequence[str]) -> list[ComparedCells]:
    """Per group of `by` each `compression` against the `reference`."""
    known = set(cells["compression"].dropna())
    if len(known) < 2:
        return []
    reference = next((name for name in NO_CODING if name in known), None)
    return [
        ({**place, "compression": name, "reference": reference}, found[name], found[reference])
        for place, found in _groups(cells, by, "compression")
        if reference in found
        for name in sorted(found)
        if name != reference
    ]


def _groups(
    cells: pd.DataFrame, by: Sequence[str], column: str
) -> Iterator[tuple[dict[str, Any], dict[str, int]]]:
    """Of each group its place, and its cells by their value of `column`."""
    there = cells.loc[cells[column].notna(), [*by, column, "cell"]]
    known = there.astype({column: str, "cell": int})
    for key, group in known.groupby(list(by), dropna=False):
        yield (
            {str(name): value for name, value in zip(by, key, strict=True)},
            dict(zip(group[column], group["cell"], strict=True)),
        )


def _contrasts(variants: Collection[str]) -> Iterator[tuple[dict[str, str], str, str]]:
    """Each variant, and each filter alone and among the others, with its subject and reference."""
    parts = factors(variants)
    for whole in sorted(set(variants) - single_filters(variants) - {PLAIN}):
        yield {"whole": whole, "filter": whole, "way": TOGETHER}, whole, PLAIN
        for name in parts.get(whole, ()):
            yield {"whole": whole, "filter": name, "way": ALONE}, name, PLAIN
            yield {"whole": whole, "filter": name, "way": AMONG}, whole, f"{whole}{WITHOUT}{name}"


def explore(
    cells: pd.DataFrame,
    panel: Sequence[str],
    names: Sequence[str],
    kept: pd.DataFrame,
    blocks: Blocks,
    certainty: Certainty,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Every pair of protocols and its reverse; what each variant does, and each filter of a factorial study; what each
    compression does. All pay for each other.

    `panel`: the columns of a condition that split panels; `names`: the protocols, in order.
    """
    kinds = (
        _protocol_pairs(cells, names),
        variant_pairs(cells, _place_but(panel, "variant"), archives_of(kept)),
        compression_pairs(cells, _place_but(panel, "compression")),
    )
    comparisons = compared(blocks, itertools.chain(*kinds), certainty)
    places: tuple[list[str], ...] = ([], _place_but(panel, "variant"), _place_but(panel, "compression"))
    parts, start = [], 0
    for kind, place, says in zip(kinds, places, SAYS, strict=True):
        part = comparisons.iloc[start : start + len(kind)]
        parts.append(part.reindex(columns=[*place, *says, *JUDGED]).reset_index(drop=True))
        start += len(kind)
    return _with_reverse(parts[0]), parts[1], parts[2]


def _protocol_pairs(cells: pd.DataFrame, names: Sequence[str]) -> list[ComparedCells]:
    """Every two protocols of a place, the later one of `names` as the reference."""
    pairs: list[ComparedCells] = []
    for (panel, place, rtt_ms), group in cells.groupby(["panel", "place", "rtt_ms"], dropna=False):
        protocol_cells = dict(zip(group["protocol"].astype(str), group["cell"].astype(int), strict=True))
        for subject, reference in itertools.combinations(
            [name for name in names if name in protocol_cells], 2
        ):
            row = dict(zip(SAYS[0], (panel, place, rtt_ms, subject, reference), strict=True))
            pairs.append((row, protocol_cells[subject], protocol_cells[reference]))
    return pairs


def _with_reverse(comparisons: pd.DataFrame) -> pd.DataFrame:
    """Every comparison and its reverse."""
    back = comparisons.assign(
        protocol=comparisons["reference"],
        reference=comparisons["protocol"],
        ratio=1 / comparisons["ratio"],
        low=1 / comparisons["high"],
        high=1 / comparisons["low"],
        verdict=[Verdict(verdict).flipped for verdict in comparisons["verdict"]],
    )
    return pd.concat([comparisons, back], ignore_index=True)


def _place_but(panel: Sequence[str], column: str) -> list[str]:
    """Everything of a condition but that column."""
    return [*(name for name in panel if name != column), *POINT]


@dataclass(frozen=True)
class CellFloors:
    """The floors of a run, asked by cells. `settings`: the number of the setting that each cell is in."""

    floors: Floors = field(default_factory=Floors)
    settings: Mapping[int, int] = field(default_factory=dict)

    def of(self, cells: Iterable[int]) -> float | None:
        """The floor of a ratio over the settings of these cells; None where none was measured twice."""
        return self.floors.of(self.settings[cell] for cell in cells if cell in self.settings)


def cell_floors(
    every: pd.DataFrame, condition: Sequence[str], blocks: Blocks, certainty: Certainty
) -> CellFloors:
    """`every`: the conditions with their `cell`, those that were measured again among them."""
    keys = [name for name in SETTING if name in every]
    numbers = every.groupby(keys, dropna=False).ngroup()
    settings = dict(zip(every["cell"].astype(int), numbers.astype(int), strict=True))
    measured: dict[int, list[Sample]] = defaultdict(list)
    for _, again, first in _twin_pairs(every, condition):
        measured[settings[again]] += blocks.by_run(again, first).values()
    return CellFloors(floors(measured, certainty.confidence), settings)


def twins(
    every: pd.DataFrame, condition: Sequence[str], blocks: Blocks, certainty: Certainty
) -> pd.DataFrame:
    """Each baseline that was measured twice: the second in units of the first, which differ by chance alone."""
    comparisons = compared(blocks, _twin_pairs(every, condition), certainty)
    return comparisons.reindex(columns=[*condition, "place", *JUDGED])


def _twin_pairs(every: pd.DataFrame, condition: Sequence[str]) -> Iterator[ComparedCells]:
    keys = list(condition)
    both = every.loc[every[AGAIN], [*keys, "place", "cell"]].merge(
        every.loc[~every[AGAIN], [*keys, "cell"]], on=keys, suffixes=("", "_first")
    )
    for row in both.to_dict("records"):
        says = {str(name): row[name] for name in (*keys, "place")}
        yield says, int(row["cell"]), int(row["cell_first"])
