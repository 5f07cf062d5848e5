"""`coldload import`: an archive of a recording, or of the folder of a site, which is served and loaded for that."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.paths import ARCHIVES_HERE, given_path, refuse_hidden
from harness.cli.telling import reading_s, telling
from harness.errors import UsageError
from harness.input.keys import NAME_PATTERN
from harness.input.shown import brief

if TYPE_CHECKING:
    from sites.archive import Archive

BYTES_PER_S = 5e6  # of a compressed recording, about what a core of a small machine takes in


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=given_path,
        metavar="FILE",
        help=".warc, .warc.gz, .wacz, .har with bodies, a mirror folder, or the folder of a site (with index.html)",
    )
    parser.add_argument("--name", help="name of the archive (default: the file's name)")
    parser.add_argument(
        "--start-url",
        metavar="URL",
        help="the page to load (default: what the recording names, or begins with); of a folder, where it is served "
        "(default: https://NAME/, or https://NAME.example/ of a name without a dot)",
    )
    parser.add_argument("--replace", action="store_true", help="replace an archive of the same name")


def run(arguments: argparse.Namespace) -> int:
    """Import a recording; without --name it is called as the file, without what tells the format."""
    from harness.cli.archivelines import say_made
    from sites.archive import archives_root
    from sites.importers import holds_mirror, holds_page, import_recording

    name = arguments.name or re.sub(
        r"(?i)\.(warc|warc\.gz|wacz|wacz\.zip|har|gz|zip)$", "", arguments.file.resolve().name
    )
    if not NAME_PATTERN.fullmatch(name):
        raise UsageError(f"cannot name an archive {name[:100]!r}; give --name (letters, digits, . _ -)")
    if holds_page(arguments.file) and not holds_mirror(arguments.file):
        return _import_folder(arguments, name)
    with telling(f"reading {arguments.file.name}", reading_s([arguments.file], BYTES_PER_S)):
        archive = import_recording(
            arguments.file, archives_root(), name, arguments.start_url, replace=arguments.replace
        )
    say_made(archive)
    return 0


def _import_folder(arguments: argparse.Namespace, name: str) -> int:
    """Serve a folder in a testbed under the name of a host, and archive it there as a live page is."""
    from harness.cli.failures import in_enclosure
    from harness.system.enclosure import folder_for_an_enclosure
    from sites.archive import archives_root, check_free, fragment_warning, write_archive
    from sites.importers import address_of, responses_of_folder
    from sites.urls import parse_url
    from sites.warc import About

    refuse_hidden({ARCHIVES_HERE: archives_root()})
    check_free(archives_root(), name, replace=arguments.replace)
    start = address_of(name, arguments.start_url)
    base = replace(parse_url(start), target="/")
    with folder_for_an_enclosure() as folder:
        served = responses_of_folder(arguments.file, str(base))
        origin = write_archive(folder, name, About(start, "folder", "", ()), served)
        warnings = fragment_warning(arguments.start_url or "")
        served_again = partial(_archive_served, arguments.file, origin, archives_root(), warnings)
        return in_enclosure(arguments, served_again)


def _archive_served(folder: Path, origin: Archive, root: Path, warnings: tuple[str, ...]) -> int:
    from harness.cli.archivelines import say_made
    from harness.cli.making import as_live
    from harness.cli.visiting import FetchStatus
    from harness.lab.testbed import testbed
    from harness.system.enclosure import WORKSPACE
    from sites.archive import write_archive
    from sites.archiving import Tool, recorded_page
    from sites.httrack import Visit

    note = f"Imported from the folder {brief(folder.resolve().name, 100)}, served and loaded on this machine."
    with testbed() as made, as_live(origin, made) as network:
        visit = Visit(WORKSPACE / origin.name, network=network, trust=made.trust)
        with (
            FetchStatus().shown() as status,
            recorded_page(origin.start_url, root, Tool.BOTH, replace(visit, progress=status)) as page,
        ):
            # Where it was served, and how fast, tells nothing of the site.
            about = replace(page.about, notes=(note, *warnings, *page.about.notes), load=None)
            apart = (replace(response, ip=None, wait_ms=None, connect_ms=None) for response in page.responses)
            archive = write_archive(root, origin.name, about, apart)
    say_made(archive)
    return 0
