"""How much of a recorded load's time what a replay sets can account for: link, distances, think times, bytes. Pure.

The time is divided as that of a measured load is (harness.probes.waits): instant by instant and without remainder, of
what goes on at once the first in the order of `Waiting`. A recording tells requests and not packets: an answer is
arriving from its first to its last byte, and a request waits at a server from one round trip after it was sent, as the
client sees it, until it is answered. Where no round trip to a host is known none of the wait counts for its server.

So it is an upper bound: answers also arrive while the link is idle, as a window is shut or the browser reads slowly.
While no request is under way none of the four accounts for anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.model.kind import Waiting
from harness.probes.waits import common, split, union
from sites.response import RecordedLoad

NOT_TOLD = (
    "recorded load: the archive does not tell its times; `coldload record`, `coldload archive --with browser` and HARs "
    "of Chrome and Firefox do"
)


@dataclass(frozen=True)
class LoadAccount:
    """How many us of a recorded load were of each class; they add up to the whole.

    `UNKNOWN` is when no request was under way: the page's own work, and what the recording does not tell. `least`:
    some think times count as round trips, as the recording does not tell how far their hosts are.
    """

    waited: Mapping[Waiting, int]
    least: bool

    @classmethod
    def of(cls, load: RecordedLoad, round_trips_ms: Mapping[str, float]) -> LoadAccount:
        """`round_trips_ms` are those of the recording, by host."""
        asking = union((_us(each.asked_ms), _us(each.sending_ms)) for each in load.requests)
        thinking = (
            (_us(each.sending_ms + round_trips_ms[each.host]), _us(each.answered_ms))
            for each in load.requests
            if each.host in round_trips_ms
        )
        seen = {
            Waiting.DOWN: union((_us(each.answered_ms), _us(each.ended_ms)) for each in load.requests),
            Waiting.HANDSHAKES: common(union((_us(a), _us(b)) for a, b in load.handshakes), asking),
            Waiting.SERVER: union(thinking),
            Waiting.ROUND_TRIPS: union((_us(each.sending_ms), _us(each.ended_ms)) for each in load.requests),
        }
        return cls(
            split(_us(load.took_ms), seen), any(each.host not in round_trips_ms for each in load.requests)
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
