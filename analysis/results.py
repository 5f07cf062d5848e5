"""Runs evaluated: what every table, figure and sentence of a report is made from."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis import engines, protocols
from analysis.claimresult import ClaimRow
from analysis.claims import claims_of, evaluated
from analysis.compare import MARGIN, Blocks, Certainty, Comparison, Judgement, Verdict, compared
from analysis.conditions import POINT, in_order, panel_columns, varying
from analysis.effects import Pair, compression_pairs, variant_pairs
from analysis.estimate import IntervalKind, estimates
from analysis.exclude import RULES, ExclusionRule, Sifted, sift
from analysis.rundirectory import Run
from harness.model.factors import single_filters
from harness.model.observation import MAIN_METRIC

IDS = ("panel", "place", "cell")
AGAIN = "again"  # of a condition: the baseline, measured a second time
FLOOR_OF = ("page", "link", "rtt_ms", "down_mbps", "engine", "driver", "device")
PAGE_AND_RATE = ("page", "down_mbps", "up_mbps")
JUDGED = (*Comparison.__dataclass_fields__, *Judgement.__dataclass_fields__)
# What the rows of each kind of comparison say beside that.
SAYS = (
    ("panel", "place", "rtt_ms", "protocol", "reference"),
    ("whole", "filter", "way", "idle"),
    ("compression", "reference"),
)


@dataclass(frozen=True)
class Results:
    """`cells` has one row per condition (also one whose trials were all excluded), in reading order, with the
    fields of `Estimate`; `comparisons` every pair of protocols, both ways round; `effects` what each variant, and each
    filter of a factorial study, does; `compressions` what each compression does: all three are exploration. `claims`
    are what the study said beforehand, `claims_of_all` the same with no trial left out that has a time. `twins` has a
    row per baseline that was measured twice under two names. Three columns number things:
    `cell` the condition, `place` where protocols meet (a panel at one RTT), `panel` what one figure shows.

    `split_columns` are those panel columns (page and rate aside) that take more than one value, and the engine unless
    it is Chromium alone; a driver that follows from the engine is none of them.
    """

    runs: tuple[Run, ...]
    records: pd.DataFrame
    sifted: Sifted
    condition_columns: tuple[str, ...]
    panel_columns: tuple[str, ...]
    split_columns: tuple[str, ...]
    protocols: tuple[str, ...]
    baseline: str | None
    cells: pd.DataFrame
    comparisons: pd.DataFrame
    effects: pd.DataFrame
    compressions: pd.DataFrame
    twins: pd.DataFrame
    claims: tuple[ClaimRow, ...]
    claims_of_all: tuple[ClaimRow, ...]
    margin: float

    @property
    def main_cells(self) -> pd.DataFrame:
        """The cells without those that only serve to tell the filters of a factorial study apart."""
        return self.cells[~self.cells["variant"].isin(single_filters(set(self.cells["variant"])))]

    @property
    def planned(self) -> int | None:
        """Planned trials of all runs, None when one of them does not know."""
        numbers = [run.planned for run in self.runs]
        return None if None in numbers else sum(number or 0 for number in numbers)

    @property
    def trials(self) -> tuple[int, int]:
        """The least and the most trials in a condition that has an estimate; (0, 0) when none has."""
        n = self.cells.loc[self.cells["n"] > 0, "n"]
        return (int(n.min()), int(n.max())) if len(n) else (0, 0)

    @property
    def few(self) -> bool:
        """Whether some condition has too few trials for an interval."""
        return bool(((self.cells["interval"] != IntervalKind.EXACT) & (self.cells["n"] > 0)).any())


def evaluate(runs: Sequence[Run], rules: Sequence[ExclusionRule] = RULES, margin: float = MARGIN) -> Results:
    """Sift the records of the runs, estimate every condition, judge the claims and compare what else there is.

    Blocks pair within their own run only. `margin` (> 0) is the difference that is declared not to matter.
    """
    condition = tuple(dict.fromkeys(column for run in runs for column in run.condition_columns))
    condition = tuple(column for column in condition if column != AGAIN)
    records = pool(runs)
    again = records[AGAIN].eq(True) if AGAIN in records else pd.Series(False, index=records.index)
    records[AGAIN] = again
    panel = panel_columns(records, condition)
    for name, columns in zip(IDS, (panel, (*panel, "rtt_ms"), (*condition, AGAIN)), strict=True):
        records[name] = records.groupby(list(columns), dropna=False).ngroup()
    sifted = sift(records, rules)
    observed = records.assign(
        **{MAIN_METRIC: records[MAIN_METRIC].where(records.index.isin(sifted.kept.index))}
    )
    names = protocols.ordered(records["protocol"])
    followers = [column for column in condition if column not in panel and column not in POINT]
    every = in_order(
        estimates(observed, (*condition, AGAIN, *IDS), MAIN_METRIC),
        [*panel, "rtt_ms", "protocol", *followers],
    )
    cells = every[~every[AGAIN]].drop(columns=AGAIN).reset_index(drop=True)
    certainty = Certainty(margin, looked=any(run.plan.looks for run in runs))
    twins = _twins(every, condition, sifted.kept, certainty)
    explored = _explored(cells, panel, names, sifted, certainty)
    conditions = cells[[*condition, "cell"]]
    claims = claims_of(runs)
    return Results(
        runs=tuple(runs),
        records=records,
        sifted=sifted,
        condition_columns=condition,
        panel_columns=panel,
        split_columns=_split_columns(records, panel),
        protocols=names,
        baseline=protocols.baseline(names),
        cells=cells,
        comparisons=_both_ways(explored[0]),
        effects=explored[1],
        compressions=explored[2],
        twins=twins,
        claims=evaluated(claims, conditions, sifted.kept, certainty, _floors(twins, cells)),
        claims_of_all=evaluated(claims, conditions, records[records[MAIN_METRIC] > 0], certainty),
        margin=margin,
    )


def _twins(
    every: pd.DataFrame, condition: Sequence[str], kept: pd.DataFrame, certainty: Certainty
) -> pd.DataFrame:
    """Each baseline that was measured twice: the second in units of the first, which differ by chance alone."""
    keys = list(condition)
    again = every[every[AGAIN]]
    both = again[[*keys, "place", "cell"]].merge(
        every.loc[~every[AGAIN], [*keys, "cell"]], on=keys, suffixes=("", "_first")
    )
    pairs = [
        ({name: row[name] for name in (*keys, "place")}, int(row["cell"]), int(row["cell_first"]))
        for row in both.to_dict("records")
    ]
    return compared(Blocks(kept, MAIN_METRIC), pairs, certainty).reindex(columns=[*keys, "place", *JUDGED])


def _floors(twins: pd.DataFrame, cells: pd.DataFrame) -> dict[int, float]:
    """Of each cell how far the two equal baselines of its page, link and browser lie apart, as a ratio from 1 on."""
    same = [name for name in FLOOR_OF if name in cells]
    known = twins.dropna(subset=["ratio"]).groupby(same, dropna=False)["ratio"]
    apart = known.agg(lambda ratios: float(np.exp(np.abs(np.log(ratios)).max()))).rename("floor")
    found = cells.merge(apart.reset_index(), on=same, how="inner") if len(apart) else cells.head(0)
    return dict(zip(found["cell"].astype(int), found.get("floor", ()), strict=True))


def _explored(
    cells: pd.DataFrame, panel: Sequence[str], names: Sequence[str], sifted: Sifted, certainty: Certainty
) -> list[pd.DataFrame]:
    """The protocols, variants and compressions of a place against each other: all pay for each other."""
    kinds = (
        _protocol_pairs(cells, names),
        variant_pairs(cells, _place_but(panel, "variant"), _archives(sifted.kept)),
        compression_pairs(cells, _place_but(panel, "compression")),
    )
    found = compared(Blocks(sifted.kept, MAIN_METRIC), itertools.chain(*kinds), certainty)
    parts, start = [], 0
    for kind, says in zip(kinds, SAYS, strict=True):
        part = found.iloc[start : start + len(kind)]
        columns = list(kind[0][0]) if kind else list(says)
        parts.append(part.reindex(columns=[*columns, *JUDGED]).reset_index(drop=True))
        start += len(kind)
    return parts


def _protocol_pairs(cells: pd.DataFrame, names: Sequence[str]) -> list[Pair]:
    """Every two protocols of a place, the later one of `names` as the reference."""
    pairs: list[Pair] = []
    for (panel, place, rtt_ms), group in cells.groupby(["panel", "place", "rtt_ms"], dropna=False):
        found = dict(zip(group["protocol"].astype(str), group["cell"].astype(int), strict=True))
        for subject, reference in itertools.combinations([name for name in names if name in found], 2):
            row = {
                "panel": panel,
                "place": place,
                "rtt_ms": rtt_ms,
                "protocol": subject,
                "reference": reference,
            }
            pairs.append((row, found[subject], found[reference]))
    return pairs


def _both_ways(comparisons: pd.DataFrame) -> pd.DataFrame:
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


def _archives(kept: pd.DataFrame) -> dict[int, frozenset[str]]:
    """The digests of what each cell was served; empty where the records do not tell."""
    if "archive_digest" not in kept:
        return {}
    digests = kept.dropna(subset=["archive_digest"]).groupby("cell")["archive_digest"]
    return {int(str(cell)): frozenset(found) for cell, found in digests.unique().items()}


def _place_but(panel: Sequence[str], column: str) -> list[str]:
    """Everything of a condition but that column."""
    return [*(each for each in panel if each != column), *POINT]


def _split_columns(records: pd.DataFrame, panel: Sequence[str]) -> tuple[str, ...]:
    needless = set(PAGE_AND_RATE)
    needed = set(varying(records, panel))
    if engines.worth_saying(records["engine"].dropna().astype(str)):
        needed.add("engine")
        if records.groupby("engine")["driver"].nunique().max() == 1:
            needless.add("driver")
    return tuple(column for column in panel if column in needed and column not in needless)


def pool(runs: Sequence[Run]) -> pd.DataFrame:
    """The records of all runs below each other; runs of the same name are told apart by their number."""
    names = [run.directory.resolve().name for run in runs]
    frames = [
        run.records if names.count(name) == 1 else run.records.assign(run=f"{name} ({number})")
        for number, (run, name) in enumerate(zip(runs, names, strict=True), start=1)
    ]
    return pd.concat(frames, ignore_index=True)
