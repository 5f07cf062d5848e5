"""How faithfully pages are replayed, and whether variants look like them: every page on every device.

    .venv/bin/python -m benchmarks.replay_quality [--only quality|looks] [--pages NAME ...] [--keep DIR] [--into DIR]
    .venv/bin/python -m benchmarks.replay_quality [--start-url URL ...] RECORDING ...    with the same options

The pages are those of `--pages`, which ship, from `archives/`; or each RECORDING (WARC, WACZ, HAR, HTTrack mirror),
imported. All are copied into DIR (default: a folder that is thrown away), where reports and screenshots are kept beside
them. --start-url, once for each recording, names the page in it ("" for what the recording names).

`quality`: the share of all requests that are answered and, in brackets, of the core ones, in %, one load by each
protocol. `looks`: each set of filters beside the page as archived, over HTTP/2: the least similarity of any screenful.
Prints a table of each, then what was missed or differs.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from analysis.labels.words import slug
from benchmarks import common, quoted
from harness.errors import ArchiveError, ColdloadError
from harness.input.shown import brief
from harness.model.engine import DEVICES
from harness.model.protocol import Protocol
from harness.model.variant import parse_variant
from harness.system.enclosure import enclosed
from harness.verify.likeness import Likeness
from harness.verify.mending import Where, check_variants
from harness.verify.verification import ReplayQuality, store, verifications
from sites.archive import Archive, archives_root, open_archive
from sites.importers import import_recording
from sites.recipes import RECIPES

PAGES = ("dummy-2012", "agency", "news-front", "print-shop", "magazine", "field-guide")
PROTOCOLS = (Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2)
SETS = ("minify", "inline", "images", "bandwidth", "core", "core-2012")
TOLD = 300  # letters of what an archive or its page says
Row = Mapping[str, str]


@dataclass(frozen=True)
class Seen:
    """Of a page: its row, what there is to tell of it, and whether it is as it should be."""

    row: Row
    told: Sequence[str]
    ok: bool


def recorded(recordings: Sequence[Path], start_urls: Sequence[str], root: Path) -> Iterator[Archive]:
    """The recordings as archives, each called by its folder and file; ArchiveError for one that cannot be read."""
    names = [slug(f"{path.resolve().parent.name} {path.name.partition('.')[0]}") for path in recordings]
    for name in names:
        if names.count(name) > 1:
            raise ArchiveError(f"two recordings would be called {name}; rename one of them, or its folder")
    for name, path, start in zip(names, recordings, start_urls, strict=True):
        yield import_recording(path, root, name, start or None)


def percent(qualities: Sequence[ReplayQuality]) -> str:
    """What was answered of all requests, and of the core ones: a range where protocols differ."""
    every, core = (
        sorted({f"{value:.1f}" for value in values if value is not None}, key=float)
        for values in (
            [quality.answered_percent for quality in qualities],
            [quality.core_percent for quality in qualities],
        )
    )
    return f"{_range(every)} ({_range(core)})"


def _range(values: Sequence[str]) -> str:
    if not values:
        return "-"
    return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"


def quality_of(archive: Archive) -> Seen:
    """What each load of a page missed."""
    seen: list[ReplayQuality] = []
    for verification in verifications(archive, PROTOCOLS, list(DEVICES.values())):
        store(verification, archive)
        seen.append(verification.quality)
    by_device = {name: [quality for quality in seen if quality.device == name] for name in DEVICES}
    asked = max(quality.asked for quality in seen)
    row = {
        "page": archive.name,
        "requests": str(asked),
        **{name: percent(by_device[name]) for name in DEVICES},
    }
    told = [line for quality in seen for line in _missed(quality)]
    return Seen(row, told, all(quality.ok for quality in seen))


def _missed(quality: ReplayQuality) -> Iterator[str]:
    where = f"{quality.page} {quality.device} {quality.protocol}"
    if quality.reason:
        yield f"{where}: {quality.outcome}: {quality.reason}"
    core = set(quality.core_missed)
    yield from (f"{where}: missed{' (core)' if url in core else ''}: {url}" for url in quality.missed)
    yield from (f"{where}: refused by the browser: {url}" for url in quality.failed)
    yield from (f"{where}: console: {text}" for text in quality.console_errors or ())


def looks_of(archive: Archive) -> Seen:
    """How alike each set leaves a page, desktop and mobile in a cell."""
    where = Where(Protocol.H2, tuple(DEVICES.values()))
    variants = [parse_variant(name) for name in SETS]
    findings = zip(SETS, check_variants(archive, variants, where, mend=False), strict=True)
    seen = {name: finding.asked for name, finding in findings}
    cells = {name.replace("-", "_"): "; ".join(map(_similarity, asked)) for name, asked in seen.items()}
    differing = [each for asked in seen.values() for each in asked if not each.ok]
    row = {"page": archive.name, **cells, "differing": str(len(differing))}
    return Seen(row, [f"{archive.name}: {each}" for each in differing], not differing)


def _similarity(found: Likeness) -> str:
    return "-" if found.similarity is None else f"{found.similarity:.3f}"


MEASUREMENTS: Mapping[str, Callable[[Archive], Seen]] = {"quality": quality_of, "looks": looks_of}


def measure(archives: Sequence[Archive], only: Sequence[str], into: Path | None, of: str) -> int:
    """Measure, print and keep; 1 when a load failed, missed something of its core, or looks otherwise."""
    fine = True
    for what in only:
        design = quoted.VARIANTS if what == "looks" else ""
        part, seen = quoted.Part("replay", f"{what}{of}", common.ENGINE, design=design), list[Seen]()
        for archive in archives:
            seen.append(MEASUREMENTS[what](archive))
            print(*seen[-1].row.values(), sep=" | ", flush=True)
        rows = [each.row for each in seen]
        print(
            f"\n{common.as_table(rows, 1)}\n",
            *(brief(line, TOLD) for each in seen for line in each.told),
            sep="\n",
            flush=True,
        )
        fine = fine and all(each.ok for each in seen)
        if into:
            part.keep(into, rows, ["page"])
    return 0 if fine else 1


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument("recordings", nargs="*", type=Path, metavar="RECORDING")
    parser.add_argument("--start-url", action="append", metavar="URL", help="once for each recording")
    parser.add_argument("--pages", nargs="+", choices=list(RECIPES), default=PAGES, metavar="NAME")
    parser.add_argument("--only", choices=MEASUREMENTS, help="measure one of the two")
    parser.add_argument("--keep", type=Path, metavar="DIR")
    quoted.add_into(parser)
    arguments = parser.parse_args()
    start_urls = arguments.start_url or [""] * len(arguments.recordings)
    if len(start_urls) != len(arguments.recordings):
        parser.error("give --start-url once for each recording, or not at all")
    with tempfile.TemporaryDirectory() as scratch:
        root = (arguments.keep or Path(scratch)).absolute()
        try:
            archives = [*recorded(arguments.recordings, start_urls, root)]
            for name in () if archives else arguments.pages:
                shutil.copytree(open_archive(archives_root(), name).folder, root / name)
                archives.append(open_archive(root, name))
        except ColdloadError as error:
            parser.error(str(error))
        of = "-recorded" if arguments.recordings else ""
        only = [arguments.only] if arguments.only else list(MEASUREMENTS)
        return enclosed(partial(measure, archives, only, arguments.into, of))


if __name__ == "__main__":
    sys.exit(main())
