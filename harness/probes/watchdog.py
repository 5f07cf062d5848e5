"""Bounds every wait of a trial from outside: what does not end in time is made to end, whatever it hangs in.

A call into a driver can hang where no time-out of its own reaches: the page spins, the browser or the driver is
stopped. The watchdog is a thread. When a wait is over its limit it kills the browser, and the call returns with an
error; when it does not, the driver itself hangs and is killed as well. Time for which the watchdog's own process stood
still is no time of the wait: what it waits for may have come long ago.

A wait that is over its limit is no `page-timeout`. That outcome counts as the longest time of a condition, and only a
driver that has seen no load event within the study's limit knows of one.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from harness.errors import ColdloadError, Outcome, TestbedFailed, TrialFailed
from harness.system.processtree import cpu_seconds, kill_family, living, stopped

LOOK_EVERY_S = 5.0  # most loads are over before the first look
STAYS_S = 1.0
STOOD_STILL_S = 1.0  # the runner itself was stopped, or the machine slept
RELEASE_S = 2.0  # a driver notices within milliseconds that its browser is gone, unless a page has flooded it
WORKED_S, WORKS_OFF_S = 0.1, 30.0  # of the processor, within that; and how long it may go on so


@dataclass(frozen=True)
class Watchdog:
    """Watches over the waits of one trial. `browser` and `driver` tell the process of each, None without one."""

    browser: Callable[[], int | None]
    driver: Callable[[], int | None]

    @contextlib.contextmanager
    def limit(
        self, seconds: float, what: str, *, before_page: bool = False, starts: bool = False
    ) -> Iterator[None]:
        """The block waits for `what`, at most so long. `before_page`: nothing of the page has been asked for yet.
        `starts`: nor has the browser started, for which it waits.

        Over the limit it ends with TrialFailed and `page-error` or, where it was not the page that kept it waiting
        (there is none yet, the browser or its driver are stopped, the driver does not notice the end of its browser),
        with TestbedFailed.
        """
        wait = _Wait(self.browser, self.driver, seconds, what, before_page or starts, starts)
        wait.start()
        try:
            yield
        except Exception as error:
            wait.end()
            if wait.verdict is not None:
                raise wait.verdict from error
            held = wait.held()
            if held:
                raise TestbedFailed(f"{held}: {error}") from error
            raise
        finally:
            wait.end()
        if wait.verdict is not None:
            raise wait.verdict


@dataclass
class _Wait:
    """One wait; `verdict` is what it ends with when it was over its limit."""

    browser: Callable[[], int | None]
    driver: Callable[[], int | None]
    seconds: float
    what: str
    before_page: bool
    starts: bool
    verdict: ColdloadError | None = None
    _over: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def held(self) -> str | None:
        """Which of the two somebody has stopped, or whether the driver is gone: no page can do that."""
        return next(iter(self._held().values()), None)

    def _held(self) -> dict[int, str]:
        """The same by process."""
        browser, driver = self.browser(), self.driver()
        if driver is not None and driver not in living(driver):
            return {driver: "the browser's driver died"}
        if driver is not None and driver in stopped(driver):
            return {driver: "the browser's driver is stopped"}
        return {} if browser is None else dict.fromkeys(stopped(browser), "the browser is stopped")

    def _watch(self) -> None:
        held = self._until_over()
        if self._over.is_set():
            return
        browser, driver = self.browser(), self.driver()
        text = f"no {self.what} within {self.seconds:g} s"
        if held:
            self.verdict = TestbedFailed(f"{held} while the trial waited for the {self.what}")
        elif self.before_page:
            self.verdict = TestbedFailed(f"{text}: it did not start" if self.starts else text)
        else:
            self.verdict = TrialFailed(Outcome.PAGE_ERROR, text)
        if browser is not None:
            kill_family(browser)
        if driver is not None and not self._released(driver):
            kill_family(driver)
            if not held:
                self.verdict = TestbedFailed(f"{text}: the browser's driver hangs")

    def _released(self, driver: int) -> bool:
        """Whether the driver notices the end of its browser, or still works off what the page gave it until it does."""
        end = time.monotonic() + WORKS_OFF_S
        while time.monotonic() < end:
            before = cpu_seconds(driver)
            if self._over.wait(RELEASE_S):
                return True
            after = cpu_seconds(driver)
            if before is None or after is None or 0 <= after - before < WORKED_S:  # less: its browser went
                return False
        return False

    def _until_over(self) -> str | None:
        """Wait until it is over or the limit is; not as long where one of the two is stopped and stays so."""
        end = time.monotonic() + self.seconds
        while (left := end - time.monotonic()) > 0:
            began, asked_s = time.monotonic(), min(left, LOOK_EVERY_S)
            if self._over.wait(asked_s):
                return None
            took_s = time.monotonic() - began
            if took_s > asked_s + STOOD_STILL_S:  # nobody knows how much of it came before the stop
                end += took_s
            if (before := self._hopeless()) and not self._over.wait(STAYS_S):
                stayed = [why for pid, why in self._hopeless().items() if pid in before]
                if stayed:
                    return stayed[0]
        return self.held()

    def _hopeless(self) -> dict[int, str]:
        """Why there is no use in waiting on, by process. A driver tells at once of a browser that dies, but for one
        that starts.
        """
        browser = self.browser()
        if self.starts and browser is not None and browser not in living(browser):
            return {**self._held(), browser: "the browser died"}
        return self._held()
