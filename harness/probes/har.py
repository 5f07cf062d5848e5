"""Probe that keeps a HAR 1.2 of a trial, the log of a load that browsers' tools and waterfall viewers open.

It is made from what the browser's log tells, after the load. It is for people to look into: no metric comes from it.
Two of its rows, step by step, tell how busy the link and the main thread were (`activity`).
Names that begin with `_` are additions, as HAR 1.2 allows; docs/record-format.md tells what they mean.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import harness
from harness.engines.browserlog import BrowserLog, Connection, Request
from harness.errors import Outcome
from harness.model.kind import BODIES, HAR
from harness.model.link import Link
from harness.model.rate import ConstantRate
from harness.model.trials import PlannedTrial
from harness.probes.evidence import Answers, Evidence, ServerAnswers, Stretch
from harness.probes.harentry import PAGE, Around, asked_ms, date_text, entry
from harness.probes.link import LinkSeen
from harness.probes.probe import Probe
from harness.probes.processor import Processor
from harness.probes.proofs import FirstVisit
from harness.probes.timeline import times
from harness.probes.trace import Trace
from harness.probes.waits import Clock, InstantSpan, InstantSpans, union
from harness.system.files import write_whole

FILE = "load.har"
CUT = "the browser's log ends before its browser did: what came later is not known"
# What a record calls them, and what others' HARs do.
PAGE_TIMES = {
    "onContentLoad": "dcl_ms",
    "onLoad": "plt_ms",
    "_ttfb": "ttfb_ms",
    "_firstContentfulPaint": "fcp_ms",
    "_largestContentfulPaint": "lcp_ms",
    "_totalBlockingTime": "tbt_ms",
}


class HarProbe(Probe):
    """Sees nothing by itself: the file is made from what the browser's log and the others tell."""

    asked_by = HAR

    @property
    def reads_bodies(self) -> bool:
        return self.load.keeps(BODIES)

    def store(self, evidence: Evidence, metrics: Mapping[str, Any], outcome: Outcome) -> None:
        del outcome
        load = self.load
        keep_har(load.files, load.planned, evidence, metrics, bodies=self.reads_bodies)


def keep_har(
    files: Path, planned: PlannedTrial, evidence: Evidence, metrics: Mapping[str, Any], *, bodies: bool
) -> None:
    """Write the HAR of a trial into `files`, if its browser left a log; StorageFailed when that cannot be."""
    log = evidence.get(BrowserLog)
    if log is None:
        return
    made = har(planned, evidence, log, metrics, bodies=bodies)
    files.mkdir(parents=True, exist_ok=True)
    write_whole(files / FILE, json.dumps(made, separators=(",", ":")))


def har(
    planned: PlannedTrial,
    evidence: Evidence,
    log: BrowserLog,
    metrics: Mapping[str, Any],
    *,
    bodies: bool = False,
) -> dict[str, Any]:
    """The HAR of a load: everything that the page asked for, also what it had in its cache."""
    requests = [request for request in log.requests if request.of_page]
    begin = times(evidence).get("navigation_start_ms")
    if begin is None:
        begin = min((asked_ms(request) for request in requests), default=0.0)
    har_log: dict[str, Any] = {
        "version": "1.2",
        "creator": {"name": "coldload", "version": harness.__version__},
        "pages": [_page(evidence, metrics, log.epoch_ms + begin)],
        "entries": [
            entry(request, around, log.epoch_ms, bodies=bodies)
            for request, around in _in_context(requests, evidence, log)
        ],
        "comment": f"trial {planned.trial}: {planned.condition}",
        "_connections": [_connection(connection, begin) for connection in log.connections],
    }
    busy = activity(evidence, log, planned.condition.link, _end(requests, metrics, begin))
    if busy is not None:
        har_log["_activity"] = busy
    if log.browser is not None:
        har_log["browser"] = dict(zip(("name", "version"), log.browser, strict=True))
    if not log.whole:
        har_log |= {"_incomplete": True, "comment": f"{har_log['comment']}; {CUT}"}
    return {"log": har_log}


def _end(requests: list[Request], metrics: Mapping[str, Any], begin: float) -> float:
    """When the last of it was over, in ms since the page began."""
    ended = [request.ended_ms - begin for request in requests if request.ended_ms is not None]
    return max([metrics.get("plt_ms") or 0.0, *ended])


def _page(evidence: Evidence, metrics: Mapping[str, Any], began: float) -> dict[str, Any]:
    times = {name: metrics.get(key) for name, key in PAGE_TIMES.items()}
    page: dict[str, Any] = {
        "startedDateTime": date_text(began),
        "id": PAGE,
        "title": evidence.setup.start_url,
        "pageTimings": {name: value for name, value in times.items() if value is not None},
    }
    if metrics.get("cls") is not None:
        page["_cumulativeLayoutShift"] = metrics["cls"]
    return page


def _connection(made: Connection, begin: float) -> dict[str, Any]:
    """A connection, also one that no request used; times are ms since the page began."""
    times = {
        "connectStart": None if made.connecting is None else made.connecting.began_ms,
        "secureConnectionStart": None if made.securing is None else made.securing.began_ms,
        "connectEnd": None if made.connecting is None else made.connecting.ended_ms,
    }
    return {
        "connection": made.local.rpartition(":")[2],
        "remoteAddress": made.remote,
        "protocol": made.alpn,
        "tls": made.tls,
        "tlsResumed": made.resumed,
        **{name: None if at is None else round(at - begin, 3) for name, at in times.items()},
    }


