"""Gathers the evidence of one trial while it is under way."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from harness.browser.browserlog import BrowserLog
from harness.lab.account import LinkAccount
from harness.lab.endpoint import Endpoint
from harness.lab.testbed import Client
from harness.model.condition import Condition
from harness.model.direction import Way
from harness.system.processtree import ForeignCpu, ended_for_memory
from harness.trial.evidence import Evidence
from harness.trial.film import Film
from harness.trial.lateness import Lateness
from harness.trial.mainthread import MainThread
from harness.trial.running import Stretch
from harness.trial.settling import Instant
from harness.trial.timeline import Timeline
from harness.trial.vitals import Vitals
from sites.servers.server import ServedRequest, served_to

LOG_STEP_US = 2000  # nginx tells times in whole ms


class Gatherer:
    """What was seen so far of a load at an endpoint; `evidence` freezes it, however the load ended.

    Make it before anything of the trial reaches the server: the server's log and CPU time count from then on.
    """

    def __init__(self, endpoint: Endpoint, condition: Condition) -> None:
        self._endpoint = endpoint
        self._condition = condition
        self.begin()
        self.first_visit: BrowserLog | None = None
        self.asked_ms: float | None = None
        self.failed = False
        self.navigate_ms: float | None = None
        self.timeline: Timeline | None = None
        self.lateness: Mapping[str, Lateness] | None = None
        self.crashes: tuple[str, ...] = ()
        self.foreign_cpu_share: float | None = None
        self.steal_share: float | None = None
        self.client_cpu_s: float | None = None
        self.server_cpu_s: float | None = None
        self.link_reading: Mapping[str, Any] | None = None
        self.served: tuple[ServedRequest, ...] | None = None
        self.browser_log: BrowserLog | None = None
        self.without_glyph: Mapping[str, int] | None = None
        self.console_errors: tuple[str, ...] | None = None
        self.console_error_count: int | None = None
        self.at_full_speed: int | None = None
        self.at_rest: bool | None = None
        self.vitals: Vitals | None = None
        self.traced = False
        self.main_thread: MainThread | None = None
        self.render_blocking: Mapping[str, str] = {}
        self.link_account: LinkAccount | None = None
        self.runs: tuple[Stretch, ...] = ()
        self.trace_end_ms: float | None = None
        self.filmed = False
        self.film: Film | None = None
        self._end: Instant | None = None

    def begin(self) -> None:
        """What the server does from now on is of the load."""
        self._log_offset = self._endpoint.server.log_offset
        self._cpu_before = self._endpoint.server.cpu_seconds()
        self._ended_before = ended_for_memory()

    def load_event(self, navigate_ms: float, client: Client, foreign: ForeignCpu) -> None:
        """What is read at once after the load event: the counters of the link go on with the page."""
        self.link_reading = client.link.reading()
        self.foreign_cpu_share, self.steal_share = foreign.share(), foreign.steal_share()
        self.navigate_ms = navigate_ms

    def end(self) -> None:
        """The load ends here: what the page does from now on, while it is observed, is no evidence of the load."""
        self._end = Instant.now()
        self.server_cpu_s = _since(self._cpu_before, self._endpoint.server.cpu_seconds())

    def after_the_browser(self, client: Client) -> None:
        """What server and link tell when the browser has gone, also of a load that failed."""
        server = self._endpoint.server
        if self._end is None:
            self.server_cpu_s = _since(self._cpu_before, server.cpu_seconds())
        self.served = served_to(server.requests(self._log_offset), client.address)
        self.link_reading = self.link_reading or client.link.reading()
        if self.timeline is not None:
            self.link_account = client.link.account()

    def evidence(self) -> Evidence:
        """All that was seen."""
        endpoint, replay, end = self._endpoint, self._endpoint.replay, self._end
        return Evidence(
            protocol=endpoint.protocol,
            start_url=endpoint.start_url,
            page_hosts=endpoint.hosts,
            rtt_ms=self._condition.link.rtt_ms,
            cache=self._condition.cache,
            first_visit=self.first_visit,
            tls=replay.tls,
            tls_resumption=replay.tls_resumption,
            h2_stream_window_bytes=replay.h2_stream_window_bytes,
            navigate_ms=self.navigate_ms,
            timeline=self.timeline,
            browser_log=self.browser_log.until(end.in_log(self.browser_log))
            if self.browser_log and end
            else self.browser_log,
            served=_until(self.served, end),
            link_reading=self.link_reading,
            client_cpu_s=self.client_cpu_s,
            server_cpu_s=self.server_cpu_s,
            foreign_cpu_share=self.foreign_cpu_share,
            steal_share=self.steal_share,
            lateness=self.lateness,
            crashes=self.crashes,
            out_of_memory=ended_for_memory() > self._ended_before,
            without_glyph=self.without_glyph,
            console_errors=self.console_errors,
            console_error_count=self.console_error_count,
            at_full_speed=self.at_full_speed,
            at_rest=self.at_rest,
            vitals=self.vitals,
            traced=self.traced,
            main_thread=self.main_thread,
            render_blocking=self.render_blocking,
            delay_down_ms=self._condition.link.delay_ms(Way.DOWN),
            link_account=self.link_account,
            since_1970_us=(time.time_ns() - time.monotonic_ns()) // 1000,
            runs=self.runs,
            filmed=self.filmed,
            film=self.film,
        )


def _until(served: tuple[ServedRequest, ...] | None, end: Instant | None) -> tuple[ServedRequest, ...] | None:
    """What the server had been asked for at that time."""
    if served is None or end is None:
        return served
    return tuple(each for each in served if each.started_us <= end.server_us + LOG_STEP_US)


def _since(before: float | None, now: float | None) -> float | None:
    """The difference of two readings of a counter in seconds."""
    return None if before is None or now is None else round(now - before, 3)
