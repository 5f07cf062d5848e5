"""Making the pages that ship with the project, for `coldload archive --shipped` and `demo`."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Collection
from functools import partial
from pathlib import Path

from rich.console import Console

from harness.cli.archivelines import print_made
from harness.cli.enclosing import in_enclosure
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import AS_RECORDED
from harness.system.enclosure import WORKSPACE
from harness.testbed.testbed import testbed
from sites.archive import Archive, list_archives
from sites.httrack import Visit, archive_with_httrack
from sites.recipes import RECIPES, package_cache
from sites.wholefolder import temporary_folder

# Shipped pages are crawled inside the testbed, as a live site is outside; nothing is measured over this link.
CRAWL_LINK = Link.of(1000, 0, name="crawl")


def make_shipped_archives(
    arguments: argparse.Namespace, root: Path, out: Console, names: Collection[str] = tuple(RECIPES)
) -> int:
    """Make those of the pages that ship that are not there yet; the crawled ones by really archiving their site."""
    existing = {archive.name for archive in list_archives(root)}
    for recipe in RECIPES.values():
        if recipe.name in existing or recipe.name not in names:
            continue
        out.print(f"archiving {recipe.name}: {recipe.summary}")
        if not recipe.crawled:
            print_made(out, recipe.archive(root, package_cache()))
            continue
        with temporary_folder(Path(tempfile.gettempdir()), "coldload", 0o700) as folder:
            # Packages are fetched here, outside: the enclosure has no network but its own.
            origin = recipe.archive(folder, package_cache())
            code = in_enclosure(arguments, partial(_crawl, origin, root, out))
            if code != 0:
                return code
    return 0


def _crawl(origin: Archive, root: Path, out: Console) -> int:
    """Serve a site in a testbed under its real host names and archive its page as a live one is."""
    secure = origin.start_url.startswith("https://")
    protocol = Protocol.HTTPS1 if secure else Protocol.HTTP1
    with testbed() as made:
        # Another server would be another archive.
        made.serve(origin, [protocol], AS_RECORDED, server="apache")
        made.resolver.use(made.endpoint_of(origin.name, protocol).address)
        with made.client(CRAWL_LINK) as client:
            visit = Visit(WORKSPACE / "crawl", network=client.host.path)
            archive = archive_with_httrack(origin.start_url, root, origin.name, visit)
    print_made(out, archive)
    return 0
