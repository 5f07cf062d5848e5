"""All that was seen of one trial, before anything is said of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.browser.browserlog import BrowserLog, Request
from harness.lab.account import LinkAccount
from harness.model.protocol import Protocol
from harness.model.revisit import CacheState
from harness.trial.film import Film
from harness.trial.lateness import Lateness
from harness.trial.mainthread import MainThread
from harness.trial.running import Stretch
from harness.trial.timeline import Timeline, misfit
from harness.trial.vitals import Vitals
from sites.servers.server import ServedRequest

BROWSER = "the browser"  # in `Evidence.lateness`; its processes come and go


@dataclass(frozen=True)
class Evidence:
    """All that one trial left behind; None for what it did not get to.

    `first_visit` is what the browser did before, when it filled its cache. `at_rest` is whether the page came to rest
    after the pictures of its screenfuls.
    `delay_down_ms` is that of the link. `since_1970_us` makes a time of CLOCK_MONOTONIC in us one since 1970. `runs` is
    when the main threads of the page's processes ran. `crashes` are processes of the browser that crashed by themselves
    while the page loaded. `out_of_memory`: the kernel ended a process of this machine for want of memory.
    """

    protocol: Protocol
    start_url: str
    page_hosts: frozenset[str]
    rtt_ms: float
    tls: str = "1.3"
    tls_resumption: bool = False
    h2_stream_window_bytes: int | None = None
    cache: CacheState = CacheState.COLD
    first_visit: BrowserLog | None = None
    navigate_ms: float | None = None
    timeline: Timeline | None = None
    browser_log: BrowserLog | None = None
    served: tuple[ServedRequest, ...] | None = None
    link_reading: Mapping[str, Any] | None = None
    client_cpu_s: float | None = None
    server_cpu_s: float | None = None
    foreign_cpu_share: float | None = None
    steal_share: float | None = None
    lateness: Mapping[str, Lateness] | None = None
    crashes: tuple[str, ...] = ()
    out_of_memory: bool = False
    without_glyph: Mapping[str, int] | None = None
    console_errors: tuple[str, ...] | None = None
    console_error_count: int | None = None
    at_full_speed: int | None = None
    at_rest: bool | None = None
    vitals: Vitals | None = None
    traced: bool = False
    main_thread: MainThread | None = None
    render_blocking: Mapping[str, str] = field(default_factory=dict)
    delay_down_ms: float = 0.0
    link_account: LinkAccount | None = None
    since_1970_us: int = 0
    runs: tuple[Stretch, ...] = ()
    filmed: bool = False
    film: Film | None = None

    @property
    def served_by_protocol(self) -> tuple[ServedRequest, ...]:
        """What the server answered by the protocol of the condition: all but WebSockets."""
        return tuple(request for request in self.served or () if not request.websocket)

    @property
    def pipelining_depth(self) -> int | None:
        """The most requests of a connection that were at the server at once; None where no server tells."""
        return max((each.depth for each in self.served_by_protocol if each.depth is not None), default=None)

    @property
    def page_requests(self) -> tuple[Request, ...]:
        return self.browser_log.page_requests if self.browser_log else ()

    @property
    def load_requests(self) -> tuple[Request, ...]:
        """The page's requests that started before its load event ended; all when there was none."""
        end = self.load_end_ms
        return tuple(each for each in self.page_requests if each.started_ms <= end)

    @property
    def load_end_ms(self) -> float:
        """The end of the load event on the clock of the browser's log; infinite when there was none."""
        begin, took = (self.times.get(name) for name in ("navigation_start_ms", "plt_ms"))
        return math.inf if begin is None or took is None else begin + took

    @property
    def misfit(self) -> str | None:
        """Why the timeline is not that of the page asked for; None when it is."""
        log = self.browser_log
        document = log.document(self.start_url) if log else ()
        others = log.other_documents(self.start_url) if log else ()
        return misfit(self.timeline, self.navigate_ms, document, others)

    @property
    def times(self) -> Timeline:
        """The timeline where it is that of the page; else none."""
        return self.timeline if self.timeline is not None and self.misfit is None else {}
