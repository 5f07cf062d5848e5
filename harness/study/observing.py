"""What a study observes of a load beyond its load event, and what it then can be about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.model.metric import Source
from harness.model.observation import METRICS

TRACE = "trace"  # in `keep`
# Seen by the load event, too.
WITHOUT_WAITING = ("fcp_ms",)


def takes_vitals(metric: str) -> bool:
    """Whether a metric is only known of pages that were observed until they came to rest."""
    return metric in METRICS and METRICS[metric].source is Source.VITALS and metric not in WITHOUT_WAITING


def takes_trace(metric: str) -> bool:
    """Whether a metric is only known of loads that were traced."""
    return metric in METRICS and METRICS[metric].source is Source.TRACE


def vitals_in(data: Mapping[str, Any], kept: Iterable[str], metrics: Iterable[str]) -> bool:
    """The study's `vitals`; left out, they are observed when the study is about one of them.

    Observing takes 2 to 10 s a trial, which a study of page-load times alone should not pay. StudyError when a metric
    of claims or figures would not be observed.
    """
    about = list(metrics)
    wanted = next((metric for metric in about if takes_vitals(metric)), None)
    vitals = keys.truth(data, "vitals", default=wanted is not None)
    if wanted is not None and not vitals:
        raise StudyError(f"vitals is false, and the study is about {wanted}; leave vitals out, or {wanted}")
    traced = next((metric for metric in about if takes_trace(metric)), None)
    if traced is not None and TRACE not in kept:
        raise StudyError(f'the study is about {traced}, which a trace tells; say keep = ["{TRACE}"]')
    return vitals
