"""Whether a variant of a page renders like its original: screenfuls, console errors, what is asked for. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.browser.screens import Screenful
from harness.records import Record
from sites.asked import normalised
from sites.optimise.similarity import similarity as similarity_of

# Measured on the pages named in docs/methodology.md, which says what whole and broken variants have.
LEAST_SIMILARITY = 0.95
_VARYING = re.compile(r"https?://[^\s'\"<>)]+|\d+")


@dataclass(frozen=True)
class Look:
    """One load: its record, the screenfuls of the page (PNG), and the errors in its console."""

    record: Record
    screens: Mapping[Screenful, bytes]
    console: tuple[str, ...]


@dataclass(frozen=True)
class Likeness:
    """A variant held against its original on one device.

    `similarity` is that of the least alike screenful (`screenful` of so many `screens`; None: there is no comparison).
    `unsteady` are those that differ, but also from one load of the original to the next: they tell nothing. `missing`
    was asked for and is not archived, unlike anything the original asked for; `console` are errors that the original
    does not write; `reason` why the load failed.
    """

    variant: str
    device: str
    similarity: float | None = None
    screenful: Screenful | None = None
    screens: int = 0
    unsteady: tuple[Screenful, ...] = ()
    missing: tuple[str, ...] = ()
    console: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def ok(self) -> bool:
        alike = self.similarity is not None and self.similarity >= LEAST_SIMILARITY
        return alike and not self.console and not self.missing

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
            seen.append(f"similarity {self.similarity:.3f} {where} (at least {LEAST_SIMILARITY})")
        if self.unsteady:
            numbers = ", ".join(map(str, self.unsteady))
            seen.append(f"screenful {numbers} not compared: the original changes there by itself")
        if self.console:
            seen.append(f"new console errors: {' | '.join(self.console)}")
        if self.missing:
            seen.append(f"asks for what is not archived: {', '.join(self.missing)}")
        return "; ".join(seen)


def likeness(variant: str, originals: Sequence[Look], looks: Sequence[Look]) -> Likeness:
    """Loads of the original and of the variant; a page may look otherwise each time.

    Each screenful counts by its most alike pair; errors and misses count that every load of the variant has and no
    load of the original.
    """
    device = looks[0].record.planned.condition.device.name
    whole = [each for each in looks if each.screens and each.record.reason is None]
    known = [each for each in originals if each.screens]
    if not whole or not known:
        failed = (looks if known else originals)[-1].record
        return Likeness(variant, device, reason=f"{failed.outcome}: {failed.reason or 'no screenshot'}")
    alike = _alike(itertools.product(known, whole))
    own = _alike(itertools.combinations(known, 2))
    steady = {
        each: value for each, value in alike.items() if max(value, own.get(each, 1.0)) >= LEAST_SIMILARITY
    }
    screenful = min(steady, key=lambda each: (steady[each], each), default=None)
    return Likeness(
        variant=variant,
        device=device,
        similarity=None if screenful is None else steady[screenful],
        screenful=screenful,
        screens=max(number for each in whole for number, _ in each.screens),
        unsteady=tuple(sorted(alike.keys() - steady.keys())),
        missing=_new(known, whole, lambda look: look.record.observation.missed, _path),
        console=_new(known, whole, lambda look: look.console, _bare),
    )


def _alike(pairs: Iterable[tuple[Look, Look]]) -> dict[Screenful, float]:
    """The similarity of each screenful by its most alike pair; 0 for one that the other load does not have."""
    best: dict[Screenful, float] = {}
    for one, other in pairs:
        for each in one.screens.keys() | other.screens.keys():
            first, second = one.screens.get(each), other.screens.get(each)
            alike = similarity_of(first, second) if first and second else 0.0
            best[each] = max(alike, best.get(each, 0.0))
    return best


def _new(
    originals: Sequence[Look],
    looks: Sequence[Look],
    texts: Callable[[Look], Iterable[str]],
    essence: Callable[[str], str],
) -> tuple[str, ...]:
    """What all looks have and no original has, by their essence."""
    known = {essence(text) for each in originals for text in texts(each)}
    always = set.intersection(*({essence(text) for text in texts(each)} for each in looks))
    return tuple(
        dict.fromkeys(
            text for text in texts(looks[0]) if essence(text) in always and essence(text) not in known
        )
    )


def _bare(message: str) -> str:
    """A message without URLs and numbers: lines and file names are others once files are joined."""
    return _VARYING.sub("", message)


def _path(url: str) -> str:
    """A variant joins scripts, which then draw other random numbers for the queries of their beacons."""
    return normalised(url).partition("?")[0]
