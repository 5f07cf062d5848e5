"""The pages of a pack on this machine: those that are there, those that are made by recipe or come with the pack."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path

from harness.cli.archivelines import print_made
from harness.cli.console import console
from harness.cli.shipped import make_shipped_archives
from harness.errors import ArchiveError
from harness.model.condition import Condition
from harness.pack.manifest import PackedPage
from harness.pack.packedpages import refuse_other, unpack_archive
from harness.pack.packfile import Pack, open_pack
from sites.archive import archives_root, open_archive
from sites.recipes import RECIPES


def provide_pages(arguments: argparse.Namespace, path: Path, conditions: Collection[Condition]) -> int:
    """Have every page of the conditions as it was measured, or raise ArchiveError that names those not to be had."""
    root = archives_root()
    with open_pack(path) as pack:
        missing = []
        for page in pack.manifest.pages:
            asked = any(each.page == page.name for each in conditions)
            if asked and (root / page.name).is_dir():
                refuse_other(pack, page, open_archive(root, page.name), str(root))
            elif asked:
                missing.append(page)
        _refuse_unless_to_be_had(missing, path, root)
        for page in missing:
            code = _provide(arguments, pack, page, root)
            if code:
                return code
    return 0


def _refuse_unless_to_be_had(missing: Sequence[PackedPage], path: Path, root: Path) -> None:
    lacking = [page for page in missing if not page.archived and not _is_ours(page)]
    if lacking:
        told = ", ".join(
            f"{page.name} ({page.start_url}, digest {(page.digest or 'unknown')[:12]})" for page in lacking
        )
        raise ArchiveError(
            f"the pack {path} holds no bodies of {told}; put the archive into {root}, or get a pack made with "
            "--with-archives"
        )


def _is_ours(page: PackedPage) -> bool:
    return page.recipe and page.name in RECIPES


def _provide(arguments: argparse.Namespace, pack: Pack, page: PackedPage, root: Path) -> int:
    if page.archived:
        print_made(console(), unpack_archive(pack, page, root))
        return 0
    code = make_shipped_archives(arguments, root, console(), (page.name,))
    if code == 0:
        refuse_other(pack, page, open_archive(root, page.name), f"this version ({root})")
    return code
