"""Holds variants of a page against the original in the browser, and finds the filters that break the page."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import harness
from harness.errors import Outcome, TestbedFailed
from harness.lab.calibrate import check_link
from harness.model.condition import Condition
from harness.model.engine import DEFAULT_ENGINE, Device, Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.model.trials import PlannedTrial
from harness.model.variant import AS_ARCHIVED, PASSTHROUGH, Variant, parse_variant
from harness.probes.evidence import Evidence
from harness.probes.loadedpage import Screenful, taken
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.system.enclosure import WORKSPACE
from harness.system.files import utc_now
from harness.trial.trial import BrowserLab, browser_lab, run_observed
from harness.verify.behaviour import AS_RECORDED, Behaviour, Terms
from harness.verify.likeness import Likeness, Look, likeness
from sites.archive import Archive
from sites.optimise.derive import Derived, derive
from sites.optimise.findings import Breakage
from sites.optimise.page import Page

LINK = Link.of(20, 20)
OPTIONS = TrialOptions(timeout_s=60.0, keep=("screens",), linger_s=1.0)
LOADS = 3  # of each, as long as no pair is alike


@dataclass(frozen=True)
class Where:
    """In which engine variants are held against their original, on which devices, by which protocol."""

    protocol: Protocol
    devices: tuple[Device, ...]
    engine: Engine = DEFAULT_ENGINE


@dataclass(frozen=True)
class Finding:
    """A variant on each device, and the filters that break it: `mended` is what is left, if anything, without them.
    `by_itself` is the original held against itself, when that differs as well: then no filter is blamed.
    """

    asked: tuple[Likeness, ...]
    broken_by: tuple[Breakage, ...] = ()
    mended: tuple[Likeness, ...] = ()
    by_itself: tuple[Likeness, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the variant, without what breaks it, renders like its original."""
        return all(result.ok for result in (self.mended if self.broken_by else self.asked))


def check_variants(
    archive: Archive,
    variants: Sequence[Variant],
    where: Where,
    *,
    mend: bool = True,
    keep: Path | None = None,
) -> Iterator[Finding]:
    """Load original and variants on each device and compare them; `keep` is a folder for all screenshots.

    Must run inside an enclosure. Raises MeasurementRefused when the link is off.
    """
    with browser_lab({archive.name: archive}, [where.protocol], engine=where.engine) as opened:
        check_link(opened.testbed, LINK)
        comparison = _Comparison(opened, archive, where, keep)
        for variant in variants:
            asked = tuple(comparison.of(variant, device) for device in where.devices)
            if mend and not all(result.ok for result in asked):
                yield _mended(comparison, variant, where.devices, asked)
            else:
                yield Finding(asked)


def _mended(
    comparison: _Comparison,
    variant: Variant,
    devices: Sequence[Device],
    asked: tuple[Likeness, ...],
) -> Finding:
    filters = tuple(step.filter for step in comparison.derived(variant).report.steps)
    seen = {filters: asked}

    def check(some: Sequence[str]) -> bool:
        """Whether the page is whole with some of the filters; the devices where it was not come first."""
        if tuple(some) not in seen:
            part = parse_variant(",".join(some) or PASSTHROUGH).with_settings(variant.settings)
            seen[tuple(some)] = tuple(_until_broken(comparison, part, order))
        return all(result.ok for result in seen[tuple(some)])

    broken = {result.device for result in asked if not result.ok}
    order = sorted(devices, key=lambda each: each.name not in broken)
    if not check(()):
        return Finding(asked, by_itself=seen[()])
    breakages = []
    for name, together in breaking(filters, check):
        why = next(result for result in seen[together] if not result.ok)
        with_others = f" with {', '.join(together[:-1])}" if len(together) > 1 else ""
        breakages.append(
            Breakage(
                name,
                f"{why.device}{with_others}: {why.described}",
                variant.name,
                utc_now(),
                comparison.engine.value,
                why.device,
                variant.settings,
                comparison.digest,
                harness.__version__,
            )
        )
    gone = {breakage.filter for breakage in breakages}
    left = tuple(name for name in filters if name not in gone)
    return Finding(asked, tuple(breakages), seen.get(left, ()) if breakages else ())


