"""Probe of what a load waited for, instant by instant: what the others have seen of it, put on one clock. Pure.

The classes and their order are those of `harness.model.kind`; docs/methodology.md, "Where the time goes", gives the
reasons. All times in here are us since navigation start. A recorded load is divided in the same way (`LoadAccount`).
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.engines.browserlog import CLOCK_MS, BrowserLog, Request
from harness.model.kind import Waiting
from harness.model.metric import Source, Unit, metric
from harness.probes.evidence import Answers, Evidence, LoadSetup, ServerAnswers, Stretch
from harness.probes.harentry import asked_ms
from harness.probes.link import LinkSeen
from harness.probes.probe import Probe
from harness.probes.processor import Processor
from harness.probes.timeline import times
from harness.probes.trace import Trace
from sites.servers.server import ServedRequest

if TYPE_CHECKING:
    from sites.response import RecordedLoad

InstantSpan = tuple[int, int]  # from one instant to a later one
InstantSpans = Sequence[InstantSpan]
# How much later than the page a browser whose network is in its main thread may tell of the end of an answer.
TOLD_LATE_MS = 2.0
NOT_TOLD = (
    "recorded load: the archive does not tell its times; `coldload record`, `coldload archive --with browser` and HARs "
    "of Chrome and Firefox do"
)


def union(spans: Iterable[InstantSpan]) -> InstantSpans:
    """Any spans as ones that are sorted and apart; what is empty or ends before it begins is none."""
    merged: list[InstantSpan] = []
    for begin, end in sorted(spans):
        if begin >= end:
            continue
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((begin, end))
    return merged


def common(first: InstantSpans, second: InstantSpans) -> InstantSpans:
    """What is in both."""
    return list(_common(first, second))


def _common(first: InstantSpans, second: InstantSpans) -> Iterator[InstantSpan]:
    one, other = 0, 0
    while one < len(first) and other < len(second):
        begin, end = max(first[one][0], second[other][0]), min(first[one][1], second[other][1])
        if begin < end:
            yield begin, end
        if first[one][1] < second[other][1]:
            one += 1
        else:
            other += 1


def without(spans: InstantSpans, taken: InstantSpans) -> InstantSpans:
    """What is in the first and not in the second."""
    if not spans:
        return []
    edges = [spans[0][0], *(edge for span in taken for edge in span), spans[-1][1]]
    gaps = [(begin, end) for begin, end in zip(edges[::2], edges[1::2], strict=True) if begin < end]
    return common(spans, gaps)


def between(spans: InstantSpans, begin: int, end: int) -> Iterator[InstantSpan]:
    """What lies between two instants; quick where there are many spans."""
    first = max(0, bisect_right(spans, (begin, begin)) - 1)
    for span in itertools.islice(spans, first, None):
        if span[0] >= end:
            return
        if span[1] > begin < end:
            yield max(begin, span[0]), min(end, span[1])


def length(spans: InstantSpans) -> int:
    return sum(end - begin for begin, end in spans)


def beginning(spans: Iterable[InstantSpan], most: int) -> Iterator[InstantSpan]:
    """The first parts of spans, in all at most that long."""
    for begin, end in spans:
        if most <= 0:
            return
        yield begin, min(end, begin + most)
        most -= end - begin


def split(total_us: int, seen: Mapping[Waiting, InstantSpans]) -> dict[Waiting, int]:
    """A time from 0 on, divided without remainder: of each instant what comes first in the order of `Waiting`."""
    left: InstantSpans = [(0, total_us)] if total_us > 0 else []
    parts = {}
    for waiting in Waiting:
        spans = seen.get(waiting, ()) if waiting is not Waiting.UNKNOWN else left
        parts[waiting] = length(common(left, spans))
        left = without(left, spans)
    return parts


def waits(evidence: Evidence) -> dict[Waiting, int] | None:
    """How many us of the load were of each class; None where not all of it was seen."""
    took, begin = (times(evidence).get(name) for name in ("plt_ms", "navigation_start_ms"))
    log, link = evidence.get(BrowserLog), evidence.of(LinkSeen).account
    if not took or begin is None or log is None or link is None:
        return None
    total, clock = round(took * 1000), Clock.of(log, begin, evidence.setup.since_1970_us)
    journeys = list(_journeys(log, evidence, clock, total))
    under_way = union((journey.sending, journey.ended) for journey in journeys)
    asking = union(
        (journey.asked, journey.sending if journey.told else journey.answered) for journey in journeys
    )
    seen: dict[Waiting, InstantSpans] = {
        Waiting.DOWN: common(union(map(clock.monotonic, link.down)), under_way),
        Waiting.UP: common(union(map(clock.monotonic, link.up)), under_way),
        Waiting.HANDSHAKES: common(union(_handshakes(log, clock)), asking),
        Waiting.SERVER: union(_at_the_server(journeys)),
        Waiting.ROUND_TRIPS: under_way,
    }
    hidden = (Waiting.ROUND_TRIPS,) if log.in_main_thread else ()
    others = (span for waiting, spans in seen.items() if waiting not in hidden for span in spans)
    seen[Waiting.MAIN_THREAD] = _main_thread(evidence, clock, without([(0, total)], union(others)))
    for waiting in hidden:
        seen[waiting] = without(seen[waiting], seen[Waiting.MAIN_THREAD])
    return split(total, seen)


@dataclass(frozen=True)
class WaitsMetrics:
    """What the time of the load went into."""

    waited_down_ms: float | None = metric(
        "Link down",
        Unit.MS,
        Source.ALL,
        "of `plt_ms`: bytes of the page's answers were on their way out of the link, or in its queue",
    )
    waited_up_ms: float | None = metric(
        "Link up", Unit.MS, Source.ALL, "of the rest: bytes of its requests waited for the link, or filled it"
    )
    waited_handshakes_ms: float | None = metric(
        "Handshakes",
        Unit.MS,
        Source.ALL,
        "of the rest: requests waited for look-ups of names, TCP, TLS or QUIC",
    )
    waited_server_ms: float | None = metric(
        "Server", Unit.MS, Source.ALL, "of the rest: the server had a request and had not begun to answer"
    )
    waited_round_trips_ms: float | None = metric(
        "Round trips",
        Unit.MS,
        Source.ALL,
        "of the rest: requests or answers were under way, with nothing to send",
    )
    waited_main_thread_ms: float | None = metric(
        "Page's main thread",
        Unit.MS,
        Source.ALL,
        "of the rest: the page's main thread ran, or waited for a core",
    )
    waited_unknown_ms: float | None = metric(
        "Nothing known", Unit.MS, Source.ALL, "of the rest: all of it, so that the seven add up to `plt_ms`"
    )


class WaitsProbe(Probe):
    """Sees nothing by itself."""

    metrics = WaitsMetrics

    @staticmethod
    def reduce(evidence: Evidence) -> Mapping[str, Any]:
        return {waiting.key: took_us / 1000 for waiting, took_us in (waits(evidence) or {}).items()}


@dataclass(frozen=True)
class Clock:
    """Times of several clocks since the navigation began."""

    begin_ms: float
    half_step_ms: float
    monotonic_us: int
    since_1970_us: int

    @classmethod
    def of(cls, log: BrowserLog, begin_ms: float, since_1970_us: int) -> Clock:
        """`begin_ms` is by the log's clock, which is CLOCK_MONOTONIC, or counts from 1970 itself."""
        begin_us = round(begin_ms * 1000)
        if log.epoch_ms:
            return cls(begin_ms, log.step_ms / 2, begin_us, begin_us + since_1970_us)
        return cls(begin_ms, log.step_ms / 2, begin_us - since_1970_us, begin_us)

    def logged(self, at_ms: float) -> int:
        """A time of the browser's log."""
        return round((at_ms + self.half_step_ms - self.begin_ms) * 1000)

    def monotonic(self, span: InstantSpan) -> InstantSpan:
        return span[0] - self.monotonic_us, span[1] - self.monotonic_us

    def served(self, at_us: float) -> int:
        """A time of the server's log."""
        return round(at_us - self.since_1970_us)


