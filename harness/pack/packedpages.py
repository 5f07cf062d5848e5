"""The pages of a pack: which they are, by recipe and digest, and how the archive of one comes back out.

A page's variants are made anew from it, as the study says.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.errors import ArchiveError, RecordsError
from harness.input import jsontext
from harness.pack.packedrun import ENVIRONMENT, told_of_nobody
from harness.pack.packfile import ARCHIVES, PAGES, Pack, PackedPage
from harness.study.plan import Plan
from sites.archive import Archive, open_archive
from sites.archiveindex import INDEX_FILE, METADATA_FILE, WARC_FILE
from sites.recipes import RECIPES
from sites.wholefolder import move_into_place, temporary_folder


def describe_pages(
    run: Path, plan: Plan, root: Path, private: Collection[str]
) -> list[tuple[PackedPage, Archive | None]]:
    """The pages of a run, each with its archive in `root` if that still is what was measured.

    `private` are names that the pack does not tell.
    """
    measured = told_of_nobody(_measured(run), private)
    found = []
    for name in sorted({trial.condition.page for trial in plan.trials}):
        archive = _archive(root, name)
        told = measured.get(name, {})
        # A run of variants alone does not tell the digest of the page that they were made of.
        digest = told.get("digest") or (archive.digest if archive else None)
        same = archive if archive and archive.digest == digest else None
        start_url = told.get("start_url") or (archive.start_url if archive else None)
        recipe = name in RECIPES and RECIPES[name].start_url == start_url
        found.append((PackedPage(name, start_url, digest, recipe, archived=False), same))
    return found


def copy_page(archive: Archive, target: Path, names: Collection[str], *, bodies: bool) -> None:
    """What the archive holds, response by response with digests, under `target`; with `bodies` all of it."""
    folder = target / (ARCHIVES if bodies else PAGES) / archive.name
    folder.mkdir(parents=True)
    shutil.copyfile(archive.folder / INDEX_FILE, folder / INDEX_FILE)
    metadata = told_of_nobody(json.loads((archive.folder / METADATA_FILE).read_bytes()), names)
    (folder / METADATA_FILE).write_text(json.dumps(metadata, indent=2) + "\n", encoding="utf-8")
    if bodies:
        shutil.copyfile(archive.folder / WARC_FILE, folder / WARC_FILE)


def unpack_archive(pack: Pack, page: PackedPage, root: Path) -> Archive:
    """The archive of a page out of the pack, in `root`; ArchiveError when it is not what the pack says."""
    with temporary_folder(root, page.name) as temporary:
        folder = pack.unpack(f"{ARCHIVES}/{page.name}", temporary / page.name)
        if {path.name for path in folder.iterdir()} != {INDEX_FILE, METADATA_FILE, WARC_FILE}:
            raise ArchiveError(
                f"page {page.name} of the pack {pack.path} is no archive; get the pack from its source"
            )
        archive = open_archive(folder.parent, page.name)
        for _ in archive.responses():  # each is checked as it is read
            pass
        refuse_other(pack, page, archive, f"the pack {pack.path}")
        move_into_place(folder, root / page.name)
    return open_archive(root, page.name)


def refuse_other(pack: Pack, page: PackedPage, archive: Archive, where: str) -> None:
    """ArchiveError when an archive is not the one that was measured.

    HTTrack keeps files of one page now in this order, now in that one: the order alone makes no other page.
    """
    if page.digest in (None, archive.digest):
        return
    if page.digest != archive.digest_in_order(_recorded_order(pack, page)):
        raise ArchiveError(
            f"page {page.name} of {where} is not the one that was measured (digest {archive.digest[:12]}, measured "
            f"{page.digest[:12]}); set COLDLOAD_ARCHIVES to another folder to have both, or use the version that made "
            "the pack"
        )


def _recorded_order(pack: Pack, page: PackedPage) -> list[str]:
    """The URLs of a page as the pack's index has them; none where it tells them not, or not so."""
    with TemporaryDirectory() as temporary:
        part = ARCHIVES if page.archived else PAGES
        index = pack.unpack(f"{part}/{page.name}", Path(temporary) / page.name) / INDEX_FILE
        try:
            return [str(jsontext.parse(line)["url"]) for line in index.read_bytes().splitlines()]
        except (OSError, ValueError, KeyError, TypeError):
            return []


def _archive(root: Path, name: str) -> Archive | None:
    """The archive; None when there is none that can be read."""
    try:
        return open_archive(root, name)
    except ArchiveError:
        return None


def _measured(run: Path) -> Mapping[str, Mapping[str, Any]]:
    """What environment.json says of the archives, by the names they were served under."""
    path = run / ENVIRONMENT
    try:
        archives = jsontext.read(path).get("archives")
    except OSError:
        return {}
    except ValueError as error:
        raise RecordsError(f"{path} is damaged; it cannot be packed") from error
    if not isinstance(archives, dict):
        return {}
    return {name: each for name, each in archives.items() if isinstance(each, dict)}
