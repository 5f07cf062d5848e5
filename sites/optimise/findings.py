"""What `coldload verify` found to break a page: a file in the archive's folder. It changes no variant by itself.

A study says what it leaves out (`without`); a variant of which something is known to break the page, and of which the
study says nothing, is refused.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass

import msgspec

from harness.errors import ArchiveError
from harness.model.engine import Engine
from harness.model.filtersettings import Changed
from harness.model.variant import Variant
from harness.system.files import alone_in, replace_text
from sites.archive import Archive

FILE, SCHEMA = "broken.json", 1


@dataclass(frozen=True)
class Breakage:
    """A filter that breaks a page."""

    filter: str
    """filter that breaks the page"""
    reason: str
    """what was seen"""
    variant: str
    """variant in which it was seen"""
    found_utc: str
    """when it was seen"""
    engine: str
    """browser in which it was seen"""
    device: str
    """device on which it was seen"""
    settings: Changed
    """limits of filters that were not the usual ones"""
    archive_digest: str
    """digest of the archive"""
    coldload: str
    """version that found it"""

    def concerns(self, archive: Archive, variant: Variant, engine: Engine) -> bool:
        """Whether it says something of a variant for an engine, made of this very archive.

        What was seen with the usual limits is taken for true with all others, too.
        """
        return (
            self.filter in variant.filters
            and self.engine == engine
            and self.archive_digest == archive.digest
            and set(self.settings) <= set(variant.settings)
        )

    def __str__(self) -> str:
        """`inline_css breaks core (desktop: least alike 0.71, chromium, 2026-11-25)`."""
        day = self.found_utc.partition("T")[0]
        return f"{self.filter} breaks {self.variant} ({self.reason}; {self.engine}, {day})"


def breakages(archive: Archive) -> tuple[Breakage, ...]:
    """All that was found of an archive's variants; ArchiveError when the file is damaged."""
    path = archive.folder / FILE
    if not path.is_file():
        return ()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return msgspec.convert(data["filters"], tuple[Breakage, ...])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArchiveError(
            f"{path} is damaged ({error}); remove it, and `coldload verify` finds out again"
        ) from error


def broken_by(archive: Archive, variant: Variant, engine: Engine) -> tuple[Breakage, ...]:
    """What is known to break a variant of a page in an engine."""
    return tuple(breakage for breakage in breakages(archive) if breakage.concerns(archive, variant, engine))


def superseded(
    archive: Archive, variant: Variant, engine: Engine, devices: Collection[str]
) -> tuple[Breakage, ...]:
    """What was found of this variant with these very limits on one of these devices: a new verification replaces it."""
    return tuple(
        breakage
        for breakage in broken_by(archive, variant, engine)
        if (breakage.variant, breakage.settings) == (variant.name, variant.settings)
        and breakage.device in devices
    )


def record(archive: Archive, found: Iterable[Breakage], outdated: Collection[Breakage] = ()) -> None:
    """Add to what was found, in the place of what is no longer so and of what is of another recording.

    Two verifications at once lose nothing of each other.
    """
    with alone_in(archive.folder):
        _record(archive, found, outdated)


def _record(archive: Archive, found: Iterable[Breakage], outdated: Collection[Breakage]) -> None:
    known = [
        breakage
        for breakage in breakages(archive)
        if breakage not in outdated and breakage.archive_digest == archive.digest
    ]
    new = list(found)
    same = {_subject(breakage) for breakage in new}
    kept = [*(breakage for breakage in known if _subject(breakage) not in same), *new]
    text = json.dumps({"schema": SCHEMA, "filters": [asdict(breakage) for breakage in kept]}, indent=1)
    path = archive.folder / FILE
    try:
        replace_text(path, text + "\n")
    except OSError as error:
        raise ArchiveError(f"cannot write {path}: {error.strerror}; what was found is not kept") from error


def _subject(breakage: Breakage) -> tuple[object, ...]:
    """What a finding is about; of several about the same the newest is kept."""
    return breakage.filter, breakage.engine, breakage.variant, breakage.device, breakage.settings
