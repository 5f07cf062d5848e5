"""How faithfully recordings are replayed: every page on every device by every protocol.

    .venv/bin/python benchmarks/replay_quality.py [--start-url URL] [--keep DIR] [--bodies] [--core] RECORDING ...

Each RECORDING (WARC, WACZ, HAR, HTTrack mirror) is imported into DIR (default: a folder that is thrown away), where
reports and screenshots are kept beside it; --start-url, once for each recording, names the page in it ("" for what the
recording names). Without a recording the pages that ship are loaded. Prints a Markdown table, then what was missed.
--bodies loads each page once more and compares every body that the browser got with the recording as warcio, and
nothing of ours, reads it. --core holds the variant `core` of each page against the page.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import brotli  # type: ignore[import-untyped, unused-ignore]
import zstandard
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped, unused-ignore]

from harness.errors import ColdloadError
from harness.model.engine import DEVICES
from harness.model.protocol import Protocol
from harness.system.enclosure import enclosed
from harness.verify.verification import ReplayQuality, store, verifications
from sites.archive import Archive, list_archives, open_archive
from sites.archiveindex import WARC_FILE
from sites.importers import import_recording
from sites.recipes import RECIPES, package_cache

DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "br": brotli.decompress,
    "zstd": lambda body: zstandard.ZstdDecompressor().decompressobj().decompress(body),
    "deflate": zlib.decompress,
}
CHANGED = re.compile(
    rb"(?i)https?|wss?|\s+integrity=(?:\"[^\"]*\"|'[^']*'|[^\s>]*)|<meta[^>]*content-security-policy[^>]*>"
)
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


def compare_bodies(root: Path, name: str) -> str:
    """One more load of a page under its own scheme: how many answers have the recorded body, byte for byte.

    Of others it is told whether only the scheme of links, digests and policies differ (docs/methodology.md, What is
    loaded), or more.
    """
    archive = open_archive(root, name)
    protocol = Protocol.H2 if archive.start_url.startswith("https:") else Protocol.HTTP1
    recorded = recorded_bodies(archive)
    with tempfile.TemporaryDirectory() as kept:
        words = ("--protocol", protocol, "--determinism", "false", "--rtt-ms", "10", "--down-mbps", "100")
        command = [sys.executable, "-m", "harness.cli", "load", name, *words, "--keep", kept, "--bodies"]
        environment = {**os.environ, "COLDLOAD_ARCHIVES": str(root)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{name}: not loaded: {done.stdout.strip()} {done.stderr.strip()}"
        entries = json.loads((Path(kept) / "load.har").read_text())["log"]["entries"]
    whole, changed, other = 0, 0, []
    for entry in entries:
        known = recorded.get(entry["request"]["url"].partition("://")[2])
        if known is None or entry["request"]["method"] != "GET" or entry["response"]["status"] >= 300:
            continue
        got = har_body(entry["response"]["content"])
        if got in known:
            whole += 1
        elif essence(got) in set(map(essence, known)):
            changed += 1
        else:
            other.append(f"{entry['request']['url']} ({len(got)} bytes, recorded {sorted(map(len, known))})")
    said = f"{name} by {protocol}: {whole} bodies as recorded, {changed} but for links and digests, {len(other)} others"
    return "\n  ".join([said, *other])


def recorded_bodies(archive: Archive) -> dict[str, set[bytes]]:
    """The decoded bodies of each URL without its scheme, as warcio reads them."""
    found: dict[str, set[bytes]] = {}
    with (archive.folder / WARC_FILE).open("rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type == "response":
                url = str(record.rec_headers.get_header("WARC-Target-URI")).partition("://")[2]
                coding = (record.http_headers.get_header("Content-Encoding") or "").strip().lower()
                body = record.raw_stream.read()
                found.setdefault(url, set()).add(DECODERS.get(coding, bytes)(body) if body else body)
    return found


def har_body(content: dict[str, Any]) -> bytes:
    """A body as bytes; text that is no UTF-8 in the recording differs here by its characters and is told as other."""
    text = content.get("text") or ""
    return base64.b64decode(text) if content.get("encoding") == "base64" else text.encode()


def essence(body: bytes) -> bytes:
    """A body without what a replay may change: the scheme of links, integrity digests, policies in a <meta>."""
    return CHANGED.sub(b"", body.removeprefix(b"\xef\xbb\xbf"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("recordings", nargs="*", type=Path, metavar="RECORDING")
    parser.add_argument("--start-url", action="append", metavar="URL", help="once for each recording")
    parser.add_argument("--keep", type=Path, metavar="DIR")
    parser.add_argument("--bodies", action="store_true", help="compare bodies with the recording")
    parser.add_argument("--core", action="store_true", help="hold the variant core against the page")
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
        code = enclosed(partial(measure, root, names))
        for name in names if arguments.bodies else ():
            print(f"\n{compare_bodies(root, name)}", flush=True)
        for name in names if arguments.core else ():
            command = [sys.executable, "-m", "harness.cli", "verify", name, "--variant", "core", "--no-mend"]
            environment = {**os.environ, "COLDLOAD_ARCHIVES": str(root)}
            code = subprocess.run(command, env=environment, check=False).returncode or code
        return code


if __name__ == "__main__":
    sys.exit(main())
