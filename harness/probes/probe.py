"""What a probe is: one kind of evidence of a load, in one file.

A probe says what it needs of an engine, what it does around a load (the steps of `Probe`, in their order), and what it
has seen: a frozen value, by whose type others find it. Two things are pure: the metrics that it makes of the evidence,
and the reasons for which it leaves a load out. `harness.probes.registry` lists the probes.

A study is checked against the metrics, so probes stand below it, and below the lab, of which they know the link, the
client, and where the page is served, and no more. What a probe works with it imports when a load is measured, so that
its metrics are known quickly.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from typing import Protocol as Interface

from harness.engines.browser import Browser, BrowserTrace, TracePart
from harness.engines.browserlog import BrowserLog
from harness.errors import Outcome
from harness.model.condition import Condition
from harness.model.engine import Capability
from harness.model.kind import VITALS
from harness.model.link import LinkAccount, Way
from harness.model.soundness import Reason
from harness.model.trials import PlannedTrial
from harness.probes.evidence import Evidence, Fault, LoadSetup
from sites.servers.server import ServedRequest

if TYPE_CHECKING:
    from harness.engines.browsers import FreshBrowser
    from harness.probes.watchdog import Watchdog

# A page is at rest when nothing has crossed the link, and no long task has ended, for so long.
QUIET_S, LONGEST_QUIET_S = 2.0, 5.0
REST_LIMIT_S = 10.0  # after the load
LOOK_EVERY_S = 0.1


class MeasuredLink(Interface):
    """The link of one load, under way."""

    def reading(self) -> Mapping[str, Any]:
        """The counters now: packets, IP bytes, drops and lateness per direction."""

    def account(self) -> LinkAccount | None:
        """When each way was busy so far; None where nothing tells."""


class MeasuredClient(Interface):
    """The host of one load's browser."""

    @property
    def link(self) -> MeasuredLink:
        """What joins it to the server."""

    @property
    def address(self) -> str:
        """Its own, which no other load has."""


class MeasuredServer(Interface):
    """The server that answers a load."""

    @property
    def log_offset(self) -> int:
        """The present end of its log, to read from later."""

    def requests(self, since: int) -> Sequence[ServedRequest]:
        """What it has logged from that on, in the order in which it ended."""

    def cpu_seconds(self) -> float | None:
        """User and system CPU seconds of all of it since its start; None when a process has gone."""


class ServedPage(Interface):
    """Where the page of a load is served."""

    @property
    def server(self) -> MeasuredServer:
        """What answers."""

    @property
    def programs(self) -> Mapping[str, int]:
        """The main process of each program that answers a load, by name."""


@dataclass(frozen=True)
class TrialOptions:
    """What a study asks for beyond its conditions.

    `timeout_s`: how long the load may take. `linger_s`: how long the page goes on after its load; only then can `keep`
    name `screens`, too, for which the page's timers are held. `answer_s`: how long the page may take after its load
    event for each thing that it is asked. `vitals`: the page is observed until it has come to rest.
    """

    timeout_s: float = 60.0
    keep: tuple[str, ...] = ()
    linger_s: float = 0.0
    answer_s: float = 10.0
    vitals: bool = False


@dataclass(frozen=True)
class Instant:
    """A moment on the two clocks that logs have: CLOCK_MONOTONIC, and since 1970."""

    monotonic_ms: float
    since_1970_us: float

    @classmethod
    def now(cls) -> Instant:
        return cls(time.monotonic() * 1e3, time.time() * 1e6)

    def in_log(self, log: BrowserLog) -> float:
        """The moment in ms by the clock of a browser's log."""
        return self.monotonic_ms if log.epoch_ms else self.since_1970_us / 1e3


@dataclass
class Load:
    """A load under way, as probes meet it. Probes of one load tell each other by it what they need at once.

    `first_visit` is what the browser did before, when it filled its cache. `timeline` is that of the loaded page,
    `asked_ms` when its navigation was asked for, by CLOCK_MONOTONIC. `ended` is when the load was over, where the page
    was observed beyond it. `failed`: there was no load event. `at_rest`: the page is known to have come to rest.
    `crashes` are processes of the browser that had crashed by themselves when the load was over. `pcap` is the file in
    which the link captures its packets, None for none.
    """

    planned: PlannedTrial
    options: TrialOptions
    files: Path
    endpoint: ServedPage
    setup: LoadSetup
    first_visit: BrowserLog | None = None
    timeline: Mapping[str, float | None] | None = None
    asked_ms: float | None = None
    ended: Instant | None = None
    failed: bool = False
    at_rest: bool = False
    crashes: tuple[str, ...] = ()
    pcap: Path | None = None

    @property
    def condition(self) -> Condition:
        return self.planned.condition

    def can(self, *capabilities: Capability) -> bool:
        """Whether the engine can be asked for all of these."""
        return self.condition.engine.can(*capabilities)

    def keeps(self, kind: str) -> bool:
        return kind in self.options.keep

    def asks_for(self, word: str) -> bool:
        """Whether the study asks for what a probe is `asked_by`."""
        return self.options.vitals if word == VITALS else self.keeps(word)

    def kept(self, kind: str, name: str) -> Path | None:
        """The path of a file the study wants kept, its folder made; None when it does not want it."""
        if not self.keeps(kind):
            return None
        self.files.mkdir(parents=True, exist_ok=True)
        return self.files / name


