"""Whether a variant of a page renders like its original: screenfuls, console errors, what is asked for. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.records import Record
from sites.optimise.similarity import similarity as similarity_of

# Measured on the pages named in docs/methodology.md, which says what whole and broken variants have.
LEAST_SIMILARITY = 0.95
_VARYING = re.compile(r"https?://[^\s'\"<>)]+|\d+")


@dataclass(frozen=True)
class Look:
    """One load: its record, the screenfuls of the page from the top (PNG), and the errors in its console."""

    record: Record
    screens: tuple[bytes, ...]
    console: tuple[str, ...]


@dataclass(frozen=True)
class Likeness:
    """A variant held against its original on one device.

    `similarity` is that of the least alike screenful (`screenful`, from 1; None: there is no comparison), `own` that
    of two loads of the original, when there were two. `missing` was asked for and is not archived, unlike anything
    the original asked for; `console` are errors that the original does not write; `reason` why the load failed.
    """

    variant: str
    device: str
    similarity: float | None = None
    screenful: int | None = None
    screens: int = 0
    own: float | None = None
    missing: tuple[str, ...] = ()
    console: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def needed(self) -> float:
        """What the similarity must reach: no more than the original's own, when that changes by itself."""
        return LEAST_SIMILARITY if self.own is None else min(LEAST_SIMILARITY, self.own)

    @property
    def ok(self) -> bool:
        alike = self.similarity is not None and self.similarity >= self.needed
        return alike and self.reason is None and not self.console and not self.missing

    def __str__(self) -> str:
        return f"{self.variant}, {self.device}: {'like the original' if self.ok else 'DIFFERS'}, {self.described}"

    @property
    def described(self) -> str:
        """What was seen."""
        seen = []
        if self.reason is not None:
            seen.append(self.reason)
        if self.similarity is not None:
            where = f"in screenful {self.screenful} of {self.screens}"
            seen.append(f"similarity {self.similarity:.3f} {where} (at least {self.needed:.3g})")
        if self.console:
            seen.append(f"new console errors: {' | '.join(self.console)}")
        if self.missing:
            seen.append(f"asks for what is not archived: {', '.join(self.missing)}")
        return "; ".join(seen)


def likeness(variant: str, originals: Sequence[Look], looks: Sequence[Look]) -> Likeness:
    """The most alike pair of an original's and a variant's load: a page may look otherwise each time."""
    own = max((_least(one, other)[0] for one, other in itertools.combinations(originals, 2)), default=None)
    pairs = [_pair(variant, original, look, own) for original in originals for look in looks]
    return max(pairs, key=lambda each: (each.ok, -len(each.console + each.missing), each.similarity or 0.0))


def _pair(variant: str, original: Look, look: Look, own: float | None) -> Likeness:
    device = look.record.planned.condition.device.name
    failed = next((each.record for each in (original, look) if not each.screens), None)
    if failed is not None:
        return Likeness(variant, device, reason=f"{failed.outcome}: {failed.reason or 'no screenshot'}")
    similarity, screenful = _least(original, look)
    missed = {_without_query(url) for url in original.record.observation.missed}
    known = {_bare(text) for text in original.console}
    return Likeness(
        variant,
        device,
        similarity,
        screenful,
        len(look.screens),
        own,
        tuple(url for url in look.record.observation.missed if _without_query(url) not in missed),
        tuple(dict.fromkeys(text for text in look.console if _bare(text) not in known)),
        look.record.reason,
    )


def _least(one: Look, other: Look) -> tuple[float, int]:
    """The similarity of the least alike screenful, and its number; 0 for a screenful that only one of them has."""
    pairs = itertools.zip_longest(one.screens, other.screens)
    return min(
        (similarity_of(first, second) if first and second else 0.0, number)
        for number, (first, second) in enumerate(pairs, 1)
    )


def _bare(message: str) -> str:
    """A message without URLs and numbers: lines and file names are others once files are joined."""
    return _VARYING.sub("", message)


def _without_query(url: str) -> str:
    """Two loads of a page put other times and random numbers into the queries of its beacons."""
    return url.partition("?")[0]
