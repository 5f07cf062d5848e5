"""What a variant does to a page, and in a factorial study each of its filters: read off the names of the variants; and
what the compression of its text does.

Every variant is set against `plain`. A factorial study also holds each filter of a variant alone (`rewrite_css`) and
the whole without each (`core,-rewrite_css`). An effect is a page-load time with the variant or filter in units of that
without it, so that below 1 it makes the page faster: alone against plain, among the others as whole against whole
without it. Every compression is set against none, or against that recorded where none was not measured.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.claims.claims import same_archive
from harness.model.defaultclaims import WITHOUT, factors, single_filters

PLAIN = "plain"
NO_CODING = ("none", "recorded")  # what compressions are set against: the first that was measured
TOGETHER, ALONE, AMONG = "together", "alone", "among the others"

# What a row says beside its figures, and the cells of subject and reference.
Pair = tuple[dict[str, Any], int, int]


def variant_pairs(
    cells: pd.DataFrame, by: Sequence[str], archives: Mapping[int, Collection[str]]
) -> list[Pair]:
    """Per group of `by` each variant against plain (`together`), and each filter in each way.

    `archives`: the digests of what a cell was served. `idle`: with and without it the very same archive was served, so
    the row shows the noise.
    """
    wanted = list(_ways(set(cells["variant"])))
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


def compression_pairs(cells: pd.DataFrame, by: Sequence[str]) -> list[Pair]:
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


def _ways(variants: Collection[str]) -> Iterator[tuple[dict[str, str], str, str]]:
    """Each variant and filter, in each way, with its subject and reference."""
    parts = factors(variants)
    for whole in sorted(set(variants) - single_filters(variants) - {PLAIN}):
        yield {"whole": whole, "filter": whole, "way": TOGETHER}, whole, PLAIN
        for name in parts.get(whole, ()):
            yield {"whole": whole, "filter": name, "way": ALONE}, name, PLAIN
            yield {"whole": whole, "filter": name, "way": AMONG}, whole, f"{whole}{WITHOUT}{name}"
