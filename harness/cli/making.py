"""What set-up leaves out, because only some commands need it: each part is made when a command first needs it.

That is before the enclosure, which has no network. `coldload setup` makes all of it beforehand.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.failures import in_enclosure
from harness.cli.paths import ARCHIVES_HERE, refuse_hidden
from harness.cli.telling import say
from harness.errors import ArchiveError, EnvironmentLacks
from harness.input.shown import Tell
from harness.model.condition import Condition
from harness.model.engine import HISTORICAL_ENGINE, Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import AS_RECORDED
from harness.system.enclosure import folder_for_an_enclosure
from harness.system.folders import cache_folder
from harness.system.roots import CHOICE, NONE
from sites.archive import Archive, archives_root, list_archives, open_archive
from sites.recipes import RECIPES, Recipe, keep_licences, package_cache

if TYPE_CHECKING:
    from harness.lab.testbed import Testbed
    from harness.pack.packfile import Pack, PackedPage

# Shipped pages are crawled inside the testbed, as a live site is outside; nothing is measured over this link.
CRAWL_LINK = Link.of(1000, 0, name="crawl")
AGAIN = "set-up goes on without it, and tries again the next time"

GATEWAY = "spdy-gateway"


def make_first_needed(arguments: argparse.Namespace, conditions: Iterable[Condition]) -> None:
    """`make_parts_and_pages` of conditions."""
    wanted = tuple(conditions)
    # The users of a crowd ask for what a browser asked for.
    parts = {part for each in wanted for part in (each.engine, each.engine.browser, each.server)}
    make_parts_and_pages(arguments, parts, {condition.page for condition in wanted})


def make_parts_and_pages(
    arguments: argparse.Namespace, parts: Collection[str], pages: Collection[str]
) -> None:
    """Make what these engines, servers and pages need and a set-up has not made.

    A page that ships, the generator of users, the packages of the gateway. It is told on standard error, as standard
    output may be for a program.
    """
    if {Engine.K6, GATEWAY, Engine.SPDY_CLIENT} & set(parts):
        refuse_hidden({"the cache folder": cache_folder()})
    if Engine.K6 in parts:
        from harness.capacity import k6

        k6.build()
    if HISTORICAL_ENGINE in parts:
        from harness.cli.root import make_historical, tell

        try:
            if os.environ.get(CHOICE) != NONE:
                make_historical()
        except EnvironmentLacks as error:  # the command says so, and a study of others goes on
            tell(f"no root for {HISTORICAL_ENGINE.traits.label} was made: {error}")
    if GATEWAY in parts or Engine.SPDY_CLIENT in parts:
        from sites.servers import nodepackages

        with contextlib.suppress(nodepackages.GatewayLacks):  # likewise
            nodepackages.install()
    missing = {name for name in pages if name in RECIPES and not (archives_root() / name).is_dir()}
    if missing:
        make_shipped_archives(arguments, missing, partial(say, file=sys.stderr))


def make_shipped_archives(
    arguments: argparse.Namespace, names: Collection[str] = tuple(RECIPES), tell: Tell = say
) -> None:
    """Make those of the pages that ship that are not there yet; the crawled ones by really archiving their site.

    A page that can be spared is left out, and said so, when its packages cannot be had. Ends the program where the
    enclosure has told of an error.
    """
    root = archives_root()
    existing = {archive.name for archive in list_archives(root)}
    wanted = [recipe for recipe in RECIPES.values() if recipe.name in names and recipe.name not in existing]
    if any(recipe.crawled for recipe in wanted):
        refuse_hidden({ARCHIVES_HERE: root})
    code, lacking = 0, list[EnvironmentLacks]()
    with folder_for_an_enclosure() as folder:
        # Packages are fetched here, outside: the enclosure has no network but its own.
        sites = [(recipe, made) for recipe in wanted if (made := _made(recipe, folder, root, tell, lacking))]
        if sites:
            code = in_enclosure(arguments, partial(_crawl_all, sites, root, tell))
    for recipe in RECIPES.values():
        if (root / recipe.name).is_dir():
            _keep_licences(recipe, root, tell)
    if code:
        raise SystemExit(code)
    if lacking:
        raise lacking[0]


def _made(
    recipe: Recipe, folder: Path, root: Path, tell: Tell, lacking: list[EnvironmentLacks]
) -> Archive | None:
    """Make a page: its archive, or in `folder` the site that is still to be crawled, which is returned.

    What a page that cannot be spared lacks goes to `lacking`: the others are made first.
    """
    from harness.cli.archivelines import made_line

    tell(f"archiving {recipe.name}: {recipe.summary}")
    try:
        made = recipe.archive(folder if recipe.crawled else root, package_cache())
    except EnvironmentLacks as error:
        if not recipe.spare:
            lacking.append(error)
        tell(f"  not archived: {error}; {AGAIN}")
        return None
    if recipe.crawled:
        return made
    tell(made_line(made))
    return None


def _crawl_all(sites: Sequence[tuple[Recipe, Archive]], root: Path, tell: Tell) -> int:
    """Serve sites in a testbed under their real host names, one after the other, and archive each as a live one is."""
    from harness.cli.archivelines import made_line
    from harness.lab.testbed import testbed

    with testbed() as made:
        for recipe, origin in sites:
            try:
                archive = _crawled(recipe, origin, root, made)
            except ArchiveError as error:
                if not recipe.spare:
                    raise
                tell(f"  {recipe.name} is not archived: {error}; {AGAIN}")
            else:
                tell(made_line(archive))
    return 0


def _crawled(recipe: Recipe, origin: Archive, root: Path, made: Testbed) -> Archive:
    from harness.system.enclosure import WORKSPACE
    from sites.httrack import Visit, archive_with_httrack

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


def _keep_licences(recipe: Recipe, root: Path, tell: Tell) -> None:
    try:
        keep_licences(recipe, root / recipe.name, package_cache())
    except EnvironmentLacks as error:
        tell(f"the licence texts of {recipe.name} are not beside its archive: {error}")


def provide_pages(arguments: argparse.Namespace, path: Path, conditions: Collection[Condition]) -> None:
    """Have every page of the conditions as it was measured, or raise ArchiveError that names those not to be had."""
    from harness.pack.packedrun import refuse_other
    from harness.pack.packfile import open_pack

    root = archives_root()
    with open_pack(path) as pack:
        missing = []
        for page in pack.manifest.pages:
            asked = any(condition.page == page.name for condition in conditions)
            if asked and (root / page.name).is_dir():
                refuse_other(pack, page, open_archive(root, page.name), str(root))
            elif asked:
                missing.append(page)
        _refuse_unless_to_be_had(missing, path, root)
        for page in missing:
            _provide(arguments, pack, page, root)


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


def _provide(arguments: argparse.Namespace, pack: Pack, page: PackedPage, root: Path) -> None:
    from harness.cli.archivelines import say_made
    from harness.pack.packedrun import refuse_other, unpack_archive

    if page.archived:
        say_made(unpack_archive(pack, page, root))
        return
    make_shipped_archives(arguments, (page.name,))
    refuse_other(pack, page, open_archive(root, page.name), f"this version ({root})")
