"""What a study observes of a load beyond its load event, and what it then can be about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.model.engine import Capability, Engine
from harness.model.metric import Source
from harness.model.observation import METRICS

TRACE, FILM = "trace", "filmstrip"  # in `keep`
# Seen by the load event, too.
WITHOUT_WAITING = ("fcp_ms",)


def takes_vitals(metric: str) -> bool:
    """Whether a metric is only known of pages that were observed until they came to rest."""
    return metric in METRICS and METRICS[metric].source is Source.VITALS and metric not in WITHOUT_WAITING


def takes_trace(metric: str) -> bool:
    """Whether a metric is only known of loads that were traced."""
    return metric in METRICS and METRICS[metric].source is Source.TRACE


def takes_film(metric: str) -> bool:
    """Whether a metric is only known of loads that were filmed."""
    return metric in METRICS and METRICS[metric].source is Source.FILM


def refuse_unfilmable(kept: Iterable[str], engines: Iterable[Engine]) -> None:
    """StudyError when a film is wanted of an engine that has none."""
    blind = next((engine for engine in engines if not engine.can(Capability.TRACE)), None)
    if FILM in kept and blind is not None:
        raise StudyError(
            f"a film ({FILM}) of {blind} cannot be had: it draws in the thread that loads the page, so filming would "
            f"change what is measured; leave {FILM} out, or measure {blind} in a study of its own"
        )


def vitals_in(data: Mapping[str, Any], kept: Collection[str], metrics: Iterable[str]) -> bool:
    """The study's `vitals`; left out, they are observed when the study is about one of them.

    Observing takes 2 to 10 s a trial, which a study of page-load times alone should not pay. A film goes on as
    long; a trace is had sooner from a page at rest than from one that is left. StudyError when a metric of claims or
    figures would not be observed.
    """
    about, filmed, traced = list(metrics), FILM in kept, TRACE in kept
    wanted = next((metric for metric in about if takes_vitals(metric)), None)
    vitals = keys.truth(data, "vitals", default=wanted is not None or filmed or traced)
    if wanted is not None and not vitals:
        raise StudyError(f"vitals is false, and the study is about {wanted}; leave vitals out, or {wanted}")
    if filmed and not vitals:
        raise StudyError(
            f"vitals is false, and a film goes on until the page rests; leave vitals out, or {FILM}"
        )
    for needed, takes, teller in ((TRACE, takes_trace, "a trace"), (FILM, takes_film, "a film")):
        metric = next((metric for metric in about if takes(metric)), None)
        if metric is not None and needed not in kept:
            raise StudyError(f'the study is about {metric}, which {teller} tells; say keep = ["{needed}"]')
    return vitals
