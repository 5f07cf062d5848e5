"""The probes of a load, in the order in which they take each step; what all of them make of the evidence of a load.

What a probe declares as its metrics is a part of `Observation`: the keys of a record, the columns of the report and
docs/reference/metrics.md follow from that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from harness.errors import Outcome, TestbedFailed, TrialFailed
from harness.model.metric import Metric, metrics_declared
from harness.probes.browserlog import BrowserLogMetrics, BrowserLogProbe, FirstVisitProbe
from harness.probes.evidence import Evidence, Fault
from harness.probes.film import FilmMetrics, FilmProbe
from harness.probes.har import HarProbe
from harness.probes.link import LinkMetrics, LinkProbe, PacketsProbe
from harness.probes.loadedpage import ConsoleMetrics, ConsoleProbe, ScreenshotProbe, ScreensProbe
from harness.probes.probe import Load, Probe
from harness.probes.processor import Processor, ProcessorMetrics, ProcessorProbe, crashed, hindered
from harness.probes.serverlog import ServerLogMetrics, ServerLogProbe
from harness.probes.timeline import TimelineMetrics, TimelineProbe
from harness.probes.trace import RecordingProbe, TraceMetrics, TraceProbe
from harness.probes.vitals import VitalsMetrics, VitalsProbe
from harness.probes.waits import WaitsMetrics, WaitsProbe

PROBES: tuple[type[Probe], ...] = (
    LinkProbe,
    PacketsProbe,
    TimelineProbe,
    ProcessorProbe,
    BrowserLogProbe,
    ServerLogProbe,
    FirstVisitProbe,
    ScreensProbe,
    ConsoleProbe,
    ScreenshotProbe,
    VitalsProbe,
    RecordingProbe,  # ends its trace once the page has come to rest
    TraceProbe,
    FilmProbe,
    WaitsProbe,
    HarProbe,
)


@dataclass(frozen=True)
class Observation(
    TimelineMetrics,
    VitalsMetrics,
    TraceMetrics,
    FilmMetrics,
    BrowserLogMetrics,
    ServerLogMetrics,
    LinkMetrics,
    ProcessorMetrics,
    ConsoleMetrics,
    WaitsMetrics,
):
    """What one load showed. Anything not observed is None, never 0. Times are ms since navigation start."""


# The order of the metrics in records, reports and documents; others stand behind them.
ORDER = """
navigate_ms plt_ms ttfb_ms dcl_ms fcp_ms lcp_ms lcp_element lcp_url cls tbt_ms settled observed_ms
dropped_entries unread_frames painted traced main_thread_ms script_ms style_layout_ms paint_ms parse_ms gc_ms
longest_tasks filmed speed_index_ms first_visual_change_ms last_visual_change_ms visually_complete_85_ms
film_frames film_cut requests requests_after_load failed_requests missed_requests fuzzy_requests cache_hits
revalidated connections connect_ms tls tls_resumed h2_stream_window_bytes bytes_down bytes_up bytes_body
protocols missed fuzzy failed service_requests relayed_requests server_requests server_connections
pipelining_depth spdy_streams link_reading client_cpu_s server_cpu_s foreign_cpu_share steal_share
console_errors console_error_count server_stopped_ms server_late_ms server_thread_late_ms client_stopped_ms
client_late_ms client_thread_late_ms at_full_speed blank waited_down_ms waited_up_ms waited_handshakes_ms
waited_server_ms waited_round_trips_ms waited_main_thread_ms waited_unknown_ms requested_digest
"""


def load_metrics() -> Mapping[str, Metric]:
    """The metrics of loads by their keys, each with what its probe needs of an engine and is asked for by."""
    declared = {
        key: replace(each, needs=each.needs | probe.needs, asked_by=probe.asked_by)
        for probe in PROBES
        if probe.metrics is not None
        for key, each in metrics_declared(probe.metrics).items()
    }
    return {key: declared[key] for key in dict.fromkeys([*ORDER.split(), *metrics_declared(Observation)])}


REASONS = sorted((reason for probe in PROBES for reason in probe.reasons), key=lambda reason: reason.blame)
# By a record alone; the machine is blamed last.
LEFT_OUT = sorted(
    (reason for probe in PROBES for reason in probe.left_out), key=lambda reason: reason.machine
)


def probes_of(load: Load) -> list[Probe]:
    """Those that the study asks for and the engine can serve."""
    return [probe(load) for probe in PROBES if load.can(*probe.needs) and probe.wanted(load)]


def observe(evidence: Evidence) -> Observation:
    """The metrics of all probes. Pure."""
    return Observation(**{key: value for probe in PROBES for key, value in probe.reduce(evidence).items()})


def verdict(evidence: Evidence) -> tuple[Outcome, str | None]:
    """Whether a load that reached its load event may count; else the outcome with its reason. Pure.

    A load counts only when the browser's log and the server's log agree that every request used the protocol of the
    condition, the cache was as the condition names it, nothing of the page was lost on the way, and nothing but the
    page used the link.
    """
    return _fault(evidence, REASONS) or (Outcome.OK, None)


def _fault(evidence: Evidence, asked: Iterable[Fault]) -> tuple[Outcome, str] | None:
    for fault in asked:
        reason = None if evidence.setup.live and fault.of_replay else fault.find(evidence)
        if reason:
            return fault.outcome, reason
    return None


def ending(evidence: Evidence, failed: TrialFailed | TestbedFailed | None) -> tuple[Outcome, str | None]:
    """The outcome of a trial with its reason; `failed` is what ended it early.

    The testbed is to blame before the page: a part of it that failed, then one that stood still. A load that timed out
    counts, so it is asked for all that can be told of it.
    """
    if isinstance(failed, TestbedFailed):
        return Outcome.TESTBED_FAILED, str(failed)
    if failed is None:
        return verdict(evidence)
    if failed.outcome is Outcome.PAGE_TIMEOUT:
        told = (reason for reason in REASONS if reason.of_time_outs)
        return _fault(evidence, told) or (failed.outcome, failed.reason)
    hindrance = hindered(evidence)
    if hindrance:
        return Outcome.TESTBED_FAILED, hindrance
    return _died(evidence, failed) if failed.died else (failed.outcome, failed.reason)


def _died(evidence: Evidence, failed: TrialFailed) -> tuple[Outcome, str]:
    """Who ended the browser, or the process of the page: the page, when it crashed by itself or wanted more memory than
    there is; else a program outside.
    """
    crash = crashed(evidence)
    if crash:
        return Outcome.PAGE_ERROR, f"{crash}: {failed.reason}"
    if evidence.of(Processor).out_of_memory:
        return Outcome.PAGE_ERROR, f"the kernel ended it for want of memory: {failed.reason}"
    return Outcome.TESTBED_FAILED, f"killed from outside, it reports no crash: {failed.reason}"
