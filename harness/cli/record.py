"""`coldload record`: a live page, as a person sees it, in one file that other tools read, too."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.cli.paths import new_file
from harness.cli.telling import say
from harness.cli.visiting import FetchStatus, add_visit_arguments, visiting, visitor_of
from harness.errors import UsageError
from harness.input.keys import NAME_PATTERN


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="the page")
    parser.add_argument(
        "--out",
        type=new_file,
        metavar="FILE",
        help="the WACZ file (default: the host's name and .wacz, here)",
    )
    add_visit_arguments(parser)
    parser.add_argument("--replace", action="store_true", help="replace a file of the same name")


def run(arguments: argparse.Namespace) -> int:
    from harness.cli.archivelines import recorded_lines
    from sites.archiving import Tool, recorded_page
    from sites.importers.wacz import write_wacz
    from sites.urls import parse_url

    host = parse_url(arguments.url).host
    if arguments.out is None and not NAME_PATTERN.fullmatch(host):
        raise UsageError(f"cannot name a file after {arguments.url}; give --out")
    out: Path = arguments.out or Path(f"{host}.wacz")
    if out.exists() and not arguments.replace:
        raise UsageError(
            f"there is a file {out} already; give --out for another name, or --replace to replace it"
        )
    visitor = visitor_of(arguments)
    with (
        FetchStatus().shown() as told,
        visiting(arguments, visitor, told) as visit,
        recorded_page(arguments.url, out.absolute().parent, Tool.BROWSER, visit) as made,
    ):
        entries = write_wacz(out, made.about, made.responses)
    for line in recorded_lines(made.about, entries, out):
        say(line)
    return 0