def _in_context(
    requests: list[Request], evidence: Evidence, log: BrowserLog
) -> Iterator[tuple[Request, Around]]:
    """The requests, each with what is known of it beside its own events."""
    served = Answers(evidence.of(ServerAnswers).by_protocol)
    connections = {connection.local: connection for connection in log.connections}
    carried: dict[int, Connection | None] = {}
    travelled: dict[int, int | None] = {}
    for number, request in enumerate(requests):
        answer = served.take(request)
        travelled[number] = request.body_bytes
        if answer is not None and request.body_bytes is None and not log.went_on(request):
            travelled[number] = answer.body_bytes
        carried[number] = connections.get(request.exchange.connection or "")
        if carried[number] is None and answer is not None:
            carried[number] = connections.get(f"{answer.client_address}:{answer.client_port}")
    opening = _first_of(requests, carried)
    visit, blocking = evidence.get(FirstVisit), evidence.of(Trace).render_blocking
    before = (
        {earlier.url: earlier for earlier in visit.log.requests if earlier.status is not None}
        if visit
        else {}
    )
    of_chain: dict[int, Request] = {}
    for number, request in enumerate(requests):
        made = carried[number]
        from_cache = bool(request.from_cache) and not request.made_up
        yield (
            request,
            Around(
                connection=made,
                first=made is not None and opening[made.local] == number,
                lookup=None if made is None else log.lookup_for(made, request.host),
                body_bytes=travelled[number],
                cached=before.get(request.url, request) if from_cache else None,
                redirected=of_chain.get(request.chain) if request.chain or request.main_frame else None,
                render_blocking=blocking.get(request.url.partition("#")[0]),
            ),
        )
        of_chain[request.chain] = request
        if request.status is not None:
            before.setdefault(request.url, request)


def _first_of(requests: list[Request], carried: Mapping[int, Connection | None]) -> dict[str, int]:
    """The first request of each connection, by the order in which they were sent or, where that is unknown, asked."""
    earliest: dict[str, tuple[float, int]] = {}
    for number, request in enumerate(requests):
        made, sending = carried[number], request.exchange.sending_ms
        if made is not None:
            order = (asked_ms(request) if sending is None else sending, number)
            earliest[made.local] = min(earliest.get(made.local, order), order)
    return {local: number for local, (_, number) in earliest.items()}


MOST_STEPS = 500  # of a row: some 2 kB
STEPS_US = tuple(base * 10**power for power in range(3, 9) for base in (1, 2, 5))
BY_TRACE, BY_KERNEL = "trace", "kernel"  # who tells of the main thread

Busy = tuple[int, int, float]  # from one instant to a later one in us, and for what share of that time


def activity(evidence: Evidence, log: BrowserLog, link: Link, end_ms: float) -> dict[str, Any] | None:
    """The rows from navigation start to that time, in whole per cent; None where neither of them was seen.

    The main thread is seen until the load event alone.
    """
    took, begin = (times(evidence).get(name) for name in ("plt_ms", "navigation_start_ms"))
    if took is None or begin is None:
        return None
    clock = Clock.of(log, begin, evidence.setup.since_1970_us)
    until, load = (max(1, round(time_ms * 1000)) for time_ms in (max(end_ms, took), took))
    step = next(
        (step_us for step_us in STEPS_US if step_us * MOST_STEPS >= until), math.ceil(until / MOST_STEPS)
    )
    rows: dict[str, Any] = {}
    account = evidence.of(LinkSeen).account
    if account is not None:
        for name, spans in (("linkDown", account.down), ("linkUp", account.up)):
            rows[name] = _per_cent(_whole(map(clock.monotonic, spans)), step, until)
        rates = [direction.rate for direction in link.directions]
        if link.emulated and all(isinstance(rate, ConstantRate) for rate in rates):
            rows["downMbps"], rows["upMbps"] = (rate.mean_mbps for rate in rates)
    traced, runs = evidence.of(Trace).main_thread, evidence.of(Processor).runs
    if traced is not None:
        rows["mainThread"] = _per_cent(_whole(traced.tasks_us), step, load)
        rows["mainThreadBy"] = BY_TRACE
    elif runs:
        rows["mainThread"] = _per_cent([_share(stretch, clock) for stretch in runs], step, load)
        rows["mainThreadBy"] = BY_KERNEL
    return {"stepMs": step / 1000, **rows} if rows else None


def _whole(spans: Iterable[InstantSpan]) -> list[Busy]:
    apart: InstantSpans = union(spans)
    return [(begin, end, 1.0) for begin, end in apart]


def _share(stretch: Stretch, clock: Clock) -> Busy:
    """A stretch in which a thread ran at some time: evenly."""
    begin, end = clock.monotonic((stretch.began_us, stretch.ended_us))
    return begin, end, stretch.ran_us / (end - begin) if end > begin else 0.0


def _per_cent(busy: Sequence[Busy], step: int, until: int) -> list[int]:
    """Of each step until then; of more than one thread at a time, all at most."""
    steps = [0.0] * math.ceil(until / step)
    for began, ended, share in busy:
        begin, end = max(0, began), min(ended, until)
        for number in range(begin // step, -(-end // step) if begin < end else 0):
            steps[number] += share * (min(end, (number + 1) * step) - max(begin, number * step))
    lengths = [min(until - number * step, step) for number in range(len(steps))]
    return [min(100, round(100 * took / whole)) for took, whole in zip(steps, lengths, strict=True)]
