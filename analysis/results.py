"""Runs evaluated: what every table, figure and sentence of a report is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from analysis import engines, protocols
from analysis.compare import MARGIN, comparisons
from analysis.conditions import POINT, in_order, panel_columns, varying
from analysis.effects import compression_effects, effects, single_filters
from analysis.estimate import IntervalKind, estimates
from analysis.exclude import RULES, ExclusionRule, Sifted, sift
from analysis.rundirectory import Run
from harness.model.observation import MAIN_METRIC

IDS = ("panel", "place", "cell")
PAGE_AND_RATE = ("page", "down_mbps", "up_mbps")


@dataclass(frozen=True)
class Results:
    """`cells` has one row per condition (also one whose trials were all excluded), in reading order, with the
    fields of `Estimate`; `comparisons` every pair of protocols, both ways round; `effects` what each variant, and each
    filter of a factorial study, does; `compressions` what each compression does. Three columns number things:
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
        """Whether some condition has too few trials for a bootstrap interval."""
        return bool(((self.cells["interval"] != IntervalKind.BOOTSTRAP) & (self.cells["n"] > 0)).any())


def evaluate(runs: Sequence[Run], rules: Sequence[ExclusionRule] = RULES, margin: float = MARGIN) -> Results:
    """Pool the records of the runs, sift them, estimate every condition and compare the protocols.

    Blocks pair within their own run only. `margin` (> 0) is the difference that is declared not to matter.
    """
    condition = tuple(dict.fromkeys(column for run in runs for column in run.condition_columns))
    records = pool(runs)
    panel = panel_columns(records, condition)
    for name, columns in zip(IDS, (panel, (*panel, "rtt_ms"), condition), strict=True):
        records[name] = records.groupby(list(columns), dropna=False).ngroup()
    sifted = sift(records, rules)
    observed = records.assign(
        **{MAIN_METRIC: records[MAIN_METRIC].where(records.index.isin(sifted.kept.index))}
    )
    cells = estimates(observed, (*condition, *IDS), MAIN_METRIC)
    names = protocols.ordered(records["protocol"])
    followers = [column for column in condition if column not in panel and column not in POINT]
    return Results(
        runs=tuple(runs),
        records=records,
        sifted=sifted,
        condition_columns=condition,
        panel_columns=panel,
        split_columns=_split_columns(records, panel),
        protocols=names,
        baseline=protocols.baseline(names),
        cells=in_order(cells, [*panel, "rtt_ms", "protocol", *followers]),
        comparisons=comparisons(sifted.kept, ("panel", "place", "rtt_ms"), names, MAIN_METRIC, margin),
        effects=effects(sifted.kept, _place_but(panel, "variant"), MAIN_METRIC, margin),
        compressions=compression_effects(sifted.kept, _place_but(panel, "compression"), MAIN_METRIC, margin),
        margin=margin,
    )


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
