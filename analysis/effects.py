"""What a variant does to a page, and in a factorial study each of its filters: read off the names of the variants.

Every variant is set against `plain`. A factorial study also holds each filter of a variant alone (`rewrite_css`) and
the whole without each (`core,-rewrite_css`). An effect is a page-load time with the variant or filter in units of that
without it, so that below 1 it makes the page faster: alone against plain, among the others as whole against whole
without it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict

import pandas as pd

from analysis.compare import BLOCK, Comparison, compare, judged

PLAIN, WITHOUT = "plain", ",-"
TOGETHER, ALONE, AMONG = "together", "alone", "among the others"
COLUMNS = ("whole", "filter", "way", *Comparison.__dataclass_fields__, "q", "verdict", "more", "idle")


def effects(records: pd.DataFrame, by: Sequence[str], metric: str, margin: float) -> pd.DataFrame:
    """One row per group of `by` for each variant against plain (`together`), and for each filter and way.

    `idle`: with and without it the very same archive was served, so the row shows the noise. q and verdict
    are as in `comparisons`, corrected over all rows.
    """
    variants = set(records["variant"])
    rows, found = [], []
    for key, group in records.groupby(list(by), dropna=False) if len(variants) > 1 else ():
        samples = {str(name): trials for name, trials in group.groupby("variant")}
        for whole, name, way, subject, reference in _pairs(variants):
            if subject not in samples or reference not in samples:
                continue
            times = (samples[each].set_index(list(BLOCK))[metric] for each in (subject, reference))
            found.append(compare(*times))
            idle = _digests(samples[subject]) == _digests(samples[reference]) != set()
            place = dict(zip(by, key, strict=True))
            rows.append({**place, "whole": whole, "filter": name, "way": way, "idle": idle})
    complete = [
        {**row, **asdict(seen), "q": q, "verdict": verdict, "more": more}
        for row, seen, (q, verdict, more) in zip(rows, found, judged(found, margin), strict=True)
    ]
    return pd.DataFrame(complete, columns=[*by, *COLUMNS])


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


def _pairs(variants: Collection[str]) -> list[tuple[str, str, str, str, str]]:
    """Whole variant, filter, way, subject and reference of each effect."""
    pairs, parts = [], factors(variants)
    for whole in sorted(set(variants) - single_filters(variants) - {PLAIN}):
        pairs.append((whole, whole, TOGETHER, whole, PLAIN))
        for name in parts.get(whole, ()):
            pairs.append((whole, name, ALONE, name, PLAIN))
            pairs.append((whole, name, AMONG, whole, f"{whole}{WITHOUT}{name}"))
    return pairs


def _digests(trials: pd.DataFrame) -> set[str]:
    """The archives that were served; empty when the records do not tell."""
    return set(trials["archive_digest"].dropna()) if "archive_digest" in trials else set()
