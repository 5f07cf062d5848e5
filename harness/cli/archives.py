"""`coldload archive`, `coldload import` and `coldload pages`."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table

from harness.cli.common import Subcommands, console, in_enclosure
from harness.cli.verify import percent
from harness.errors import UsageError
from harness.input.keys import NAME_PATTERN
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import AS_RECORDED
from harness.system.enclosure import WORKSPACE
from harness.testbed.testbed import testbed
from harness.verify.verification import stored
from sites.archive import Archive, archives_root, check_free, list_archives, open_archive
from sites.archive_index import METADATA_FILE
from sites.archiving import Tool, archive_page
from sites.httrack import archive_with_httrack
from sites.importers import import_recording
from sites.importers.recording import printable
from sites.pagelist import PageResult, Wanted, archive_all, read_list
from sites.recipes import RECIPES, package_cache
from sites.wholefolder import temporary_folder

# Shipped pages are crawled inside the testbed, as a live site is outside; nothing is measured over this link.
NOTES_SHOWN, NOTE_CHARACTERS = 10, 200
CRAWL_LINK = Link.of(1000, 0, name="crawl")


def add_commands(commands: Subcommands) -> None:
    archive = commands.add_parser("archive", help="archive a live page with everything it needs")
    archive.add_argument("url", nargs="?", metavar="URL")
    archive.add_argument("--name", help="name of the archive (default: the host's name)")
    archive.add_argument(
        "--with",
        dest="tool",
        choices=[each.value for each in Tool],
        default=Tool.BOTH.value,
        help="httrack: its mirror; browser: what a real load asks for; both (default): the mirror completed by a load",
    )
    archive.add_argument("--user-agent", default="desktop", help="desktop, mobile, or the string itself")
    archive.add_argument("--shipped", action="store_true", help="make the pages that ship with the project")
    archive.add_argument(
        "--list",
        type=Path,
        metavar="FILE",
        help="archive many pages: one URL per line, a name after it if you like, # comments; goes on where it ended",
    )
    archive.add_argument("--jobs", type=int, default=2, help="pages of a list at a time (default 2)")
    archive.add_argument("--replace", action="store_true", help="replace an archive of the same name")
    archive.set_defaults(run=run_archive)
    imports = commands.add_parser(
        "import", help="make an archive of a recording: WARC, WACZ, HAR, HTTrack mirror"
    )
    imports.add_argument(
        "file", type=Path, metavar="FILE", help=".warc, .warc.gz, .wacz, .har with bodies, or a mirror folder"
    )
    imports.add_argument("--name", help="name of the archive (default: the file's name)")
    imports.add_argument(
        "--start-url",
        metavar="URL",
        help="the page to load (default: what the recording names, or begins with)",
    )
    imports.add_argument("--replace", action="store_true", help="replace an archive of the same name")
    imports.set_defaults(run=run_import)
    pages = commands.add_parser(
        "pages",
        help="list archives; for one: hosts, requests and bytes by type, notes, the last verification",
    )
    pages.add_argument("name", nargs="?", metavar="NAME")
    pages.set_defaults(run=run_pages)


def run_archive(arguments: argparse.Namespace) -> int:
    out = console()
    chosen = [what for what in ("url", "shipped", "list") if getattr(arguments, what)]
    if len(chosen) != 1 or (arguments.list and arguments.name):
        raise UsageError(
            "name one of: a URL to archive, --list FILE for many (names stand in it), "
            "--shipped for the pages that ship with the project"
        )
    if arguments.shipped:
        return make_shipped_archives(arguments, archives_root(), out)
    if arguments.list:
        return _archive_list(arguments, out)
    name = arguments.name or urlsplit(arguments.url).hostname or ""
    if not NAME_PATTERN.fullmatch(name):
        raise UsageError(
            f"cannot name an archive {name!r} after {arguments.url}; give --name (letters, digits, . _ -)"
        )
    _print_made(out, _archive_page(Wanted(arguments.url, name), arguments))
    return 0


def _archive_page(
    page: Wanted, arguments: argparse.Namespace, go_on: Callable[[], None] | None = None
) -> Archive:
    """Archive one page; `go_on`, called all the while, may raise to stop."""
    check_free(archives_root(), page.name, replace=arguments.replace)
    with temporary_folder(Path(tempfile.gettempdir()), "coldload", 0o700) as work:
        return archive_page(
            page.url,
            archives_root(),
            page.name,
            Tool(arguments.tool),
            user_agent=arguments.user_agent,
            work=work / "work",
            progress=None if go_on is None else lambda _count, _url: go_on(),
        )


def _archive_list(arguments: argparse.Namespace, out: Console) -> int:
    """Archive the pages of a list; 1 when some failed."""
    if arguments.jobs < 1:
        raise UsageError(f"--jobs {arguments.jobs} makes no sense; give 1 or more")
    wanted = read_list(arguments.list)
    failed: list[PageResult] = []
    outcomes = archive_all(
        wanted,
        archives_root(),
        lambda page, go_on: _archive_page(page, arguments, go_on),
        jobs=arguments.jobs,
        replace=arguments.replace,
    )
    for number, outcome in enumerate(outcomes, 1):
        page = outcome.wanted
        if outcome.archive is None:
            failed.append(outcome)
            said = "failed"
        else:
            said = outcome.said or (
                f"{len(outcome.archive.entries)} responses of {len(outcome.archive.hosts)} host(s), "
                f"{_total(outcome.archive) / 1000:,.0f} kB"
            )
        out.print(f"[{number}/{len(wanted)}] {page.name}: {said} ({page.url})", markup=False)
    if failed:
        out.print(f"\n{len(failed)} of {len(wanted)} failed; the same command tries these again:")
        for outcome in failed:
            out.print(f"  {outcome.wanted.url}: {outcome.said}", markup=False)
    return 1 if failed else 0


def run_import(arguments: argparse.Namespace) -> int:
    """Import a recording; without --name it is called as the file, without what tells the format."""
    out = console()
    name = arguments.name or re.sub(
        r"(?i)\.(warc|warc\.gz|wacz|wacz\.zip|har|gz|zip)$", "", arguments.file.resolve().name
    )
    if not NAME_PATTERN.fullmatch(name):
        raise UsageError(f"cannot name an archive {name[:100]!r}; give --name (letters, digits, . _ -)")
    archive = import_recording(
        arguments.file, archives_root(), name, arguments.start_url, replace=arguments.replace
    )
    _print_made(out, archive)
    return 0


def make_shipped_archives(arguments: argparse.Namespace, root: Path, out: Console) -> int:
    """Make the pages that ship and are not there yet; the crawled ones by really archiving their site."""
    existing = {archive.name for archive in list_archives(root)}
    for recipe in RECIPES.values():
        if recipe.name in existing:
            continue
        out.print(f"archiving {recipe.name}: {recipe.summary}")
        if not recipe.crawled:
            _print_made(out, recipe.archive(root, package_cache()))
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
            archive = archive_with_httrack(
                origin.start_url, root, origin.name, network=client.host.path, work=WORKSPACE / "crawl"
            )
    _print_made(out, archive)
    return 0


def _print_made(out: Console, archive: Archive) -> None:
    out.print(
        f"archived {archive.start_url} as {archive.name}: {len(archive.entries)} responses of "
        f"{len(archive.hosts)} host(s), {_total(archive) / 1000:,.0f} kB ({archive.folder})"
    )
    for line in note_lines(archive):
        out.print(f"  {line}", markup=False, soft_wrap=True)


def note_lines(archive: Archive) -> list[str]:
    """The notes of an archive, short: what was changed, left out or not found."""
    shown = [printable(note, NOTE_CHARACTERS) for note in archive.notes[:NOTES_SHOWN]]
    more = len(archive.notes) - len(shown)
    cut = any(len(note) > NOTE_CHARACTERS for note in archive.notes[:NOTES_SHOWN])
    if more:
        shown.append(f"and {more} more in {archive.folder / METADATA_FILE}")
    elif cut:
        shown.append(f"in full in {archive.folder / METADATA_FILE}")
    return shown


def _total(archive: Archive) -> int:
    return sum(entry.body_bytes for entry in archive.entries)


def run_pages(arguments: argparse.Namespace) -> int:
    if arguments.name:
        _print_page(open_archive(archives_root(), arguments.name))
        return 0
    archives = list_archives(archives_root())
    out = console()
    if not archives:
        out.print(
            f"nothing is archived in {archives_root()}; `coldload archive URL` or `coldload archive --shipped`"
        )
        return 0
    table = Table("name", "start URL", "responses", "hosts", "kB", "with", box=None, pad_edge=False)
    for archive in archives:
        table.add_row(
            archive.name,
            archive.start_url,
            str(len(archive.entries)),
            str(len(archive.hosts)),
            f"{_total(archive) / 1000:,.0f}",
            archive.captured_with,
        )
    out.print(table)
    return 0


def _print_page(archive: Archive) -> None:
    out = console()
    out.print(
        f"{archive.name}: {archive.start_url}, archived with {archive.captured_with} on {archive.captured_utc}"
    )
    for title in ("host", "type"):
        counts: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        for entry in archive.entries:
            group = (urlsplit(entry.url).hostname if title == "host" else entry.mime) or "-"
            counts[group] += 1
            sizes[group] += entry.body_bytes
        table = Table(title, box=None, pad_edge=False)
        for column in ("responses", "kB"):
            table.add_column(column, justify="right")
        for name, size in sizes.most_common():
            table.add_row(name, str(counts[name]), f"{size / 1000:,.1f}")
        out.print()
        out.print(table)
    _print_verifications(archive, out)
    if archive.notes:
        out.print("\nnotes")
        for note in archive.notes:
            out.print(f"  {note}", markup=False)


def _print_verifications(archive: Archive, out: Console) -> None:
    """What the last loads of `coldload verify` found."""
    reports = stored(archive)
    out.print()
    if not reports:
        out.print(f"not verified yet; `coldload verify {archive.name}`")
        return
    table = Table("verified", "by", "on", box=None, pad_edge=False)
    for column in ("requests", "as recorded", "closest", "missed", "answered", "core"):
        table.add_column(column, justify="right")
    for each in reports:
        old = each.archive_digest != archive.digest
        table.add_row(
            f"{each.taken_utc[:10]}{' (other content)' if old else ''}",
            each.protocol,
            each.device,
            *(str(count) for count in (each.asked, each.exact, len(each.closest), len(each.missed))),
            percent(each.answered_percent),
            percent(each.core_percent) if each.outcome == "ok" else each.outcome,
        )
    out.print(table)
