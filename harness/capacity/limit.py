"""Who was the limit of a server under load: what ran out, told from the readings of each second. Pure.

In one second, the first of these that holds, because what stands above makes what stands below look full or idle:

| limit | holds when |
| --- | --- |
| generator-cpu | the generator has run out of CPU |
| emulator | the emulator has run out of CPU |
| link | what crossed in a direction is LINK_FULL of the rate that all clients share there |
| server-cpu | the server has run out of CPU |
| workers | no worker was idle and ALL that there may be were busy, or ALL connections that there may be were open |

Apache's event MPM lets in one connection for each worker and some for each idle one: the more of them work, the fewer
connections may be open.

A part has run out of CPU when it used FULL of as many cores as it can keep busy: few, where it has few threads. It also
has when its cores were full and it was the one who filled them: less than SPARE of them was idle, the parts that share
them used OURS of them (else other programs did, and the machine was busy), and of these it used the most. Of a
generator or an emulator it is enough to have used HELD of such cores: then the server had to wait for them.

So with a core for each, a part is held against its own; where all share two, the idle time of both tells that the CPU
ran out, and who had most of it, who was the limit.

A trial's limit is what first held for SHARE of STRETCH_S: what runs out first makes the rest pile up later. A generator
or an emulator that ran out so at any time is the limit whatever ran out before: it spoils the trial, which does not
count (`generator-saturated`, `emulator-saturated`: harness.model.soundness).
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean

from harness.capacity.series import Second

FULL = 0.90  # the rest of a core is lost between one thing to do and the next
LINK_FULL = 0.95
ALL = 0.98
SPARE = 0.05
OURS = 0.60
HELD = 0.40
STRETCH_S = 10.0
SHARE = 0.5
GROWING = ("server_cpu_s", "generator_cpu_s", "emulator_cpu_s", "down_bytes", "up_bytes")


class Bottleneck(StrEnum):
    """What ran out."""

    WORKERS = "workers"
    SERVER_CPU = "server-cpu"
    GENERATOR_CPU = "generator-cpu"
    EMULATOR = "emulator"
    LINK = "link"
    NOTHING = "nothing"


SPOILING = frozenset({Bottleneck.GENERATOR_CPU, Bottleneck.EMULATOR})


@dataclass(frozen=True)
class Part:
    """The cores of the server, the generator or the emulator, by the kernel's numbers, and how many it can keep busy.

    `most` is less than there are where it has fewer threads.
    """

    cores: tuple[int, ...]
    most: int

    @classmethod
    def on(cls, cores: Sequence[int], threads: int | None = None) -> Part:
        """A part on these cores; with so many threads that work, None: as many as it likes."""
        return cls(tuple(cores), len(cores) if threads is None else min(threads, len(cores)))


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """What there is to run out. None: there is no such limit, or nobody knows it.

    `workers` is how many there may be; the status page holds one of them, which readings leave out. `slots` is how many
    connections can be open, `slots_per_idle` how many of them hang on each idle worker (None: none do). The rates are
    those that all clients share.
    """

    server: Part
    generator: Part
    emulator: Part
    workers: int | None = None
    slots: int | None = None
    slots_per_idle: int | None = None
    down_mbps: float | None = None
    up_mbps: float | None = None


def bottleneck(seconds: Sequence[Second], capacity: Capacity) -> Bottleneck:
    """The limit of a trial with these readings, the first of which began at 0."""
    lasting = list(filter(None, map(_lasting, _stretches(_timed(seconds, capacity)))))
    spoiling = [each for each in lasting if each in SPOILING]
    return next(iter((*spoiling, *lasting)), Bottleneck.NOTHING)


def limit_of_second(second: Second, length_s: float, capacity: Capacity) -> Bottleneck:
    """What ran out in a second, which was so long."""
    server, generator, emulator = (
        _Load(capacity.server, second.server_cpu_s, length_s),
        _Load(capacity.generator, second.generator_cpu_s, length_s),
        _Load(capacity.emulator, second.emulator_cpu_s, length_s),
    )
    every = (server, generator, emulator)
    rules = {
        Bottleneck.GENERATOR_CPU: generator.is_out(every, second, HELD),
        Bottleneck.EMULATOR: emulator.is_out(every, second, HELD),
        Bottleneck.LINK: _is_full(second.down_bytes, length_s, capacity.down_mbps)
        or _is_full(second.up_bytes, length_s, capacity.up_mbps),
        Bottleneck.SERVER_CPU: server.is_out(every, second),
        Bottleneck.WORKERS: _all_work(second, capacity.workers)
        or _reaches(second.server_connections, _slots(second, capacity)),
    }
    return next((limit for limit, holds in rules.items() if holds), Bottleneck.NOTHING)


def shares_used(seconds: Sequence[Second], capacity: Capacity) -> dict[Bottleneck, float]:
    """The share of each part that was used in a stretch of readings, on average; of parts of which something is known.

    A part that shares its cores has no more of them than the others leave, so these cores' use is its own.
    """
    seen = [(second, length) for second, length in _lengths(seconds) if length > 0]
    whole = math.fsum(length for _, length in seen)
    if not whole:
        return {}

    def cores(part: Part, told: Iterable[float | None]) -> _Load | None:
        values = [value for value in told if value is not None]
        return _Load(part, math.fsum(values), whole) if values else None

    loads = {
        Bottleneck.SERVER_CPU: cores(capacity.server, (each.server_cpu_s for each, _ in seen)),
        Bottleneck.GENERATOR_CPU: cores(capacity.generator, (each.generator_cpu_s for each, _ in seen)),
        Bottleneck.EMULATOR: cores(capacity.emulator, (each.emulator_cpu_s for each, _ in seen)),
    }
    known = {limit: load for limit, load in loads.items() if load is not None}
    used = {
        limit: max(load.used / load.part.most, load.together(known.values())) for limit, load in known.items()
    }
    ways = (
        (capacity.down_mbps, [each.down_bytes for each, _ in seen]),
        (capacity.up_mbps, [each.up_bytes for each, _ in seen]),
    )
    crossed = [sum(count or 0 for count in told) * 8 / 1e6 / whole / mbps for mbps, told in ways if mbps]
    there = [
        [(each.workers_busy, capacity.workers) for each, _ in seen],
        [(each.server_connections, _slots(each, capacity)) for each, _ in seen],
    ]
    taken = [
        fmean(shares)
        for told in there
        if (shares := [value / most for value, most in told if most and value is not None])
    ]
    for limit, shares in ((Bottleneck.LINK, crossed), (Bottleneck.WORKERS, taken)):
        if shares:
            used[limit] = max(shares)
    return used


@dataclass(frozen=True)
class _Load:
    """What a part used in a second: `used` in cores; 0 where nobody knows."""

    part: Part
    cpu_s: float | None
    length_s: float

    @property
    def used(self) -> float:
        return (self.cpu_s or 0.0) / self.length_s

    def together(self, every: Iterable[_Load]) -> float:
        """The share of its cores that it and those on any of them used."""
        mine = set(self.part.cores)
        return math.fsum(load.used for load in every if mine & set(load.part.cores)) / len(mine)

    def is_out(self, every: Sequence[_Load], second: Second, held: float | None = None) -> bool:
        """Whether it has run out of CPU; from `held` of its cores on also where another part used more of them."""
        if self.cpu_s is None:
            return False
        if self.used >= FULL * self.part.most:
            return True
        mine = set(self.part.cores)
        there = [load for load in every if mine & set(load.part.cores)]
        if not _are_full(mine, second) or sum(load.used for load in there) < OURS * len(mine):
            return False
        enough = held is not None and self.used >= held * len(mine)
        return enough or self.used == max(load.used for load in there)


def _are_full(cores: Collection[int], second: Second) -> bool:
    """Whether some cores were hardly idle; the whole machine where nobody tells of each."""
    by_core, machine = second.idle_by_core, second.machine_idle_share
    if by_core is not None and max(cores) < len(by_core):
        return fmean(by_core[core] for core in cores) < SPARE
    return machine is not None and machine < SPARE


def _is_full(crossed: int | None, length_s: float, mbps: float | None) -> bool:
    return crossed is not None and mbps is not None and crossed * 8 / 1e6 / length_s >= LINK_FULL * mbps


def _all_work(second: Second, workers: int | None) -> bool:
    busy = second.workers_busy
    return second.workers_idle == 0 and busy is not None and _reaches(busy + 1, workers)


def _slots(second: Second, capacity: Capacity) -> int | None:
    """How many connections could be open in a second: where they hang on idle workers and nobody told of these, all."""
    busy, idle, per_idle = second.workers_busy, second.workers_idle, capacity.slots_per_idle
    if per_idle is None or busy is None or idle is None:
        return capacity.slots
    return busy + 1 + idle * (1 + per_idle)


def _reaches(there: int | None, most: int | None) -> bool:
    return there is not None and most is not None and there >= ALL * most


@dataclass(frozen=True)
class _Timed:
    """A second, how long it was, and what ran out in it."""

    length_s: float
    limit: Bottleneck


def _timed(seconds: Sequence[Second], capacity: Capacity) -> list[_Timed]:
    """What ran out in each second that has a length."""
    return [
        _Timed(length, limit_of_second(each, length, capacity))
        for each, length in _lengths(_shared_out(seconds))
        if length > 0
    ]


def _shared_out(seconds: Sequence[Second]) -> Sequence[Second]:
    """The seconds, with what grew while nobody could tell of it in each of them by its length."""
    made = list(seconds)
    for name in GROWING:
        known = [place for place, second in enumerate(seconds) if getattr(second, name) is not None]
        for last, place in itertools.pairwise(known):
            span_s = seconds[place].t_s - seconds[last].t_s
            if place == last + 1 or span_s <= 0:
                continue
            for later in range(last + 1, place + 1):
                share = (seconds[later].t_s - seconds[later - 1].t_s) / span_s
                made[later] = replace(made[later], **{name: share * getattr(seconds[place], name)})
    return made


def _lengths(seconds: Sequence[Second]) -> list[tuple[Second, float]]:
    """Each second with its length, which is the time since the one before; the first one is as long as the second."""
    times = [second.t_s for second in seconds]
    lengths = [later - earlier for earlier, later in itertools.pairwise(times)]
    return list(zip(seconds, [lengths[0] if lengths else 1.0, *lengths], strict=False))


def _stretches(timed: Sequence[_Timed]) -> Iterator[Sequence[_Timed]]:
    """Every run of seconds that is STRETCH_S long; all of them where there are fewer."""
    start, length = 0, 0.0
    for end, each in enumerate(timed, start=1):
        length += each.length_s
        while length - timed[start].length_s >= STRETCH_S:
            length -= timed[start].length_s
            start += 1
        if length >= STRETCH_S or (end == len(timed) and start == 0):
            yield timed[start:end]


def _lasting(timed: Sequence[_Timed]) -> Bottleneck | None:
    """The limit that held for SHARE of the time; None when none did."""
    held: dict[Bottleneck, float] = defaultdict(float)
    for second in timed:
        held[second.limit] += second.length_s
    whole = math.fsum(held.values())
    held.pop(Bottleneck.NOTHING, None)
    most = max(held, key=lambda limit: held[limit], default=None)
    return None if most is None or held[most] < SHARE * whole else most
