"""`coldload import`: an archive of a recording."""

from __future__ import annotations

import argparse
import re

from harness.cli.paths import given_path
from harness.errors import UsageError
from harness.input.keys import NAME_PATTERN


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A recording, and the name of its archive."""
    parser.add_argument(
        "file",
        type=given_path,
        metavar="FILE",
        help=".warc, .warc.gz, .wacz, .har with bodies, or a mirror folder",
    )
    parser.add_argument("--name", help="name of the archive (default: the file's name)")
    parser.add_argument(
        "--start-url",
        metavar="URL",
        help="the page to load (default: what the recording names, or begins with)",
    )
    parser.add_argument("--replace", action="store_true", help="replace an archive of the same name")


def run(arguments: argparse.Namespace) -> int:
    """Import a recording; without --name it is called as the file, without what tells the format."""
    from harness.cli.archivelines import print_made
    from harness.cli.console import console
    from sites.archive import archives_root
    from sites.importers import import_recording

    out = console()
    name = arguments.name or re.sub(
        r"(?i)\.(warc|warc\.gz|wacz|wacz\.zip|har|gz|zip)$", "", arguments.file.resolve().name
    )
    if not NAME_PATTERN.fullmatch(name):
        raise UsageError(f"cannot name an archive {name[:100]!r}; give --name (letters, digits, . _ -)")
    archive = import_recording(
        arguments.file, archives_root(), name, arguments.start_url, replace=arguments.replace
    )
    print_made(out, archive)
    return 0
