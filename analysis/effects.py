"""What a variant does to a page, and in a factorial study each of its filters: read off the names of the variants; and
what the compression of its text does.

Every variant is set against `plain`. A factorial study also holds each filter of a variant alone (`rewrite_css`) and
the whole without each (`core,-rewrite_css`). An effect is a page-load time with the variant or filter in units of that
without it, so that below 1 it makes the page faster: alone against plain, among the others as whole against whole
without it. Every compression is set against none, or against that recorded where none was not measured.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict

import pandas as pd

from analysis.compare import BLOCK, Comparison, compare, judged

PLAIN, WITHOUT = "plain", ",-"
NO_CODING = ("none", "recorded")  # what compressions are set against: the first that was measured
TOGETHER, ALONE, AMONG = "together", "alone", "among the others"
JUDGED = (*Comparison.__dataclass_fields__, "q", "verdict", "more")
COLUMNS = ("whole", "filter", "way", *JUDGED, "idle")

# What a row says beside its place and comparison, and the names of subject and reference.
Pair = tuple[dict[str, str], str, str]


def effects(records: pd.DataFrame, by: Sequence[str], metric: str, margin: float) -> pd.DataFrame:
    """One row per group of `by` for each variant against plain (`together`), and for each filter and way.

    `idle`: with and without it the very same archive was served, so the row shows the noise. q and verdict
    are as in `comparisons`, corrected over all rows.
    """
    found = _compared(
        records, by, "variant", list(_pairs(set(records["variant"]))), metric=metric, margin=margin
    )
    return found.reindex(columns=[*by, *COLUMNS])


def compression_effects(records: pd.DataFrame, by: Sequence[str], metric: str, margin: float) -> pd.DataFrame:
    """One row per group of `by` for each `compression` against the `reference`; q and verdict as in `effects`."""
    known = set(records["compression"].dropna())
    reference = next((name for name in NO_CODING if name in known), None)
    pairs = [
        ({"compression": name, "reference": reference}, name, reference)
        for name in sorted(known - {reference})
        if reference
    ]
    found = _compared(records, by, "compression", pairs, metric=metric, margin=margin)
    return found.reindex(columns=[*by, "compression", "reference", *JUDGED])


def _compared(
    records: pd.DataFrame,
    by: Sequence[str],
    column: str,
    pairs: Sequence[Pair],
    *,
    metric: str,
    margin: float,
) -> pd.DataFrame:
    """The pairs of values of `column`, subject against reference, wherever a group of `by` holds both."""
    rows, found = [], []
    for key, group in records.groupby(list(by), dropna=False) if pairs else ():
        samples = {str(name): trials for name, trials in group.groupby(column)}
        place = dict(zip(by, key, strict=True))
        for says, subject, reference in pairs:
            if subject not in samples or reference not in samples:
                continue
            times = (samples[each].set_index(list(BLOCK))[metric] for each in (subject, reference))
            found.append(compare(*times))
            idle = _digests(samples[subject]) == _digests(samples[reference]) != set()
            rows.append({**place, **says, "idle": idle})
    return pd.DataFrame(
        {**row, **asdict(seen), "q": q, "verdict": verdict, "more": more}
        for row, seen, (q, verdict, more) in zip(rows, found, judged(found, margin), strict=True)
    )


def factors(variants: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The filters of each whole variant that some variant leaves out."""
    found: dict[str, list[str]] = {}
    for variant in sorted(variants):
        whole, mark, name = variant.rpartition(WITHOUT)
        if mark and whole in variants:
            found.setdefault(whole, []).append(name)
    return {whole: tuple(names) for whole, names in found.items()}


def single_filters(variants: Collection[str]) -> frozenset[str]:
    """The variants that only serve to tell filters apart: one filter alone, the whole without one."""
    found = factors(variants).items()
    alone = {name for _, names in found for name in names}
    return frozenset(variants) & (
        alone | {f"{whole}{WITHOUT}{name}" for whole, names in found for name in names}
    )


def _pairs(variants: Collection[str]) -> Iterator[Pair]:
    """Each variant and filter, in each way."""
    parts = factors(variants)
    for whole in sorted(set(variants) - single_filters(variants) - {PLAIN}):
        yield {"whole": whole, "filter": whole, "way": TOGETHER}, whole, PLAIN
        for name in parts.get(whole, ()):
            yield {"whole": whole, "filter": name, "way": ALONE}, name, PLAIN
            yield {"whole": whole, "filter": name, "way": AMONG}, whole, f"{whole}{WITHOUT}{name}"


def _digests(trials: pd.DataFrame) -> set[str]:
    """The archives that were served; empty when the records do not tell."""
    return set(trials["archive_digest"].dropna()) if "archive_digest" in trials else set()
