"""How long a variant of a page of 5 MB takes to make, and to open once it is made: medians with their range.

    .venv/bin/python -m benchmarks.optimise [--times 3] [--into DIR]

The page is `agency` as it ships (style sheets, scripts, fonts, pictures, 1.7 MB) with the two shipped kinds of picture
added until the bodies hold 5 MB. Wall time, and processor time without the minifier's process.
"""

from __future__ import annotations

import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks import common, quoted
from harness.model.variant import parse_variant
from sites.archive import Archive, archives_root, open_archive
from sites.coding import coding_of, decode
from sites.optimise import outside
from sites.optimise.derive import derive
from sites.optimise.page import Inventory
from sites.recipes.pictures import Picture
from sites.response import Response

BODIES = 5_000_000
VARIANTS = ("core", "core,convert_to_avif")
LIMIT_S = 60


def large_page(root: Path) -> Archive:
    """The page, as an archive in `root`."""
    source = open_archive(archives_root(), "agency")
    responses = list(source.responses())
    missing = BODIES - sum(len(response.body) for response in responses)
    added: list[Response] = []
    for picture in _pictures(source.start_url):
        if sum(len(response.body) for response in added) >= missing:
            break
        added.append(picture)
    shown = "".join(f'<img src="{response.url}" width="470" height="280">' for response in added).encode()
    start = next(response for response in responses if response.url == source.start_url)
    plain = decode(start.body, coding_of(start.header("Content-Encoding"))) or b""
    headers = tuple(header for header in start.headers if header[0].lower() != "content-encoding")
    body = plain.replace(b"</body>", shown + b"</body>")
    responses.remove(start)
    return common.archived(root, "large", replace(start, body=body, headers=headers), [*responses, *added])


def _pictures(base: str) -> Iterator[Response]:
    """Photographs, and every fourth time a drawing."""
    for number in itertools.count():
        kind, size = ("png", 25_907) if number % 4 == 3 else ("jpg", 183_892)
        width, height = (340, 240) if kind == "png" else (940, 560)
        body = Picture(f"{number}.{kind}", width, height, size, number).encoded()
        mime = "image/png" if kind == "png" else "image/jpeg"
        yield Response(f"{base}benchmark/{number}.{kind}", 200, (("Content-Type", mime),), body)


def measured(name: str, times: int) -> tuple[Mapping[str, str], bool]:
    """What a variant costs: seconds to make it and to open it again; what it leaves of the page; and if it is slow."""
    made, again = [], []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            archive = large_page(Path(folder))
            outside.shortened.cache_clear()
            made.append(_timed(archive, name))
            again.append(_timed(archive, name)[0])
            report = derive(archive, parse_variant(name)).report
    walls, processor = zip(*made, strict=True)
    row = {
        "variant": name,
        "before": _told(report.before),
        "after": _told(report.after),
        "made_s": common.spread(walls),
        "processor_s": common.spread(processor),
        "opened_again_s": common.spread(again, 3),
    }
    return row, statistics.median(walls) > LIMIT_S


def _told(page: Inventory) -> str:
    return f"{page.size.requests} requests, {page.size.bytes / 1e6:.2f} MB"


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument("--times", type=int, default=3)
    quoted.add_into(parser)
    given = parser.parse_args()
    print(common.machine())
    part = quoted.Part("optimise", "variants", design=quoted.VARIANTS)
    rows, slow = list[Mapping[str, str]](), False
    for name in VARIANTS:
        row, is_slow = measured(name, given.times)
        print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
        rows.append(row)
        slow = slow or is_slow
    if given.into:
        part.keep(given.into, rows, ["variant"])
    return 1 if slow else 0


def _timed(archive: Archive, name: str) -> tuple[float, float]:
    wall, own = time.perf_counter(), _cpu_seconds()
    derive(archive, parse_variant(name))
    return time.perf_counter() - wall, _cpu_seconds() - own


def _cpu_seconds() -> float:
    """Of this process, with the codecs' threads."""
    times = os.times()
    return times.user + times.system


if __name__ == "__main__":
    sys.exit(main())
