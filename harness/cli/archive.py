"""`coldload archive`: live pages, one or a list, and the pages that ship."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from harness.cli.paths import given_path
from harness.errors import UsageError
from harness.input.keys import NAME_PATTERN

if TYPE_CHECKING:
    from rich.console import Console

    from sites.archive import Archive
    from sites.pagelist import PageResult, Wanted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One page, a list of pages, or those that ship; and how to archive them."""
    parser.add_argument("url", nargs="?", metavar="URL", help="the page")
    parser.add_argument("--name", metavar="NAME", help="name of the archive (default: the host's name)")
    parser.add_argument(
        "--with",
        dest="tool",
        choices=["both", "httrack", "browser"],
        default="both",
        help="httrack: its mirror; browser: what a real load asks for; both (default): the mirror completed by a load",
    )
    parser.add_argument(
        "--user-agent",
        default="desktop",
        metavar="UA",
        help="desktop (default), mobile, or the string itself",
    )
    parser.add_argument("--shipped", action="store_true", help="make the pages that ship with the project")
    parser.add_argument(
        "--list",
        type=given_path,
        metavar="FILE",
        help="archive many pages: one URL per line, a name after it if you like, # comments; goes on where it ended",
    )
    parser.add_argument(
        "--jobs", type=int, default=2, metavar="N", help="pages of a list at a time (default 2)"
    )
    parser.add_argument("--replace", action="store_true", help="replace an archive of the same name")


def run(arguments: argparse.Namespace) -> int:
    from harness.cli.archivelines import print_made
    from harness.cli.console import console
    from harness.cli.making import make_shipped_archives
    from sites.archive import archives_root
    from sites.pagelist import Wanted

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
    print_made(out, _archive_page(Wanted(arguments.url, name), arguments))
    return 0


def _archive_page(
    page: Wanted, arguments: argparse.Namespace, go_on: Callable[[], None] | None = None
) -> Archive:
    """Archive one page; `go_on`, called all the while, may raise to stop."""
    from sites.archive import archives_root, check_free
    from sites.archiving import Tool, archive_page
    from sites.httrack import Visit
    from sites.wholefolder import temporary_folder

    check_free(archives_root(), page.name, replace=arguments.replace)
    with temporary_folder(Path(tempfile.gettempdir()), "coldload", 0o700) as work:
        progress = None if go_on is None else lambda _count, _url: go_on()
        visit = Visit(work / "work", arguments.user_agent, progress=progress)
        return archive_page(page.url, archives_root(), page.name, Tool(arguments.tool), visit)


def _archive_list(arguments: argparse.Namespace, out: Console) -> int:
    """Archive the pages of a list; 1 when some failed."""
    from harness.cli.archivelines import difference_line, total_bytes
    from sites.archive import archives_root
    from sites.pagelist import archive_all, read_list

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
                f"{total_bytes(outcome.archive) / 1000:,.0f} kB"
            )
        out.print(f"[{number}/{len(wanted)}] {page.name}: {said} ({page.url})", markup=False)
        if outcome.archive is not None and (difference := difference_line(outcome.archive)):
            out.print(difference, markup=False, soft_wrap=True)
    if failed:
        out.print(f"\n{len(failed)} of {len(wanted)} failed; the same command tries these again:")
        for outcome in failed:
            out.print(f"  {outcome.wanted.url}: {outcome.said}", markup=False)
    return 1 if failed else 0
