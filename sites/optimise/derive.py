"""Derived archives: made once for the content, the filters and the libraries they were made with, then kept.

They lie in `<archives>/.variants/<key>/<page>--<variant>/` as archives do, with `optimised.json` beside: what each
filter changed and left alone. That file is written last; without it the archive is made again.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import msgspec

import harness
from harness.errors import ArchiveError
from harness.model.engine import BROWSERS, DEFAULT_ENGINE, Engine
from harness.model.variant import Variant
from sites import rewrite
from sites.archive import Archive, open_archive, write_archive
from sites.optimise.inventory import Inventory
from sites.optimise.page import Note, Page, Resource
from sites.optimise.registry import REGISTRY
from sites.optimise.settings import DEFAULTS, FilterSettings, scale_of
from sites.optimise.switched import SwitchedOff, switched_off
from sites.warc import About
from sites.wholefolder import remove_leftovers

FOLDER, REPORT = ".variants", "optimised.json"
# Raised when a filter begins to give other bytes, so that variants made before are made again.
GENERATION = 5
LIBRARIES = (
    "tdewolff-minify",
    "rjsmin",
    "tinycss2",
    "Pillow",
    "pyoxipng",
    "mozjpeg-lossless-optimization",
    "brotli",
    "zstandard",
)
DIGEST_ROUNDS = 5


@dataclass(frozen=True)
class Step:
    """One filter's part: what there is once it is applied, how many resources it changed, what it left alone."""

    filter: str
    inventory: Inventory
    changed: int
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class VariantReport:
    """What became of a page: what there was before, each step, and the filters that were not applied.

    `off` break the page; `unserved` cannot serve the engine, each with the reason.
    """

    before: Inventory
    steps: tuple[Step, ...]
    off: tuple[SwitchedOff, ...] = ()
    unserved: Mapping[str, str] = field(default_factory=dict)

    @property
    def after(self) -> Inventory:
        return self.steps[-1].inventory if self.steps else self.before


@dataclass(frozen=True)
class Derived:
    """A variant of a page: its archive, how it came about, and whether it was made just now."""

    archive: Archive
    report: VariantReport
    fresh: bool


def variant_of(archive: Archive, variant: Variant, engine: Engine = DEFAULT_ENGINE) -> Archive:
    """The archive of that variant: the archive itself when it is plain, else the derived one, made if missing."""
    return archive if variant.is_plain else derive(archive, variant, engine).archive


def derive(
    archive: Archive,
    variant: Variant,
    engine: Engine = DEFAULT_ENGINE,
    settings: FilterSettings = DEFAULTS,
) -> Derived:
    """The derived archive for an engine, made if it is not there.

    Left out are filters that are switched off for the page or that cannot serve the engine; engines for which nothing
    is left out share one, unless images are resized for screens that only one of them can have.
    """
    off = tuple(
        each for each in switched_off(archive) if each.filter in variant.filters and each.applies_to(engine)
    )
    unserved = variant.unserved(engine)
    settings = _for_screens(engine, variant, settings)
    root = archive.folder.parent / FOLDER / _key(archive, variant, settings, off, unserved)
    name = variant.served_name(archive.name)
    report = _stored_report(root / name)
    if report is not None:
        return Derived(open_archive(root, name), report, fresh=False)
    for each in root.parent.glob("*"):  # a killed one may have left something under another key
        remove_leftovers(each)
    out = {*unserved, *(each.filter for each in off)}
    page, report = optimise(Page.of(archive), (name for name in variant.filters if name not in out), settings)
    report = replace(report, off=off, unserved=unserved)
    made = write_archive(
        root,
        name,
        About(
            page.start_url,
            archive.captured_with,
            archive.user_agent,
            (*archive.notes, *_described(archive, variant, report)),
        ),
        map(Resource.to_response, page.resources.values()),
    )
    temporary = root / name / f".{REPORT}"
    temporary.write_text(json.dumps(asdict(report), indent=1) + "\n", encoding="utf-8")
    temporary.replace(root / name / REPORT)
    return Derived(made, report, fresh=True)


