"""`coldload optimize`: make a variant of an archive and show what each filter did."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Collection, Iterable

from rich.console import Console
from rich.table import Table

from harness.cli.common import Subcommands, console, in_enclosure
from harness.errors import MeasurementRefused, UsageError
from harness.model import DESKTOP, Engine, Protocol
from harness.replay import DEFAULT_TLS, Replay
from harness.variants import FILTERS, SETS, parse_variant
from harness.verification import USUAL_PROTOCOLS, asked_for, store, verifications
from sites.archive import Archive, archives_root, open_archive
from sites.optimise.derive import Report, derive
from sites.optimise.inventory import Size
from sites.optimise.page import Note
from sites.optimise.registry import REGISTRY
from sites.optimise.switched import path_of

URLS_SHOWN = 3


def add_commands(commands: Subcommands) -> None:
    optimize = commands.add_parser(
        "optimize",
        help="make a variant of an archive and show what each filter did",
        description="Make a variant of an archive: bytes and requests before and after each filter, and what it "
        "left alone and why. The variant is kept; a study that names it uses the same one.",
    )
    optimize.add_argument("name", nargs="?", metavar="NAME", help="an archive")
    optimize.add_argument(
        "--variant",
        metavar="V",
        help=f"sets ({', '.join(SETS)}) and filters, separated by commas; -NAME takes one out again",
    )
    optimize.add_argument(
        "--engine",
        choices=[each.value for each in Engine],
        default=Engine.CHROMIUM.value,
        help="the browser it is made for (default chromium)",
    )
    optimize.add_argument("--all-notes", action="store_true", help="list every URL that was left alone")
    optimize.set_defaults(run=run_optimize)


def run_optimize(arguments: argparse.Namespace) -> int:
    out = console()
    if not arguments.name and not arguments.variant:
        _print_filters(out)
        return 0
    if not arguments.name or not arguments.variant:
        raise UsageError("say NAME and --variant V, or neither, which lists the filters and sets there are")
    variant = parse_variant(arguments.variant)
    if variant.is_plain:
        raise UsageError("plain is the archive as it is, there is nothing to make; name a set or a filter")
    engine = Engine(arguments.engine)
    variant.refuse_unless_for(engine)
    archive = open_archive(archives_root(), arguments.name)
    derived = derive(archive, variant, engine)
    made = "made" if derived.fresh else "was made before, nothing to do"
    out.print(f"{archive.name} {variant.name}: {made} ({derived.archive.folder})", markup=False)
    for each in derived.report.off:
        out.print(f"{each.filter}: switched off for this page: {each.reason}", markup=False)
    if derived.report.off:
        out.print(f"  (`coldload verify` found that; remove {path_of(archive)} to try again)", markup=False)
    for name, reason in derived.report.unserved.items():
        out.print(f"{name}: left out: {reason}", markup=False)
    asked = _asked(arguments, archive, engine, out)
    out.print(_steps(derived.report, asked))
    _print_notes(out, derived.report, every_url=arguments.all_notes)
    original = derived.report.before
    before, after = (each.size_of_load(original, asked) for each in (original, derived.report.after))
    alone = original.size
    out.print(
        f"\n{before.requests} requests, {before.bytes / 1000:,.1f} kB before; {after.requests} requests, "
        f"{after.bytes / 1000:,.1f} kB after ({_change(before, after)}): what a load in {engine} asks for, bodies as "
        f"they travel; without its scripts the page asks for {alone.requests}, {alone.bytes / 1000:,.1f} kB"
    )
    return 0


def _asked(arguments: argparse.Namespace, archive: Archive, engine: Engine, out: Console) -> tuple[str, ...]:
    """What a real load asks for: as `verify` has kept it, else found out now."""
    kept = asked_for(archive, engine)
    if kept is not None:
        return kept
    protocol = USUAL_PROTOCOLS[engine]
    out.print(
        f"what the page asks for is not known yet: loading it once in {engine} by {protocol}", markup=False
    )
    code = in_enclosure(arguments, lambda: _load(archive, engine, protocol))
    found = asked_for(archive, engine) if code == 0 else None
    if found is None:
        raise MeasurementRefused(
            f"{archive.name} was not loaded in {engine}, so that its bytes cannot be told; "
            f"`coldload verify {archive.name} --engine {engine}` tells why"
        )
    return found


def _load(archive: Archive, engine: Engine, protocol: Protocol) -> int:
    replay = Replay(tls=DEFAULT_TLS[engine])
    for each in verifications(archive, archive.name, [protocol], [DESKTOP], replay=replay, engine=engine):
        store(each, archive)
    return 0


def _print_filters(out: Console) -> None:
    table = Table("family", "filter", "what it does", box=None, pad_edge=False)
    for name, meaning in FILTERS.items():
        table.add_row(REGISTRY[name].family, name, meaning)
    out.print(table)
    out.print()
    for name, members in SETS.items():
        out.print(f"{name}: {', '.join(members) or 'nothing'}", markup=False)
    out.print(
        "\nuse: coldload optimize NAME --variant core   (or inline_css,combine_css   or core,-inline_images)"
    )


def _steps(report: Report, asked: Collection[str]) -> Table:
    table = Table("filter", "changed", "requests", "kB", "saved kB", "left alone", box=None, pad_edge=False)
    before = report.before.size_of_load(report.before, asked)
    table.add_row("(as archived)", "", str(before.requests), f"{before.bytes / 1000:,.1f}", "", "")
    for step in report.steps:
        size = step.inventory.size_of_load(report.before, asked)
        fewer = size.requests - before.requests
        table.add_row(
            step.filter,
            str(step.changed),
            f"{size.requests}" + (f" ({fewer:+d})" if fewer else ""),
            f"{size.bytes / 1000:,.1f}",
            f"{(before.bytes - size.bytes) / 1000:,.1f}",
            str(len(step.notes) or ""),
        )
        before = size
    return table


def _print_notes(out: Console, report: Report, *, every_url: bool) -> None:
    for step in report.steps:
        for reason, urls in _by_reason(step.notes).items():
            shown = urls if every_url else urls[:URLS_SHOWN]
            more = f" and {len(urls) - len(shown)} more" if len(urls) > len(shown) else ""
            out.print(f"{step.filter} left alone: {reason}: {', '.join(shown)}{more}", markup=False)


def _by_reason(notes: Iterable[Note]) -> dict[str, list[str]]:
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for note in notes:
        reasons[note.reason].append(note.url[:120])
    return dict(reasons)


def _change(before: Size, after: Size) -> str:
    return f"{(after.bytes - before.bytes) / max(1, before.bytes):+.1%} bytes"
