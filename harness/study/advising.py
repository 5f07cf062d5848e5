"""What could be done to a page, one change at a time, and the study that measures it. Pure.

The study has the page as archived on every link, and beside it conditions that differ from it in one thing each: its
figures name them, and only what figures hold is measured. Which to try first is a guess from what is known before any
load: bytes and requests that a change would spare. It decides the order alone, never a result.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from harness.input import jsontext
from harness.model.condition import CODED_AS_RECORDED, USUAL_FACTOR, CacheState, Origins
from harness.model.engine import DESKTOP, Device
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.variant import PLAIN, parse_variant
from harness.study.figure import MAX_SERIES
from harness.study.studytext import StudyText

UNTIL = "3 %"  # half-width at which a change is known: the margin of reports
MOST_BLOCKS = 60
OVERHEAD_S = 60.0  # opening the lab, measuring its links, writing the report
SPARE = 1.25  # of the time of loads: attempts that are repeated, waits for a quiet machine
TWICE = 2  # loads of the page as archived in a block: A/A
ONE_HOST = "one host"
CHOICES = "alternatives.jsonl"  # in a run directory


@dataclass(frozen=True)
class Alternative:
    """One change of a page.

    `changes`: the dimensions in which a condition with it differs from the page as archived. `takes`: what it would
    take. `fewer_bytes` of bodies and `fewer_round_trips` are known or guessed before any load.
    `files` differ with it. `repeat_view`: it is measured on repeat views, against the page as archived on these.
    """

    name: str
    does: str
    takes: str
    changes: Mapping[str, str]
    fewer_bytes: int = 0
    fewer_round_trips: float = 0.0
    files: tuple[str, ...] = ()
    repeat_view: bool = False

    def promises_s(self, links: Sequence[Link]) -> float:
        """About how many seconds it may save, a mean over the links."""
        saved = (
            8 * self.fewer_bytes / (link.down.rate.mean_mbps * 1e6)
            + self.fewer_round_trips * link.rtt_ms / 1e3
            for link in links
        )
        return math.fsum(saved) / len(links)


@dataclass(frozen=True)
class Choices:
    """What there is to choose from, as it is kept beside the plan of a run: advice is made of this and its records.

    `tried` are measured. `idle` would change nothing of this page, and `untried` have no time: by name the reason.
    `protocol`: as a reader meets it, by which the page is served today.
    """

    protocol: str
    tried: tuple[Alternative, ...]
    idle: Mapping[str, str] = field(default_factory=dict)
    untried: Mapping[str, str] = field(default_factory=dict)
    schema: Literal[1] = 1

    def write(self, run: Path) -> None:
        """Into a run directory, as one line."""
        (run / CHOICES).write_bytes(msgspec.json.encode(self) + b"\n")

    @classmethod
    def read(cls, run: Path) -> Choices | None:
        """Those of a run directory; None of a run that is no advice. RecordsError when they are damaged."""
        decoder = msgspec.json.Decoder(cls)
        lines = jsontext.each(run / CHOICES, lambda line: jsontext.decoded(line, decoder))
        return next((choices for _, choices in lines), None)


def most_promising_first(alternatives: Iterable[Alternative], links: Sequence[Link]) -> list[Alternative]:
    """In the order in which they are worth trying: by what they promise.

    The best of each kind, as another protocol, comes before what is of a kind with one of these; a part of an earlier
    variant comes last, as the filters of a set do.
    """
    promising = sorted(alternatives, key=lambda each: -each.promises_s(links))
    kinds: set[tuple[object, ...]] = set()
    ranks: dict[str, int] = {}
    filters: list[frozenset[str]] = []
    for alternative in promising:
        kind = (alternative.repeat_view, *alternative.changes)
        mine = frozenset(parse_variant(alternative.changes.get("variant", PLAIN)).filters)
        is_part = any(mine and mine < whole for whole in filters)
        ranks[alternative.name] = 0 if kind not in kinds else 2 if is_part else 1
        kinds.add(kind)
        filters.append(mine)
    return sorted(promising, key=lambda each: ranks[each.name])


@dataclass(frozen=True)
class Budget:
    """The time there is, and how long a first and a repeat view on all links take, in seconds.

    `least`: blocks without which nothing can be known.
    """

    seconds: float
    view_s: float
    repeat_view_s: float
    least: int

    def block_s(self, alternatives: Sequence[Alternative]) -> float:
        """How long a block takes: every alternative once, what it is set against twice."""
        repeats = sum(alternative.repeat_view for alternative in alternatives)
        views = self.view_s * (TWICE + len(alternatives) - repeats)
        return views + (self.repeat_view_s * (TWICE + repeats) if repeats else 0.0)

    def needed_s(self, alternatives: Sequence[Alternative]) -> float:
        """About how long it takes to know anything of all of these."""
        return OVERHEAD_S + SPARE * self.least * self.block_s(alternatives)

    def fitting(self, alternatives: Iterable[Alternative]) -> list[Alternative]:
        """What can be tried in that time: each, in this order, for which there is still time."""
        tried: list[Alternative] = []
        for alternative in alternatives:
            if self.needed_s([*tried, alternative]) <= self.seconds:
                tried.append(alternative)
        return tried

    def blocks(self, alternatives: Sequence[Alternative]) -> int:
        """The most blocks of these that fit."""
        fit = (self.seconds - OVERHEAD_S) / (SPARE * self.block_s(alternatives))
        return max(self.least, min(MOST_BLOCKS, math.floor(fit)))


@dataclass(frozen=True)
class Advising:
    """The study: a page by a protocol on links that ship, these alternatives, from `least` to `most` blocks.

    `metrics` of vitals are compared, too, in claims named `ALTERNATIVE, METRIC`.
    """

    page: str
    protocol: Protocol
    links: tuple[str, ...]
    alternatives: tuple[Alternative, ...]
    least: int
    most: int
    notes: tuple[str, ...] = field(default=())
    device: Device = DESKTOP
    metrics: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"advise-{self.page}"

    @property
    def text(self) -> StudyText:
        """As its file has it; `notes` stand above it as comments."""
        return StudyText("".join(f"{line}\n" for line in self._lines()))

    @property
    def _as_archived(self) -> dict[str, str]:
        base = {"variant": PLAIN, "protocol": self.protocol.value, "compression": CODED_AS_RECORDED}
        return base | ({"factor": USUAL_FACTOR} if self._has_one_host else {})

    @property
    def _has_one_host(self) -> bool:
        return any("factor" in alternative.changes for alternative in self.alternatives)

    def _lines(self) -> Iterator[str]:
        yield from (f"# {note}" for note in self.notes)
        caches = [
            CacheState.COLD,
            *[CacheState.WARM] * any(alternative.repeat_view for alternative in self.alternatives),
        ]
        keys: dict[str, Any] = {
            "name": self.name,
            "title": f"What would make {self.page} faster",
            "pages": [self.page],
            "variants": self._values("variant"),
            "protocols": self._values("protocol"),
            "compression": self._values("compression"),
            "cache": caches,
            "origins": Origins.RECORDED,
            "links": list(self.links),
            "trials": {"least": self.least, "most": self.most, "until": UNTIL}
            if self.least < self.most
            else self.least,
            "only_figures": True,
            **({} if self.device is DESKTOP else {"device": self.device.name}),
            **({"vitals": True} if self.metrics else {}),
            "portraits": False,  # all the time there is goes into measuring
        }
        yield from (f"{key} = {toml_of(value)}" for key, value in keys.items())
        if self._has_one_host:
            only = {
                "variants": [PLAIN],
                "protocols": [self.protocol],
                "compression": CODED_AS_RECORDED,
                "cache": ["cold"],
            }
            yield from _table("factors", {"name": ONE_HOST, "origins": Origins.SINGLE, **only})
        for cache in caches:
            mine = [
                alternative
                for alternative in self.alternatives
                if alternative.repeat_view is (cache is CacheState.WARM)
            ]
            for number, start in enumerate(range(0, len(mine), MAX_SERIES - 1), 1):
                yield from self._figure(f"{cache}-{number}", cache, mine[start : start + MAX_SERIES - 1])
        for alternative in self.alternatives:
            yield from self._claim(alternative)

    def _values(self, dimension: str) -> list[str]:
        """The values of a dimension, the page's own first."""
        own = self._as_archived[dimension]
        return list(
            dict.fromkeys(
                [own, *(alternative.changes.get(dimension, own) for alternative in self.alternatives)]
            )
        )

    def _figure(self, name: str, cache: CacheState, alternatives: Sequence[Alternative]) -> Iterator[str]:
        base = {"label": "as archived", **self._as_archived}
        series = [{**base, "label": alternative.name, **alternative.changes} for alternative in alternatives]
        yield from _table(
            "figures",
            {
                "name": name,
                "title": f"One change at a time, {'repeat' if cache is CacheState.WARM else 'first'} views",
                "kind": "points",
                "x": "link",
                "series": [base, *series],
                "reference": self._as_archived,
                "where": {"cache": cache},
            },
        )

    def _claim(self, alternative: Alternative) -> Iterator[str]:
        base, changes = self._as_archived, alternative.changes
        cache = CacheState.WARM if alternative.repeat_view else CacheState.COLD
        alike = {name: value for name, value in base.items() if name not in changes}
        keys = {
            "name": alternative.name,
            "subject": dict(changes),
            "reference": {name: base[name] for name in changes},
            "where": {**alike, "cache": cache},
        }
        for metric in ("", *self.metrics):
            named = {"name": f"{alternative.name}, {metric}", "metric": metric} if metric else {}
            yield from _table("claims", keys | named)


def _table(name: str, keys: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield f"[[{name}]]"
    yield from (f"{key} = {toml_of(value)}" for key, value in keys.items())


def toml_of(value: Any) -> str:
    """A value as a study file says it."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key} = {toml_of(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_of, value))}]"
    return json.dumps(value)
