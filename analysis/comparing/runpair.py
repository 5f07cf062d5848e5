"""Two run directories read and set against each other: what `coldload compare` tells, as one value."""

from __future__ import annotations

import filecmp
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from analysis.claims.claims import claims_of
from analysis.comparing.between import Change, changes
from analysis.comparing.claimchanges import ClaimChanges, claim_changes
from analysis.comparing.matching import Matched, Side, matched
from analysis.labels import metrics
from analysis.runs.alike import Difference, differences, kind_of, refuse_some_observed_at_a_cost
from analysis.runs.rundirectory import Run, load
from analysis.statistics.compare import Certainty
from harness.errors import RecordsError
from harness.model.kind import Kind
from harness.model.metrics import main_metric, numeric_metric
from harness.records import RECORDS


@dataclass(frozen=True)
class RunPair:
    """Run A, the reference, and run B. `left_out`: of each run, how many attempts each rule took away."""

    runs: tuple[Run, Run]
    metric: str
    margin: float
    differences: tuple[Difference, ...]
    matched: Matched
    changes: tuple[Change, ...]
    claims: ClaimChanges
    left_out: tuple[Mapping[str, int], Mapping[str, int]]

    @property
    def kind(self) -> Kind:
        return self.runs[0].kind

    @property
    def floor(self) -> float | None:
        """How far two equal baselines lie apart at most, as a ratio of at least 1."""
        return max((each.floor for each in self.changes if each.floor is not None), default=None)

    def worse_by(self, percent: float) -> tuple[Change, ...]:
        """The conditions that are slower, or of a rate lower (verdict), by more than so many per cent (estimate)."""
        better = metrics.more_is_better(self.metric)
        return tuple(each for each in self.changes if each.worse_by(percent, more_is_better=better))

    @property
    def lost(self) -> tuple[Change, ...]:
        """The conditions of which trials count in A and none in B."""
        return tuple(each for each in self.changes if each.n[0] and not each.n[1])


def read_pair(a: Path, b: Path, metric: str | None, margin: float, cache: Path | None = None) -> RunPair:
    """Compare two run directories by a metric, or by the main one of their kind. `cache`: as of `load`.

    RecordsError when one is none, both are the same, they are of different kinds, or nothing can be compared;
    StudyError when the kind has no such metric that is a number.
    """
    first, second = load(a, cache), load(b, cache)
    if a.resolve() == b.resolve():
        raise RecordsError(f"the same run is given twice: {a} and {b}; name two runs")
    if filecmp.cmp(a / RECORDS, b / RECORDS, shallow=False):
        raise RecordsError(f"{b} holds the very records of {a}: it is a copy; name two runs")
    kind = kind_of([first, second])
    runs = first, second
    refuse_some_observed_at_a_cost(runs)
    metric = numeric_metric(metric or main_metric(kind), kind)
    sides = Side.of(runs[0]), Side.of(runs[1])
    found = matched(*sides)
    certainty = Certainty(margin, looked=any(run.looked for run in runs))
    return RunPair(
        runs=runs,
        metric=metric,
        margin=margin,
        differences=differences(*runs),
        matched=found,
        changes=changes(*sides, found, metric, certainty),
        claims=claim_changes(claims_of(runs, sides[0].dimensions), *sides, certainty),
        left_out=(sides[0].sifted.by_rule(), sides[1].sifted.by_rule()),
    )
