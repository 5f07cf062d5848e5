"""How faithfully recordings are replayed: every page on every device by every protocol.

    .venv/bin/python benchmarks/replay_quality.py [--start-url URL] [--keep DIR] RECORDING ...

Each RECORDING (WARC, WACZ, HAR, HTTrack mirror) is imported into DIR (default: a folder that is thrown away), where
reports and screenshots are kept beside it; --start-url, once for each recording, names the page in it ("" for what the
recording names). Without a recording the pages that ship are loaded. Prints a Markdown table, then what was missed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks import common
from harness.errors import ColdloadError
from harness.model.engine import DEVICES
from harness.model.protocol import Protocol
from harness.system.enclosure import enclosed
from harness.verify.verification import ReplayQuality, store, verifications
from sites.archive import Archive, list_archives, open_archive
from sites.importers import import_recording
from sites.recipes import RECIPES, package_cache

PROTOCOLS = (Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2)
HEAD = "| page | device | protocol | outcome | asked | exact | closest | missed | all % | core % | kB (recorded) |"


def archives(recordings: Sequence[Path], start_urls: Sequence[str], root: Path) -> list[Archive]:
    """The recordings as archives; without any, the pages that ship."""
    if not recordings:
        for recipe in RECIPES.values():
            recipe.archive(root, package_cache())
        return list_archives(root)
    made = []
    for number, (path, start) in enumerate(zip(recordings, start_urls, strict=True), 1):
        name = f"{number}-{path.parent.name}-{path.name.partition('.')[0]}"
        made.append(import_recording(path, root, name, start or None, replace=True))
    return made


def row(quality: ReplayQuality) -> str:
    """A line of the table."""
    all_percent, core_percent = (
        "-" if value is None else f"{value:.1f}" for value in (quality.answered_percent, quality.core_percent)
    )
    cells = (
        quality.page,
        quality.device,
        quality.protocol,
        quality.outcome,
        str(quality.asked),
        str(quality.exact),
        str(len(quality.closest)),
        str(len(quality.missed)),
        all_percent,
        core_percent,
        f"{(quality.bytes_served or 0) / 1000:.0f} ({quality.bytes_recorded / 1000:.0f})",
    )
    return f"| {' | '.join(cells)} |"


def measure(root: Path, names: Sequence[str]) -> int:
    """Load every page, print the table line by line, then the details."""
    print(HEAD, "|---" * HEAD.count(" | ") + "|---|", sep="\n")
    seen: list[ReplayQuality] = []
    for name in names:
        archive = open_archive(root, name)
        for verification in verifications(archive, PROTOCOLS, list(DEVICES.values())):
            store(verification, archive)
            seen.append(verification.quality)
            print(row(verification.quality), flush=True)
    for quality in seen:
        print(f"\n{quality.page} {quality.device} {quality.protocol}: {quality.reason or quality.outcome}")
        core = set(quality.core_missed)
        for url in quality.missed:
            print(f"  missed{' (core)' if url in core else ''}: {url}")
        for url in quality.failed:
            print(f"  refused by the browser: {url}")
        for text in quality.console_errors or ():
            print(f"  console: {text}")
    return 0 if all(quality.ok for quality in seen) else 1


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument("recordings", nargs="*", type=Path, metavar="RECORDING")
    parser.add_argument("--start-url", action="append", metavar="URL", help="once for each recording")
    parser.add_argument("--keep", type=Path, metavar="DIR")
    arguments = parser.parse_args()
    start_urls = arguments.start_url or [""] * len(arguments.recordings)
    if len(start_urls) != len(arguments.recordings):
        parser.error("give --start-url once for each recording, or not at all")
    with tempfile.TemporaryDirectory() as scratch:
        root = (arguments.keep or Path(scratch)).absolute()
        try:
            names = [archive.name for archive in archives(arguments.recordings, start_urls, root)]
        except ColdloadError as error:
            parser.error(str(error))
        return enclosed(partial(measure, root, names))


if __name__ == "__main__":
    sys.exit(main())
