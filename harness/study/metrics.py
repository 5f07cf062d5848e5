"""The metrics of each kind of measurement, by their names. Pure.

Those of loads are declared by the probes, which are imported when a metric is first asked for: a study that names none
is planned without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from harness.errors import StudyError
from harness.input.keys import nearest
from harness.input.shown import shown
from harness.model.engine import Engine
from harness.model.kind import Kind
from harness.model.metric import Metric, metrics_declared

if TYPE_CHECKING:
    from harness.model.underload import CrowdObservation, RateObservation
    from harness.probes.registry import Observation


def observation_of(kind: Kind) -> type[Observation | CrowdObservation | RateObservation]:
    """What a trial of a kind observes: of a load what its probes make of the evidence."""
    if kind is Kind.LOAD:
        from harness.probes.registry import Observation

        return Observation
    from harness.model.underload import CrowdObservation, RateObservation

    return CrowdObservation if kind is Kind.USERS else RateObservation


@cache
def metrics_of(kind: Kind) -> Mapping[str, Metric]:
    """The metrics that trials of a kind have, by their keys in a record."""
    if kind is Kind.LOAD:
        from harness.probes.registry import load_metrics

        return load_metrics()
    return metrics_declared(observation_of(kind))


def unobserved(engine: Engine) -> frozenset[str]:
    """The metrics of loads that no trial with the engine can have."""
    metrics = metrics_of(Kind.LOAD).items()
    return frozenset(key for key, metric in metrics if metric.needs and not engine.can(metric.needs))


def metric_named(name: str) -> Metric | None:
    """The metric of a name, of whichever kind; kinds that share a name count it in the same unit."""
    return next((metrics[name] for metrics in map(metrics_of, Kind) if name in metrics), None)


def numeric_metric(name: str, kind: Kind = Kind.LOAD) -> str:
    """The name of a metric of a kind that is a number; StudyError for any other."""
    metrics = metrics_of(kind)
    known = [key for key, each in metrics.items() if each.unit.is_number]
    if name in known:
        return name
    if name in metrics:
        raise StudyError(f"metric: {name} is no number; choose one of {', '.join(known)}")
    raise StudyError(f"metric: unknown {shown(name)}{nearest(name, known)}; known: {', '.join(known)}")
