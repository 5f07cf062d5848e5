"""The probes of a load, in the order in which they take each step; what all of them make of the evidence of a load."""

from __future__ import annotations

from typing import Any

from harness.model.observation import Observation
from harness.outcome import Outcome
from harness.probes.browserlog import BrowserLogProbe, FirstVisitProbe
from harness.probes.console import ConsoleProbe
from harness.probes.evidence import Evidence
from harness.probes.film import FilmProbe
from harness.probes.har import HarProbe
from harness.probes.link import LinkProbe
from harness.probes.probe import Load, Probe
from harness.probes.processor import ProcessorProbe
from harness.probes.screens import ScreenshotProbe, ScreensProbe
from harness.probes.serverlog import ServerLogProbe
from harness.probes.timeline import TimelineProbe
from harness.probes.trace import TraceProbe
from harness.probes.vitals import VitalsProbe
from harness.probes.waits import WaitsProbe

PROBES: tuple[type[Probe], ...] = (
    LinkProbe,
    TimelineProbe,
    ProcessorProbe,
    BrowserLogProbe,
    ServerLogProbe,
    FirstVisitProbe,
    ScreensProbe,
    ConsoleProbe,
    ScreenshotProbe,
    VitalsProbe,
    TraceProbe,
    FilmProbe,
    WaitsProbe,
    HarProbe,
)
REASONS = sorted((reason for probe in PROBES for reason in probe.reasons), key=lambda reason: reason.blame)


def probes_of(load: Load) -> list[Probe]:
    """Those that the study asks for and the engine can serve."""
    return [probe(load) for probe in PROBES if load.can(*probe.needs) and probe.wanted(load)]


def observe(evidence: Evidence) -> Observation:
    """The metrics of all probes. Pure."""
    metrics: dict[str, Any] = {}
    for probe in PROBES:
        metrics |= probe.reduce(evidence)
    return Observation(**metrics)


def verdict(evidence: Evidence) -> tuple[Outcome, str | None]:
    """Whether a load that reached its load event may count; else the outcome with its reason. Pure.

    A load counts only when the browser's log and the server's log agree that every request used the protocol of the
    condition, the cache was as the condition names it, nothing of the page was lost on the way, and nothing but the
    page used the link.
    """
    for reason in REASONS:
        found = reason.find(evidence)
        if found:
            return reason.outcome, found
    return Outcome.OK, None
