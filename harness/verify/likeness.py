"""Whether a page renders like another load of it: a variant like its original, an engine like another one. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter

from harness.probes.loadedpage import Screenful
from harness.records import Record
from harness.verify.behaviour import AS_RECORDED, AS_THE_ORIGINAL, Behaviour, Differences, Terms, differences

GreyPixels = NDArray[np.float64]
SIGMA, RADIUS = 1.5, 5
LEVELS = 255
SCALE = 256  # pixels of the shorter side
LEAST_CONTENT = 0.05
_C1, _C2 = (0.01 * LEVELS) ** 2, (0.03 * LEVELS) ** 2


def similarity_of(one: bytes, other: bytes) -> float:
    """How alike two image files are in grey, 1 for equal ones; 0 when their sizes differ.

    What is lost in structural similarity, summed over the picture and divided by the part of it that shows anything
    in either: blank paper around a text that has moved must not make up for it. That part counts as a twentieth of
    the picture at least.
    """
    if one == other:
        return 1.0
    first, second = _grey(one), _grey(other)
    if first.shape != second.shape:
        return 0.0
    alike, varied = structure(first.astype(np.float64), second.astype(np.float64))
    content = max(float(np.mean(varied)), LEAST_CONTENT)
    return max(0.0, 1.0 - float(np.mean(1.0 - alike)) / content)


def structure(first: GreyPixels, second: GreyPixels) -> tuple[GreyPixels, NDArray[np.bool_]]:
    """Structural similarity at each pixel, and where there is anything to see in one of the pictures.

    Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to structural similarity",
    IEEE Trans. Image Processing 13 (2004), with its Gaussian window of 11 x 11 and constants.
    """
    mean_1, mean_2 = _blurred(first), _blurred(second)
    variance_1 = _blurred(first * first) - mean_1 * mean_1
    variance_2 = _blurred(second * second) - mean_2 * mean_2
    covariance = _blurred(first * second) - mean_1 * mean_2
    luminance = (2 * mean_1 * mean_2 + _C1) / (mean_1**2 + mean_2**2 + _C1)
    contrast = (2 * covariance + _C2) / (variance_1 + variance_2 + _C2)
    return luminance * contrast, variance_1 + variance_2 > _C2


def _blurred(pixels: GreyPixels) -> GreyPixels:
    blurred: GreyPixels = gaussian_filter(pixels, SIGMA, radius=RADIUS)
    return blurred


@lru_cache(maxsize=256)
def _grey(data: bytes) -> NDArray[np.uint8]:
    """At the scale the method's authors recommend: reduced by the whole number that brings the shorter side nearest
    to 256 pixels, so that what an eye at a normal distance does not see (the grain of a photograph) does not count.
    """
    image = Image.open(BytesIO(data)).convert("L")
    return np.asarray(image.reduce(max(1, round(min(image.size) / SCALE))))


# Measured on the pages named in docs/results/variants.md, which says what whole and broken variants have.
LEAST_SIMILARITY = 0.95
_VARYING = re.compile(r"https?://[^\s'\"<>)]+|\d+")


# A page works in an engine that asks for as much of what the reference asks for; with script errors of its own, more.
LEAST_REQUESTED = 0.5
LEAST_REQUESTED_WITH_ERRORS = 0.75
FONTS = re.compile(r"\.(woff2?|ttf|otf|eot)(\?|$)")


@dataclass(frozen=True)
class EngineFit:
    """A load in an engine held against one of the same page in the reference engine.

    `similarity` is that of the two screenshots, `more` and `missing` are URLs, `errors` those the reference has not.
    """

    engine: str
    reference: str
    reasons: tuple[str, ...]
    similarity: float | None
    more: tuple[str, ...]
    missing: tuple[str, ...]
    errors: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.reasons

    def __str__(self) -> str:
        alike = (
            "" if self.similarity is None else f", similarity of the first screenful {self.similarity:.3f}"
        )
        verdict = "works" if self.ok else f"does NOT work ({'; '.join(self.reasons)})"
        return (
            f"the page {verdict} in {self.engine}: against {self.reference} {len(self.more)} more requests, "
            f"{len(self.missing)} missing, {len(self.errors)} more errors in the console{alike}"
        )

    @property
    def details(self) -> tuple[str, ...]:
        """The URLs and errors, a line each; fonts together."""
        return (*_grouped("only here", self.more), *_grouped("missing", self.missing), *self._told_errors)

    @property
    def _told_errors(self) -> tuple[str, ...]:
        return tuple(f"console: {text}" for text in self.errors)


def engine_fit(here: Record, there: Record, shown: bytes | None, reference: bytes | None) -> EngineFit:
    """Whether the page of `there`, a load in the reference engine, works in the engine of `here`; and screenshots."""
    asked, expected = set(here.observation.requested), set(there.observation.requested)
    known = {_bare(error) for error in there.observation.console_errors or ()}
    errors = tuple(error for error in here.observation.console_errors or () if _bare(error) not in known)
    share = len(asked & expected) / len(expected) if expected else 0.0
    reasons = []
    if there.reason is not None or here.reason is not None:
        failed = here if here.reason is not None else there
        reasons.append(f"{failed.planned.condition.engine}: {failed.outcome}, {failed.reason}")
    elif here.observation.blank:
        reasons.append("it shows nothing")
    if not reasons and share < LEAST_REQUESTED:
        reasons.append(f"it asks for {share:.0%} of what it should")
    elif not reasons and errors and share < LEAST_REQUESTED_WITH_ERRORS:
        reasons.append(f"a script stops: it asks for {share:.0%} of what it should, {errors[0]}")
    return EngineFit(
        engine=str(here.planned.condition.engine),
        reference=str(there.planned.condition.engine),
        reasons=tuple(reasons),
        similarity=similarity_of(reference, shown) if reference and shown else None,
        more=tuple(sorted(asked - expected)),
        missing=tuple(sorted(expected - asked)),
        errors=errors,
    )


def _grouped(what: str, urls: Sequence[str]) -> list[str]:
    fonts = [url for url in urls if FONTS.search(url)]
    said = [f"{what}: {url}" for url in urls if url not in fonts]
    if len(fonts) > 1:
        return [*said, f"{what}: {len(fonts)} fonts, such as {fonts[0]}"]
    return [*said, *(f"{what}: {url}" for url in fonts)]


@dataclass(frozen=True)
class Look:
    """One load: its record, the screenfuls of the page (PNG), and what the page did."""

    record: Record
    screens: Mapping[Screenful, bytes]
    behaviour: Behaviour


@dataclass(frozen=True)
class Likeness:
    """A variant held against its original on one device.

    `similarity` is that of the least alike screenful (`screenful` of so many `screens`; None: there is no comparison).
    `unsteady` are those that differ, but also from one load of the original to the next: they tell nothing. `reason` is
    why the load failed.
    """

    variant: str
    device: str
    similarity: float | None = None
    screenful: Screenful | None = None
    screens: int = 0
    unsteady: tuple[Screenful, ...] = ()
    differences: Differences = AS_THE_ORIGINAL
    reason: str | None = None

    @property
    def ok(self) -> bool:
        alike = self.similarity is not None and self.similarity >= LEAST_SIMILARITY
        return alike and not self.differences

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
        if self.differences:
            seen.append(str(self.differences))
        return "; ".join(seen)


def likeness(
    variant: str, originals: Sequence[Look], looks: Sequence[Look], terms: Terms = AS_RECORDED
) -> Likeness:
    """Loads of the original and of a variant with these terms; a page may look otherwise each time.

    Each screenful counts by its most alike pair; of what the page does counts what every load of the variant has and
    no load of the original, and the reverse.
    """
    device = looks[0].record.planned.condition.device.name
    whole = [look for look in looks if look.screens and look.record.reason is None]
    known = [look for look in originals if look.screens]
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
        screens=max(number for look in whole for number, _ in look.screens),
        unsteady=tuple(sorted(alike.keys() - steady.keys())),
        differences=differences(
            [look.behaviour for look in known], [look.behaviour for look in whole], terms
        ),
    )


def _alike(pairs: Iterable[tuple[Look, Look]]) -> dict[Screenful, float]:
    """The similarity of each screenful by its most alike pair; 0 for one that the other load does not have."""
    best: dict[Screenful, float] = {}
    for one, other in pairs:
        for screenful in one.screens.keys() | other.screens.keys():
            first, second = one.screens.get(screenful), other.screens.get(screenful)
            alike = similarity_of(first, second) if first and second else 0.0
            best[screenful] = max(alike, best.get(screenful, 0.0))
    return best


def _bare(message: str) -> str:
    """A message without URLs and numbers: lines and file names are others once files are joined."""
    return _VARYING.sub("", message)