@dataclass(frozen=True)
class _Journey:
    """A request that the load waited for: it was over before the load event was. The document is asked for at once.

    `told`: the engine tells when it was sent; else `sending` is when it was asked for. `at_server` is when the server
    had it until it had answered, at the latest; `connection` is that by the server's log, None without it.
    """

    asked: int
    sending: int
    answered: int
    ended: int
    told: bool
    at_server: InstantSpan | None = None
    connection: object = None


def _journeys(log: BrowserLog, evidence: Evidence, clock: Clock, total: int) -> Iterator[_Journey]:
    answers = Answers(evidence.of(ServerAnswers).by_protocol)
    late_ms = CLOCK_MS + TOLD_LATE_MS * log.in_main_thread
    for request in log.page_requests:
        served = answers.take(request)
        ended_ms = request.exchange.over_ms if request.ended_ms is None else request.ended_ms
        untold = request.protocol is None and served is None  # by either log
        if untold or ended_ms is None or clock.logged(ended_ms - late_ms) > total:
            continue
        yield _journey(request, ended_ms, served, evidence.setup, clock)


def _journey(
    request: Request, ended_ms: float, served: ServedRequest | None, setup: LoadSetup, clock: Clock
) -> _Journey:
    sending_ms = request.exchange.sending_ms
    answered = clock.logged(ended_ms if request.answered_ms is None else request.answered_ms)
    sending = clock.logged(request.started_ms if sending_ms is None else sending_ms)
    at_server = None
    if served is not None:  # as the client sees it: by the time that what the server does is there
        delay_us = setup.delay_from_ms(served.server_address) * 1000
        came = max(sending, clock.served(served.started_us + delay_us))
        at_server = came, min(answered, clock.served(served.started_us + served.duration_us + delay_us))
    return _Journey(
        asked=0 if request.main_frame else clock.logged(asked_ms(request)),
        sending=sending,
        answered=answered,
        ended=clock.logged(ended_ms),
        told=sending_ms is not None,
        at_server=at_server,
        connection=None if served is None else served.connection,
    )


