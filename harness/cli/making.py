"""What set-up leaves out, because only some commands need it: each part is made when a command first needs it.

That is before the enclosure, which has no network. `coldload setup` makes all of it beforehand.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from harness.capacity import k6
from harness.cli.archivelines import made_line, print_made
from harness.cli.console import console
from harness.cli.failures import in_enclosure
from harness.cli.root import tell
from harness.errors import ArchiveError, EnvironmentLacks
from harness.lab import rootmaking
from harness.lab.rootmaking import RootRecipe
from harness.lab.testbed import Testbed, testbed
from harness.model.condition import Condition
from harness.model.engine import Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import AS_RECORDED
from harness.pack.packedrun import refuse_other, unpack_archive
from harness.pack.packfile import Pack, PackedPage, open_pack
from harness.system import roots
from harness.system.enclosure import WORKSPACE
from harness.system.files import temporary_folder
from harness.system.roots import Purpose
from sites.archive import Archive, archives_root, list_archives, open_archive
from sites.httrack import Visit, archive_with_httrack
from sites.recipes import RECIPES, Recipe, keep_licences, package_cache
from sites.servers import nodepackages

# Shipped pages are crawled inside the testbed, as a live site is outside; nothing is measured over this link.
CRAWL_LINK = Link.of(1000, 0, name="crawl")
AGAIN = "set-up goes on without it, and tries again the next time"


GATEWAY = "spdy-gateway"


def make_first_needed(arguments: argparse.Namespace, conditions: Iterable[Condition]) -> int:
    """`make_parts_and_pages` of conditions."""
    wanted = tuple(conditions)
    parts = {part for condition in wanted for part in (condition.engine, condition.server)}
    return make_parts_and_pages(arguments, parts, {condition.page for condition in wanted})


def make_parts_and_pages(
    arguments: argparse.Namespace, parts: Collection[str], pages: Collection[str]
) -> int:
    """What these engines, servers and pages need and a set-up has not made; the exit code, 0 when all of it is there.

    A page that ships, the generator of users, the packages of the gateway. It is told on standard error, as standard
    output may be for a program.
    """
    if Engine.K6 in parts:
        k6.build()
    wanted_root = Engine.QTWEBKIT in parts and os.environ.get(roots.CHOICE) != roots.NONE
    if wanted_root and rootmaking.lacking() is Purpose.HISTORICAL:
        try:
            rootmaking.make(RootRecipe(Purpose.HISTORICAL), tell)
        except EnvironmentLacks as error:  # as with the gateway's packages
            tell(f"no root for QtWebKit was made: {error}")
    if GATEWAY in parts or Engine.SPDY_CLIENT in parts:
        with contextlib.suppress(
            nodepackages.GatewayLacks
        ):  # the command says so, and a study of others goes on
            nodepackages.install()
    root = archives_root()
    missing = {name for name in pages if name in RECIPES and not (root / name).is_dir()}
    return make_shipped_archives(arguments, root, console(sys.stderr), missing) if missing else 0


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
    with as_live(origin, made) as network:
        visit = Visit(WORKSPACE / recipe.name, recipe.crawled or "desktop", network=network)
        return archive_with_httrack(origin.start_url, root, origin.name, visit, recipe.notes)


@contextlib.contextmanager
def as_live(origin: Archive, made: Testbed) -> Iterator[Path]:
    """The namespace file of a host to which a site is live, under its real names."""
    protocol = Protocol.HTTPS1 if origin.start_url.startswith("https://") else Protocol.HTTP1
    # Another server would be another archive.
    made.serve(origin, [protocol], AS_RECORDED, server="apache")
    made.resolver.use(made.endpoint_of(origin.name, protocol).address)
    with made.client(CRAWL_LINK) as client:
        yield client.host.path


def _keep_licences(recipe: Recipe, root: Path, out: Console) -> None:
    try:
        keep_licences(recipe, root / recipe.name, package_cache())
    except EnvironmentLacks as error:
        out.print(f"the licence texts of {recipe.name} are not beside its archive: {error}", markup=False)


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
    lacking = [page for page in missing if not page.archived and not (page.recipe and page.name in RECIPES)]
    if lacking:
        told = ", ".join(
            f"{page.name} ({page.start_url}, digest {(page.digest or 'unknown')[:12]})" for page in lacking
        )
        raise ArchiveError(
            f"the pack {path} holds no bodies of {told}; put the archive into {root}, or get a pack made with "
            "--with-archives"
        )


def _provide(arguments: argparse.Namespace, pack: Pack, page: PackedPage, root: Path) -> int:
    if page.archived:
        print_made(console(), unpack_archive(pack, page, root))
        return 0
    code = make_shipped_archives(arguments, root, console(), (page.name,))
    if code == 0:
        refuse_other(pack, page, open_archive(root, page.name), f"this version ({root})")
    return code
