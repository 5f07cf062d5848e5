"""The arguments of `coldload verify`."""

from __future__ import annotations

import argparse

from harness.cli.arguments.paths import given_path
from harness.cli.replay_options import add_replay_options
from harness.cli.variantoption import add_set_option
from harness.model.device import DEVICES
from harness.model.engine import BROWSERS, DEFAULT_ENGINE
from harness.model.protocol import Protocol


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The page, how it is loaded, and the variants to hold against it."""
    parser.description = (
        "Loads the page once on each device, up to four seconds after its load event, and reports what it "
        "asked for and how that was answered. Reports and screenshots are kept in ARCHIVE/verify/. Exit code 1: the "
        "load failed, or a core request (no favicon, no manifest, no other method than GET) is not archived."
    )
    parser.add_argument("name", metavar="NAME", help="an archive")
    parser.add_argument(
        "--engine",
        choices=[each.value for each in BROWSERS],
        help=f"the browser (default: the first that speaks the protocol, {DEFAULT_ENGINE} if it does)",
    )
    parser.add_argument(
        "--protocol",
        choices=[each.value for each in Protocol],
        metavar="PROTOCOL",
        help=f"{', '.join(Protocol)}; default: "
        + ", ".join(f"{each.traits.usual_protocol} in {each}" for each in BROWSERS),
    )
    parser.add_argument(
        "--device", choices=list(DEVICES), help="only this one (default: each that the engine can be)"
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
