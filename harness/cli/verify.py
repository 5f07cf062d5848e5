"""`coldload verify`: how faithfully a page is replayed, and whether a variant renders like its original."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from harness.calibrate import calibrate
from harness.cli.common import Subcommands, console, in_enclosure
from harness.enclosure import WORKSPACE
from harness.errors import UsageError
from harness.model import DEVICES, Condition, Device, Driver, Engine, Link, Origins, Protocol
from harness.plan import PlannedTrial
from harness.reading import refuse_if_off
from harness.records import Record
from harness.replay_quality import ReplayQuality
from harness.runner import Bench, bench
from harness.servers import DEFAULT_SERVER, TODAY
from harness.trial import TrialOptions, run_trial
from harness.variants import PLAIN, Variant, parse_variant, served_name
from harness.verification import store, verifications
from sites.archive import Archive, archives_root, open_archive
from sites.importers.recording import printable
from sites.optimise.derive import variant_of
from sites.optimise.similarity import structural_similarity

LINK = Link.of(20, 20)
TIMEOUT_S = 60.0
# Measured on seven pages: variants that are whole have 0.99 and more, pages without their style sheets, images or a
# script that shows have 0.90 and less.
LEAST_SIMILARITY = 0.95
# A page may look otherwise each time (a banner that comes late, a carousel): the most alike of these loads count.
LOADS = 3


def add_commands(commands: Subcommands) -> None:
    verify = commands.add_parser(
        "verify",
        help="load an archive, desktop and mobile, and report how faithfully it is replayed",
        description="Loads the page once on each device, up to four seconds after its load event, and reports what it "
        "asked for and how that was answered. Reports and screenshots are kept in ARCHIVE/verify/. Exit code 1: the "
        "load failed, or a core request (no favicon, no manifest, no other method than GET) is not archived.",
    )
    verify.add_argument("name", metavar="NAME")
    verify.add_argument("--protocol", choices=[each.value for each in TODAY], default="h2")
    verify.add_argument("--device", choices=list(DEVICES), help="only this one (default: each)")
    verify.add_argument(
        "--variant", metavar="V", help="compare this variant's screenshot with the original's instead"
    )
    verify.add_argument(
        "--keep", type=Path, metavar="DIR", help="with --variant: store both screenshots here"
    )
    verify.set_defaults(run=run_verify)


def run_verify(arguments: argparse.Namespace) -> int:
    archive = open_archive(archives_root(), arguments.name)
    protocol = Protocol(arguments.protocol)
    out = console()
    if arguments.variant:
        variant = parse_variant(arguments.variant)
        keep = arguments.keep and arguments.keep.absolute()
        return in_enclosure(arguments, lambda: verify_variant(archive, variant, protocol, out, keep))
    if arguments.keep:
        raise UsageError("--keep goes with --variant; other screenshots are kept with the archive")
    devices = [DEVICES[arguments.device]] if arguments.device else list(DEVICES.values())
    return in_enclosure(arguments, lambda: _verify(archive, protocol, devices, out))


def _verify(archive: Archive, protocol: Protocol, devices: Sequence[Device], out: Console) -> int:
    out.print(f"{archive.name}: {archive.start_url} over {protocol}", markup=False)
    ok = True
    for verification in verifications(archive, archive.name, [protocol], devices):
        path = store(verification, archive)
        for line in _lines(verification.quality):
            out.print(line, markup=False)
        if verification.screenshot is not None:
            out.print(f"  screenshot: {path.with_suffix('.png')}", markup=False)
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
    yield (
        f"  bodies of the {quality.exact}: {quality.bytes_served / 1000:,.0f} kB, "
        f"{quality.bytes_recorded / 1000:,.0f} kB in the recording"
    )
    core = set(quality.core_missed)
    yield from (f"  closest query: {printable(url, 160)}" for url in quality.closest)
    yield from (f"  missed{', core' if url in core else ''}: {printable(url, 160)}" for url in quality.missed)
    yield from (f"  answered, but refused by the browser: {printable(url, 160)}" for url in quality.failed)
    yield from (f"  console: {text}" for text in quality.console_errors or ())


def percent(value: float | None) -> str:
    """As in `97.4 %`."""
    return "-" if value is None else f"{value:.1f} %"


@dataclass(frozen=True)
class Look:
    """One load: the record, and the screenshot if there is one."""

    record: Record
    screenshot: bytes | None


@dataclass(frozen=True)
class Verdict:
    """A variant held against its original. `similarity` is None when one of them has no screenshot."""

    variant: str
    similarity: float | None
    missing: tuple[str, ...]
    reason: str | None

    @property
    def ok(self) -> bool:
        return self.reason is None and self.similarity is not None and self.similarity >= LEAST_SIMILARITY

    def __str__(self) -> str:
        if self.similarity is None:
            return f"{self.variant}: no comparison: {self.reason}"
        missing = (
            f"; not archived and not asked for by the original: {', '.join(self.missing)}"
            if self.missing
            else ""
        )
        mark = "like the original" if self.ok else f"DIFFERS ({self.reason})" if self.reason else "DIFFERS"
        return (
            f"{self.variant}: {mark}, similarity {self.similarity:.3f} (at least {LEAST_SIMILARITY}){missing}"
        )


def verify_variant(
    archive: Archive, variant: Variant, protocol: Protocol, out: Console, keep: Path | None
) -> int:
    """Compare a variant with its original; when it differs, each of its filters alone, to name the culprits."""
    variants = [variant, *(parse_variant(name) for name in variant.filters if len(variant.filters) > 1)]
    archives = {served_name(archive.name, each.name): variant_of(archive, each) for each in variants[:1]}
    verdict = _compare(archive, archives, variants[:1], protocol, keep)[0]
    out.print(f"{archive.name} {verdict}", markup=False)
    if verdict.ok:
        return 0
    alone = variants[1:]
    archives = {served_name(archive.name, each.name): variant_of(archive, each) for each in alone}
    culprits = [each.variant for each in _compare(archive, archives, alone, protocol, None) if not each.ok]
    for name in culprits:
        out.print(f"  {name} alone differs, too", markup=False)
    if culprits:
        without = ",".join([variant.name, *(f"-{name}" for name in culprits)])
        out.print(f"try `coldload verify {archive.name} --variant {without}`", markup=False)
    return 1


def _compare(
    archive: Archive,
    archives: Mapping[str, Archive],
    variants: Sequence[Variant],
    protocol: Protocol,
    keep: Path | None,
) -> list[Verdict]:
    if not variants:
        return []
    with bench({archive.name: archive, **archives}, [protocol]) as opened:
        refuse_if_off([calibrate(opened.testbed, LINK)])
        originals = [_look(opened, archive.name, PLAIN, protocol, keep)]
        verdicts = []
        for each in variants:
            look = _look(opened, archive.name, each.name, protocol, keep)
            verdict = _best(each.name, originals, [look])
            looks = [look]
            while not verdict.ok and len(looks) < LOADS:
                if len(originals) < LOADS:
                    originals.append(_look(opened, archive.name, PLAIN, protocol, None))
                looks.append(_look(opened, archive.name, each.name, protocol, None))
                verdict = _best(each.name, originals, looks)
            verdicts.append(verdict)
    return verdicts


def _best(name: str, originals: Sequence[Look], looks: Sequence[Look]) -> Verdict:
    """The most alike of all pairs."""
    verdicts = [_verdict(name, original, look) for original in originals for look in looks]
    return max(verdicts, key=lambda each: (each.ok, each.similarity or 0.0))


def _verdict(name: str, original: Look, look: Look) -> Verdict:
    if original.screenshot is None or look.screenshot is None:
        failed = (original if original.screenshot is None else look).record
        return Verdict(name, None, (), f"{failed.outcome}: {failed.reason or 'no screenshot'}")
    known = {_without_query(url) for url in original.record.observation.missed}
    missing = tuple(url for url in look.record.observation.missed if _without_query(url) not in known)
    similarity = structural_similarity(original.screenshot, look.screenshot)
    return Verdict(name, similarity, missing, look.record.reason)


def _without_query(url: str) -> str:
    """Two loads of a page put other times and random numbers into the queries of its beacons."""
    return url.partition("?")[0]


def _look(opened: Bench, page: str, variant: str, protocol: Protocol, keep: Path | None) -> Look:
    condition = Condition(
        page, variant, protocol, LINK, Engine.CHROMIUM, Driver.PLAYWRIGHT, Origins.SINGLE, DEFAULT_SERVER
    )
    files = WORKSPACE / "look"
    planned = PlannedTrial("00001", 1, 1, condition)
    record = run_trial(
        opened.testbed, opened.drivers, planned, TrialOptions(TIMEOUT_S, ("screenshot",)), files
    )
    path = files / "screenshot.png"
    screenshot = path.read_bytes() if path.exists() else None
    path.unlink(missing_ok=True)
    if keep is not None and screenshot is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{served_name(page, variant)}.png").write_bytes(screenshot)
    return Look(record, screenshot)
