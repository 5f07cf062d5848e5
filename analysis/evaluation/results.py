"""Runs evaluated: what every table, figure and sentence of a report is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from analysis.claims.claimresult import ClaimRow, Wording, of_as_many_pages
from analysis.claims.claims import claim_key, claims_of, evaluated
from analysis.claims.doubleratios import DoubleRatio, factor_effects, interactions
from analysis.claims.measured import Measured, dictionaries
from analysis.claims.published import publications_of
from analysis.evaluation.curves import buckets_of_all, with_crowds
from analysis.evaluation.explored import CellFloors, cell_floors, explore, twins
from analysis.evaluation.leftout import LeftOut, left_out
from analysis.evaluation.studyfigures import FigurePoints, points_of
from analysis.labels import metrics, words
from analysis.labels.conditions import POINT, engines_are_told, in_reading_order, panel_columns, varying
from analysis.runs.alike import kind_of, refuse_some_observed_at_a_cost
from analysis.runs.exclude import (
    ExclusionRule,
    Sifted,
    all_late,
    drawn_again,
    rules_of,
    sift,
    uncounted,
    with_time_outs,
)
from analysis.runs.rundirectory import Run
from analysis.statistics.compare import MARGIN, Certainty
from analysis.statistics.estimate import IntervalKind, estimates
from harness.model.condition import AGAIN, SET
from harness.model.kind import Kind, main_metric
from harness.model.protocol import baseline, in_order
from harness.study.budget import PageBudget
from harness.study.claim import Publication
from harness.study.defaultclaims import default_claims, single_filters
from harness.study.figure import StudyFigure

IDS = ("panel", "place", "cell")
PAGE_AND_RATE = ("page", "down_mbps", "up_mbps")


@dataclass(frozen=True)
class AttemptTally:
    """How many trials are recorded, in how many attempts, and what became of these: so many are `left_out` by a rule,
    so many `drawn_again`, and the others are in the estimates.
    """

    trials: int
    attempts: int
    left_out: int
    drawn_again: int

    @property
    def judged(self) -> int:
        """The attempts of which the rules were asked."""
        return self.attempts - self.drawn_again

    @property
    def counted(self) -> int:
        return self.judged - self.left_out


@dataclass(frozen=True)
class Results:
    """`cells` has one row per condition (also one whose trials were all excluded), in reading order, with the
    fields of `Estimate`, and how many `timed_out`. Three columns number things: `cell` the condition, `place` where
    protocols meet (a panel at one RTT), `panel` what one figure shows.

    `claims` are what the study said beforehand (`named`: itself, not by default, and of several runs each all of them),
    `claims_of_all` the same with no trial left out that has a time, `interactions` their differences between protocols,
    `factors` what the factors of the study change of them. `comparisons`, `effects` and `compressions` are exploration
    (`analysis.evaluation.explored`). `twins` has a row per baseline that was measured twice, `floors` says how large a
    difference equal conditions can show. `left_out` sets what was left out against what was not. `wording` is what
    texts have to say of a setting.

    `published` is what others found of the study, held against ours, `published_by_run` the same against each of
    several runs alone, by its name (not known yet where a run has too few pages); `figures` are those that the study
    asks for.

    `drawn_again`: how many trials that would count are told of no other way, as their link lost the very packets of
    another one's (`analysis.runs.exclude.drawn_again`); a run alone has those of its own.

    `kind` is what the runs measured; estimates, comparisons and twins are of its main metric.

    `split_columns` are those panel columns (page and rate aside) that take more than one value, and the engine unless
    it is Chromium alone; a driver that follows from the engine is none of them.
    """

    kind: Kind
    runs: tuple[Run, ...]
    records: pd.DataFrame
    sifted: Sifted
    drawn_again: int
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
    floors: CellFloors
    left_out: LeftOut
    claims: tuple[ClaimRow, ...]
    claims_of_all: tuple[ClaimRow, ...]
    interactions: tuple[DoubleRatio, ...]
    factors: tuple[DoubleRatio, ...]
    wording: Wording
    named: bool
    margin: float
    publications: tuple[Publication, ...] = ()
    published: tuple[ClaimRow, ...] = ()
    published_by_run: Mapping[str, tuple[ClaimRow, ...]] = field(default_factory=dict)
    figures: tuple[FigurePoints, ...] = ()

    @cached_property
    def by_name(self) -> dict[str, Run]:
        """The runs by what each is called in the records of all."""
        return dict(zip(run_names(self.runs), self.runs, strict=True))

    @property
    def certainty(self) -> Certainty:
        return Certainty(self.margin, looked=any(run.looked for run in self.runs))

    @property
    def metric(self) -> str:
        """What the estimates are of."""
        return main_metric(self.kind)

    @property
    def metric_label(self) -> str:
        return metrics.main_label(self.kind)

    @cached_property
    def buckets(self) -> pd.DataFrame:
        """The buckets of all trials that count, with run, trial and cell; those of a crowd alone have any."""
        return _buckets(self.runs, self.sifted.kept)

    @property
    def unmeasurable(self) -> list[str]:
        """The conditions that the machine could not measure, each with the reason."""
        without = uncounted(self.cells, self.sifted, [*self.panel_columns, *POINT])
        return [
            f"{condition.name} ({', '.join(condition.by_rule)})"
            for condition in without
            if condition.unmeasurable
        ]

    @property
    def otherwise(self) -> list[tuple[ClaimRow, ClaimRow]]:
        """The rows of the claims that come out otherwise when nothing is left out, each with that other one."""
        pairs = zip(self.claims, self.claims_of_all, strict=True)
        return [(row, other) for row, other in pairs if row.differs(other)]

    @property
    def main_cells(self) -> pd.DataFrame:
        """The cells without those that only serve to tell the filters of a factorial study apart, as figures draw them:
        a median that is a time-out is NaN, a bound that time-outs leave open is infinite.
        """
        cells = self.cells[~self.cells["variant"].isin(single_filters(set(self.cells["variant"])))]
        return cells.assign(median=cells["median"].where(np.isfinite(cells["median"])))

    @cached_property
    def tally(self) -> AttemptTally:
        """What every text counts by."""
        trials = self.records.groupby(["run", "trial"]).ngroups
        return AttemptTally(trials, len(self.records), len(self.sifted.excluded), self.drawn_again)

    @property
    def told(self) -> pd.Series[bool]:
        """Of each record, whether it is one of its own: all but those that were `drawn_again`."""
        own = self.sifted.kept.index.union(self.sifted.excluded.index)
        return pd.Series(self.records.index.isin(own), index=self.records.index)

    @property
    def timed_out(self) -> int:
        """How many of the trials in the estimates timed out: they have times, and nothing else."""
        return int(self.cells["timed_out"].sum())

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
    def n(self) -> str:
        """The same in words: `n = 5`, `n = 5 to 8`."""
        return f"n = {words.between(*self.trials)}"

    @property
    def conditions(self) -> pd.DataFrame:
        """What each cell is, without what was estimated of it."""
        return self.cells[[*self.condition_columns, "cell"]]

    @property
    def few(self) -> bool:
        """Whether some condition has too few trials for an interval."""
        return bool(((self.cells["interval"] != IntervalKind.EXACT) & (self.cells["n"] > 0)).any())


def evaluate(
    runs: Sequence[Run],
    rules: Sequence[ExclusionRule] | None = None,
    margin: float = MARGIN,
    budget: PageBudget | None = None,
) -> Results:
    """Sift the records of the runs, estimate every condition, judge the claims and compare what else there is.

    RecordsError when the runs did not measure the same kind, or only some were traced. `rules` are those of
    the kind unless given. Blocks pair within their own run only. `margin` (> 0) is the difference that is declared not
    to matter. The limits of a `budget` are the first of the claims; StudyError for one that is not of these runs.
    """
    kind = kind_of(runs)
    refuse_some_observed_at_a_cost(runs)
    metric = main_metric(kind)
    condition = tuple(dict.fromkeys(column for run in runs for column in run.condition_columns))
    condition = tuple(column for column in condition if column != AGAIN)
    panel, records = _numbered(pool(runs), condition)
    asked_rules = rules_of(kind) if rules is None else rules
    of_each_run = sift(records, asked_rules)
    again = drawn_again(of_each_run.kept)
    once = records.drop(again)
    sifted = sift(once, asked_rules) if len(again) else of_each_run
    every = _estimated(once, sifted, metric, condition, panel)
    names = in_order(records["protocol"])
    cells = every[~every[AGAIN]].drop(columns=AGAIN).reset_index(drop=True)
    certainty = Certainty(margin, looked=any(run.looked for run in runs))
    conditions = cells[[*condition, "cell"]]
    missing = {gap.cell: str(gap) for gap in uncounted(cells, sifted, [*panel, *POINT])}
    late = all_late(cells, sifted, [*panel, *POINT])

    def seen_in(trials: pd.DataFrame) -> Measured:
        return Measured(conditions, trials, certainty, missing, late)

    measured = seen_in(sifted.by_metric)
    pairs = twins(every, condition, measured.blocks(metric), certainty)
    comparisons, effects, compressions = explore(
        cells, panel, names, sifted.kept, measured.blocks(metric), certainty
    )
    dimensions = dictionaries(cells[list(condition)])
    by_run = [
        _Named.of(run, dictionaries(conditions[conditions["cell"].isin(cells_of_run)][list(condition)]))
        for run, cells_of_run in zip(
            runs, (records.loc[records["run"] == name, "cell"] for name in run_names(runs)), strict=True
        )
    ]
    none_named = len(runs) > 1 and not any(each.itself for each in by_run)
    asked = default_claims(dimensions, kind) if none_named else claims_of(runs, dimensions)
    floors = {
        metric_name: cell_floors(every, condition, measured.blocks(metric_name), certainty)
        for metric_name in {metric, *(claim.metric for claim in asked if not claim.is_budget)}
    }
    named = all(each.itself and each.held.issuperset(map(claim_key, asked)) for each in by_run)
    asked = (*(budget.claims(dimensions, kind) if budget else ()), *asked)
    claims = evaluated(asked, measured, floors, beforehand=named)
    publications = publications_of(runs)
    repeated = [claim for publication in publications for claim in publication.claims]
    crowded = [claim for claim in repeated if claim.of_a_crowd]
    buckets = _buckets(runs, sifted.kept) if crowded else None

    def held_against(trials: pd.DataFrame, like: Sequence[ClaimRow] | None = None) -> tuple[ClaimRow, ...]:
        told = trials if buckets is None else with_crowds(trials, crowded, buckets)
        return evaluated(repeated, Measured(conditions, told, certainty, missing, late), like=like)

    published = held_against(sifted.by_metric) if repeated else ()

    def of_run(name: str) -> tuple[ClaimRow, ...]:
        rows = held_against(of_each_run.by_metric[of_each_run.by_metric["run"] == name], published)
        return tuple(
            of_as_many_pages(row, of_all, margin) for row, of_all in zip(rows, published, strict=True)
        )

    timed = with_time_outs(once)
    all_of_them = Measured(conditions, timed[timed[metric] > 0], certainty)
    return Results(
        kind=kind,
        runs=tuple(runs),
        records=records,
        sifted=sifted,
        drawn_again=len(again),
        condition_columns=condition,
        panel_columns=panel,
        split_columns=_split_columns(records, panel),
        protocols=names,
        baseline=baseline(names),
        cells=cells,
        comparisons=comparisons,
        effects=effects,
        compressions=compressions,
        twins=pairs,
        floors=floors[metric],
        left_out=left_out(once, sifted, condition, metric, certainty),
        claims=claims,
        claims_of_all=evaluated(asked, all_of_them, beforehand=named, like=claims),
        interactions=interactions(claims, measured, [engine for run in runs for engine in run.engines]),
        factors=factor_effects(claims, measured),
        wording=measured.wording,
        named=named,
        margin=margin,
        publications=publications,
        published=published,
        published_by_run={
            name: of_run(name) for name in (run_names(runs) if len(runs) > 1 and publications else ())
        },
        figures=points_of(
            _figures_of(runs),
            measured.conditions,
            list(measured.numbers.values()),
            sifted.by_metric,
            certainty,
        ),
    )


@dataclass(frozen=True)
class _Named:
    """The claims that a run's plan holds, by their keys, and whether its study names some `itself`, if only published
    ones.
    """

    held: frozenset[str]
    itself: bool

    @classmethod
    def of(cls, run: Run, dimensions: Sequence[Mapping[str, Any]]) -> _Named:
        held = frozenset(map(claim_key, run.claims))
        only_published = not held and bool(run.every_claim)
        usual = map(claim_key, default_claims(dimensions, run.kind))
        return cls(held, only_published or not held.issubset(usual))


def _numbered(records: pd.DataFrame, condition: Sequence[str]) -> tuple[tuple[str, ...], pd.DataFrame]:
    """The columns that split panels, and the records with the numbers of their panel, place and cell.

    Panels and places are told from one record of each condition: there are far fewer of these.
    """
    cell = records.groupby([*condition, AGAIN], dropna=False).ngroup()
    first = records.loc[~cell.duplicated(), list(condition)]
    panel = panel_columns(first, condition)
    panels, places = (
        cell.map(first.groupby(list(columns), dropna=False).ngroup().set_axis(cell[first.index]))
        for columns in (panel, (*panel, "rtt_ms"))
    )
    numbers = pd.DataFrame(dict(zip(IDS, (panels, places, cell), strict=True)))
    return panel, pd.concat([records, numbers], axis="columns")


def _estimated(
    records: pd.DataFrame, sifted: Sifted, metric: str, condition: Sequence[str], panel: Sequence[str]
) -> pd.DataFrame:
    """The conditions in reading order, those that were measured again among them, with their estimates."""
    observed = records.assign(**{metric: sifted.timed[metric].reindex(records.index)})
    followers = [column for column in condition if column not in panel and column not in POINT]
    every = in_reading_order(
        estimates(observed, (*condition, AGAIN, *IDS), metric),
        [*panel, "rtt_ms", "protocol", *followers],
    )
    every["timed_out"] = every["cell"].map(sifted.timed_out).fillna(0).astype(int)
    return every


def _buckets(runs: Sequence[Run], kept: pd.DataFrame) -> pd.DataFrame:
    return buckets_of_all(dict(zip(run_names(runs), runs, strict=True)), kept)


def _figures_of(runs: Sequence[Run]) -> list[StudyFigure]:
    """The figures of the runs' studies; of several with one name the first."""
    figures: dict[str, StudyFigure] = {}
    for run in runs:
        for figure in run.plan.figures if run.plan else ():
            figures.setdefault(figure.name, figure)
    return list(figures.values())


def _split_columns(records: pd.DataFrame, panel: Sequence[str]) -> tuple[str, ...]:
    needless = set(PAGE_AND_RATE)
    needed = set(varying(records, panel))
    if engines_are_told(records["engine"].dropna().astype(str)):
        needed.add("engine")
        if records.groupby("engine")["driver"].nunique().max() == 1:
            needless.add("driver")
    return tuple(column for column in panel if column in needed and column not in needless)


def pool(runs: Sequence[Run]) -> pd.DataFrame:
    """The records of all runs below each other; runs of the same name are told apart by their number.

    A page is of the set that the first run names: a page of two sets would be two pages.
    """
    frames = [run.records.assign(run=name) for run, name in zip(runs, run_names(runs), strict=True)]
    records = pd.concat(frames, ignore_index=True)
    if SET in records:
        records[SET] = records.groupby("page")[SET].transform("first")
    return records


def run_names(runs: Sequence[Run]) -> list[str]:
    """What each run is called in the records of all."""
    names = [run.directory.resolve().name for run in runs]
    return [
        name if names.count(name) == 1 else f"{name} ({number})" for number, name in enumerate(names, start=1)
    ]
