"""How long an archive of many responses takes to import, index and open: `python benchmarks/large_archive.py [N]`.

Twice: with the text gzip-encoded, as most recorders keep it, and decoded, so that it has to be encoded again. With
`--load`: how long a page of N tiny pictures (by default 10,000) takes to load in Chromium by each of today's protocols.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from harness.input.shown import clipped
from harness.model.condition import Condition, Origins
from harness.model.engine import Driver, Engine
from harness.model.link import Link
from harness.model.protocol import TODAY
from harness.model.trials import PlannedTrial
from harness.probes.probe import TrialOptions
from harness.system.enclosure import WORKSPACE, enclosed
from harness.trial.trial import browser_lab, run_trial
from sites.archive import open_archive, rebuild_index, write_archive
from sites.htcache import gzip_encoded
from sites.importers import import_recording
from sites.response import Response
from sites.warc import About, Writer

RESPONSES = 20_000
HOSTS = 50
BODY_BYTES = (200, 20_000)
SEED = 1
PICTURES = 10_000
TINY = bytes.fromhex(
    "47494638396101000100800000000000ffffff2c00000000010001000002024401003b"
)  # a GIF of one pixel
LINK, TIMEOUT_S = Link.of(100, 10), 300.0


def recording(path: Path, count: int, *, coded: bool) -> None:
    """A WARC of `count` responses, half of them text, from a seed."""
    chance = random.Random(SEED)  # noqa: S311
    words = [f"w{number:x}" for number in range(4096)]
    with path.open("wb") as file:
        writer = Writer(file, About("https://host0.example/0", "", "", ()))
        for number in range(count):
            size = chance.randint(*BODY_BYTES)
            text = number % 2 == 0
            body = " ".join(chance.choices(words, k=size // 5)).encode() if text else chance.randbytes(size)
            headers = (
                ("Content-Type", "text/html" if text else "image/webp"),
                ("Cache-Control", "max-age=60"),
            )
            response = Response(f"https://host{number % HOSTS}.example/{number}", 200, headers, body)
            writer.add(gzip_encoded(response) if text and coded else response)


def timed(what: str, work: Callable[[], object]) -> None:
    began, computed = time.perf_counter(), time.process_time()
    work()
    print(f"{what:8} {time.perf_counter() - began:6.2f} s, {time.process_time() - computed:6.2f} s of CPU")


def loads(count: int) -> int:
    """Load a page of so many pictures once by each protocol and print the times; must run inside an enclosure."""
    start = "https://site.example/"
    body = "<!doctype html>" + "".join(f"<img src=/{number}.gif>" for number in range(count))
    page = Response(start, 200, (("Content-Type", "text/html"),), body.encode())
    kind = (("Content-Type", "image/gif"),)
    pictures = (Response(f"{start}{number}.gif", 200, kind, TINY) for number in range(count))
    archive = write_archive(
        WORKSPACE / "archives", "page", About(start, "", "", ()), itertools.chain([page], pictures)
    )
    with browser_lab({"page": archive}, TODAY) as opened:
        for number, protocol in enumerate(TODAY, 1):
            cell = Condition(
                page="page",
                protocol=protocol,
                link=LINK,
                engine=Engine.CHROMIUM,
                driver=Driver.PLAYWRIGHT,
                origins=Origins.SINGLE,
                server="caddy",
            )
            planned = PlannedTrial(f"{number:05d}", number, number, cell)
            record = run_trial(opened.testbed, opened.drivers, planned, TrialOptions(TIMEOUT_S), WORKSPACE)
            seconds = (record.observation.plt_ms or 0) / 1000
            print(
                f"{protocol:12} {record.outcome} {seconds:6.1f} s {clipped(record.reason or '', 200)}",
                flush=True,
            )
    return 0


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("count", type=int, nargs="?")
    reader.add_argument("--load", action="store_true")
    chosen = reader.parse_args()
    if chosen.load:
        sys.exit(enclosed(lambda: loads(chosen.count or PICTURES)))
    count = chosen.count or RESPONSES
    for coded in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            root, path = Path(folder), Path(folder) / "large.warc.gz"
            recording(path, count, coded=coded)
            kind = "gzip-encoded" if coded else "decoded"
            print(f"{count} responses, {path.stat().st_size / 1e6:.0f} MB of WARC, text {kind}")
            measure(path, root)


def measure(path: Path, root: Path) -> None:
    timed("import", lambda: import_recording(path, root, "large"))
    timed("index", lambda: rebuild_index(root / "large"))
    timed("open", lambda: open_archive(root, "large"))


if __name__ == "__main__":
    main()
