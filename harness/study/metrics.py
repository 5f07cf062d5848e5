"""What trials of each kind observe: their metrics by name, and the reasons why an attempt does not count. Pure.

What declares them is imported when one is first asked for, of loads the probes: a study that names no metric is planned
without them. The runner asks the reasons right after an attempt; the report asks the same ones of all records
(analysis/runs/exclude.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from harness.errors import StudyError
from harness.input.keys import TOLD, nearest
from harness.input.shown import shortened, shown
from harness.model.engine import Engine
from harness.model.kind import FELT, Kind

if TYPE_CHECKING:
    from harness.model.metric import Metric
    from harness.model.soundness import Keys, Reason
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
    from harness.model.metric import metrics_declared

    return metrics_declared(observation_of(kind))


def unobserved(engine: Engine) -> frozenset[str]:
    """The metrics of loads that no trial with the engine can have."""
    metrics = metrics_of(Kind.LOAD).items()
    return frozenset(key for key, metric in metrics if not engine.can(*metric.needs))


def metric_named(name: str) -> Metric | None:
    """The metric of a name, of whichever kind; kinds that share a name count it in the same unit."""
    return next((metrics[name] for metrics in map(metrics_of, Kind) if name in metrics), None)


def numeric_metric(name: str, kind: Kind = Kind.LOAD) -> str:
    """The name of a metric of a kind that is a number; StudyError for any other."""
    metrics = metrics_of(kind)
    known = [key for key, each in metrics.items() if each.unit.is_number]
    if name in known:
        return name
    felt = [key for key in FELT if key in known]
    told = shortened([*felt, *(key for key in known if key not in felt)], TOLD)
    told += "; docs/reference/metrics.md lists them all" if len(known) > TOLD else ""
    if name in metrics:
        raise StudyError(f"metric: {name} is no number; choose one of {told}")
    raise StudyError(f"metric: unknown {shown(name)}{nearest(name, known)}; known: {told}")


@cache
def reasons_of(kind: Kind) -> tuple[Reason, ...]:
    """Why an attempt of a kind does not count, in the order in which they are asked."""
    from harness.model.soundness import ENDINGS, ENDINGS_OF_LOADS, OF_A_PAGE, OF_CAPACITY, without

    if kind is Kind.LOAD:
        from harness.probes.registry import LEFT_OUT

        return (*ENDINGS_OF_LOADS, *LEFT_OUT)
    if kind is Kind.USERS:
        lacking = "the crowd came to its end, but no page rate was observed"
        spared = (replace(reason, spares=OF_A_PAGE) for reason in OF_CAPACITY)
        return (*ENDINGS, without("pages_per_s", "no-page-rate", lacking), *spared)
    lacking = "the loop came to its end, but no rate was observed"
    return (*ENDINGS, without("requests_per_s", "no-request-rate", lacking), *OF_CAPACITY)


@cache
def machine_reasons() -> frozenset[str]:
    """The names of the reasons, of all kinds, for which the machine is to blame."""
    return frozenset(reason.name for kind in Kind for reason in reasons_of(kind) if reason.machine)


def kind_of(record: Mapping[str, Any]) -> Kind:
    """The kind of a record, as a JSON mapping; one that says none is of a load. ValueError for an unknown one."""
    return Kind(record.get("kind", Kind.LOAD))


def unsound(record: Mapping[str, Any]) -> str | None:
    """The name of the first reason why a record, as a JSON mapping, does not count; None when it counts."""
    reason = _reason_against(record)
    return reason.name if reason else None


def disturbance(record: Mapping[str, Any]) -> Reason | None:
    """Why a record does not count, where it is the machine's fault."""
    reason = _reason_against(record)
    return reason if reason and reason.machine else None


def _reason_against(record: Mapping[str, Any]) -> Reason | None:
    for reason in reasons_of(kind_of(record)):
        if reason.applies(*[_value(record, keys) for keys in reason.reads]):
            return reason
    return None


def _value(record: object, keys: Keys) -> object:
    for key in keys:
        record = record.get(key) if isinstance(record, dict) else None
    return record
