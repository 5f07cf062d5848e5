"""`coldload setup`: what coldload needs beside its Python packages, all of it or some, beforehand."""

from __future__ import annotations

import argparse
import os
import sys

import configs
from harness.cli.failures import going_on
from harness.errors import EnvironmentLacks
from harness.model.engine import HISTORICAL_ENGINE, OPTIONAL_ENGINES
from harness.system.folders import OUTSIDE, set_up_engines

PARTS = ("debian", *(engine.value for engine in OPTIONAL_ENGINES), "gateway", "k6", "pages", "root")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    optional = " and ".join(engine.traits.label for engine in OPTIONAL_ENGINES)
    historical = HISTORICAL_ENGINE.traits.label
    parser.description = (
        "Install the Debian packages that are missing (as root, or through sudo), and make beforehand what the first "
        "command that needs it would make: npm packages of the server spdy-gateway, the generator of users (k6), pages "
        f"that ship, the root with {historical} where this release of Debian has none. The engines "
        f"{optional} are Debian packages of their own. What is there stays as it is."
    )
    parser.add_argument(
        "parts", nargs="*", choices=PARTS, metavar="PART", help=f"{', '.join(PARTS)} (default: all of it)"
    )


def run(arguments: argparse.Namespace) -> int:
    lacking = _engines_that_the_root_lacks()
    if named := [engine for engine in lacking if engine in arguments.parts]:
        raise EnvironmentLacks(_without(*named))
    if lacking and not arguments.parts:
        print(_without(*lacking), file=sys.stderr)
    parts, done = arguments.parts or [part for part in PARTS if part not in lacking], 0
    with going_on(lambda: f"{done} of {len(parts)} parts are set up; the same command goes on"):
        for number, part in enumerate(parts, start=1):
            print(f"setting up {part} ({number} of {len(parts)})", file=sys.stderr)
            code = _set_up(part, arguments)
            if code:
                return code
            done = number
    return 0


def _engines_that_the_root_lacks() -> list[str]:
    """Of the optional ones, in a root of the lab: nothing can be installed there."""
    if OUTSIDE not in os.environ:
        return []
    from harness.lab.preflight import debian_packages

    return sorted(
        {package.engine for package in debian_packages() if package.engine and not package.is_there()}
    )


def _without(*engines: str) -> str:
    return (
        f"the root of the lab is without {' and '.join(engines)}; "
        f"to make it anew with that: {set_up_engines(*engines)}"
    )


def _set_up(part: str, arguments: argparse.Namespace) -> int:
    """Make one part; the exit code."""
    if part == "gateway":
        from sites.servers import nodepackages

        nodepackages.install()
    elif part == "k6":
        from harness.capacity import k6

        k6.build()
    elif part == "pages":
        from harness.cli.making import make_shipped_archives

        make_shipped_archives(arguments)
    elif part == "root":
        from harness.cli.root import make_historical

        make_historical()
    else:  # Debian packages: of an optional engine, or all others
        from harness.system.program import in_foreground

        return in_foreground(["sh", str(configs.FOLDER / "debian-setup.sh"), *[part] * (part != "debian")])
    return 0
