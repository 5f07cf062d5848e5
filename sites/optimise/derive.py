"""Derived archives: made once for the content, the filters and the libraries they were made with, then kept.

They lie in `<archives>/.variants/<key>/<page>--<variant>/` as archives do, with `optimised.json` beside: what each
filter changed and left alone. That file is written last; without it the archive is made again.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path

import msgspec

import harness
from harness.errors import ArchiveError
from harness.input.shown import shortened
from harness.model.engine import DEFAULT_ENGINE, Engine
from harness.model.filtersettings import DEFAULTS, SETTINGS, FilterSettings
from harness.model.variant import Variant
from harness.system.files import remove_leftovers, replace_text
from sites import rewrite
from sites.archive import Archive, open_archive, write_archive
from sites.optimise.filters import REGISTRY
from sites.optimise.page import Inventory, Note, Page, Resource
from sites.warc import About

FOLDER, REPORT = ".variants", "optimised.json"
# Raised when a filter begins to give other bytes, so that variants made before are made again.
GENERATION = 11
LIBRARIES = (
    "tdewolff-minify",
    "rjsmin",
    "tinycss2",
    "tree-sitter",
    "tree-sitter-javascript",
    "selectolax",
    "Pillow",
    "pyoxipng-ng",
    "mozjpeg-lossless-optimization",
    "brotli",
    "zstandard",
)
DIGEST_ROUNDS = 5
URLS_SHOWN, LONGEST_URL = 3, 120
NO_TEXT = ("image/", "audio/", "video/", "font/")  # begin media types whose bodies name no digests


@dataclass(frozen=True)
class Step:
    """One filter's part."""

    filter: str
    """filter"""
    inventory: Inventory
    """inventory of the page after it"""
    changed: int
    """how many resources it changed"""
    notes: tuple[Note, ...]
    """what it left alone or had to do"""


@dataclass(frozen=True)
class VariantReport:
    """optimised.json: what became of a page. An `unchanged` archive has the digest of its original."""

    before: Inventory
    """inventory of the page before"""
    steps: tuple[Step, ...]
    """filters in the order of application"""
    unserved: Mapping[str, str] = field(default_factory=dict)
    """filters that cannot serve the engine, each with the reason"""
    unchanged: bool = False
    """whether the archive is its original, byte for byte"""

    @property
    def after(self) -> Inventory:
        return self.steps[-1].inventory if self.steps else self.before

    @property
    def why_unchanged(self) -> tuple[str, ...]:
        """Of each filter what it left alone, and why: `inline_css: larger than ...: style.css 5,120 bytes`."""
        told = [f"{step.filter}: {text}" for step in self.steps for text in by_reason(step.notes)]
        told += [f"{name}: left out: {reason}" for name, reason in self.unserved.items()]
        return (*told, *([self.nothing_for] if self.nothing_for else ()))

    @property
    def nothing_for(self) -> str:
        """The filters that found nothing of theirs; empty when there are none."""
        names = [step.filter for step in self.steps if not step.notes and not step.changed]
        return f"nothing on the page for {', '.join(names)}" if names else ""


def by_reason(notes: Iterable[Note], shown: int = URLS_SHOWN) -> list[str]:
    """Each reason with what it is about, the first of them by their URLs."""
    reasons: dict[str, list[str]] = {}
    for note in notes:
        reasons.setdefault(note.reason, []).append(f"{note.url[:LONGEST_URL]} {note.detail}".rstrip())
    return [f"{reason}: {shortened(urls, shown)}" for reason, urls in reasons.items()]


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
    tell: Callable[[str], None] = lambda _: None,
) -> Derived:
    """The derived archive for an engine, made if it is not there. `tell` is told each filter when its turn comes.

    Left out are filters that cannot serve the engine; engines for which nothing is left out share one.
    """
    unserved, settings = variant.unserved(engine), FilterSettings.of(variant.settings)
    root, name = _place(archive, variant, engine), variant.served_name(archive.name)
    report = report_of(root / name)
    if report is not None:
        return Derived(open_archive(root, name), report, fresh=False)
    for folder in root.parent.glob("*"):  # a killed one may have left something under another key
        remove_leftovers(folder)
    filters = [name for name in variant.filters if name not in unserved]
    original = Page.of(archive)
    page, report = optimise(original, _told(filters, tell), settings)
    report = replace(report, unserved=unserved, unchanged=_alike(original, page))
    changed = map(Resource.to_response, page.resources.values())
    made = write_archive(
        root,
        name,
        About(
            page.start_url,
            archive.captured_with,
            archive.user_agent,
            (*archive.notes, *_described(archive, variant, report)),
        ),
        archive.responses() if report.unchanged else changed,
    )
    replace_text(root / name / REPORT, json.dumps(asdict(report), indent=1) + "\n")
    return Derived(made, report, fresh=True)


