"""`coldload import`: an archive of a recording."""

from __future__ import annotations

import argparse
import re

from harness.cli.archivelines import print_made
from harness.cli.console import console
from harness.errors import UsageError
from harness.input.keys import NAME_PATTERN
from sites.archive import archives_root
from sites.importers import import_recording


def run(arguments: argparse.Namespace) -> int:
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
    print_made(out, archive)
    return 0
