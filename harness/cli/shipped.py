"""Making the pages that ship with the project, for `coldload archive --shipped` and `demo`."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from harness.cli.archivelines import made_line
from harness.cli.enclosing import in_enclosure
from harness.errors import ArchiveError, EnvironmentLacks
from harness.lab.testbed import Testbed, testbed
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import AS_RECORDED
from harness.system.enclosure import WORKSPACE
from sites.archive import Archive, list_archives
from sites.httrack import Visit, archive_with_httrack
from sites.recipes import RECIPES, Recipe, keep_licences, package_cache
from sites.wholefolder import temporary_folder

# Shipped pages are crawled inside the testbed, as a live site is outside; nothing is measured over this link.
CRAWL_LINK = Link.of(1000, 0, name="crawl")
AGAIN = "set-up goes on without it, and tries again the next time"


def make_shipped_archives(
    arguments: argparse.Namespace, root: Path, out: Console, names: Collection[str] = tuple(RECIPES)
) -> int:
    """Make those of the pages that ship that are not there yet; the crawled ones by really archiving their site.

    A page that can be spared is left out, and said so, when its packages cannot be had.
    """
    existing = {archive.name for archive in list_archives(root)}
    wanted = [recipe for recipe in RECIPES.values() if recipe.name in names and recipe.name not in existing]
    code = 0
    with temporary_folder(Path(tempfile.gettempdir()), "coldload", 0o700) as folder:
        # Packages are fetched here, outside: the enclosure has no network but its own.
        sites = [(recipe, made) for recipe in wanted if (made := _made(recipe, folder, root, out))]
        if sites:
            code = in_enclosure(arguments, partial(_crawl_all, sites, root, out))
    for recipe in RECIPES.values():
        if (root / recipe.name).is_dir():
            _keep_licences(recipe, root, out)
    return code


def _made(recipe: Recipe, folder: Path, root: Path, out: Console) -> Archive | None:
    """Make a page: its archive, or in `folder` the site that is still to be crawled, which is returned."""
    out.print(f"archiving {recipe.name}: {recipe.summary}")
    try:
        made = recipe.archive(folder if recipe.crawled else root, package_cache())
    except EnvironmentLacks as error:
        if not recipe.spare:
            raise
        out.print(f"  not archived: {error}; {AGAIN}", markup=False)
        return None
    if recipe.crawled:
        return made
    out.print(made_line(made))
    return None


def _crawl_all(sites: Sequence[tuple[Recipe, Archive]], root: Path, out: Console) -> int:
    """Serve sites in a testbed under their real host names, one after the other, and archive each as a live one is."""
    with testbed() as made:
        for recipe, origin in sites:
            try:
                archive = _crawled(recipe, origin, root, made)
            except ArchiveError as error:
                if not recipe.spare:
                    raise
                out.print(f"  {recipe.name} is not archived: {error}; {AGAIN}", markup=False)
            else:
                out.print(made_line(archive))
    return 0


def _crawled(recipe: Recipe, origin: Archive, root: Path, made: Testbed) -> Archive:
    secure = origin.start_url.startswith("https://")
    protocol = Protocol.HTTPS1 if secure else Protocol.HTTP1
    # Another server would be another archive.
    made.serve(origin, [protocol], AS_RECORDED, server="apache")
    made.resolver.use(made.endpoint_of(origin.name, protocol).address)
    with made.client(CRAWL_LINK) as client:
        visit = Visit(WORKSPACE / recipe.name, recipe.crawled or "desktop", network=client.host.path)
        return archive_with_httrack(origin.start_url, root, origin.name, visit, recipe.notes)


def _keep_licences(recipe: Recipe, root: Path, out: Console) -> None:
    try:
        keep_licences(recipe, root / recipe.name, package_cache())
    except EnvironmentLacks as error:
        out.print(f"the licence texts of {recipe.name} are not beside its archive: {error}", markup=False)
