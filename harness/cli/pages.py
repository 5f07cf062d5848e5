"""`coldload pages`: the archives there are and the sets they are of, or what one archive holds."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from harness.cli.telling import console, percent, say
from harness.model.condition import SET_MARK

if TYPE_CHECKING:
    from sites.archive import Archive


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="an archive (default: list all)")
    parser.add_argument("--json", action="store_true", help="print what there is of each as a JSON line")


def run(arguments: argparse.Namespace) -> int:
    from rich.table import Table

    from harness.cli.archivelines import total_bytes
    from sites.archive import archives_root, list_archives, open_archive

    if arguments.json:
        root = archives_root()
        for archive in [open_archive(root, arguments.name)] if arguments.name else list_archives(root):
            print(json.dumps(_described(archive)))
        return 0
    if arguments.name:
        _print_page(open_archive(archives_root(), arguments.name))
        return 0
    archives = list_archives(archives_root())
    if not archives:
        say(
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
            f"{total_bytes(archive) / 1000:,.0f}",
            archive.captured_with,
        )
    console().print(table)
    _print_sets({archive.name for archive in archives})
    return 0


def _described(archive: Archive) -> dict[str, Any]:
    """What is told of an archive to a program."""
    from harness.cli.archivelines import total_bytes
    from harness.verify.verification import stored

    return {
        "name": archive.name,
        "start_url": archive.start_url,
        "captured_with": archive.captured_with,
        "captured_utc": archive.captured_utc,
        "digest": archive.digest,
        "responses": len(archive.entries),
        "hosts": list(archive.hosts),
        "body_bytes": total_bytes(archive),
        "notes": list(archive.notes),
        "verified": [quality.to_json() for quality in stored(archive)],
    }


def _print_sets(archived: Collection[str]) -> None:
    """The sets that a study in this directory can name, and which of their pages are not archived."""
    from harness.study.pageset import all_sets

    for page_set in all_sets():
        say(f"\n{SET_MARK}{page_set.name}: {page_set.title}")
        say(f"  {len(page_set.pages)} pages: {', '.join(page_set.pages)}")
        missing = [page for page in page_set.pages if page not in archived]
        if missing:
            say(f"  not archived: {', '.join(missing)}")


def _print_page(archive: Archive) -> None:
    from rich.table import Table

    from harness.cli.archived import whole_waits_line
    from harness.model.settings import beyond_link
    from sites.archiveindex import round_trips
    from sites.recipes import LICENCES_FILE

    say(
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
        far = round_trips(archive.entries) if title == "host" else {}
        beyond = beyond_link(far)
        for column in ("responses", "kB", *(["round trip ms", "beyond link ms"] if far else [])):
            table.add_column(column, justify="right")
        for name, size in sizes.most_common():
            distance = [
                f"{delays[name]:.1f}" if name in delays else "-" for delays in (far, beyond) if delays
            ]
            table.add_row(name, str(counts[name]), f"{size / 1000:,.1f}", *distance)
        say()
        console().print(table)
    if waits := whole_waits_line(archive.entries):
        say(f"\n{waits}")
    _print_verifications(archive)
    if (archive.folder / LICENCES_FILE).is_file():
        say(f"\nlicences: {archive.folder / LICENCES_FILE}")
    if archive.notes:
        say("\nnotes")
        for note in archive.notes:
            say(f"  {note}")


def _print_verifications(archive: Archive) -> None:
    """What the last loads of `coldload verify` found."""
    from rich.table import Table

    from harness.verify.verification import stored

    reports = stored(archive)
    say()
    if not reports:
        say(f"not verified yet; `coldload verify {archive.name}`")
        return
    table = Table("verified", "by", "on", box=None, pad_edge=False)
    for column in ("requests", "as recorded", "closest", "missed", "answered", "core"):
        table.add_column(column, justify="right")
    for report in reports:
        old = report.archive_digest != archive.digest
        table.add_row(
            f"{report.taken_utc[:10]}{' (other content)' if old else ''}",
            report.protocol,
            report.device,
            *(str(count) for count in (report.asked, report.exact, len(report.closest), len(report.missed))),
            percent(report.answered_percent),
            percent(report.core_percent) if report.outcome == "ok" else report.outcome,
        )
    console().print(table)