def _for_screens(engine: Engine, variant: Variant, settings: FilterSettings) -> FilterSettings:
    """Settings for the sharpest screen that the engine, or the browser whose requests it repeats, can have."""
    if "resize_images" not in variant.filters:
        return settings
    browser = engine if engine in BROWSERS else Engine(engine.traits.like)
    return replace(settings, screen_scale=min(settings.screen_scale, scale_of(browser.traits.devices)))


def left_out_of(archive: Archive) -> tuple[SwitchedOff, ...] | None:
    """The filters that a derived archive goes without because they break the page; None for one that is not derived."""
    report = _stored_report(archive.folder)
    return report.off if report else None


def optimise(
    page: Page, filters: Iterable[str], settings: FilterSettings = DEFAULTS
) -> tuple[Page, VariantReport]:
    """Apply filters in the order given. Pure."""
    before = Inventory.of(page)
    steps = []
    for name in filters:
        old = page
        page, notes = REGISTRY[name].apply(page, settings)
        page = _follow_digests(old, page)
        changed = sum(1 for url, each in page.resources.items() if old.resources.get(url) is not each)
        steps.append(Step(name, Inventory.of(page), changed, notes))
    return page, VariantReport(before, tuple(steps))


def _follow_digests(old: Page, new: Page) -> Page:
    """Integrity digests of changed scripts and style sheets are renewed wherever a text names them."""
    renewed: dict[bytes, bytes] = {}
    for _ in range(DIGEST_ROUNDS):
        for url, resource in new.resources.items():
            before = old.resources.get(url)
            if before is not None and before is not resource and (resource.is_script or resource.is_style):
                pairs = zip(
                    rewrite.integrity_digests(before.body),
                    rewrite.integrity_digests(resource.body),
                    strict=True,
                )
                renewed.update(pair for pair in pairs if pair[0] != pair[1])
        changed = []
        for resource in new.resources.values():
            if not renewed or not (resource.is_html or resource.is_script or resource.is_style):
                continue
            body, followed = rewrite.follow_digests(resource.body, renewed)
            if followed:
                changed.append(resource.with_body(body))
        if not changed:
            break
        new = new.with_resources(changed)
    return new


def _described(archive: Archive, variant: Variant, report: VariantReport) -> Iterator[str]:
    """The notes of a derived archive."""
    yield f"variant {variant.name} of {archive.name} ({archive.digest[:16]})"
    for each in report.off:
        yield f"{each.filter}: switched off for this page: {each.reason}"
    for name, reason in report.unserved.items():
        yield f"{name}: left out: {reason}"
    before = report.before.size
    for step in report.steps:
        size = step.inventory.size
        saved, fewer = before.bytes - size.bytes, before.requests - size.requests
        yield (
            f"{step.filter}: {step.changed} resources changed, {saved} bytes and {fewer} requests saved, "
            f"{len(step.notes)} left alone"
        )
        before = size


def _key(
    archive: Archive,
    variant: Variant,
    settings: FilterSettings,
    off: Iterable[SwitchedOff],
    unserved: Mapping[str, str],
) -> str:
    """Changes with everything that may change the bytes."""
    made_of = {
        "archive": archive.digest,
        "filters": variant.filters,
        "off": [asdict(each) for each in off],
        "unserved": unserved,
        "settings": asdict(settings),
        "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
        "coldload": harness.__version__,
        "generation": GENERATION,
    }
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:16]


def _stored_report(folder: Path) -> VariantReport | None:
    """What stands beside a derived archive; None when it was never finished."""
    try:
        return msgspec.convert(json.loads((folder / REPORT).read_text(encoding="utf-8")), VariantReport)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ArchiveError(
            f"cannot read {folder / REPORT} ({error}); remove {folder}, it is made again"
        ) from error