def _until_broken(comparison: _Comparison, variant: Variant, devices: Iterable[Device]) -> Iterator[Likeness]:
    """The variant on one device after the other, up to the first where it is broken."""
    for device in devices:
        result = comparison.of(variant, device)
        yield result
        if not result.ok:
            return


def breaking(
    filters: Sequence[str], is_whole: Callable[[Sequence[str]], bool]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The filters to leave out so that the rest is whole, each with the filters it was found to break the page with.

    Filters join in their order: the one with which the page is no longer whole is found by halving, left out, and
    the search goes on with the rest. Of two that break the page only together it is the later one.
    """
    left = list(filters)
    while left and not is_whole(left):
        whole, broken = 0, len(left)
        while broken - whole > 1:
            middle = (whole + broken) // 2
            if is_whole(left[:middle]):
                whole = middle
            else:
                broken = middle
        yield left[whole], tuple(left[:broken])
        del left[whole]


class _Comparison:
    """Loads of one page on one lab; the original's are made once for all variants."""

    def __init__(self, opened: BrowserLab, archive: Archive, where: Where, keep: Path | None) -> None:
        self._lab = opened
        self._archive = archive
        self._where = where
        self._keep = keep
        self._originals: dict[str, list[Look]] = {}
        self._terms = {AS_ARCHIVED: AS_RECORDED}

    @property
    def engine(self) -> Engine:
        return self._where.engine

    @property
    def digest(self) -> str:
        """That of the original."""
        return self._archive.digest

    @cached_property
    def _page(self) -> Page:
        return Page.of(self._archive)

    def of(self, variant: Variant, device: Device) -> Likeness:
        """The variant against the original on a device, by as many loads as it takes."""
        if variant not in self._terms:
            self._serve(variant)
        originals = self._originals.setdefault(device.name, [])
        if not originals:
            originals.append(self._look(AS_ARCHIVED, device))
        looks = [self._look(variant, device)]
        terms = self._terms[variant]
        result = likeness(variant.name, originals, looks, terms)
        while not result.ok and len(looks) < LOADS:
            if len(originals) < LOADS:
                originals.append(self._look(AS_ARCHIVED, device))
            looks.append(self._look(variant, device))
            result = likeness(variant.name, originals, looks, terms)
        return result

    def _serve(self, variant: Variant) -> None:
        derived = self.derived(variant)
        self._lab.testbed.serve(
            derived.archive,
            [self._where.protocol],
            Replay.usual(self.engine),
            self.engine.traits.server,
            self._where.engine,
        )
        self._terms[variant] = Terms.of(derived.report, self._page, Page.of(derived.archive))

    def derived(self, variant: Variant) -> Derived:
        """The variant as the engine gets it."""
        return derive(self._archive, variant, self._where.engine)

    def _look(self, variant: Variant, device: Device) -> Look:
        plain = Condition.usual(self._archive.name, self._where.protocol, LINK, self.engine)
        condition = replace(plain, variant=variant, device=device)
        record, evidence, screens = self._load(condition)
        if self._keep is not None:
            kept = self._keep / f"{variant.served_name(self._archive.name)}-{device.name}"
            shutil.rmtree(kept, ignore_errors=True)
            kept.mkdir(parents=True)
            for path in screens.values():
                shutil.copy(path, kept)
        shown = {each: path.read_bytes() for each, path in screens.items()}
        return Look(record, shown, Behaviour.of(evidence, self._terms[variant]))

    def _load(self, condition: Condition) -> tuple[Record, Evidence, dict[Screenful, Path]]:
        """One load and its screenshots; TestbedFailed when it is not the page's fault, several times in a row."""
        planned = PlannedTrial("00001", 1, 1, condition)
        files = WORKSPACE / "look"
        for _ in range(LOADS):
            shutil.rmtree(files, ignore_errors=True)
            record, evidence = run_observed(self._lab.testbed, self._lab.browsers, planned, OPTIONS, files)
            if evidence is not None and record.outcome is not Outcome.TESTBED_FAILED:
                return record, evidence, taken(files / "screens")
        raise TestbedFailed(f"the testbed failed {LOADS} times in a row, last: {record.reason}")