def _told(filters: Sequence[str], tell: Callable[[str], None]) -> Iterator[str]:
    for number, name in enumerate(filters, 1):
        tell(f"{name} ({number} of {len(filters)})")
        yield name


def derived_before(archive: Archive, variant: Variant, engine: Engine) -> VariantReport | None:
    """The report of a derived archive that is there; None when it has to be made."""
    return report_of(_place(archive, variant, engine) / variant.served_name(archive.name))


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
    """Integrity digests of changed bodies are renewed wherever a text or header names them. A text that names one has
    another digest itself then, so this goes on until nothing changes.
    """
    before = old
    for _ in range(DIGEST_ROUNDS):
        renewed: dict[bytes, bytes] = {}
        for url, resource in new.resources.items():
            known = before.resources.get(url)
            if known is not None and known.body != resource.body:
                digests = rewrite.integrity_digests(known.body), rewrite.integrity_digests(resource.body)
                renewed.update(zip(*digests, strict=True))
        if not renewed:
            break
        before = new
        new = new.with_resources([_followed(file, renewed) for file in new.resources.values()])
    return new


def _alike(one: Page, other: Page) -> bool:
    """Whether two pages are answered alike, whatever the order of their resources."""
    return one.resources.keys() == other.resources.keys() and all(
        resource is other.resources[url] or resource.to_response() == other.resources[url].to_response()
        for url, resource in one.resources.items()
    )


def _followed(resource: Resource, renewed: Mapping[bytes, bytes]) -> Resource:
    """A resource with the digests renewed that its headers or, where it is text of some kind, its body name."""
    headers = tuple((name, _renewed(value, renewed)) for name, value in resource.headers)
    if headers != resource.headers:
        resource = replace(resource, headers=headers, changed=True)
    if not resource.usable or resource.mime.startswith(NO_TEXT):
        return resource
    body, followed = rewrite.follow_digests(resource.body, renewed)
    return resource.with_body(body) if followed else resource


def _renewed(value: str, renewed: Mapping[bytes, bytes]) -> str:
    text, followed = rewrite.follow_digests(value.encode("latin-1", "replace"), renewed)
    return text.decode("latin-1") if followed else value


def _described(archive: Archive, variant: Variant, report: VariantReport) -> Iterator[str]:
    """The notes of a derived archive."""
    yield f"variant {variant.written} of {archive.name} ({archive.digest})"
    for name, value in variant.settings:
        yield f"{name}: {value} (usual: {SETTINGS[name].usual})"
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


def _place(archive: Archive, variant: Variant, engine: Engine) -> Path:
    """The folder of a variant's archive; its name changes with everything that may change the bytes."""
    made_of = {
        "archive": archive.digest,
        "filters": variant.filters,
        "unserved": variant.unserved(engine),
        "settings": asdict(FilterSettings.of(variant.settings)),
        "libraries": _libraries(),
        "coldload": harness.__version__,
        "generation": GENERATION,
    }
    key = hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:16]
    return archive.folder.parent / FOLDER / key


@cache
def _libraries() -> Mapping[str, str]:
    """The versions of those that may change the bytes; a study asks once for each page and variant."""
    return {name: importlib.metadata.version(name) for name in LIBRARIES}


def report_of(folder: Path) -> VariantReport | None:
    """What stands beside a derived archive; None when it was never finished, or is the folder of an original."""
    try:
        return msgspec.convert(json.loads((folder / REPORT).read_text(encoding="utf-8")), VariantReport)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ArchiveError(
            f"cannot read {folder / REPORT} ({error}); remove {folder}, it is made again"
        ) from error
