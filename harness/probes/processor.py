"""Probe of the processor: who had it while the page loaded, who waited for it, and whether anything stood still."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.engines.browser import BESIDE_BROWSERS
from harness.errors import Outcome
from harness.model.condition import FULL_SPEED
from harness.model.engine import Capability
from harness.model.metric import Column, MetricTable, Source, Unit, metric
from harness.model.soundness import (
    FOREIGN_CPU,
    FOREIGN_CPU_LIMIT,
    OUTCOME,
    Keys,
    Limit,
    Reason,
    disturbed,
    number,
)
from harness.probes.evidence import Blame, Evidence, Fault, Stretch, listed
from harness.probes.probe import Load, MeasuredClient, OpenPage, Probe

if TYPE_CHECKING:
    from harness.engines.browsers import FreshBrowser
    from harness.probes.programs import Lateness
    from harness.system.processtree import ForeignCpu

# What the limits do to undisturbed and to disturbed loads: docs/results/disturbance.md.
WAITING_LIMIT = 0.1
FOREIGN_CPU_ALONE_LIMIT = (
    0.25  # where the kernel does not tell how long threads waited; of a load that timed out
)
BROWSER, DRIVER = (
    "the browser",
    "the browser's driver",
)  # in `Processor.lateness`; their processes come and go
# Of the runner, whatever the load took: the runner is not in the load's way, so a gap adds nothing to `plt_ms`, but as
# much to `navigate_ms`. A quiet machine shows up to 54 ms. Of a load that timed out, which may be its doing: more.
RUNNER_LATE_LIMIT_MS, RUNNER_LATE_TIMEOUT_MS = 60.0, 1000.0
RUNNER_LATE: Keys = ("runner_late_ms",)


@dataclass(frozen=True)
class Processor:
    """Who had the processor. Seconds are CPU time, shares those of the cores' time while the page loaded.

    `lateness` is by program, the browser and its driver among them. `runner_late_ms` is the longest time for which the
    runner itself stood still. `runs` is when the main threads of the page's processes ran.
    `crashes` are processes of the browser that crashed by themselves while the page loaded. `out_of_memory`: the kernel
    ended a process of this machine for want of memory. `at_full_speed` are parts of a slowed page that were not slowed.
    """

    client_s: float | None = None
    server_s: float | None = None
    foreign_share: float | None = None
    steal_share: float | None = None
    lateness: Mapping[str, Lateness] | None = None
    runner_late_ms: float | None = None
    runs: tuple[Stretch, ...] = ()
    crashes: tuple[str, ...] = ()
    out_of_memory: bool = False
    at_full_speed: int | None = None


def hindered(evidence: Evidence) -> str | None:
    """What stood still while the page loaded, or went: the page did not take the time for itself."""
    processor = evidence.of(Processor)
    seen = processor.lateness or {}
    reported = {BROWSER} if processor.crashes else set()  # its own reporter holds what has crashed
    stood = [
        f"{name} for {each.stopped_ms:,.0f} ms"
        for name, each in seen.items()
        if each.stopped_ms and name not in reported
    ]
    went = [name for name, each in seen.items() if each.ended and name not in {BROWSER, DRIVER}]
    return listed("stopped while the page loaded:", stood) or listed(
        "lost a process while the page loaded:", went
    )


def crashed(evidence: Evidence) -> str | None:
    """The processes of the browser that crashed by themselves."""
    return listed("a process of the browser crashed while the page loaded:", evidence.of(Processor).crashes)


def runner_was_late(outcome: object, late: object) -> bool:
    """Whether the runner stood still for so long that what it read and timed itself may be off.

    Its longest gap is no share of the load's time: such a limit would leave out the fast loads of a condition.
    """
    most_ms = RUNNER_LATE_TIMEOUT_MS if outcome == Outcome.PAGE_TIMEOUT else RUNNER_LATE_LIMIT_MS
    return (number(late) or 0) > most_ms


@dataclass(frozen=True)
class ProcessorMetrics:
    """Who had the processor, and what stood still or waited for it."""

    client_cpu_s: float | None = metric(
        "Browser's CPU",
        Unit.S,
        Source.PROC,
        "CPU time of the browser's processes from the beginning of the load until the load event, in steps of 10 ms",
    )
    server_cpu_s: float | None = metric(
        "Server's CPU",
        Unit.S,
        Source.PROC,
        "CPU time of the replay server during the trial, in steps of 10 ms",
        Column(MetricTable.SERVER, 5, "CPU"),
    )
    foreign_cpu_share: float | None = metric(
        "CPU of others",
        Unit.SHARE,
        Source.PROC,
        "share of the cores' time that others had while the page loaded",
    )
    steal_share: float | None = metric(
        "CPU of the host",
        Unit.SHARE,
        Source.PROC,
        "of `foreign_cpu_share`: what the host of a virtual machine kept for itself",
    )
    server_stopped_ms: float | None = metric(
        "Server stopped",
        Unit.MS,
        Source.PROC,
        "how long a process that serves was stopped while the page loaded",
    )
    server_late_ms: float | None = metric(
        "Server late",
        Unit.MS,
        Source.PROC,
        "how long threads that serve were ready to run and waited for a core, all together",
    )
    server_thread_late_ms: float | None = metric(
        "Server's thread late",
        Unit.MS,
        Source.PROC,
        "of `server_late_ms`: the thread that waited the longest",
    )
    client_stopped_ms: float | None = metric(
        "Browser stopped",
        Unit.MS,
        Source.PROC,
        "how long a process of the browser was stopped while the page loaded",
    )
    client_late_ms: float | None = metric(
        "Browser late",
        Unit.MS,
        Source.PROC,
        "how long threads of the browser were ready to run and waited for a core, all together",
    )
    client_thread_late_ms: float | None = metric(
        "Browser's thread late",
        Unit.MS,
        Source.PROC,
        "of `client_late_ms`: the thread that waited the longest",
    )
    runner_late_ms: float | None = metric(
        "Runner late",
        Unit.MS,
        Source.PROC,
        "the longest time for which the runner, which steers the browser, was stopped or had no core while the page "
        "loaded",
    )
    at_full_speed: int | None = metric(
        "At full speed",
        Unit.COUNT,
        Source.DRIVER,
        "with `cpu_slowdown`: workers, frames and windows of the page that were not slowed, at the load event",
        needs=Capability.SLOWS_CPU,
    )


class ProcessorProbe(Probe):
    """Every program that works on the load is watched; the link tells its own lateness itself."""

    metrics = ProcessorMetrics
    reasons = (
        Fault(Blame.STOOD_STILL, Outcome.TESTBED_FAILED, hindered, of_time_outs=True),
        Fault(Blame.CRASHED, Outcome.PAGE_ERROR, crashed, of_time_outs=True),
    )
    left_out = (
        disturbed(
            "busy-machine",
            f"others had more than {FOREIGN_CPU_LIMIT:.0%} of the machine's cores, and a thread of the browser waited "
            f"for one for more than {WAITING_LIMIT:.0%} of the load; while one timed out, others had more than "
            f"{FOREIGN_CPU_ALONE_LIMIT:.0%}",
            [Limit(FOREIGN_CPU, FOREIGN_CPU_LIMIT), Limit(("client_thread_late_ms",), WAITING_LIMIT, unit=1)],
            instead=Limit(FOREIGN_CPU, FOREIGN_CPU_ALONE_LIMIT),
            untimed=Limit(FOREIGN_CPU, FOREIGN_CPU_ALONE_LIMIT),
        ),
        Reason(
            "late-runner",
            f"the runner stood still for more than {RUNNER_LATE_LIMIT_MS:g} ms; while a load timed out, for more than "
            f"{RUNNER_LATE_TIMEOUT_MS:g} ms",
            (OUTCOME, RUNNER_LATE),
            runner_was_late,
            machine=True,
        ),
    )

    def __init__(self, load: Load) -> None:
        super().__init__(load)
        self._found = Processor()
        self._server_before: float | None = None
        self._client_before: float | None = None
        self._ended_before = 0
        self._foreign: ForeignCpu | None = None

    def begin(self) -> None:
        from harness.system.processtree import ended_for_memory

        self._server_before = self.load.endpoint.server.cpu_seconds()
        self._ended_before = ended_for_memory()

    @contextlib.contextmanager
    def during(self, page: OpenPage) -> Iterator[None]:
        from harness.probes.programs import watching
        from harness.system.processtree import ForeignCpu, cpu_seconds, living

        fresh = page.fresh
        pids = {DRIVER: fresh.driver_pid, BROWSER: fresh.pid}  # a driver may be the browser's parent
        own = {name: pid for name, pid in pids.items() if pid is not None}
        if fresh.pid is not None:
            self._client_before = cpu_seconds(fresh.pid)
        self._foreign = ForeignCpu()
        watched = {**self.load.endpoint.programs, **fresh.programs, **own}
        with watching(watched, BROWSER, fresh.holds_pages) as programs:
            try:
                yield
            finally:
                if self._found.foreign_share is None and fresh.pid is not None and living(fresh.pid):
                    self._note_foreign()  # no load event; what a killed browser had nobody tells afterwards
                self._note(
                    lateness=programs.lateness(),
                    runner_late_ms=programs.runner_late_ms(),
                    runs=programs.runs(),
                )

    def at_load_event(self, page: OpenPage, navigate_ms: float) -> None:
        from harness.system.processtree import cpu_seconds

        del navigate_ms
        self._note_foreign()
        now = None if page.fresh.pid is None else cpu_seconds(page.fresh.pid)
        if self._client_before is not None and now is not None:
            self._note(client_s=round(now - self._client_before, 3))

    def _note_foreign(self) -> None:
        if self._foreign is not None:
            self._note(foreign_share=self._foreign.share(), steal_share=self._foreign.steal_share())

    def ask(self, page: OpenPage) -> None:
        if self.load.condition.cpu_slowdown != FULL_SPEED:
            with page.answers("workers and frames of the page"):
                self._note(at_full_speed=page.browser.at_full_speed())

    def at_end(self) -> None:
        now = self.load.endpoint.server.cpu_seconds()
        if self._server_before is not None and now is not None:
            self._note(server_s=round(now - self._server_before, 3))

    def after(self, fresh: FreshBrowser, client: MeasuredClient) -> None:
        del fresh, client
        if self.load.ended is None:
            self.at_end()

    def seen(self) -> Processor:
        from harness.system.processtree import ended_for_memory

        return replace(
            self._found,
            crashes=self.load.crashes,
            out_of_memory=ended_for_memory() > self._ended_before,
        )

    def _note(self, **changes: Any) -> None:
        self._found = replace(self._found, **changes)

    @staticmethod
    def reduce(evidence: Evidence) -> Mapping[str, Any]:
        seen = evidence.of(Processor)
        return {
            "client_cpu_s": seen.client_s,
            "server_cpu_s": seen.server_s,
            "foreign_cpu_share": seen.foreign_share,
            "steal_share": seen.steal_share,
            "at_full_speed": seen.at_full_speed,
            "runner_late_ms": seen.runner_late_ms,
            **_lateness(seen.lateness),
        }


def _lateness(seen: Mapping[str, Lateness] | None) -> dict[str, Any]:
    """Of what serves: the longest stop of a program, the waits of all threads, and the longest wait of a thread."""
    if seen is None:
        return {}
    serving = [each for name, each in seen.items() if name not in {BROWSER, DRIVER, *BESIDE_BROWSERS}]
    waits = [lateness.waiting_ms for lateness in serving]
    longest = [lateness.thread_waiting_ms for lateness in serving]
    browser = seen.get(BROWSER)
    return {
        "server_stopped_ms": max((lateness.stopped_ms for lateness in serving), default=None),
        "server_late_ms": None if None in waits else round(sum(wait or 0 for wait in waits), 1),
        "server_thread_late_ms": None
        if None in longest
        else max((wait or 0 for wait in longest), default=None),
        "client_stopped_ms": browser.stopped_ms if browser else None,
        "client_late_ms": browser.waiting_ms if browser else None,
        "client_thread_late_ms": browser.thread_waiting_ms if browser else None,
    }
