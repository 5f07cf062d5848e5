"""`coldload pack`: a run as one file."""

from __future__ import annotations

import argparse
import contextlib
import socket
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import harness
from harness.cli.paths import given_path, given_run
from harness.cli.telling import say, telling
from harness.errors import ArchiveError, StorageFailed, UsageError
from harness.input.keys import NAME_PATTERN
from harness.input.shown import shortened, shown
from harness.system.folders import user_name

if TYPE_CHECKING:
    from harness.pack.packfile import Manifest, PackedPage
    from sites.archive import Archive


NAMED = 6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Make one file of a run: study, plan, records, environment, calibration, report, and of the pages what they "
        "hold by digest. `coldload report`, `compare`, `plan` and `run` take it as they take a run or a study."
    )
    parser.add_argument(
        "run", type=given_run, metavar="RUN", help="a run directory; its name, or `latest`, will do"
    )
    parser.add_argument(
        "--out", type=given_path, metavar="FILE", help="the pack (default: RUN.zip, beside the run)"
    )
    parser.add_argument(
        "--no-report",
        action="store_true",
        help="leave the report out, which is made anew from the pack: a tenth of the size",
    )
    parser.add_argument(
        "--with-archives",
        action="store_true",
        help="also put the archives in, with the bodies of all responses, and the files of portraits: for those who "
        "may pass them on",
    )
    parser.add_argument(
        "--with-series",
        action="store_true",
        help="of a crowd also put its long series in, a line per page and per second: ten times the size",
    )


def run(arguments: argparse.Namespace) -> int:
    """Pack a run. The report in the pack, unless it goes without, is made from what the pack holds."""
    from analysis.report.report import build
    from harness.cli.report import read_as_known_today
    from harness.pack.packedrun import copy_run, describe_pages, read_plan
    from harness.pack.packfile import RUN, Manifest, write_pack
    from sites.archive import archives_root

    source = arguments.run.resolve()
    out = arguments.out or arguments.run.parent / f"{source.name}.zip"
    _refuse(source, out)
    plan = read_plan(arguments.run)
    names = set(filter(None, (user_name(), socket.gethostname())))
    pages = describe_pages(arguments.run, plan, archives_root())
    if arguments.with_archives:
        _refuse_without_archives(pages)
    with telling("packing the run and making its report") as tell, _scratch() as folder:
        made = folder / "run" / source.name  # a report tells the name of its run
        whole, bodies = arguments.with_series, arguments.with_archives
        counted = copy_run(arguments.run, made, plan, names, whole_series=whole, portraits=bodies)
        left_out = dict(sorted(counted.items()))
        if not arguments.no_report:
            build([made], read=read_as_known_today, tell=tell)
        packed = folder / "pack"
        packed.mkdir()
        made.rename(packed / RUN)
        told = tuple(_copied(*pair, packed, names, bodies=bodies) for pair in pages)
        about = Manifest(harness.__version__, source.name, plan.study, plan.seed, told, left_out)
        write_pack(packed, about, out)
    for line in _not_in_it(about, [page.name for page, archive in pages if archive is None]):
        say(line)
    say(f"pack: {out} ({out.stat().st_size / 1e6:.1f} MB)")
    return 0


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """A folder in which the pack is made; StorageFailed when a file of it cannot be written."""
    from harness.system.files import private_folder

    try:
        with private_folder() as folder:
            yield folder
    except OSError as error:
        raise StorageFailed(
            f"cannot make the pack in {tempfile.gettempdir()}: {error.filename or 'a file'}: "
            f"{error.strerror or error}; make room there, set TMPDIR to another place, or see `ulimit -f`"
        ) from error


def _refuse(source: Path, out: Path) -> None:
    """UsageError for a run or a place that cannot be."""
    if not NAME_PATTERN.fullmatch(source.name):
        raise UsageError(
            f"the run is called {shown(source.name)}, which not every machine can have as a name; rename the folder "
            "(letters, digits, '.', '_' and '-')"
        )
    if out.is_dir():
        raise UsageError(f"--out {out} is a folder; name a file in it")
    if not out.parent.is_dir():
        raise UsageError(f"--out: {out.parent} is no folder; make it, or choose another place")


def _refuse_without_archives(pages: Iterable[tuple[PackedPage, Archive | None]]) -> None:
    """ArchiveError when an archive that is to go with the pack is not there as it was measured."""
    from sites.archive import archives_root

    lacking = [page.name for page, archive in pages if archive is None]
    if lacking:
        raise ArchiveError(
            f"--with-archives: {', '.join(lacking)} is not in {archives_root()} as it was measured; leave the option "
            "out, or set COLDLOAD_ARCHIVES to where it is"
        )


def _copied(
    page: PackedPage, archive: Archive | None, target: Path, names: Collection[str], *, bodies: bool
) -> PackedPage:
    """Put what the pack holds of a page below `target`."""
    from harness.pack.packedrun import copy_page

    if archive is not None:
        copy_page(archive, target, names, bodies=bodies)
    return replace(page, archived=archive is not None and bodies)


def _not_in_it(about: Manifest, unknown: Collection[str]) -> Iterator[str]:
    """What whoever gets the pack has to get elsewhere."""
    from harness.pack.packedrun import LONG_SERIES
    from sites.archive import archives_root

    needed = [page.name for page in about.pages if not page.recipe and not page.archived and page.digest]
    if needed:
        yield (
            f"not in it: the bodies of {shortened(needed, NAMED)} (of somebody else; digests are in it); with "
            "--with-archives they are"
        )
    if untold := [page.name for page in about.pages if page.digest is None]:
        yield (
            f"not known: which {shortened(untold, NAMED)} was measured; the run tells the beginning of its digest at "
            f"most, and {archives_root()} has another page or none"
        )
    if unknown:
        yield (
            f"not in it: what {shortened(list(unknown), NAMED)} held, response by response; it is not in "
            f"{archives_root()} as it was measured"
        )
    series = {name: count for name, count in about.left_out.items() if name in LONG_SERIES}
    if series:
        yield f"not in it: the long series of crowds ({_counted(series)}); with --with-series they are"
    if kept := {name: count for name, count in about.left_out.items() if name not in series}:
        yield f"not in it: what the run had kept of trials and pages ({_counted(kept)})"


def _counted(files: Mapping[str, int]) -> str:
    return shortened([f"{name} {count}" for name, count in files.items()], NAMED)
