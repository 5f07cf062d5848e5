"""What the studies of some runs repeat: the publications, and their claims against what was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from analysis.claims.measured import Measured
from analysis.claims.published import PublishedRow, against_published
from analysis.evaluation.curves import TRIAL, at_users
from analysis.runs.rundirectory import Run
from harness.study.published import Publication, PublishedClaim

# Metrics of which a bucket has something of another name, or for each of its seconds.
OF_BUCKETS: Mapping[str, Callable[[pd.DataFrame], pd.Series[Any]]] = {
    "server_cpu_s": lambda trial: trial["server_cpu_s"] / trial["seconds"],
    "server_memory_bytes": lambda trial: trial["memory_bytes"],
}


def publications_of(runs: Sequence[Run]) -> tuple[Publication, ...]:
    """What the runs' studies repeat, each publication once with all claims that some run holds."""
    found: dict[str, Publication] = {}
    for run in runs:
        mine = run.plan.published if run.plan else None
        if mine is None:
            continue
        known = found.setdefault(mine.title, mine)
        names = {claim.name for claim in known.claims}
        more = [claim for claim in mine.claims if claim.name not in names]
        found[mine.title] = known.with_claims([*known.claims, *more])
    return tuple(found.values())


def repeated(
    publications: Sequence[Publication],
    kept: pd.DataFrame,
    measured: Callable[[pd.DataFrame], Measured],
    buckets: Callable[[], pd.DataFrame],
    like: Sequence[PublishedRow] | None = None,
) -> tuple[PublishedRow, ...]:
    """A row per published claim and setting. `measured`: what trials tell of the study. `buckets`: those of a crowd's
    trials that count, read when needed. `like`: as of `evaluated`.
    """
    claims = [claim for publication in publications for claim in publication.claims]
    if not claims:
        return ()
    crowded = [each for each in claims if each.at_users is not None and each.compares]
    if crowded:
        kept = _with_crowds(kept, crowded, buckets())
    asked = [_by_column(each) for each in claims]
    original = dict(zip(map(id, asked), claims, strict=True))
    rows = against_published(asked, measured(kept), like)
    return tuple(replace(row, published=original[id(row.published)]) for row in rows)


def _column(published: PublishedClaim) -> str:
    since = "" if published.since_users is None else f" since {published.since_users}"
    against = "" if published.against_users is None else f" against {published.against_users}"
    return f"{published.metric} at {published.at_users} users{since}{against}"


def _by_column(published: PublishedClaim) -> PublishedClaim:
    """The claim about the column that holds its metric at a number of users."""
    if published.at_users is None or not published.compares:
        return published
    return replace(published, metric=_column(published))


def _with_crowds(
    kept: pd.DataFrame, crowded: Sequence[PublishedClaim], buckets: pd.DataFrame
) -> pd.DataFrame:
    """The trials with what their buckets say at the users of these claims, a column each."""
    trials = {tuple(key): trial for key, trial in buckets.groupby(TRIAL, sort=False)}
    columns = {
        _column(each): [
            _crowded(trials[key], each) if key in trials else math.nan
            for key in zip(kept["run"], kept["trial"], strict=True)
        ]
        for each in crowded
    }
    return kept.assign(**columns)


def _crowded(trial: pd.DataFrame, published: PublishedClaim) -> float:
    """What the buckets of a trial say of a claim; NaN where they do not."""
    metric = published.metric
    trial = trial.assign(**{metric: OF_BUCKETS[metric](trial)}) if metric in OF_BUCKETS else trial
    found, since, against = (
        math.nan if users is None else at_users(trial, metric, users)
        for users in (published.at_users, published.since_users, published.against_users)
    )
    if published.since_users is not None:
        return found - since
    return found if published.against_users is None else found / against
