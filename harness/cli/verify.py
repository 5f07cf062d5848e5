"""`coldload verify`: how faithfully a page is replayed, and whether a variant renders like its original."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.failures import in_enclosure
from harness.cli.options import (
    add_engine_option,
    add_protocol_option,
    add_replay_options,
    add_set_option,
    chosen_variant,
    engine_and_protocol,
    refuse_without,
    replay_of,
)
from harness.cli.paths import ARCHIVES_HERE, given_path, refuse_hidden
from harness.cli.telling import percent, say, telling, told_each
from harness.errors import UsageError
from harness.input.shown import brief
from harness.model.engine import BROWSERS, DEFAULT_ENGINE, DEVICES, Device, Engine
from harness.model.link import Way
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.model.variant import AS_ARCHIVED, FILTERS, Variant

if TYPE_CHECKING:
    from harness.verify.mending import Finding, Where
    from harness.verify.verification import ReplayQuality
    from sites.archive import Archive

LOAD_S = 10.0  # that a load with its pictures usually takes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Loads the page once on each device, up to four seconds after its load event, and reports what it "
        "asked for and how that was answered. Where the recording tells its times it also says how much of the "
        "recorded load link, distances, think times and bytes account for at most. Reports and screenshots are kept in "
        "ARCHIVE/verify/. Exit code 1: the load failed, or a core request (no favicon, no manifest, no other method "
        "than GET) is not archived."
    )
    parser.add_argument(
        "names", metavar="NAME", nargs="+", help="an archive; with --live there may be several"
    )
    add_engine_option(parser)
    usual = ", ".join(f"{browser.traits.usual_protocol} in {browser}" for browser in BROWSERS)
    add_protocol_option(parser, None, told=usual)
    parser.add_argument(
        "--device",
        choices=list(DEVICES),
        help="only this one (default: each that the engine can be; with --live desktop)",
    )
    add_replay_options(parser)
    parser.add_argument(
        "--variant",
        action="append",
        metavar="V",
        help="instead hold this variant against the original (may be repeated): all screenfuls, what the page asks "
        "for, errors and exceptions; a filter that breaks the page is noted with the archive, and a study that does "
        "not leave it out is refused",
    )
    add_set_option(parser)
    parser.add_argument(
        "--no-mend", action="store_true", help="with --variant: only report, look for no filter"
    )
    parser.add_argument(
        "--keep", type=given_path, metavar="DIR", help="with --variant: store all screenshots here"
    )
    parser.add_argument(
        "--live",
        nargs="?",
        const="",
        metavar="URL",
        help="instead load the live page (default: at the archived address) and its replay by turns, the replay over "
        "the distances and the rate of this hour, and report the error of the replay",
    )
    parser.add_argument("--times", type=int, metavar="N", help="with --live: turns (default 10)")
    for way in Way:
        parser.add_argument(
            f"--{way}-mbps",
            type=float,
            metavar="MBPS",
            help=f"with --live: the rate {way} of your access link, where you know it (default: "
            f"{'as measured' if way is Way.DOWN else 'as down'})",
        )


def run(arguments: argparse.Namespace) -> int:
    from harness.cli.making import make_parts_and_pages
    from harness.study.rules import Combination, check_combination
    from harness.verify.mending import Where
    from sites.archive import archives_root, open_archive

    engine, protocol = engine_and_protocol(arguments)
    if arguments.live is not None:
        from harness.cli.verifylive import verify_live

        return verify_live(arguments, replay_of(arguments, engine))
    refuse_without("--live", arguments, "--times", "--down-mbps", "--up-mbps")
    if len(arguments.names) > 1:
        raise UsageError(f"{len(arguments.names)} pages: only --live takes several at once; name one")
    refuse_hidden({"--keep": arguments.keep, ARCHIVES_HERE: archives_root()})
    name = arguments.names[0]
    make_parts_and_pages(arguments, [engine, engine.traits.server], [name])
    archive = open_archive(archives_root(), name)
    devices = (DEVICES[arguments.device],) if arguments.device else engine.traits.devices
    replay = replay_of(arguments, engine)
    variants = [chosen_variant(name, arguments.settings) for name in arguments.variant or ()]
    for device, variant in itertools.product(devices, variants or [AS_ARCHIVED]):
        usual = Combination.usual(archive.name, engine, variant)
        check_combination(
            replace(usual, protocol=protocol, replay=replay, device=device, hosts=archive.hosts)
        )
    if variants:
        if replay != Replay.usual(engine):
            raise UsageError("--determinism and --compression do not go with --variant; leave them out")
        keep = arguments.keep and arguments.keep.absolute()
        where = Where(protocol, devices, engine)
        mend = not arguments.no_mend
        return in_enclosure(
            arguments,
            lambda: verify_variants(archive, variants, where, mend=mend, keep=keep),
        )
    if arguments.keep or arguments.no_mend or arguments.settings:
        raise UsageError(
            "--keep, --no-mend and --set go with --variant; other screenshots are kept with the archive"
        )
    return in_enclosure(arguments, lambda: _verify(archive, protocol, devices, replay, engine=engine))


def _verify(
    archive: Archive,
    protocol: Protocol,
    devices: Sequence[Device],
    replay: Replay,
    *,
    engine: Engine,
) -> int:
    from harness.probes.waits import NOT_TOLD, LoadAccount
    from harness.verify.verification import reference_load, store, verifications
    from sites.archiveindex import round_trips

    browser = "" if engine is DEFAULT_ENGINE else f" in {engine}"
    say(f"{archive.name}: {archive.start_url} over {protocol}{browser}")
    recorded = archive.recorded_load()
    say(NOT_TOLD if recorded is None else str(LoadAccount.of(recorded, round_trips(archive.entries))))
    ok = True
    with telling(f"loading it in {DEFAULT_ENGINE}, to compare", LOAD_S):
        reference = None if engine is DEFAULT_ENGINE else reference_load(archive)
    loads = verifications(archive, [protocol], devices, replay=replay, engine=engine)
    for verification in told_each("loading it", loads, LOAD_S):
        path = store(verification, archive)
        for line in _lines(verification.quality):
            say(line)
        if verification.screenshot is not None:
            say(f"  screenshot: {path.with_suffix('.png')}")
        if reference is not None:
            fit = verification.against(reference)
            say(f"  {fit}")
            for line in fit.details:
                say(f"    {brief(line, 160)}")
            ok = ok and fit.ok
        ok = ok and verification.quality.ok
    return 0 if ok else 1


def _lines(quality: ReplayQuality) -> Iterator[str]:
    """The report of one load."""
    load = f"loaded in {quality.plt_ms:,.0f} ms" if quality.plt_ms else "no load event"
    yield f"{quality.device}: {quality.outcome}, {load}"
    if quality.reason:
        yield f"  {quality.reason}"
    yield (
        f"  {quality.asked} requests: {quality.exact} answered as recorded, {len(quality.closest)} by the closest "
        f"query, {len(quality.missed)} missed ({percent(quality.answered_percent)} answered); "
        f"core {quality.core_asked - len(quality.core_missed)} of {quality.core_asked} "
        f"({percent(quality.core_percent)})"
    )
    served = quality.bytes_served
    told = f"{quality.engine} does not tell" if served is None else f"{served / 1000:,.0f} kB"
    yield f"  bodies of the {quality.exact}: {told}, {quality.bytes_recorded / 1000:,.0f} kB in the recording"
    core = set(quality.core_missed)
    yield from (f"  closest query: {brief(url, 160)}" for url in quality.closest)
    yield from (f"  missed{', core' if url in core else ''}: {brief(url, 160)}" for url in quality.missed)
    yield from (f"  answered, but refused by the browser: {brief(url, 160)}" for url in quality.failed)
    yield from (f"  text without a glyph: {text}{_font_packages()}" for text in quality.without_glyph)
    yield from (f"  console: {text}" for text in quality.console_errors or ())


def _font_packages() -> str:
    """What to do about text without a glyph."""
    from harness.lab.preflight import debian_packages

    absent = [
        package.name
        for package in debian_packages()
        if package.name.startswith("fonts-") and not package.is_there()
    ]
    return (
        f"; apt-get install {' '.join(absent)}"
        if absent
        else "; none of the fonts that set-up installs has it"
    )


def verify_variants(
    archive: Archive,
    variants: Sequence[Variant],
    where: Where,
    *,
    mend: bool,
    keep: Path | None,
) -> int:
    """Print what was seen of each variant, and keep with the archive what breaks the page."""
    from harness.verify.mending import check_variants

    ok = True
    findings = check_variants(archive, variants, where, mend=mend, keep=keep)
    what = f"loading each variant and the original on {len(where.devices)} device(s), and looking for what differs"
    for variant, finding in zip(variants, told_each(what, findings), strict=True):
        for likeness in finding.asked:
            say(f"{archive.name} {likeness}")
        for likeness in finding.by_itself:
            if not likeness.ok:
                say(f"  so does the original, held against itself on {likeness.device}: {likeness.described}")
        if finding.by_itself:
            say("  which tells nothing about a filter: no finding is kept")
        whole = all(likeness.ok for likeness in finding.asked)
        if finding.broken_by or whole:
            for line in _kept(archive, variant, finding, where):
                say(f"  {line}")
        ok = ok and whole
    return 0 if ok else 1


def _kept(archive: Archive, variant: Variant, finding: Finding, where: Where) -> Iterator[str]:
    """Keep what was found of a variant, in the place of what was found of it with the same limits; and what to do."""
    from harness.cli.archived import mended
    from harness.study.variantfile import without_text
    from sites.optimise.findings import FILE, record, superseded

    devices = {"", *(device.name for device in where.devices)}
    before = superseded(archive, variant, where.engine, devices)
    again = {breakage.filter for breakage in finding.broken_by}
    for breakage in before:
        if breakage.filter not in again:
            yield f"{breakage.filter} no longer breaks it: what was found on {breakage.found_utc} is forgotten"
    if before or finding.broken_by:
        record(archive, finding.broken_by, before)
    if not finding.broken_by:
        return
    for breakage in finding.broken_by:
        yield f"{breakage.filter} breaks the page ({breakage.reason})"
    out = tuple(name for name in FILTERS if name in again)
    yield f"without {', '.join(out)}: {'like the original' if finding.ok else 'STILL DIFFERS'}"
    yield f"kept in {archive.folder / FILE}; it changes no variant, but a study that measures this one is refused"
    yield f"in a study: {without_text({archive.name: out})}"
    yield f"for load, optimize and crowd: --variant {mended(variant, finding.broken_by)}"
