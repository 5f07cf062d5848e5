"""`coldload root`: Debian trees of our own for what this machine lacks."""

from __future__ import annotations

import argparse
import sys

from harness.cli.telling import say
from harness.errors import EnvironmentLacks, UsageError
from harness.model.engine import HISTORICAL_ENGINE, OPTIONAL_ENGINES
from harness.system.roots import RELEASE, SUITES, Purpose, folder_of, read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "A root is a minimal Debian tree of your own, which the enclosure enters. `historical` has the engine of 2012, "
        "for Debian 13; `lab` has all that coldload needs, for other distributions, where every command then "
        "runs in it. COLDLOAD_ROOT=none keeps a command out of it."
    )
    parser.add_argument(
        "what", choices=["make", "list", "remove"], help="make one (again), list them, or remove one"
    )
    parser.add_argument(
        "purpose",
        nargs="?",
        choices=[str(purpose) for purpose in Purpose],
        help="which one (default: what this machine lacks)",
    )
    parser.add_argument(
        "--release",
        default=RELEASE,
        choices=list(SUITES),
        help="the release of Debian (default: %(default)s, which has all of it)",
    )
    parser.add_argument(
        "--if-missing",
        action="store_true",
        help="make it only if there is none that fits this version of coldload",
    )
    parser.add_argument(
        "--engine",
        action="append",
        default=[],
        choices=[engine.value for engine in OPTIONAL_ENGINES],
        help="have this engine in the lab, too; may be given twice (a root made anew keeps those it had)",
    )
    parser.add_argument("--mirror", metavar="URL", help="where packages come from (default: Debian's own)")


def run(arguments: argparse.Namespace) -> int:
    from harness.lab import rootmaking
    from harness.lab.rootmaking import RootRecipe

    if arguments.what == "list":
        return _list()
    purpose = Purpose(arguments.purpose) if arguments.purpose else rootmaking.lacking()
    if arguments.what == "remove":
        if not arguments.purpose:
            raise UsageError("name the root to remove: " + " or ".join(Purpose))
        say(
            f"removed {purpose}"
            if rootmaking.remove(Purpose(arguments.purpose))
            else f"there is no root {purpose}"
        )
        return 0
    if arguments.engine and purpose is not Purpose.LAB:
        alone = HISTORICAL_ENGINE.traits.label
        raise UsageError(f"--engine is for the root {Purpose.LAB}: name that (others hold {alone} alone)")
    if purpose is None:
        say(
            "this machine lacks nothing that a root has; to make one all the same, name it: "
            + " or ".join(Purpose)
        )
        return 0
    if not (arguments.if_missing and rootmaking.is_there(purpose, arguments.engine)):
        engines = sorted({*rootmaking.engines_held(purpose), *arguments.engine})
        rootmaking.make(RootRecipe(purpose, arguments.release, arguments.mirror, engines), tell)
    return 0


def make_historical() -> None:
    """Make the root with the engine of 2012, where this machine lacks it alone."""
    from harness.lab import rootmaking
    from harness.lab.rootmaking import RootRecipe

    if rootmaking.lacking() is Purpose.HISTORICAL:
        rootmaking.make(RootRecipe(Purpose.HISTORICAL), tell)


def tell(text: str) -> None:
    """A line of progress; standard output may be for a program."""
    print(f"root: {text}", file=sys.stderr, flush=True)


def _list() -> int:
    from harness.lab import rootmaking

    for purpose in Purpose:
        try:
            made = read(folder_of(purpose))
        except EnvironmentLacks as error:
            say(f"{purpose}: {error}")
            continue
        if made is None:
            say(f"{purpose}: none")
        else:
            say(
                f"{purpose}: {made}"
                + ("" if rootmaking.fits(made, purpose) else "; of another version of coldload")
            )
    return 0