@dataclass(frozen=True)
class OpenPage:
    """The page in its running browser, behind its link. Whatever is asked of it, is asked within a limit."""

    load: Load
    browser: Browser
    fresh: FreshBrowser
    client: MeasuredClient
    watch: Watchdog
    probes: Sequence[Probe] = ()

    def end(self) -> None:
        """The load ends here: what the page does from now on, while it is observed, is no evidence of it."""
        self.load.ended = Instant.now()
        for probe in self.probes:
            probe.at_end()

    def answers(self, what: str, longer_s: float = 0.0) -> contextlib.AbstractContextManager[None]:
        """The block asks the page for something: as long as the options allow, or longer."""
        return self.watch.limit(self.load.options.answer_s + longer_s, what)

    def comes_to_rest(self) -> bool:
        """Whether the page comes to rest within 10 s, as `settles` has it. Raises TrialFailed like the browser."""
        with self.answers("rest of the page", REST_LIMIT_S):
            told = self.load.can(Capability.TASKS)
            return settles(
                self.browser, self.client.link, self.load.setup.longest_round_trip_ms, tells_of_tasks=told
            )


def settles(browser: Browser, link: MeasuredLink, rtt_ms: float, *, tells_of_tasks: bool = True) -> bool:
    """Whether the page comes to rest within the limit; returns as soon as it has. Raises TrialFailed like the browser.

    `rtt_ms` is that to the farthest server.

    At rest it is when no packet has crossed the link for 2 s (or for two round trips where that is longer, 5 s at most)
    and no long task, of over 50 ms, has ended for as long, where the engine tells of tasks. A request that takes its
    server longer is not seen.
    """
    quiet_s = min(max(QUIET_S, 2 * rtt_ms / 1e3), LONGEST_QUIET_S)
    begun = since = time.monotonic()
    travelled = _travelled(link)
    while (now := time.monotonic()) - begun < REST_LIMIT_S:
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


def _travelled(link: MeasuredLink) -> list[int]:
    reading = link.reading()
    return [reading[way.value]["bytes_out"] for way in Way]


class Probe:
    """One kind of evidence of one load. A trial makes it, takes its steps, and asks what it has seen.

    `needs` is what an engine must offer for the probe to see anything. `asked_by` is the word by which a study asks for
    it: `vitals`, or one of `keep`; None where it need not. `metrics` is a frozen dataclass of those that it makes
    (`harness.model.metric.metric`), which is a part of `Observation`, too. `of_trace` is the part that it needs of a
    trace, which it is given (`traced`). `reasons` are asked of the evidence of a load, `left_out` of its record. A step
    that raises TrialFailed or TestbedFailed ends the load.
    """

    needs: ClassVar[frozenset[Capability]] = frozenset()
    asked_by: ClassVar[str | None] = None
    metrics: ClassVar[type | None] = None
    of_trace: ClassVar[TracePart | None] = None
    reasons: ClassVar[tuple[Fault, ...]] = ()
    left_out: ClassVar[tuple[Reason, ...]] = ()

    def __init__(self, load: Load) -> None:
        self.load = load

    @classmethod
    def wanted(cls, load: Load) -> bool:
        """Whether the study asks for it. What the engine cannot do is not asked."""
        return cls.asked_by is None or load.asks_for(cls.asked_by)

    @staticmethod
    def reduce(evidence: Evidence) -> Mapping[str, Any]:
        """Metrics by their keys. Pure, and the same for all loads: of nothing seen the metrics are None."""
        del evidence
        return {}

    @property
    def reads_bodies(self) -> bool:
        """Whether it needs a browser whose log holds the bodies."""
        return False

    def begin(self) -> None:
        """Nothing of the load has reached the server yet; once more after the visit that fills the browser's cache."""

    def before_link(self) -> None:
        """The browser's host and its link are made next, for the load that is measured."""

    def before(self, page: OpenPage) -> None:
        """The browser runs, and shows nothing."""

    @contextlib.contextmanager
    def during(self, page: OpenPage) -> Iterator[None]:
        """Around the navigation, up to the load event or the failure."""
        del page
        yield

    def at_load_event(self, page: OpenPage, navigate_ms: float) -> None:
        """At once after the load event: what goes on with the page is read now."""

    def ask(self, page: OpenPage) -> None:
        """The page is loaded, and answers."""

    def at_failure(self, page: OpenPage) -> None:
        """There was no load event, or the page did not answer after it. What fails here is not told."""

    def at_end(self) -> None:
        """The load ends here: what the page does from now on, while it is observed, is no evidence of the load."""

    @property
    def observes(self) -> bool:
        """Whether it looks at the page beyond its load."""
        return False

    def observe(self, page: OpenPage) -> None:
        """Beyond the load. Nothing that fails here makes the load count, or not count."""

    def at_last(self, link: MeasuredLink) -> None:
        """The browser asks for nothing any more, also of a load that failed; the link is asked for the last time."""

    def after(self, fresh: FreshBrowser, client: MeasuredClient) -> None:
        """The browser has gone, and what it sent last has come to the servers, whatever became of the load."""

    def traced(self, trace: BrowserTrace, ended_ms: float) -> None:
        """The trace is read; also of a load that failed. It was over at that time of CLOCK_MONOTONIC."""

    def store(self, evidence: Evidence, metrics: Mapping[str, Any], outcome: Outcome) -> None:
        """Write the files that the study wants kept, now that everything is known of the load. `metrics` are by key."""

    def seen(self) -> object | None:
        """What it has seen, as a frozen value; None for nothing."""
        return None
