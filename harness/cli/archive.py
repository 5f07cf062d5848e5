"""`coldload archive`: live pages, one or a list, and the pages that ship."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from harness.cli.failures import going_on
from harness.cli.options import refuse_beside, refuse_without
from harness.cli.paths import given_path
from harness.cli.telling import say
from harness.cli.visiting import FetchStatus, add_visit_arguments, visiting, visitor_of
from harness.errors import UsageError
from harness.input.keys import NAME_PATTERN

if TYPE_CHECKING:
    from sites.archive import Archive
    from sites.archiving import PageResult, Tool, Wanted
    from sites.httrack import Progress
    from sites.visitor import Visitor

USUAL_JOBS = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", nargs="?", metavar="URL", help="the page")
    parser.add_argument("--name", metavar="NAME", help="name of the archive (default: the host's name)")
    parser.add_argument(
        "--with",
        dest="tool",
        choices=["both", "httrack", "browser"],
        help="httrack: its mirror; browser: what a real load asks for; both: the mirror completed by a load (default, "
        "but browser for who brings something: HTTrack cannot sign in)",
    )
    add_visit_arguments(parser)
    parser.add_argument("--shipped", action="store_true", help="make the pages that ship with the project")
    parser.add_argument(
        "--list",
        type=given_path,
        metavar="FILE",
        help="archive many pages: one URL per line, a name after it if you like, # comments; goes on where it ended",
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help=f"pages of a list at a time (default {USUAL_JOBS})"
    )
    parser.add_argument("--replace", action="store_true", help="replace an archive of the same name")


def run(arguments: argparse.Namespace) -> int:
    from harness.cli.archivelines import say_made
    from harness.cli.making import make_shipped_archives
    from sites.urls import parse_url

    chosen = [what for what in ("url", "shipped", "list") if getattr(arguments, what)]
    if len(chosen) != 1 or (arguments.list and arguments.name):
        raise UsageError(
            "name one of: a URL to archive, --list FILE for many (names stand in it), "
            "--shipped for the pages that ship with the project"
        )
    if not arguments.list:
        refuse_without("--list", arguments, "--jobs")
    if arguments.shipped:
        refuse_beside("--shipped", arguments, "--name", "--replace", "--header", "--cookie", "--before")
        with going_on(lambda: "what is archived is whole; the same command goes on"):
            make_shipped_archives(arguments)
            return 0
    visitor = visitor_of(arguments)
    tool = _tool(arguments, visitor)
    if arguments.list:
        return _archive_list(arguments, tool, visitor)
    name = arguments.name or parse_url(arguments.url).host
    if not NAME_PATTERN.fullmatch(name):
        raise UsageError(
            f"cannot name an archive {name!r} after {arguments.url}; give --name (letters, digits, . _ -)"
        )
    from sites.archiving import Wanted

    page = Wanted(arguments.url, name)
    with FetchStatus().shown() as told:
        made = _archive_page(page, arguments, tool, visitor, told)
    say_made(made)
    return 0


def _tool(arguments: argparse.Namespace, visitor: Visitor) -> Tool:
    """What the pages are archived with; UsageError for HTTrack and a visitor who brings something."""
    from sites.archiving import Tool

    if visitor.is_nobody:
        return Tool(arguments.tool or Tool.BOTH)
    if arguments.tool not in (None, Tool.BROWSER):
        raise UsageError(
            f"--with {arguments.tool} takes no --header, --cookie, --before, --visible or --wait-for: HTTrack cannot "
            "sign in, and would archive what everybody sees; leave --with out, or give --with browser"
        )
    return Tool.BROWSER


def _archive_page(
    page: Wanted, arguments: argparse.Namespace, tool: Tool, visitor: Visitor, progress: Progress
) -> Archive:
    """Archive one page; `progress` may raise to stop."""
    from sites.archive import archives_root, check_free
    from sites.archiving import archive_page

    check_free(archives_root(), page.name, replace=arguments.replace)
    with visiting(arguments, visitor, progress) as visit:
        return archive_page(page.url, archives_root(), page.name, tool, visit)


def _archive_list(arguments: argparse.Namespace, tool: Tool, visitor: Visitor) -> int:
    """Archive the pages of a list; 1 when some failed."""
    from harness.cli.archivelines import total_bytes, warning_lines
    from sites.archive import archives_root
    from sites.archiving import archive_all, read_list

    jobs = USUAL_JOBS if arguments.jobs is None else arguments.jobs
    if jobs < 1:
        raise UsageError(f"--jobs {jobs} makes no sense; give 1 or more")
    if visitor.attended is not None:
        raise UsageError("--visible without --before is for one page; a list needs a script")
    wanted = read_list(arguments.list)
    failed: list[PageResult] = []
    told = FetchStatus()

    def archived(page: Wanted, go_on: Callable[[], None]) -> Archive:
        def progress(what: str, count: int, url: str) -> None:
            go_on()
            told(f"{page.name}, {what}", count, url)

        return _archive_page(page, arguments, tool, visitor, progress)

    outcomes = archive_all(wanted, archives_root(), archived, jobs=jobs, replace=arguments.replace)
    done = 0
    with (
        told.shown(),
        going_on(lambda: f"{done} of {len(wanted)} pages are done; the same command goes on"),
    ):
        for number, outcome in enumerate(outcomes, 1):
            page, done = outcome.wanted, number
            if outcome.archive is None:
                failed.append(outcome)
                said = "failed"
            else:
                said = outcome.said or (
                    f"{len(outcome.archive.entries)} responses of {len(outcome.archive.hosts)} host(s), "
                    f"{total_bytes(outcome.archive) / 1000:,.0f} kB"
                )
            say(f"[{number}/{len(wanted)}] {page.name}: {said} ({page.url})")
            if outcome.archive is not None and not outcome.said:
                for line in warning_lines(outcome.archive):
                    say(f"  {line}")
    if failed:
        say(f"\n{len(failed)} of {len(wanted)} failed; the same command tries these again:")
        for outcome in failed:
            say(f"  {outcome.wanted.url}: {outcome.said}")
    return 1 if failed else 0
