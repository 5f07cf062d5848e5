"""The arguments of `coldload archive`."""

from __future__ import annotations

import argparse

from harness.cli.arguments.paths import given_path


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
