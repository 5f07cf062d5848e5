"""`coldload optimize`: make a variant of an archive and show what each filter did."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from harness.cli.options import add_set_option, chosen_variant
from harness.cli.paths import ARCHIVES_HERE, refuse_hidden
from harness.cli.telling import aligned, console, say, telling
from harness.errors import UsageError
from harness.model.engine import BROWSERS, DEFAULT_ENGINE, Engine
from harness.model.filtersettings import SETTINGS
from harness.model.variant import FILTERS, SETS

if TYPE_CHECKING:
    from rich.table import Table

    from sites.archive import Archive
    from sites.optimise.derive import VariantReport
    from sites.optimise.page import Inventory, Size

    Weigh = Callable[[Inventory], Size]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Make a variant of an archive: bytes and requests before and after each filter, and what it "
        "left alone and why. The variant is kept; a study that names it uses the same one."
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="an archive")
    parser.add_argument(
        "--variant",
        metavar="V",
        help=f"sets ({', '.join(SETS)}) and filters, separated by commas; -NAME takes one out again",
    )
    add_set_option(parser)
    parser.add_argument(
        "--engine",
        choices=[browser.value for browser in BROWSERS],
        default=DEFAULT_ENGINE.value,
        help=f"the browser it is made for (default {DEFAULT_ENGINE})",
    )
    parser.add_argument("--all-notes", action="store_true", help="list every URL that was left alone")


def run(arguments: argparse.Namespace) -> int:
    from harness.cli.archived import original_text, warn_if_broken
    from harness.cli.making import make_parts_and_pages
    from harness.study.rules import Combination, check_combination
    from sites.archive import archives_root, open_archive
    from sites.optimise.derive import URLS_SHOWN, by_reason, derive

    if not arguments.name and not arguments.variant:
        _print_filters()
        return 0
    if not arguments.name or not arguments.variant:
        raise UsageError("say NAME and --variant V, or neither, which lists the filters and sets there are")
    variant = chosen_variant(arguments.variant, arguments.settings)
    if variant.is_plain:
        raise UsageError("plain is the archive as it is, there is nothing to make; name a set or a filter")
    engine = Engine(arguments.engine)
    check_combination(Combination.usual(arguments.name, engine, variant))
    refuse_hidden({ARCHIVES_HERE: archives_root()})  # the page is loaded to weigh it
    make_parts_and_pages(arguments, [engine, engine.traits.server], [arguments.name])
    archive = open_archive(archives_root(), arguments.name)
    warn_if_broken(archive, variant, engine)
    with telling(f"making {variant.name} of {archive.name}") as tell:
        derived = derive(archive, variant, engine, tell)
    made = "made" if derived.fresh else "was made before, nothing to do"
    say(f"{archive.name} {variant.name}: {made} ({derived.archive.folder})")
    for name, value in variant.settings:
        say(f"{name}: {value:,} (usual: {SETTINGS[name].usual:,})")
    for name, reason in derived.report.unserved.items():
        say(f"{name}: left out: {reason}")
    weigh = _scales(arguments, archive, engine, derived.report.before)
    console().print(_steps(derived.report, weigh))
    for step in derived.report.steps:
        for text in by_reason(step.notes, len(step.notes) if arguments.all_notes else URLS_SHOWN):
            say(f"{step.filter} left alone: {text}")
    before, after = weigh(derived.report.before), weigh(derived.report.after)
    say(
        f"\n{before.requests} requests, {before.bytes / 1000:,.1f} kB before; {after.requests} requests, "
        f"{after.bytes / 1000:,.1f} kB after ({_change(before, after)}); bodies as they travel"
    )
    if derived.report.unchanged:
        why = ["what each filter left alone is told above", derived.report.nothing_for]
        say(original_text(archive.name, variant, filter(None, why)))
    return 0


def _scales(arguments: argparse.Namespace, archive: Archive, engine: Engine, original: Inventory) -> Weigh:
    """What tells the size of a page: by what a load asks for, as `verify` has kept it, else found out now.

    Where the page cannot be loaded, by what a browser asks for without running scripts.
    """
    from harness.cli.archived import asked_of

    asked = asked_of(arguments, archive, engine, engine.traits.usual_protocol, say)
    if asked is None:
        say(
            f"the page was not loaded (`coldload verify {archive.name} --engine {engine}` tells why): requests and "
            "bytes are of what a browser asks for without running scripts"
        )
        return lambda inventory: inventory.size
    alone, loaded = original.size, original.size_of_load(original, asked)
    say(
        f"requests and bytes are of what a load in {engine} asks for: {loaded.requests}, "
        f"{loaded.bytes / 1000:,.1f} kB; without its scripts the page asks for {alone.requests}, "
        f"{alone.bytes / 1000:,.1f} kB"
    )
    return lambda inventory: inventory.size_of_load(original, asked)


def _print_filters() -> None:
    from rich.table import Table

    from sites.optimise.filters import REGISTRY

    table = Table("family", "filter", "what it does", box=None, pad_edge=False)
    for name, meaning in FILTERS.items():
        table.add_row(REGISTRY[name].family, name, meaning)
    console().print(table)
    say()
    for name, members in SETS.items():
        say(f"{name}: {', '.join(members) or 'nothing'}")
    say()
    limits = [("setting", "usual", "possible", "in mod_pagespeed", "what it is")]
    for name, setting in SETTINGS.items():
        possible = f"{setting.least:,} to {setting.most:,}"
        limits.append((name, f"{setting.usual:,}", possible, setting.option or "-", setting.meaning))
    for line in aligned(limits):
        say(line)
    say(
        "\nuse: coldload optimize NAME --variant core   (or inline_css,combine_css   or core,-inline_images)"
        "\n     --set inline_css.max_bytes=4096; in a study a table [filters] with inline_css = {max_bytes = 4096}"
    )


def _steps(report: VariantReport, weigh: Weigh) -> Table:
    from rich.table import Table

    table = Table("filter", "changed", "requests", "kB", "saved kB", "left alone", box=None, pad_edge=False)
    before = weigh(report.before)
    table.add_row("(as archived)", "", str(before.requests), f"{before.bytes / 1000:,.1f}", "", "")
    for step in report.steps:
        size = weigh(step.inventory)
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


def _change(before: Size, after: Size) -> str:
    return f"{(after.bytes - before.bytes) / max(1, before.bytes):+.1%} bytes"