def _handshakes(log: BrowserLog, clock: Clock) -> Iterator[InstantSpan]:
    lookups = (lookup for spans in log.lookups.values() for lookup in spans)
    connecting = (
        connection.connecting for connection in log.connections if connection.connecting is not None
    )
    for span in (*lookups, *connecting):
        yield clock.logged(span.began_ms), clock.logged(span.ended_ms)


def _at_the_server(journeys: Iterable[_Journey]) -> Iterator[InstantSpan]:
    """When the server had requests; not while an answer came on the same connection, for which the others wait."""
    connections: defaultdict[object, list[_Journey]] = defaultdict(list)
    for journey in journeys:
        connections[journey.connection].append(journey)
    for carried in connections.values():
        receiving = union((journey.answered, journey.ended) for journey in carried)
        yield from without(union(journey.at_server for journey in carried if journey.at_server), receiving)


def _main_thread(evidence: Evidence, clock: Clock, free: InstantSpans) -> InstantSpans:
    """When the main thread ran: by the trace or, without one, within steps as early as nothing else was going on."""
    traced = evidence.of(Trace).main_thread
    if traced is not None:
        return union(traced.tasks_us)
    return union(span for stretch in evidence.of(Processor).runs for span in _within(stretch, clock, free))


def _within(stretch: Stretch, clock: Clock, free: InstantSpans) -> Iterator[InstantSpan]:
    began, ended = clock.monotonic((stretch.began_us, stretch.ended_us))
    return beginning(between(free, began, ended), stretch.ran_us)


@dataclass(frozen=True)
class LoadAccount:
    """How many us of a recorded load were of each class, so how much of it a replay can account for.

    They add up to the whole. A recording tells requests and not packets: an answer is arriving from its first to its
    last byte, and a request waits at a server from one round trip after it was sent, as the client sees it, until it
    is answered. Where no round trip to a host is known none of the wait counts for its server. So what link, distances,
    think times and bytes account for is an upper bound: answers also arrive while the link is idle, as a window is
    shut or the browser reads slowly.

    `UNKNOWN` is when no request was under way: the page's own work, and what the recording does not tell. `least`:
    some think times count as round trips, as the recording does not tell how far their hosts are.
    """

    waited: Mapping[Waiting, int]
    least: bool

    @classmethod
    def of(cls, load: RecordedLoad, round_trips_ms: Mapping[str, float]) -> LoadAccount:
        """`round_trips_ms` are those of the recording, by host."""
        asking = union((_us(request.asked_ms), _us(request.sending_ms)) for request in load.requests)
        thinking = (
            (_us(request.sending_ms + round_trips_ms[request.host]), _us(request.answered_ms))
            for request in load.requests
            if request.host in round_trips_ms
        )
        seen = {
            Waiting.DOWN: union(
                (_us(request.answered_ms), _us(request.ended_ms)) for request in load.requests
            ),
            Waiting.HANDSHAKES: common(union((_us(a), _us(b)) for a, b in load.handshakes), asking),
            Waiting.SERVER: union(thinking),
            Waiting.ROUND_TRIPS: union(
                (_us(request.sending_ms), _us(request.ended_ms)) for request in load.requests
            ),
        }
        return cls(
            split(_us(load.took_ms), seen),
            any(request.host not in round_trips_ms for request in load.requests),
        )

    def __str__(self) -> str:
        ms = {waiting: took_us / 1000 for waiting, took_us in self.waited.items()}
        whole, rest = sum(ms.values()), ms[Waiting.UNKNOWN]
        return (
            f"recorded load: {whole:,.0f} ms; link, distances, think times and bytes account for at most "
            f"{100 * (whole - rest) / whole:.0f} % of it: {ms[Waiting.DOWN]:,.0f} ms answers arriving, "
            f"{ms[Waiting.HANDSHAKES]:,.0f} ms look-ups and handshakes, {ms[Waiting.ROUND_TRIPS]:,.0f} ms round trips, "
            f"{'at least ' * self.least}{ms[Waiting.SERVER]:,.0f} ms think times; "
            f"in {rest:,.0f} ms no request was under way"
        )


def _us(ms: float) -> int:
    return round(ms * 1000)
