"""Waits for a loaded page to come to rest: nothing travels, and the main thread has no long task."""

from __future__ import annotations

import time
from dataclasses import dataclass

from harness.browser.browserlog import BrowserLog
from harness.browser.driver import Browser
from harness.lab.emulated import RunningLink
from harness.model.direction import Way

QUIET_S = 2.0
LIMIT_S = 10.0  # after the load
LONGEST_QUIET_S = 5.0
LOOK_EVERY_S = 0.1


@dataclass(frozen=True)
class Instant:
    """A moment on two clocks: that of Chromium's log (CLOCK_MONOTONIC) and that of the others (since 1970)."""

    browser_ms: float
    server_us: float

    @classmethod
    def now(cls) -> Instant:
        return cls(time.monotonic() * 1e3, time.time() * 1e6)

    def in_log(self, log: BrowserLog) -> float:
        """The moment in ms by the clock of a browser's log; one without an epoch counts from 1970 itself."""
        return self.browser_ms if log.epoch_ms else self.server_us / 1e3


def settles(browser: Browser, link: RunningLink, rtt_ms: float, *, tells_of_tasks: bool = True) -> bool:
    """Whether the page comes to rest within the limit; returns as soon as it has. Raises TrialFailed like the browser.

    At rest it is when no packet has crossed the link for 2 s (or for two round trips where that is longer, 5 s at most)
    and no long task, of over 50 ms, has ended for as long, where the engine tells of tasks. A request that takes its
    server longer is not seen.
    """
    quiet_s = min(max(QUIET_S, 2 * rtt_ms / 1e3), LONGEST_QUIET_S)
    begun = since = time.monotonic()
    travelled = _travelled(link)
    while (now := time.monotonic()) - begun < LIMIT_S:
        before, travelled = travelled, _travelled(link)
        if travelled != before:
            since = now
        elif now - since >= quiet_s:
            idle_s = browser.since_a_long_task_ms() / 1e3 if tells_of_tasks else quiet_s
            if idle_s >= quiet_s:
                return True
            since = now - idle_s
        browser.linger(LOOK_EVERY_S)
    return False


def _travelled(link: RunningLink) -> list[int]:
    reading = link.reading()
    return [reading[way.value]["bytes_out"] for way in Way]
